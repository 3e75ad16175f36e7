package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// launch starts a guard and tells it what to do.
func launch(spec Spec, o order) (*Child, error) {
	self, err := ownExecutable()
	if err != nil {
		return nil, err
	}
	if os.Getenv(guardVariable) != "" {
		return nil, errors.New("this process was started as a guard and went past process.GuardMain; call it first in main or TestMain")
	}
	c := &Child{spec: spec, lastWord: &tail{limit: 4 << 10}, done: make(chan struct{}), reaped: make(chan struct{})}
	p := &plumbing{}
	defer p.close(&p.theirs)
	c.connect(p)
	if p.err == nil {
		c.guard = c.guardCommand(self, p.theirs)
		p.err = c.guard.Start()
	}
	if p.err != nil {
		p.close(&p.ours)
		return nil, p.err
	}
	dismiss := spec.enlist(c.guard.Process.Pid)
	go c.reap(dismiss)
	go o.writeTo(c.control) // a pipe holds less than an order may; closing control ends it
	return c, nil
}

// reap lets the guard leave the process table, whenever it ends.
func (c *Child) reap(dismiss func()) {
	c.guard.Wait()
	dismiss()
	close(c.reaped)
}

// enlist tells the host of the guard, which has no order yet.
func (s Spec) enlist(guard int) (dismiss func()) {
	if s.Host == nil {
		return func() {}
	}
	return s.Host.Enlist(s.Attempt.Agent, guard, startOf(guard))
}

// connect makes the pipes in the order of their descriptors in the guard.
func (c *Child) connect(p *plumbing) {
	c.control = p.toGuard()
	c.status = p.fromGuard()
	c.reports = bufio.NewReader(c.status)
	if c.spec.Stdin != nil {
		c.stdin = p.toGuard()
	} else {
		p.null()
	}
	hide := c.spec.Hide
	if c.spec.OnLine != nil {
		c.stdout = newStream(p.fromGuard(), &lines{limit: c.spec.MaxStdout, deliver: c.spec.OnLine}, c.fail)
	} else {
		c.kept = &head{limit: c.spec.MaxStdout}
		c.stdout = newStream(p.fromGuard(), veiled{c.kept, hide.Stream()}, c.fail)
	}
	c.said = &tail{limit: c.spec.MaxStderr}
	c.stderr = newStream(p.fromGuard(), veiled{c.said, hide.Stream()}, c.fail)
}

// guardCommand is this program as a guard: with no argument, variable or descriptor of the owner
// that others could read, and in a session of its own, where no key of a terminal reaches it.
func (c *Child) guardCommand(self string, files []*os.File) *exec.Cmd {
	return &exec.Cmd{
		Path:        self,
		Args:        []string{"starling", guardVerb},
		Env:         append([]string{guardVariable + "=1", "GOMAXPROCS=1"}, unhurried...),
		ExtraFiles:  files,
		Stderr:      c.lastWord,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

// awaitStart follows the guard to the start of the child, or to the reason why there is none.
func (c *Child) awaitStart(ctx context.Context) error {
	c.status.SetReadDeadline(time.Now().Add(c.spec.LockWait + speakTime))
	began := time.Now()
	busy := &LockBusyError{Lock: c.spec.Lock}
	waiting := false
	for {
		s, err := readStatus(c.reports)
		busy.Waited = time.Since(began)
		switch {
		case err == nil && s.Started != 0:
			c.result.Lacks = s.Lacks
			c.spec.warn(s.Bare)
			c.noteStart(s.Started)
			return nil
		case err == nil && s.Waiting != nil:
			waiting = true
			busy.Holder = *s.Waiting
			c.spec.tellWaiting(busy.Holder)
		case err == nil && s.Error != nil && s.Error.Kind == kindLockBusy:
			return busy
		case ctx.Err() != nil && waiting:
			busy.Cause = ctx.Err()
			return busy
		case ctx.Err() != nil:
			return c.spec.notStarted(ctx)
		default:
			return c.refusal(s, err)
		}
	}
}

func (s Spec) notStarted(ctx context.Context) error {
	return fmt.Errorf("process: %q was not started: %w", s.Argv[0], ctx.Err())
}

func (s Spec) warn(bare []string) {
	for _, lack := range bare {
		if s.Host != nil {
			s.Host.Warn(lack)
		}
	}
}

func (s Spec) tellWaiting(holder Attempt) {
	if s.OnWait != nil {
		s.OnWait(holder)
	}
}

func (c *Child) noteStart(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = pid
	c.started = time.Now()
	if !c.asked {
		c.status.SetReadDeadline(time.Time{})
	}
}

// refusal turns the guard's last line, or its silence, into an error.
func (c *Child) refusal(s status, err error) error {
	if err == nil && s.Error == nil {
		err = errors.New("it reported an end before a start")
	}
	if err != nil {
		return c.spec.refuse(ErrGuard, c.guardFault(err))
	}
	kinds := map[string]error{kindSpec: ErrSpec, kindNotExecutable: ErrNotExecutable, kindSandbox: ErrSandbox}
	kind, ok := kinds[s.Error.Kind]
	if !ok {
		kind = ErrGuard
	}
	return c.spec.refuse(kind, s.Error.Message)
}

// guardFault explains the end of the status pipe before its last line. A guard that is merely late
// keeps its lock, and is left to it.
func (c *Child) guardFault(err error) string {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("process %d is late: a descendant does not end, or the machine stands still", c.guard.Process.Pid)
	case !errors.Is(err, io.EOF):
		return err.Error()
	}
	<-c.reaped
	return strings.TrimSpace(fmt.Sprintf("it ended early (%v) %s", c.guard.ProcessState, c.lastWord.kept))
}

// abandon lets go of a guard that started nothing.
func (c *Child) abandon() {
	c.control.Close()
	c.status.Close()
	c.stdout.pipe.Close()
	c.stderr.pipe.Close()
	if c.stdin != nil {
		c.stdin.Close()
	}
}

// plumbing makes pipes; its first error stands for all.
type plumbing struct {
	ours, theirs []*os.File
	err          error
}

// toGuard returns the end to write of a pipe.
func (p *plumbing) toGuard() *os.File { r, w := p.pipe(); return p.keep(w, r) }

// fromGuard returns the end to read of a pipe.
func (p *plumbing) fromGuard() *os.File { r, w := p.pipe(); return p.keep(r, w) }

// null gives the guard /dev/null.
func (p *plumbing) null() {
	if p.err != nil {
		return
	}
	f, err := os.Open(os.DevNull)
	p.err = err
	p.theirs = append(p.theirs, f)
}

func (p *plumbing) pipe() (r, w *os.File) {
	if p.err == nil {
		r, w, p.err = os.Pipe()
	}
	return r, w
}

func (p *plumbing) keep(ours, theirs *os.File) *os.File {
	p.ours = append(p.ours, ours)
	p.theirs = append(p.theirs, theirs)
	return ours
}

func (p *plumbing) close(files *[]*os.File) {
	for _, f := range *files {
		f.Close() // nil, after an error, closes as ErrInvalid
	}
}
