package effect

import (
	"fmt"

	"go.starlark.net/starlark"
)

// Outcome is the recorded answer of a request: a value, or the error that is raised at the call.
// Each request has exactly one.
type Outcome struct {
	Value Payload // nil reads as None
	Err   *Error  // raised at the call when not nil
}

// Kind classifies an error for scripts (Outcome.error.kind) and for the command line (error.kind of
// a failed run).
type Kind string

// The kinds that a script can see and catch with attempt.
const (
	KindScript    Kind = "script"    // fail(), a type error, a missing key
	KindAgent     Kind = "agent"     // an agent failed
	KindTimeout   Kind = "timeout"   // a deadline passed
	KindInvalid   Kind = "invalid"   // a value broke its contract
	KindDenied    Kind = "denied"    // not allowed to
	KindRefused   Kind = "refused"   // asked for something that cannot be
	KindBudget    Kind = "budget"    // a budget is used up
	KindUncertain Kind = "uncertain" // an attempt was cut and may have taken effect
	KindChild     Kind = "child"     // a child run failed
	KindEffect    Kind = "effect"    // transport: http, sh, fs, tool servers

	KindUnavailable Kind = "unavailable" // what a command needs is not there for it: nothing was tried that could have failed
)

// The kinds that pass through attempt.
const (
	KindCancelled Kind = "cancelled" // the run or the branch was cancelled
	KindDeadline  Kind = "deadline"  // the run's own deadline
	KindLimit     Kind = "limit"     // steps, memory or depth are used up
)

// Catchable tells whether attempt turns an error of this kind into an Outcome.
func (k Kind) Catchable() bool {
	switch k {
	case KindCancelled, KindDeadline, KindLimit:
		return false
	}
	return true
}

// Error is a failure as scripts, journals and people see it.
type Error struct {
	Kind      Kind
	Message   string
	Where     string  // file:line:col, "" when outside a script
	Backtrace string  // several lines, innermost call last
	Data      Payload // details: the violations of a contract, the errors of branches
}

func (e *Error) Error() string {
	if e.Where == "" {
		return e.Message
	}
	return e.Where + ": " + e.Message
}

// Errorf makes an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Record returns the error as scripts see it: error(kind, message, where, backtrace, data).
func (e *Error) Record() *Record {
	data, err := e.Data.Value()
	if err != nil {
		data = starlark.None
	}
	return NewRecord(ErrorType, starlark.String(e.Kind), starlark.String(e.Message), starlark.String(e.Where), starlark.String(e.Backtrace), data)
}

// ErrorOfRecord is the error that an error record describes.
func ErrorOfRecord(r *Record) *Error {
	text := func(field string) string {
		s, _ := starlark.AsString(r.Field(field))
		return s
	}
	e := &Error{Kind: Kind(text("kind")), Message: text("message"), Where: text("where"), Backtrace: text("backtrace")}
	if data, err := Encode(r.Field("data")); err == nil && r.Field("data") != starlark.None {
		e.Data = data
	}
	return e
}
