package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"starling/stdlib/redact"
	"starling/stdlib/sandbox"
)

// What a zero field of a Spec means.
const (
	DefaultGrace     = 2 * time.Second  // between SIGTERM and SIGKILL
	DefaultLockWait  = 10 * time.Second // for the processes of an earlier attempt to be gone
	DefaultMaxStdout = 16 << 20         // bytes
	DefaultMaxStderr = 64 << 10         // bytes
)

// Spec says what to run. Only Argv is needed.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of
	// Env, one with a slash is relative to Dir.
	Argv []string
	// Dir is the working directory; empty is that of the owner.
	Dir string
	// Env is the whole environment, "NAME=value"; nothing is added to it. See [Environment].
	Env []string
	// Stdin is what the child reads; nil is /dev/null, never the owner's. A failing Read stops the
	// child: see [ErrStdin]. A Read in flight when the child ends is not waited for. One that is an
	// io.Closer is closed when it has ended, and when what was read from it finds nobody to take
	// it: whoever writes into a pipe does not wait for ever.
	Stdin io.Reader

	// Sandbox confines the child and all that it starts; nil is no sandbox. What the system cannot
	// enforce of it is in Result.Lacks.
	Sandbox *sandbox.Policy

	// Lock is the path of the step's lock file, in a directory of nothing else; empty is no lock.
	// The directory is made if missing.
	Lock string
	// LockWait bounds the waiting for Lock; then Start returns [ErrLockBusy].
	LockWait time.Duration
	// Attempt is written into Lock while it is held, for [AttemptOf] and for those who wait.
	Attempt Attempt
	// Host is told of the guard and of what the child lacks, before Start returns; nil is nobody.
	Host Host
	// OnWait is called at most once, before Start returns, when Lock is held; the attempt is that
	// of the holder if it is known.
	OnWait func(holder Attempt)

	// Grace is the time that the processes have between SIGTERM and SIGKILL. Half a second is the
	// most when the owner dies.
	Grace time.Duration
	// MaxStdout bounds what is kept of stdout, or one line of it with OnLine. A child that writes
	// more is ended: [ErrOverLimit].
	MaxStdout int
	// MaxStderr is how much of the end of stderr is kept. Writing more is no fault.
	MaxStderr int
	// Hide hides values in Result.Stdout and Result.Stderr, as they are read and before anything is
	// cut. What OnLine is given is as it was written. Nil hides nothing.
	Hide *redact.Redactor
	// OnLine, if set, is given each line of stdout without its newline, as it comes, and
	// Result.Stdout stays empty. It is called by one goroutine, perhaps before Start has returned,
	// never after Wait has; while it does not return the child is not read from. The line is its
	// own to keep. One that is not whole is the last, and ends without a newline.
	OnLine func(line []byte, whole bool)
}

// Host is told what becomes of a child. *effect.Attempt is one.
type Host interface {
	// Enlist is told of a guard before the child starts: of the agent of the Spec's Attempt, and of
	// the guard's pid and start. Dismiss is called when the guard has ended.
	Enlist(agent string, guard int, started uint64) (dismiss func())
	// Warn is told what marks the child lacks, a sentence each.
	Warn(text string)
}

// Check says why the program could not be started; nil when it could. Nothing is started.
func (s Spec) Check() error {
	_, err := s.order()
	return err
}

// Programs lists where programs are looked for, and the program itself: what a sandbox must leave
// readable. Relative places are left out.
func (s Spec) Programs() []string {
	list := []string{s.Argv[0]}
	if path, found := variable(s.Env, "PATH"); found {
		list = append(list, filepath.SplitList(path)...)
	}
	return slices.DeleteFunc(list, func(p string) bool { return !filepath.IsAbs(p) })
}

