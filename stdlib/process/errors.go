package process

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Why a child was not started. Start returns them inside a [StartError] or a [LockBusyError].
var (
	ErrSpec          = errors.New("bad spec")               // what was asked for cannot be run by anybody
	ErrNotFound      = errors.New("program not found")      // no such file, in the child's PATH and directory
	ErrNotExecutable = errors.New("program not executable") // the file is there; the kernel refuses it
	ErrSandbox       = errors.New("sandbox unavailable")    // this system cannot give the sandbox that was asked for
	ErrLockBusy      = errors.New("lock busy")              // processes of another attempt of the step are still there
)

// Why a result is not the child's own doing.
var (
	ErrGuard     = errors.New("guard failed")        // it could not be started, was lost, or could not end every descendant
	ErrOverLimit = errors.New("output over limit")   // stdout, or one line of it, was longer than MaxStdout
	ErrStdin     = errors.New("stdin not delivered") // Spec.Stdin failed: the child must not act on half of its input
)

// StartError says why a child was not started. It never holds an argument or the value of a
// variable but PATH.
type StartError struct {
	Kind    error  // ErrSpec, ErrNotFound, ErrNotExecutable, ErrSandbox or ErrGuard
	Program string // Argv[0] as it was given
	Detail  string // what was found, and what to try
}

// Error is the program, the kind, what was found and what to try.
func (e *StartError) Error() string {
	if e.Program == "" {
		return fmt.Sprintf("process: %v: %s", e.Kind, e.Detail)
	}
	return fmt.Sprintf("process: %q: %v: %s", e.Program, e.Kind, e.Detail)
}

// Unwrap makes errors.Is(err, ErrNotFound) and its like work.
func (e *StartError) Unwrap() error { return e.Kind }

// LockBusyError says who still held the lock of the step when the waiting ended. It is ErrLockBusy,
// and the context's error where the context ended the waiting.
type LockBusyError struct {
	Lock   string        // its path
	Holder Attempt       // zero where the holder had not written it yet
	Waited time.Duration // how long Start waited
	Cause  error         // the context's error; nil when LockWait was over
}

// Error names the attempt that is in the way.
func (e *LockBusyError) Error() string {
	holder := "another attempt"
	if e.Holder != (Attempt{}) {
		holder = e.Holder.String()
	}
	if e.Cause != nil {
		return fmt.Sprintf("process: gave up waiting for the processes of %s: %v; lock %s", holder, e.Cause, e.Lock)
	}
	return fmt.Sprintf("process: processes of %s have not ended after %v; end them, then try again; lock %s",
		holder, e.Waited.Round(time.Millisecond), e.Lock)
}

// Unwrap gives both what happened and why the waiting ended.
func (e *LockBusyError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrLockBusy}
	}
	return []error{ErrLockBusy, e.Cause}
}

func itoa(n int) string { return strconv.Itoa(n) }
