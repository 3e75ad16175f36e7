package vm

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/effect"
)

// session is a run whose program grows: each chunk is a module of its own, and all chunks share one
// table of global variables by name.
//
// A chunk whose last statement is an expression has a value. It stays within reach: the last one as
// _, that of the chunk n, counted from 1, as _n, and all of them by their numbers in the dict Out.
// Out is left alone where a chunk has given the name to something else.
//
// A file that has changed since an earlier chunk loaded it is loaded anew, and so is what loads it.
// What was made of the old one stays as it is.
type session struct {
	names   []compile.Binding // of the shared globals
	globals []starlark.Value  // their values, nil while unset
	chunks  []*Module         // whose globals are the shared ones
	byName  map[string]*Module
	count   int            // of chunks, also those that could not load what they name
	out     *starlark.Dict // values of chunks by their numbers
	early   bool           // values are forgotten, and a file is loaded once, as under effect.BehaviourValuesForgotten
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
	s := &session{byName: make(map[string]*Module), out: new(starlark.Dict)}
	b := m.behaviour()
	s.early = b > 0 && b <= effect.BehaviourValuesForgotten
	for _, mod := range m.image.modules {
		s.byName[mod.code.Name] = mod
	}
	return s
}

func (s *session) append(m *Machine, modules []*compile.Module) error {
	if len(m.fibers) > 0 {
		return errors.New("the last chunk of the session has not ended")
	}
	s.count++
	libraries, err := s.load(m, modules[:len(modules)-1])
	if err != nil {
		return err
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

// load links and initializes the modules that a chunk loads and the session does not have. It has
// none of them when one fails.
func (s *session) load(m *Machine, codes []*compile.Module) (libraries []*Module, err error) {
	before := maps.Clone(s.byName)
	renewed := map[string]bool{}
	for _, code := range codes {
		if s.holds(code, renewed) {
			continue
		}
		lib, err := m.image.link(code, s.byName, nil)
		if err == nil {
			err = lib.initialize(m.image)
		}
		if err != nil {
			s.byName = before
			return nil, err
		}
		m.image.permanents.freeze(lib.globals)
		libraries = append(libraries, lib)
		s.byName[code.Name], renewed[code.Name] = lib, true
	}
	return libraries, nil
}

// holds tells whether the session has a module as it is, over others as they are.
func (s *session) holds(code *compile.Module, renewed map[string]bool) bool {
	there := s.byName[code.Name]
	if there == nil || s.early {
		return there != nil
	}
	for _, l := range code.Loads {
		if renewed[l.Module] {
			return false
		}
	}
	return there.code.Hash == code.Hash
}

// keep keeps the value of the chunk that has ended.
func (s *session) keep(v starlark.Value) {
	if s.early || v == nil || v == starlark.None {
		return
	}
	s.bind("_", v)
	s.bind("_"+strconv.Itoa(s.count), v)
	if i := s.index("Out"); i >= 0 && s.globals[i] != nil && s.globals[i] != starlark.Value(s.out) {
		return
	}
	all := starlark.NewDict(s.out.Len() + 1) // another one: v may hold the last
	for k, v := range s.out.Entries() {
		_ = all.SetKey(k, v) // a fresh dict and keys of another
	}
	_ = all.SetKey(starlark.MakeInt(s.count), v)
	s.out = all
	s.bind("Out", all)
}

func (s *session) index(name string) int {
	return slices.IndexFunc(s.names, func(b compile.Binding) bool { return b.Name == name })
}

// bind gives a shared global a value.
func (s *session) bind(name string, v starlark.Value) {
	i := s.index(name)
	if i < 0 {
		i = len(s.names)
		s.grow(append(s.names[:i:i], compile.Binding{Name: name}), nil)
	}
	s.globals[i] = v
}

// grow makes room for the globals of a new chunk, or of none. All chunks see the same table.
func (s *session) grow(names []compile.Binding, chunk *Module) {
	s.names = names
	if chunk != nil {
		s.chunks = append(s.chunks, chunk)
	}
	for len(s.globals) < len(names) {
		s.globals = append(s.globals, nil)
	}
	for _, c := range s.chunks {
		c.globals = s.globals
	}
}
