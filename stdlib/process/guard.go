package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	goruntime "runtime"
	"strconv"
	"syscall"
	"time"

	"starling/stdlib/sandbox"
)

const (
	guardVerb = "__guard"
	// guardVariable tells a guard from a user who types the verb, and a program that forgot
	// GuardMain from one that did not: where it is set, Start refuses, or such a program would run
	// itself again for ever.
	guardVariable = "STARLING_GUARD"

	// orphanGrace is the most that descendants get between SIGTERM and SIGKILL once the owner is
	// dead.
	orphanGrace = 500 * time.Millisecond
	// sweepEvery is how often a guard that is ending looks for descendants that became its own
	// children meanwhile.
	sweepEvery = 10 * time.Millisecond
)

// errExec is a program that the kernel did not start.
var errExec = errors.New("exec")

// Descriptors of a guard, set by the owner.
const (
	controlFD = 3 + iota
	statusFD
	stdinFD
	stdoutFD
	stderrFD
)

// GuardMain does the work of a guard and ends the process, if args (os.Args) say that this process
// is one, or is to become a confined child; otherwise it returns at once. It belongs at the very
// beginning of main, and of TestMain in packages whose tests start children.
func GuardMain(args []string) {
	if len(args) == 2 && args[1] == confineVerb {
		confineMain()
	}
	if len(args) != 2 || args[1] != guardVerb {
		return
	}
	if os.Getenv(guardVariable) == "" {
		fmt.Fprintf(os.Stderr, "%s is started by the program itself, with pipes that a shell does not give it\n", guardVerb)
		os.Exit(2)
	}
	// A child asks for SIGKILL at the death of its parent, and to the kernel the parent is a
	// thread.
	goruntime.LockOSThread()
	if err := newGuard().run(); err != nil {
		fmt.Fprintf(os.Stderr, "guard: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// guard is the state of the process between owner and child. One goroutine signals and reaps: a pid
// that this goroutine has not reaped cannot have been given to another process, and no other pid is
// ever signalled.
type guard struct {
	control *bufio.Reader
	status  *json.Encoder

	order  order
	lacks  []string           // what of the sandbox this system cannot enforce
	bare   []string           // which marks this system cannot set
	ends   chan time.Duration // requests to end, each with its grace
	deaths chan os.Signal     // SIGCHLD
	// program tells how the program ended, and is closed when its first process has; nil where the
	// child is the program itself.
	program chan status
	told    bool     // that the child has ended
	absent  []string // paths to be protected that there were none of

	tree   descendants
	killAt time.Time // when the grace is over; zero while nothing is to end
	ticks  *time.Ticker
}

func newGuard() *guard {
	return &guard{
		control: bufio.NewReader(os.NewFile(controlFD, "control")),
		status:  json.NewEncoder(os.NewFile(statusFD, "status")),
		ends:    make(chan time.Duration),
		deaths:  make(chan os.Signal, 1),
		ticks:   time.NewTicker(time.Hour), // until something is to end
	}
}

// run reads the order, takes the lock, starts the child, and returns when nothing of it is left.
func (g *guard) run() error {
	if err := closeOnExec(); err != nil {
		return err
	}
	if err := becomeGuardian(); err != nil {
		return err
	}
	var err error
	if g.order, err = readOrder(g.control); err != nil {
		return fmt.Errorf("reading the order: %w", err)
	}
	g.listen()

	lock, err := g.takeLock()
	var aside []string
	if err == nil {
		g.absent = absentOf(g.order.Sandbox)
		err = g.start()
	}
	if err == nil {
		g.watch()
		aside = setAside(g.absent)
	}
	lock.release()
	if err != nil {
		return g.refuse(err)
	}
	return g.status.Encode(status{Gone: true, Aside: aside})
}

// closeOnExec keeps every descriptor but stdio from the child: the guard's pipes, and whatever the
// owner was started with.
func closeOnExec() error {
	entries, err := os.ReadDir(openFiles)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= controlFD {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// listen turns all that can end a child - the owner's word, its death, the end of its lease, a
// signal to the guard itself - into one channel.
func (g *guard) listen() {
	signal.Notify(g.deaths, syscall.SIGCHLD)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for range asked {
			g.ends <- g.order.Grace
		}
	}()
	go g.obeyLease()
	go func() {
		for {
			if line, err := g.control.ReadString('\n'); err != nil {
				g.ends <- min(g.order.Grace, orphanGrace)
				return
			} else if line == stopLine {
				g.ends <- g.order.Grace
			}
		}
	}()
}

func (g *guard) takeLock() (*lock, error) {
	path := string(g.order.Lock)
	if path == "" {
		return nil, nil
	}
	l, err := takeLock(path, g.order.LockWait, g.ends, func(holder Attempt) { g.status.Encode(status{Waiting: &holder}) })
	if err != nil {
		return nil, err
	}
	return l, l.sign(holder{g.order.Attempt, ownIdentity()})
}

// start starts the child in a session of its own and lets go of its descriptors: the other ends
// must see when it does.
func (g *guard) start() error {
	select {
	case <-g.ends:
		return errGivenUp
	default:
	}
	if left, ok := leaseLeft(string(g.order.Lock)); ok && left <= 0 {
		return errLeaseOver
	}
	files := []*os.File{os.NewFile(stdinFD, "stdin"), os.NewFile(stdoutFD, "stdout"), os.NewFile(stderrFD, "stderr")}
	child, err := g.startProcess(&os.ProcAttr{Dir: string(g.order.Dir), Env: textStrings(g.order.Env), Files: files})
	if err != nil {
		return err
	}
	for _, f := range files {
		f.Close()
	}
	g.tree.child = child.Pid
	// An owner that is gone is learned of through control.
	g.status.Encode(status{Started: child.Pid, Lacks: g.lacks, Bare: g.bare})
	return child.Release() // reaped by hand, with all that is adopted
}

func (g *guard) startProcess(attr *os.ProcAttr) (*os.Process, error) {
	if g.order.Sandbox != nil {
		return g.startConfined(attr)
	}
	attr.Sys = childAttributes()
	child, lacks, err := markedStart(string(g.order.Path), textStrings(g.order.Argv), attr)
	g.bare = lacks
	return child, err
}

// watch returns when the child and all of its descendants are gone.
func (g *guard) watch() {
	for {
		g.sweep()
		if g.reap() {
			return
		}
		select {
		case grace := <-g.ends:
			g.endWithin(grace)
		case <-g.deaths:
		case end, ok := <-g.program:
			g.programEnded(end, ok)
		case <-g.ticks.C:
		}
	}
}

// endWithin begins the end, or brings it forward: an owner that dies while its child is ending
// shortens the grace.
func (g *guard) endWithin(grace time.Duration) {
	if at := time.Now().Add(grace); g.killAt.IsZero() || at.Before(g.killAt) {
		g.killAt = at
	}
	g.ticks.Reset(sweepEvery)
}

// sweep asks once, then kills, again and again: each death hands its children to the guard.
func (g *guard) sweep() {
	switch {
	case g.killAt.IsZero():
	case time.Now().Before(g.killAt):
		g.tree.terminate()
	default:
		g.tree.kill()
	}
}

// reap takes every death that has happened, reports that of the child, and says whether nobody is
// left.
func (g *guard) reap() (gone bool) {
	ended, gone := g.tree.reap()
	if ended == nil {
		return gone
	}
	if g.program != nil { // what ended is the first process of the program's namespace
		end, ok := <-g.program
		g.programEnded(end, ok)
	}
	if !g.told {
		g.tellEnd(endOf(*ended))
	}
	return gone
}

// programEnded passes on what the first process says of the program, once.
func (g *guard) programEnded(end status, ok bool) {
	g.program = nil // nothing else comes
	if ok {
		g.tellEnd(end)
	}
}

// tellEnd reports the end of the child. What it leaves behind ends with it.
func (g *guard) tellEnd(s status) {
	g.told = true
	g.status.Encode(s)
	g.endWithin(g.order.Grace)
}

// endOf reports an end.
func endOf(ws syscall.WaitStatus) status {
	if ws.Signaled() {
		return status{Signal: signalName(ws.Signal())}
	}
	code := ws.ExitStatus()
	return status{Exit: &code}
}

// refuse reports why nothing was started.
func (g *guard) refuse(err error) error {
	return g.status.Encode(status{Error: &refusal{refusalKind(err), err.Error()}})
}

// refusalKind tells what the program is to blame for from what the machine is.
func refusalKind(err error) string {
	switch {
	case errors.Is(err, ErrLockBusy):
		return kindLockBusy
	case errors.Is(err, errGivenUp), errors.Is(err, errLeaseOver):
		return kindStopped
	case errors.Is(err, syscall.E2BIG):
		return kindSpec
	case errors.Is(err, sandbox.ErrUnavailable):
		return kindSandbox
	case errors.Is(err, errExec) && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.ENOMEM):
		return kindNotExecutable
	}
	return kindGuard
}
