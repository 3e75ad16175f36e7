package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// speakTime bounds the silence of a guard that has nothing to wait for: it starts a child in
	// milliseconds.
	speakTime = 30 * time.Second
	// endTime is what a guard has, beyond the grace, to end what does not end itself. Only the
	// kernel or another user's process can make it take that long.
	endTime = 10 * time.Second
)

// Result is how a child ended. Err tells of what was not the child's doing; what it did is for the
// caller to judge.
type Result struct {
	ExitCode int    // -1 when it did not exit by itself
	Signal   string // what killed it, such as "SIGKILL"; empty when it exited
	Stdout   []byte // all of it; what fits into MaxStdout when it was too much; nothing with OnLine
	Stderr   []byte // its end

	TimedOut bool // the context's deadline came first
	Stopped  bool // Stop was called, or the context cancelled, first

	Lacks []string // what of the sandbox this system could not enforce, a sentence each
	Aside []string // paths of Protect that had come to be, under the names that they were given

	Err     error         // nil, or ErrGuard, ErrOverLimit, ErrStdin
	Elapsed time.Duration // until all of its descendants were gone
}

// Child is a running child and its guard.
type Child struct {
	pid     int
	spec    Spec
	started time.Time

	guard    *exec.Cmd
	reaped   chan struct{} // closed when the guard has been waited for
	lastWord *tail         // the guard's own stderr
	control  *os.File
	status   *os.File
	reports  *bufio.Reader // of status
	stdin    *os.File      // nil for /dev/null
	stdout   *stream
	stderr   *stream
	kept     *head // of stdout; nil with OnLine
	said     *tail // on stderr

	done  chan struct{} // closed when final is set
	final Result

	mu     sync.Mutex
	asked  bool // the guard has been told to end
	ended  bool // the child itself has ended
	result Result
}

// Run is Start and Wait.
func Run(ctx context.Context, spec Spec) (Result, error) {
	c, err := Start(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	return c.Wait(), nil
}

// Start starts a child under a guard. It returns when the child runs, or when it is certain that it
// will not: at once where possible, after the wait for the lock where there is one. The end of ctx
// ends the child and all of its descendants.
func Start(ctx context.Context, spec Spec) (*Child, error) {
	spec = spec.withDefaults()
	o, err := spec.order()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, spec.notStarted(ctx)
	}
	c, err := launch(spec, o)
	if err != nil {
		return nil, spec.refuse(ErrGuard, err.Error())
	}
	unwatch := context.AfterFunc(ctx, func() { c.end(byContext(ctx)) })
	if err := c.awaitStart(ctx); err != nil {
		unwatch()
		c.abandon()
		return nil, err
	}
	c.feed()
	go c.supervise(unwatch)
	return c, nil
}

func byContext(ctx context.Context) func(*Result) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return func(r *Result) { r.TimedOut = true }
	}
	return func(r *Result) { r.Stopped = true }
}

// Pid is the child's process id, for people to look at. It may name another process once Wait has
// returned.
func (c *Child) Pid() int { return c.pid }

// Lacks lists what of the sandbox this system could not enforce, as Result.Lacks will.
func (c *Child) Lacks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result.Lacks
}

// Stop asks for the end of the child and all of its descendants, and does not wait for it.
func (c *Child) Stop() { c.end(func(r *Result) { r.Stopped = true }) }

// Wait returns when the child and all that it started are gone, or the guard has failed. It may be
// called by several goroutines.
func (c *Child) Wait() Result {
	<-c.done
	return c.final
}

// end tells the guard to end everything, once. why is noted unless the child had ended before.
func (c *Child) end(why func(*Result)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && !c.asked {
		why(&c.result)
	}
	if c.asked {
		return
	}
	c.asked = true
	c.boundEnd()
	if c.pid == 0 {
		c.control.Close() // nothing runs: a guard without an owner starts nothing
		return
	}
	io.WriteString(c.control, stopLine) // an error is a guard that has ended
}

// boundEnd gives the guard its time to finish.
func (c *Child) boundEnd() { c.status.SetReadDeadline(time.Now().Add(c.spec.Grace + endTime)) }

// fail ends the child for a reason of ours; the first is kept.
func (c *Child) fail(err error) {
	c.mu.Lock()
	if c.result.Err == nil {
		c.result.Err = err
	}
	c.mu.Unlock()
	c.end(func(*Result) {})
}

// feed begins to carry the child's stdio.
func (c *Child) feed() {
	go c.stdout.drain()
	go c.stderr.drain()
	if c.stdin == nil {
		return
	}
	go func() {
		if err := pump(c.stdin, c.spec.Stdin); err != nil {
			c.fail(err)
		}
	}()
}

// supervise follows the guard to its end and makes the result.
func (c *Child) supervise(unwatch func() bool) {
	err := c.follow()
	unwatch()
	c.control.Close()
	if c.stdin != nil {
		c.stdin.Close()
	}
	c.stdout.finish(err == nil)
	c.stderr.finish(err == nil)
	if err != nil {
		err = fmt.Errorf("process: %w: %s", ErrGuard, c.guardFault(err))
	}
	c.status.Close()
	c.conclude(err)
}

// follow reads reports until everything is gone.
func (c *Child) follow() error {
	for {
		s, err := readStatus(c.reports)
		switch {
		case err != nil:
			return err
		case s.Gone:
			c.noteAside(s.Aside)
			return nil
		case s.Exit != nil:
			c.noteEnd(*s.Exit, "")
		case s.Signal != "":
			c.noteEnd(-1, s.Signal)
		}
	}
}

func (c *Child) noteEnd(code int, signal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.result.ExitCode, c.result.Signal = code, signal
	c.boundEnd()
}

func (c *Child) noteAside(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Aside = paths
}

func (c *Child) conclude(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true // a context that ends from now on has nobody to stop
	if c.result.Err == nil {
		c.result.Err = err
	}
	c.final = c.result
	c.final.Elapsed = time.Since(c.started)
	if c.kept != nil {
		c.final.Stdout = c.kept.kept
	}
	c.final.Stderr = c.said.kept
	close(c.done)
}
