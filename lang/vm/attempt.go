package vm

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// attempt(fn, *args, **kwargs) calls a function and returns an Outcome: the only catch. Its state
// is the function, its arguments and its named arguments; phase 1 means that the call is in
// progress, which is when its errors are caught.
var attemptNative = &Native{
	name:    "attempt",
	start:   startAttempt,
	resume:  resumeAttempt,
	restore: restored(1, "callable", "tuple", "dict"),
	catch:   catchAttempt,
}

func startAttempt(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) == 0 {
		return fmt.Errorf("attempt: missing argument for fn; the form is attempt(fn, *args, **kwargs)")
	}
	if _, ok := args[0].(starlark.Callable); !ok {
		return fmt.Errorf("attempt: for parameter fn: got %s, want callable; write attempt(fn, x), not attempt(fn(x))", args[0].Type())
	}
	c.act.state = []starlark.Value{args[0], args[1:], namedDict(kwargs)}
	return nil
}

func namedDict(kwargs []starlark.Tuple) *starlark.Dict {
	d := starlark.NewDict(len(kwargs))
	for _, kv := range kwargs {
		_ = d.SetKey(kv[0], kv[1]) // strings are hashable
	}
	return d
}

func resumeAttempt(c nativeCall, result starlark.Value) step {
	if c.act.phase == 1 {
		return step{value: newOutcome("ok", result, starlark.None)}
	}
	c.act.phase = 1
	s := c.act.state
	named, err := spreadNamed(nil, s[2])
	return step{fn: s[0], args: s[1].(starlark.Tuple), named: named, err: err}
}

// catchAttempt turns an error of the call into an Outcome. Cancellation, deadlines and used-up
// limits pass.
func catchAttempt(act *activation, e *Error) starlark.Value {
	if act.phase == 0 || !e.Kind.Catchable() {
		return nil
	}
	return newOutcome("error", starlark.None, e.Effect().Record())
}

// newOutcome makes the Outcome of attempt and parallel.
func newOutcome(status string, value, err starlark.Value) *effect.Record {
	return effect.NewRecord(effect.OutcomeType, starlark.Bool(status == "ok"), starlark.String(status), value, err)
}
