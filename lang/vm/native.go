package vm

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Native is a builtin of the machine itself. A plain one wraps a function of starlark.Universe,
// with a quick form for the usual call. A resumable one is a frame: it may call script functions,
// which may wait, and all it knows meanwhile is plain values.
type Native struct {
	name    string
	builtin *starlark.Builtin // the original: errors, hash and all unusual calls are its own

	// quick computes the result of a call with positional arguments only, or returns nil for the
	// original to be called.
	quick func(args []starlark.Value) starlark.Value

	// start begins a resumable native: it checks the arguments and fills the activation. resume
	// goes on: with nil at first, then with the result of each call it asked for. Both run while
	// the native's frame is on top. resumable tells which calls need it; the others are left to the
	// original.
	resumable func(args []starlark.Value, named []keyword) bool
	start     func(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error
	resume    func(c nativeCall, result starlark.Value) step
	iters     int // iterators a frame of it holds open

	// restore tells why a state that was read from a snapshot is none that a frame of it can have,
	// nil if it is one. owned has a bit for each value of the state that nobody else may know,
	// because the native changes it.
	restore func(act *activation) error
	owned   uint32

	// catch turns an error that unwinds through a frame of it into a result; nil lets it pass.
	catch func(act *activation, e *Error) starlark.Value

	// unwound is told of an error that unwinds through a frame of it. True keeps the frame, which
	// goes on with resume and what it has noted.
	unwound func(act *activation, e *Error) bool
}

// nativeCall is what a resumable native works with: its activation and the fiber it is on.
type nativeCall struct {
	m   *Machine
	f   *fiber
	act *activation
}

// step is what a resumable native does next: return a value, fail, or call a function and be
// resumed with its result.
type step struct {
	value starlark.Value // to return
	err   error
	fn    starlark.Value // to call, nil otherwise
	args  starlark.Tuple
	named []keyword
	wait  bool // for somebody to make the fiber ready again

	request *effect.Request // to make, and be resumed with what it gives
	enter   *activation     // a frame to push, and be resumed with its result
}

// call asks for fn to be called with one argument.
func (c nativeCall) call(fn, arg starlark.Value) step {
	c.m.arg[0] = arg
	return step{fn: fn, args: c.m.arg[:]}
}

func (n *Native) String() string { return fmt.Sprintf("<built-in function %s>", n.name) }

// Name is the name scripts know it by.
func (n *Native) Name() string { return n.name }

// Type is that of all builtins.
func (*Native) Type() string { return "builtin_function_or_method" }

// Freeze does nothing: a native is immutable.
func (*Native) Freeze() {}

// Truth is true.
func (*Native) Truth() starlark.Bool { return true }

// Hash is that of the original.
func (n *Native) Hash() (uint32, error) {
	if n.builtin != nil {
		return n.builtin.Hash()
	}
	return starlark.String(n.name).Hash()
}

// CallInternal serves a Go function that was given the native: by the original, whose callbacks
// then run nested.
func (n *Native) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if n.builtin == nil {
		return nil, fmt.Errorf("%s cannot be called from inside a built-in function; call it from a def or a lambda", n.name)
	}
	return n.builtin.CallInternal(thread, args, kwargs)
}

// callNative calls a native. The originals in starlark.Universe do not keep their arguments, so
// these may be a window of registers.
func (m *Machine) callNative(f *fiber, n *Native, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	m.fuel--
	if n.quick != nil && len(named) == 0 {
		if v := n.quick(args); v != nil {
			m.charge(m.sizes.value)
			if text, ok := v.(starlark.String); ok && !m.early {
				m.charge(m.sizes.text + len(text))
			}
			return v, sigReturn, nil
		}
	}
	if n.builtin == nil || n.resumable != nil && n.resumable(args, named) {
		return m.startNative(f, n, args, named)
	}
	if err := m.mayCall(n, args); err != nil {
		return nil, sigError, m.errorIn(f, n.name, err)
	}
	outer := m.callee
	m.callee = n
	v, err := n.builtin.CallInternal(m.thread, args, pairs(named))
	m.callee = outer
	if err != nil {
		return nil, sigError, m.errorIn(f, n.name, err)
	}
	if n.name == "zip" || n.name == "enumerate" {
		m.apart(v)
	}
	m.made(v)
	return v, sigReturn, nil
}

