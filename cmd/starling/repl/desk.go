package repl

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"starling/lang/effect"
	"starling/runtime"
)

// Desk is what the program around a loop does for it.
type Desk struct {
	Global []string // words that every call of the program begins with, such as the store
	Fake   string   // the script whose functions play agents, "" for none

	// Settings reads those of the project, where the functions of a script play agents if one is
	// named.
	Settings func(fake string) (*effect.Settings, error)
	Agents   func(s *effect.Settings) ([]string, error) // those that can be asked

	// Interruptions, unless they are nil, are told of what is started, which has the keyboard then.
	Interruptions *Interruptions
}

// agents are those that can be asked, as far as the project can be read.
func (d *Desk) agents() []string {
	if d.Agents == nil {
		return nil
	}
	s, err := d.Settings(d.Fake)
	if err != nil {
		return nil
	}
	names, _ := d.Agents(s)
	return names
}

// verb calls a command of the program, on the same store. What it says goes where the program's own
// words go.
func (d *Desk) verb(ctx context.Context, words ...string) error {
	self, err := os.Executable()
	if err != nil {
		return runtime.Refusef(runtime.ErrInternal, "this program cannot be found: %v", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = append(append([]string{os.Args[0]}, d.Global...), words...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = d.run(cmd)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return nil // it has said why
	}
	return err
}

// shell has the user's shell do a line.
func (d *Desk) shell(ctx context.Context, line string) error {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return d.run(cmd)
}

// edit has a text edited.
func (d *Desk) edit(ctx context.Context, text string) (string, error) {
	dir, err := os.MkdirTemp("", "starling")
	if err != nil {
		return "", runtime.Refusef(runtime.ErrInternal, "%v", err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "statement.star")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return "", runtime.Refusef(runtime.ErrInternal, "%v", err)
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "edit", name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := d.run(cmd); err != nil {
		return "", runtime.Refusef(runtime.ErrUsage, "%s: %v", editor, err).WithHelp("EDITOR names the editor")
	}
	edited, err := os.ReadFile(name)
	return string(edited), err
}

func (d *Desk) run(cmd *exec.Cmd) error {
	if d.Interruptions != nil {
		defer d.Interruptions.set(elsewhere)()
	}
	return cmd.Run()
}

// Interruptions are what Ctrl-C means while the editor of lines does not read it: nothing while
// another program has the keyboard; the first one that a statement ends where one runs; else, and
// again, that the call ends.
type Interruptions struct {
	// Wanted tells of those that are for the statement that runs.
	Wanted chan struct{}

	mu    sync.Mutex
	state interruptionState
	stray bool // one came between a prompt and the editor that reads it
}

type interruptionState int

const (
	idle interruptionState = iota
	running
	elsewhere
)

// NewInterruptions waits for none.
func NewInterruptions() *Interruptions { return &Interruptions{Wanted: make(chan struct{}, 1)} }

// Take takes an interruption, or says that it is not for here.
func (i *Interruptions) Take() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.state {
	case elsewhere:
		return true
	case running:
		select {
		case i.Wanted <- struct{}{}:
			i.state = idle // the next one leaves
			return true
		default:
		}
	case idle:
		if !i.stray {
			i.stray = true
			return true
		}
	}
	return false
}

// set says what goes on until it ends.
func (i *Interruptions) set(s interruptionState) (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state, i.stray = s, false
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.state = idle
		select {
		case <-i.Wanted: // it came too late
		default:
		}
	}
}

// Sit has statements come from lines. Where these are of a terminal people see what is wrong,
// values are folded, names completed, and Ctrl-C is for the statement that runs. release gives them
// back.
func (l *Loop) Sit(ctx context.Context, lines Lines, back func()) (release func()) {
	l.Lines = lines
	t, typed := lines.(*Terminal)
	if !typed {
		return back
	}
	t.Complete = func(before string) (int, []string) { return l.Complete(ctx, before) }
	live := &Live{Out: os.Stderr, Width: Columns}
	l.Show, l.Width, l.Wrong = live.Show, Columns, func(string) {}
	l.Desk.Interruptions = NewInterruptions()
	return func() {
		live.Stop()
		back()
	}
}

// Columns is the width of the terminal of this process, 80 where it does not say.
func Columns() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

// PastFile is where what is typed is kept for other sessions, "" for nowhere.
func PastFile(getenv func(string) (string, bool)) string {
	if file, set := getenv("STARLING_HISTORY"); set {
		return file
	}
	state, _ := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, _ := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "starling", "history")
}

// Successor is the session in which one goes on that was rewound, "" for one that was not.
func Successor(r *runtime.Run) string {
	if r.Status != runtime.Cancelled || r.Error == nil {
		return ""
	}
	_, to, _ := strings.Cut(r.Error.Message, ": "+Rewound)
	return to
}
