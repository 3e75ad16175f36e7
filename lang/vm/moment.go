package vm

import (
	"slices"

	"go.starlark.net/starlark"
)

// Over starts a session whose globals are variables of another machine of the image, which must not
// go on.
func (img *Image) Over(variables starlark.StringDict) *Machine {
	m := img.StartSession()
	for _, name := range variables.Keys() {
		m.session.bind(name, variables[name])
	}
	return m
}

// Variables are what a script can see where it stands: of the branch that waits for a step, or of
// the script itself when none does. Inner variables hide outer ones, and all hide globals. Of a
// session between its chunks they are the globals.
func (m *Machine) Variables(step string) starlark.StringDict {
	all := m.Globals()
	if f := m.standing(step); f != nil {
		for i := range f.frames {
			if fr := &f.frames[i]; fr.fn != nil {
				f.variables(fr, all)
			}
		}
	}
	return all
}

// standing is the fiber that waits for a step, the first one where none does.
func (m *Machine) standing(step string) *fiber {
	if waiting := m.waits[step]; len(waiting) > 0 {
		return waiting[0]
	}
	if i := slices.IndexFunc(m.fibers, func(f *fiber) bool { return f.parent == nil && f.state != ended }); i >= 0 {
		return m.fibers[i]
	}
	return nil
}

// variables adds those of a frame.
func (f *fiber) variables(fr *frame, all starlark.StringDict) {
	code, regs := fr.fn.code, f.window(fr)
	for i, b := range code.Free {
		add(all, b.Name, fr.fn.free[i])
	}
	for i, b := range code.Locals {
		add(all, b.Name, regs[i])
	}
}

// add adds a variable that is set, by what its cell holds if it has one.
func add(all starlark.StringDict, name string, v starlark.Value) {
	if c, ok := v.(*cell); ok {
		v = nil
		if c != nil {
			v = c.v
		}
	}
	if v != nil {
		all[name] = v
	}
}

// Doc is the docstring of the function, "" without one.
func (fn *Function) Doc() string { return fn.code.Doc }

// Params are the parameters as they are written.
func (fn *Function) Params() string { return fn.code.Parameters(fn.defaults) }