// apart gives tuples of a list that go.starlark.net has made in one piece of memory one each: who
// keeps one keeps no others.
func (m *Machine) apart(v starlark.Value) {
	list, ok := v.(*starlark.List)
	if !ok {
		return
	}
	m.work(list.Len())
	for i := range list.Len() {
		if t, ok := list.Index(i).(starlark.Tuple); ok {
			_ = list.SetIndex(i, slices.Clone(t)) // nobody else has it: cannot fail
		}
	}
}

// mayCall refuses calls of originals that would print too much, or go through too long a range; and
// bool of what has no truth value.
func (m *Machine) mayCall(n *Native, args []starlark.Value) error {
	switch n.name {
	case "str", "repr", "print", "fail":
		return m.allShowable(args)
	case "enumerate":
		return m.consumesEach(args, m.sizes.element+2*m.sizes.value+m.sizes.tuple)
	case "zip":
		return m.consumesEach(args, m.sizes.element+m.sizes.value+m.sizes.tuple)
	case "bool":
		if len(args) == 1 {
			_, err := truth(args[0])
			return err
		}
	case "dict", "set":
		if err := hashesAll(args); err != nil {
			return err
		}
		if len(args) > 0 {
			if err := m.taken(nil, args[0], n.name == "dict"); err != nil {
				return err
			}
		}
	case "hash":
		for _, v := range args {
			m.work(textLength(v) >> readShift)
		}
	case "sorted", "min", "max":
		if err := m.ordered(args); err != nil {
			return err
		}
	case "int":
		if len(args) == 0 {
			return nil
		}
		if s, ok := args[0].(starlark.String); ok {
			if len(s) > MaxIntBits/4 {
				return effect.Errorf(effect.KindLimit, "an int of %d digits: the limit is %d bits", len(s), MaxIntBits)
			}
			m.work(digitWork(len(s)))
		}
	}
	if consumers[n.name] {
		for _, v := range args {
			if seq, ok := v.(starlark.Sequence); ok {
				m.work(seq.Len() >> elementShift)
			}
		}
		return m.consumes(args)
	}
	return nil
}

// consumers are the builtins that go through their arguments.
var consumers = map[string]bool{
	"all": true, "any": true, "bytes": true, "dict": true, "enumerate": true, "list": true, "max": true, "min": true, "reversed": true, "set": true,
	"sorted": true, "tuple": true, "zip": true,
}

// startNative pushes the frame of a resumable native and lets it begin.
func (m *Machine) startNative(f *fiber, n *Native, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	act := &activation{kind: nativeFrame, native: n}
	f.pushActivation(act)
	if err := n.start(nativeCall{m, f, act}, append(starlark.Tuple(nil), args...), pairs(named)); err != nil {
		return nil, sigError, err
	}
	return nil, sigEnter, nil
}

// resumeNative lets the native on top go on with the result of the call it asked for, nil at first.
func (m *Machine) resumeNative(f *fiber, act *activation, result starlark.Value) (starlark.Value, signal, error) {
	next := act.native.resume(nativeCall{m, f, act}, result)
	switch {
	case next.err != nil:
		return nil, sigError, next.err
	case next.wait:
		return nil, sigWait, nil
	case next.request != nil:
		return m.issue(f, f.asks(next.request))
	case next.enter != nil:
		f.pushActivation(next.enter)
		return nil, sigEnter, nil
	case next.fn == nil:
		f.popFrame()
		return next.value, sigReturn, nil
	}
	return m.callValues(f, next.fn, f.ceiling(), next.args, next.named)
}
