// Package verdict says what a call of the program has come to: the refusal that people and machines
// are told, and the exit code.
package verdict

import (
	"encoding/json"
	"errors"
	"strings"

	"starling/lang/diagnostic"
	"starling/runtime"
)

// ExitOf is the exit code of a run that failed or was cancelled. A budget that is used up has one
// of its own.
func ExitOf(e *runtime.RunError) int {
	if e.Kind == string(runtime.ErrBudget) {
		return runtime.ErrBudget.ExitCode()
	}
	return runtime.ErrRunFailed.ExitCode()
}

// Refusal finds what is to be said. Diagnostics are a script that does not pass the check, unless
// their kind is one of our own.
func Refusal(err error) *runtime.Refusal {
	list := Diagnostics(err)
	if len(list) == 0 {
		return runtime.AsRefusal(err)
	}
	kind := runtime.ErrCheckFailed
	switch own := runtime.ErrorKind(list[0].Kind); own {
	case runtime.ErrBadInput, runtime.ErrUsage:
		kind = own
	}
	r := runtime.Refuse(kind, list[0].Hint, "%s", withoutHint(list))
	r.Data, _ = json.Marshal(list) // plain data
	return r
}

// Diagnostics finds the diagnostics in an error.
func Diagnostics(err error) diagnostic.List {
	var list diagnostic.List
	var one diagnostic.Diagnostic
	switch {
	case errors.As(err, &list):
		return list
	case errors.As(err, &one):
		return diagnostic.List{one}
	}
	return nil
}

func withoutHint(list diagnostic.List) string {
	lines := make([]string, len(list))
	for i, d := range list {
		d.Hint = ""
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwritten refuses a result of which standard output has not taken all. Why is told as text: a
// full disk below standard output is none of the store's.
func Unwritten(lost error) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrUnwritten,
		"what the command has done is done; what it said is not all there: give it room, and look again",
		"standard output: %s", runtime.Reason(lost).Error())
}

// Lost is the exit code of a call whose result was not written. A failure keeps its own; success
// and a run that waits would have told a caller that all is well.
func Lost(code int) int {
	if code == 0 || code == runtime.ExitSuspended {
		return runtime.ErrUnwritten.ExitCode()
	}
	return code
}
