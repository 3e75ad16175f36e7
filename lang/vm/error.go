package vm

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// Error is an error of a script, with the calls that were in progress when it arose. Its message
// and backtrace read as go.starlark.net's.
type Error struct {
	Msg   string
	Kind  effect.Kind
	Stack starlark.CallStack // outermost call first
	cause error
	data  effect.Payload
	past  *effect.Error // of an error of another fiber that is raised again: it says where that was
}

func (e *Error) Error() string { return e.Msg }

// Unwrap is the error that the operation or the builtin returned.
func (e *Error) Unwrap() error { return e.cause }

// Effect is the error as data.
func (e *Error) Effect() *effect.Error {
	if e.past != nil {
		return e.past
	}
	out := &effect.Error{Kind: e.Kind, Message: e.Msg, Backtrace: effect.FoldBacktrace(e.Backtrace()), Data: e.data}
	var inner *effect.Error
	if errors.As(e.cause, &inner) && inner.Backtrace != "" {
		out.Backtrace = continued(e.Stack.String(), inner.Backtrace)
	}
	for i := len(e.Stack) - 1; i >= 0 && out.Where == ""; i-- {
		if pos := e.Stack[i].Pos; pos.Filename() != builtinFile {
			out.Where = pos.String()
		}
	}
	return out
}

// continued is the backtrace of an error that an effect raised and that arose in a script of its
// own, in a child run or in a scripted agent: the calls that led to the effect, and below them
// those that led to the error.
func continued(outer, inner string) string {
	_, calls, _ := strings.Cut(inner, "\n")
	return effect.FoldBacktrace(outer) + calls
}

// newError makes an Error of the kind that its cause says.
func newError(err error, stack starlark.CallStack) *Error {
	e := &Error{Msg: err.Error(), Kind: effect.KindScript, Stack: stack, cause: err}
	var known *effect.Error
	if errors.As(err, &known) {
		e.Kind, e.data = known.Kind, known.Data
		if err == known {
			e.Msg = known.Message
		}
	}
	return e
}

// again raises an error that ended another fiber once more, with the place and the backtrace that
// it had there. One without them is about the branches themselves and arises here.
func again(past *effect.Error) error {
	if past.Backtrace == "" {
		return past
	}
	return &Error{Msg: past.Message, Kind: past.Kind, cause: past, data: past.Data, past: past}
}

// builtinFile is the file name of a frame that is a builtin.
const builtinFile = "<builtin>"

// Backtrace renders the stack and the message. A builtin in which the error arose is named after
// "Error in".
func (e *Error) Backtrace() string {
	stack, in := e.Stack, ""
	if n := len(stack); n > 0 && stack[n-1].Pos.Filename() == builtinFile {
		in = " in " + stack[n-1].Name
		stack = stack[:n-1]
	}
	return fmt.Sprintf("%sError%s: %s", stack, in, e.Msg)
}

// errorHere makes an Error of what an operation in the top frame returned.
func (m *Machine) errorHere(f *fiber, err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return newError(err, f.callStack())
}

// errorIn makes an Error of what a builtin returned. One that came through the builtin from a
// nested call keeps its own stack.
func (m *Machine) errorIn(f *fiber, callee string, err error) *Error {
	switch e := err.(type) {
	case *Error:
		return e
	case *starlark.EvalError:
		if inner, ok := e.Unwrap().(*Error); ok {
			return inner
		}
		inner := e.CallStack[min(m.thread.CallStackDepth(), len(e.CallStack)):]
		return newError(e, append(f.callStack(), inner...))
	}
	stack := append(f.callStack(), starlark.CallFrame{Name: callee, Pos: builtinPosition()})
	return newError(err, stack)
}

func builtinPosition() syntax.Position {
	file := builtinFile
	return syntax.MakePosition(&file, 0, 0)
}

// callStack lists the calls in progress, the fibers that wait for this one first.
func (f *fiber) callStack() starlark.CallStack {
	var stack starlark.CallStack
	if f.parent != nil {
		stack = f.parent.callStack()
	}
	for i := range f.frames {
		fr := &f.frames[i]
		switch {
		case fr.fn != nil:
			stack = append(stack, starlark.CallFrame{Name: fr.fn.Name(), Pos: fr.fn.code.Position(fr.pc)})
		case fr.act.name() != "":
			stack = append(stack, starlark.CallFrame{Name: fr.act.name(), Pos: builtinPosition()})
		}
	}
	return stack
}

// name is how a backtrace shows the activation, "" if not at all.
func (act *activation) name() string {
	switch act.kind {
	case nativeFrame:
		return act.native.name
	case borderFrame:
		if act.callee != nil {
			return act.callee.Name()
		}
	}
	return ""
}
