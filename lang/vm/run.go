package vm

import (
	"go.starlark.net/starlark"
)

// run drives a fiber until a value is returned to the frame at index floor-1, or an error unwinds to it. It alternates between the dispatch loop, for Starlark frames,
// and the steps of activations. A value that comes back is always for the frame on top.
func (m *Machine) run(f *fiber, floor int) (v starlark.Value, err error) {
	for {
		var sig signal
		if f.frames[len(f.frames)-1].fn != nil {
			v, sig, err = m.interpret(f)
		} else {
			v, sig, err = m.resumeNative(f, v)
		}
		switch sig {
		case sigReturn:
			if len(f.frames) == floor {
				return v, nil
			}
			if f.frames[len(f.frames)-1].fn != nil {
				f.deliver(v)
				v = nil
			}
		case sigEnter:
			v = nil
		case sigError:
			e := m.errorHere(f, err)
			for len(f.frames) > floor {
				f.popFrame()
			}
			return nil, e
		}
	}
}

// deliver stores the result of a call in the register that the calling instruction names; the Starlark frame on top continues after it.
func (f *fiber) deliver(result starlark.Value) {
	fr := &f.frames[len(f.frames)-1]
	in := &fr.fn.code.Code[fr.pc]
	f.window(fr)[in.A] = result
	fr.pc++
}
