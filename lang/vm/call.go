package vm

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/effect"
)

// A call never uses the Go stack for Starlark code. m.call and its like begin a call and say how it
// goes on:
//
//	sigReturn  it is over, the value is its result
//	sigEnter   a frame is on top: a Starlark function with its arguments bound, or an activation
//	sigError   it failed; if the failure belongs to the callee, its frame is on top

// call calls fn with n positional arguments, which lie in the registers from base on, and named
// ones. The caller's frame has its pc saved.
func (m *Machine) call(f *fiber, fn starlark.Value, base, n int, named []keyword) (starlark.Value, signal, error) {
	switch fn := fn.(type) {
	case *Function:
		return m.enter(f, fn, base, f.regs[base:base+n], named)
	case *Native:
		return m.callNative(f, fn, f.regs[base:base+n:base+n], named)
	case *effect.Builtin:
		return m.callEffect(f, fn, f.regs[base:base+n:base+n], named)
	case *starlark.Builtin:
		if ofBuiltinType(fn.Receiver()) {
			m.fuel--
			return m.callBound(f, fn, f.regs[base:base+n:base+n], named)
		}
		return m.callGo(f, fn, f.regs[base:base+n], named)
	case starlark.Callable:
		return m.callGo(f, fn, f.regs[base:base+n], named)
	}
	return nil, sigError, fmt.Errorf("invalid call of non-function (%s)", fn.Type())
}

// enter pushes a frame for fn at base and binds its arguments. args may alias the registers from
// base on.
func (m *Machine) enter(f *fiber, fn *Function, base int, args []starlark.Value, named []keyword) (starlark.Value, signal, error) {
	m.fuel-- // a call costs a step; the next back-edge or direct call notices that the portion is used up
	fr := f.pushFrame(fn, base)
	fr.pc = -1
	if err := m.admit(f, fn); err != nil {
		return nil, sigError, err
	}
	if missing := fn.direct - len(args); missing >= 0 && missing <= len(fn.defaults) && len(named) == 0 {
		params := f.regs[base:]
		copy(params, args)
		copy(params[len(args):], fn.defaults[len(fn.defaults)-missing:])
		fr.pc = 0
		return nil, sigEnter, nil
	}
	if err := bind(fn, f.regs[base:base+fn.code.NumParams], args, named); err != nil {
		return nil, sigError, err
	}
	fr.pc = 0
	return nil, sigEnter, nil
}

// admit checks the rules of recursion for the frame on top. A function that must not recurse is
// recognised by its code, so that closures do not get round the rule.
func (m *Machine) admit(f *fiber, fn *Function) error {
	if fn.module.code.Options.Recursion {
		if f.depth+len(f.frames) > m.frameLimit {
			f.frames[len(f.frames)-1].pc = -1
			return effect.Errorf(effect.KindLimit, "Starlark stack overflow: more than %d calls in progress", m.limits.Frames)
		}
		return nil
	}
	for i := range f.frames[:len(f.frames)-1] {
		if g := f.frames[i].fn; g != nil && g.code == fn.code {
			f.frames[len(f.frames)-1].pc = -1
			return fmt.Errorf("function %s called recursively", fn.Name())
		}
	}
	return nil
}

// callShape calls fn with n positional arguments in the registers from base on, followed by what
// shape says.
func (m *Machine) callShape(f *fiber, fn starlark.Value, base, n int, shape *compile.Shape) (starlark.Value, signal, error) {
	rest := f.regs[base+n : base+n+shape.Values()]
	if callee, ok := fn.(*Function); ok && callee.direct == n+len(rest) && arrange(callee, n, rest, shape) {
		return m.enter(f, callee, base, f.regs[base:base+callee.direct], nil)
	}
	named := m.named[:0]
	for i, name := range shape.Names {
		named = append(named, keyword{Name: name, Value: rest[i]})
	}
	m.named = named
	defer clear(named)
	if !shape.Star && !shape.StarStar {
		return m.call(f, fn, base, n, named)
	}
	return m.callSpread(f, fn, base, n, shape, named)
}

// mostArranged is the number of named arguments up to which they are put in order without memory of
// their own.
const mostArranged = 8

// arrange puts named arguments, which lie behind n positional ones, into the order of fn's
// parameters: the usual call gives each parameter one value. It reports false and leaves them as
// they are if this is no such call, or a mistake; bind says which.
func arrange(fn *Function, n int, values []starlark.Value, shape *compile.Shape) bool {
	if len(values) != len(shape.Names) || len(values) > mostArranged {
		return false
	}
	var sorted [mostArranged]starlark.Value
	for i, name := range shape.Names { // no two are equal: the resolver refuses that
		to := findParam(fn, name, fn.direct) - n
		if to < 0 {
			return false
		}
		sorted[to] = values[i]
	}
	copy(values, sorted[:])
	return true
}

// ofBuiltinType tells whether a receiver is of a type of Starlark itself.
func ofBuiltinType(v starlark.Value) bool {
	switch v.(type) {
	case starlark.String, *starlark.List, *starlark.Dict, *starlark.Set, starlark.Bytes:
		return true
	}
	return false
}