// withDefaults fills what the caller left at zero.
func (s Spec) withDefaults() Spec {
	s.Grace = orDefault(s.Grace, DefaultGrace)
	s.LockWait = orDefault(s.LockWait, DefaultLockWait)
	s.MaxStdout = orDefault(s.MaxStdout, DefaultMaxStdout)
	s.MaxStderr = orDefault(s.MaxStderr, DefaultMaxStderr)
	return s
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

// order checks the Spec and turns it into what a guard is told. Errors name arguments by position
// and variables by name: both may hold secrets.
func (s Spec) order() (order, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return order{}, &StartError{Kind: ErrSpec, Detail: "no program given; Argv[0] is the program to run"}
	}
	if err := s.checkText(); err != nil {
		return order{}, err
	}
	if info, err := os.Stat(orHere(s.Dir)); err != nil || !info.IsDir() {
		return order{}, s.refuse(ErrSpec, "the working directory "+s.Dir+" is not a directory")
	}
	path, err := s.lookUp()
	if err != nil {
		return order{}, err
	}
	return order{
		Path: []byte(path), Argv: byteStrings(s.Argv), Dir: []byte(s.Dir), Env: byteStrings(s.Env),
		Lock: []byte(s.Lock), LockWait: s.LockWait, Grace: s.Grace, Attempt: s.Attempt, Sandbox: s.Sandbox,
	}, nil
}

func orHere(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// checkText refuses what execve cannot carry: a NUL ends a string there, and a variable needs a
// name.
func (s Spec) checkText() error {
	if i := slices.IndexFunc(s.Argv, hasNUL); i >= 0 {
		return s.refuse(ErrSpec, "argument "+itoa(i)+" holds a NUL byte")
	}
	for _, variable := range s.Env {
		name, _, found := strings.Cut(variable, "=")
		if !found || name == "" {
			return s.refuse(ErrSpec, "a variable of the environment is not NAME=value")
		}
		if hasNUL(variable) {
			return s.refuse(ErrSpec, "the variable "+strings.ReplaceAll(name, "\x00", "")+" holds a NUL byte")
		}
	}
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// lookUp finds the program as the child would: in its own PATH and from its own directory, not in
// the owner's.
func (s Spec) lookUp() (string, error) {
	name := s.Argv[0]
	if !strings.Contains(name, "/") {
		return s.lookUpInPath(name)
	}
	path := name
	if !filepath.IsAbs(name) {
		path = orHere(s.Dir) + "/" + name // joined as the kernel does it: cleaning would lose a symbolic link before ".."
	}
	switch runnable(path) {
	case absent:
		return "", s.refuse(ErrNotFound, "there is no "+path)
	case inert:
		return "", s.refuse(ErrNotExecutable, path+" is a directory or may not be executed; chmod +x, or name the interpreter")
	}
	return name, nil // exec resolves it after the change of directory
}

func (s Spec) lookUpInPath(name string) (string, error) {
	list, found := variable(s.Env, "PATH")
	if !found {
		return "", s.refuse(ErrNotFound, "the child's environment has no PATH; give the path of the program, or set PATH")
	}
	seen := ""
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) {
			continue // "." in PATH runs whatever the workspace holds
		}
		switch runnable(path) {
		case able:
			return path, nil
		case inert:
			seen = path
		}
	}
	if seen != "" {
		return "", s.refuse(ErrNotExecutable, seen+" is a directory or may not be executed; chmod +x, or name the interpreter")
	}
	return "", s.refuse(ErrNotFound, notIn(list)+"; install it, give its path, or add its directory to PATH")
}

// notIn says where a program was looked for; a long PATH hides what the message is about.
func notIn(list string) string {
	const short = 100
	if len(list) <= short {
		return "not in PATH=" + list
	}
	return fmt.Sprintf("in none of the %d folders of PATH", len(filepath.SplitList(list)))
}

func (s Spec) refuse(kind error, detail string) error {
	return &StartError{Kind: kind, Program: s.Argv[0], Detail: detail}
}

type runnability int

const (
	absent runnability = iota // no such file
	inert                     // there, but not to be executed
	able
)

func runnable(path string) runnability {
	info, err := os.Stat(path)
	if err != nil {
		return absent
	}
	if info.IsDir() || unix.Access(path, unix.X_OK) != nil {
		return inert
	}
	return able
}

// variable returns the value that a program sees: of two entries with one name the last.
func variable(env []string, name string) (string, bool) {
	for _, entry := range slices.Backward(env) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value, true
		}
	}
	return "", false
}
