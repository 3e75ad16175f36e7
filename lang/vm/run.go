package vm

import (
	"go.starlark.net/starlark"
)

// run drives a fiber. It alternates between the dispatch loop, for Starlark frames, and the steps
// of activations; a value that comes back is always for the frame on top. It ends with
//
//	sigReturn  a value was returned to the frame at index floor-1, which is on top again
//	sigError   an error has unwound to that frame; err is an *Error
//	sigWait    the frame on top waits
//	sigYield   the slice is over
func (m *Machine) run(f *fiber, floor int) (v starlark.Value, sig signal, err error) {
	for {
		if f.frames[len(f.frames)-1].fn != nil {
			v, sig, err = m.interpret(f)
		} else {
			v, sig, err = m.resume(f, v)
		}
		if sig == sigError {
			v, sig, err = m.unwind(f, floor, m.errorHere(f, err))
		}
		switch sig {
		case sigReturn:
			if len(f.frames) == floor {
				return v, sigReturn, nil
			}
			if f.frames[len(f.frames)-1].fn != nil {
				f.deliver(v)
				v = nil
			}
		case sigEnter:
			v = nil
		default:
			return nil, sig, err
		}
	}
}

// resume lets the activation on top go on. result is what the call that it asked for has returned,
// nil if it asked for none.
func (m *Machine) resume(f *fiber, result starlark.Value) (starlark.Value, signal, error) {
	act := f.frames[len(f.frames)-1].act
	switch act.kind {
	case nativeFrame:
		return m.resumeNative(f, act, result)
	case waitFrame:
		return m.resumeWait(f, act.wait, result)
	}
	return m.resumeRoot(f, act)
}

// resumeRoot makes the first call of a fiber.
func (m *Machine) resumeRoot(f *fiber, act *activation) (starlark.Value, signal, error) {
	act.phase = 1
	fn, args := act.state[0], act.state[1].(starlark.Tuple)
	named, _ := spreadNamed(nil, act.state[2])
	act.state = nil
	return m.callValues(f, fn, f.ceiling(), args, named)
}

// deliver stores the result of a call in the register that the calling instruction names; the
// Starlark frame on top continues after it.
func (f *fiber) deliver(result starlark.Value) {
	fr := &f.frames[len(f.frames)-1]
	in := &fr.fn.code.Code[fr.pc]
	f.window(fr)[in.A] = result
	fr.pc++
}

// unwind ends frames until one catches the error, which then returns a value to the frame below it,
// or until the frame at index floor-1 is on top.
func (m *Machine) unwind(f *fiber, floor int, e *Error) (starlark.Value, signal, error) {
	if floor == 1 && f.branch == m.watched && m.watched != "" {
		m.failing = m.sees(f)
	}
	for len(f.frames) > floor {
		act := f.frames[len(f.frames)-1].act
		if act != nil && act.kind == nativeFrame && act.native.catch != nil {
			if v := act.native.catch(act, e); v != nil {
				f.popFrame()
				return v, sigReturn, nil
			}
		}
		if act != nil && act.kind == nativeFrame && act.native.unwound != nil && act.native.unwound(act, e) {
			return nil, sigEnter, nil
		}
		m.abandon(f)
	}
	return nil, sigError, e
}

// abandon ends the top frame before its time. A step that nobody waits for any more is withdrawn,
// and branches of a parallel are dropped.
func (m *Machine) abandon(f *fiber) {
	act := f.frames[len(f.frames)-1].act
	if act != nil {
		if act.wait != nil {
			m.forget(f, act.wait)
		}
		if act.native == parallelNative {
			m.dropBranches(f)
		}
	}
	f.popFrame()
}