// callSpread adds the elements of *args and the entries of **kwargs. The mapping is looked at
// first, as in the reference.
func (m *Machine) callSpread(f *fiber, fn starlark.Value, base, n int, shape *compile.Shape, named []keyword) (starlark.Value, signal, error) {
	rest := f.regs[base+n+len(shape.Names) : base+n+shape.Values()]
	var err error
	if shape.StarStar {
		if named, err = spreadNamed(named, rest[len(rest)-1]); err != nil {
			return nil, sigError, err
		}
	}
	args := append(make(starlark.Tuple, 0, n+8), f.regs[base:base+n]...)
	if shape.Star {
		if err = m.consumes(rest[:1]); err != nil {
			return nil, sigError, err
		}
		if args, err = spread(args, rest[0]); err != nil {
			return nil, sigError, err
		}
	}
	return m.callValues(f, fn, base, args, named)
}

func spread(args starlark.Tuple, x starlark.Value) (starlark.Tuple, error) {
	iter := starlark.Iterate(x)
	if iter == nil {
		return nil, fmt.Errorf("argument after * must be iterable, not %s", x.Type())
	}
	defer iter.Done()
	var v starlark.Value
	for iter.Next(&v) {
		args = append(args, v)
	}
	return args, nil
}

func spreadNamed(named []keyword, x starlark.Value) ([]keyword, error) {
	mapping, ok := x.(starlark.IterableMapping)
	if !ok {
		return nil, fmt.Errorf("argument after ** must be a mapping, not %s", x.Type())
	}
	for _, item := range mapping.Items() {
		name, ok := item[0].(starlark.String)
		if !ok {
			return nil, fmt.Errorf("keywords must be strings, not %s", item[0].Type())
		}
		named = append(named, keyword{Name: string(name), Value: item[1]})
	}
	return named, nil
}

// callValues calls fn with arguments that are not in registers; its frame begins at base.
func (m *Machine) callValues(f *fiber, fn starlark.Value, base int, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	switch fn := fn.(type) {
	case *Function:
		return m.enter(f, fn, base, args, named)
	case *Native:
		return m.callNative(f, fn, args, named)
	case *effect.Builtin:
		return m.callEffect(f, fn, args, named)
	case *starlark.Builtin:
		if ofBuiltinType(fn.Receiver()) {
			m.fuel--
			return m.callBound(f, fn, args, named)
		}
		return m.callGo(f, fn, args, named)
	case starlark.Callable:
		return m.callGo(f, fn, args, named)
	}
	return nil, sigError, fmt.Errorf("invalid call of non-function (%s)", fn.Type())
}

// callGo calls a Go function that is not ours. It gets its own copy of the arguments, for who knows
// what it does with them, and is called through starlark.Call, because it may look at the thread's
// stack.
func (m *Machine) callGo(f *fiber, fn starlark.Callable, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	m.fuel--
	args = append(starlark.Tuple(nil), args...)
	if err := m.allPrintable(args, named); err != nil {
		return nil, sigError, m.errorIn(f, fn.Name(), err)
	}
	outer := m.callee
	m.callee = fn
	v, err := starlark.Call(m.thread, fn, args, pairs(named))
	m.callee = outer
	if err != nil {
		return nil, sigError, m.errorIn(f, fn.Name(), m.ownError(err))
	}
	m.madeAll(v)
	return v, sigReturn, nil
}

// ownError takes off the wrapper that starlark.Call puts around an error of the function it calls.
// An error from a call further in is left as it is.
func (m *Machine) ownError(err error) error {
	e, ok := err.(*starlark.EvalError)
	if ok && len(e.CallStack) == m.thread.CallStackDepth()+1 && e.Unwrap() != nil {
		return e.Unwrap()
	}
	return err
}

func pairs(named []keyword) []starlark.Tuple {
	if len(named) == 0 {
		return nil
	}
	list := make([]starlark.Tuple, len(named))
	for i, kw := range named {
		list[i] = starlark.Tuple{starlark.String(kw.Name), kw.Value}
	}
	return list
}

// CallInternal runs the function for a Go function that calls back: on a nested dispatch loop,
// above the frames of the fiber whose call is in progress. Nothing in it can wait. With a thread
// that belongs to no machine it runs on a machine of its own.
func (fn *Function) CallInternal(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	m, ok := thread.Local(machineKey).(*Machine)
	if !ok {
		m = newMachine(nil)
		m.thread = thread
		m.current = m.newFiber(fn, nil, nil)
	}
	return m.callNested(m.current, fn, args, kwargs)
}

// callNested calls fn above a border frame and runs until it returns.
func (m *Machine) callNested(f *fiber, fn *Function, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	named := effect.Keywords(kwargs)
	height := len(f.frames)
	border := f.pushActivation(&activation{kind: borderFrame, callee: m.callee})
	defer func() { // also when a panic passes through
		for len(f.frames) > height {
			f.popFrame()
		}
	}()
	v, sig, err := m.enter(f, fn, border.base, args, named)
	if sig == sigEnter {
		v, sig, err = m.run(f, height+1)
	}
	if sig == sigError {
		return nil, m.errorHere(f, err)
	}
	return v, nil
}
