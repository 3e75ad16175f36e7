package vm

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Error is an error of a script, with the calls that were in progress when it arose. Its message and backtrace read as go.starlark.net's.
type Error struct {
	Msg   string
	Stack starlark.CallStack // outermost call first
	cause error
}

func (e *Error) Error() string { return e.Msg }

// Unwrap is the error that the operation or the builtin returned.
func (e *Error) Unwrap() error { return e.cause }

// builtinFile is the file name of a frame that is a builtin.
const builtinFile = "<builtin>"

// Backtrace renders the stack and the message. A builtin in which the error arose is named after "Error in".
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
	return &Error{Msg: err.Error(), Stack: f.callStack(), cause: err}
}

// errorIn makes an Error of what a builtin returned. One that came through the builtin from a nested call keeps its own stack.
func (m *Machine) errorIn(f *fiber, callee string, err error) *Error {
	switch e := err.(type) {
	case *Error:
		return e
	case *starlark.EvalError:
		if inner, ok := e.Unwrap().(*Error); ok {
			return inner
		}
		inner := e.CallStack[min(m.thread.CallStackDepth(), len(e.CallStack)):]
		return &Error{Msg: e.Msg, Stack: append(f.callStack(), inner...), cause: e.Unwrap()}
	}
	stack := append(f.callStack(), starlark.CallFrame{Name: callee, Pos: builtinPosition()})
	return &Error{Msg: err.Error(), Stack: stack, cause: err}
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
