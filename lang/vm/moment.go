package vm

import (
	"cmp"

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

// Watch keeps what a branch can see when it fails.
func (m *Machine) Watch(branch string) { m.watched, m.failing = branch, nil }

// Has tells whether a branch goes on, and whether it is watched and has failed.
func (m *Machine) Has(branch string) (goesOn, failed bool) {
	return m.in(branch) != nil, m.failing != nil && branch == m.watched
}

// Variables are what a script can see where it stands: of the branch that waits for a step, of the
// branch with this path, where it has failed if that is watched, or of the script itself where
// there is none. Inner variables hide outer ones, and all hide globals. Of a session between its
// chunks they are the globals.
func (m *Machine) Variables(at string) starlark.StringDict {
	if _, failed := m.Has(at); failed {
		return m.failing
	}
	if waiting := m.waits[at]; len(waiting) > 0 {
		return m.sees(waiting[0])
	}
	return m.sees(cmp.Or(m.in(at), m.in("")))
}

// sees are the variables of a fiber, the globals where it is nil.
func (m *Machine) sees(f *fiber) starlark.StringDict {
	all := m.Globals()
	for i := 0; f != nil && i < len(f.frames); i++ {
		if fr := &f.frames[i]; fr.fn != nil {
			f.variables(fr, all)
		}
	}
	return all
}

// in is the fiber of a branch, nil where it has ended.
func (m *Machine) in(branch string) *fiber {
	for _, f := range m.fibers {
		if f.branch == branch && f.state != ended {
			return f
		}
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
