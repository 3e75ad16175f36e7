package vm

import (
	"errors"

	"go.starlark.net/starlark"

	"starling/lang/compile"
)

// session is a run whose program grows: each chunk is a module of its own, and all chunks share one
// table of global variables by name.
type session struct {
	names   []compile.Binding // of the shared globals
	globals []starlark.Value  // their values, nil while unset
	chunks  []*Module         // whose globals are the shared ones
	byName  map[string]*Module
}

// StartSession makes a machine whose program is given in chunks, by [Machine.Append]. The image's
// own script does not run.
func (img *Image) StartSession() *Machine {
	m := newMachine(img)
	m.session = newSession(m)
	m.main = &Module{code: &compile.Module{}}
	return m
}

func newSession(m *Machine) *session {
	s := &session{byName: make(map[string]*Module)}
	for _, mod := range m.image.modules {
		s.byName[mod.code.Name] = mod
	}
	return s
}

func (s *session) append(m *Machine, modules []*compile.Module) error {
	if len(m.fibers) > 0 {
		return errors.New("the last chunk of the session has not ended")
	}
	var libraries []*Module
	for _, code := range modules[:len(modules)-1] {
		if s.byName[code.Name] != nil {
			continue
		}
		lib, err := m.image.link(code, s.byName, nil)
		if err == nil {
			err = lib.initialize(m.image)
		}
		if err != nil {
			for _, lib := range libraries {
				delete(s.byName, lib.code.Name)
			}
			return err
		}
		m.image.permanents.freeze(lib.globals)
		libraries = append(libraries, lib)
		s.byName[code.Name] = lib
	}
	code, names := modules[len(modules)-1].Rebase(s.names)
	chunk, err := m.image.link(code, s.byName, nil)
	if err != nil {
		return err
	}
	for _, mod := range append(libraries, chunk) {
		mod.index = len(m.image.modules) + len(m.modules)
		m.modules = append(m.modules, mod)
	}
	s.grow(names, chunk)
	m.main = chunk
	m.enqueue(m.newFiber(chunk.top(), nil, nil))
	return nil
}

// grow makes room for the globals of a new chunk. All chunks see the same table.
func (s *session) grow(names []compile.Binding, chunk *Module) {
	s.names = names
	s.chunks = append(s.chunks, chunk)
	for len(s.globals) < len(names) {
		s.globals = append(s.globals, nil)
	}
	for _, c := range s.chunks {
		c.globals = s.globals
	}
}
