package lang

import (
	"crypto/sha256"
	"slices"
)

// Bundle is a script and all it needs, as text: the modules that it loads and the child scripts
// that it names with a literal, with all that they need in turn. Each file is in it once. It is
// what a run is pinned to: stored as a blob, sent over a socket, compiled by [Compile].
type Bundle struct {
	modules []*Module // all files: those of the entry first, each after what it loads; see order
	entry   *Module
}

// Entry is the script itself.
func (b *Bundle) Entry() *Module { return b.entry }

// Files lists every file, child scripts and what they load included.
func (b *Bundle) Files() []*Module { return slices.Clone(b.modules) }

// Modules lists the files that make up the entry's program, each after all that it loads, the entry
// last.
func (b *Bundle) Modules() []*Module {
	return b.modules[: slices.Index(b.modules, b.entry)+1 : len(b.modules)]
}

// Child returns the bundle of a child script, named as the entry names it: relative to the entry's
// folder. ok is false if the bundle does not hold that file. The child may be any file of the
// bundle, the entry itself too.
func (b *Bundle) Child(script string) (child *Bundle, ok bool) {
	name, err := moduleName(b.entry.Name, script)
	if err != nil {
		return nil, false
	}
	i := slices.IndexFunc(b.modules, func(m *Module) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return newBundle(b.modules[i]), true
}

// Hash is the program's hash: of the names and texts of [Bundle.Modules], the file options and
// [Dialect]. Child scripts are programs of their own and not part of it. Names are, because
// positions in error messages are visible to the script.
func (b *Bundle) Hash() [32]byte {
	e := encoder{}
	e.buf = append(e.buf, "starling program\n"...)
	e.count(Dialect)
	e.buf = append(e.buf, optionBits(FileOptions()))
	modules := b.Modules()
	e.count(len(modules))
	for _, m := range modules {
		e.text([]byte(m.Name))
		e.buf = append(e.buf, m.Hash[:]...)
	}
	return sha256.Sum256(e.buf)
}

func newBundle(entry *Module) *Bundle {
	return &Bundle{modules: order(entry), entry: entry}
}

// order lists all that a script needs in the one order that bundles have: a module stands after
// what it loads, and child scripts, with what only they load, stand after the entry in the order in
// which they are first named. Loads have no cycles; a script may run itself.
func order(entry *Module) []*Module {
	var all []*Module
	seen := map[*Module]bool{}
	var add func(m *Module)
	add = func(m *Module) {
		if seen[m] {
			return
		}
		seen[m] = true
		for _, l := range m.loads {
			add(l)
		}
		all = append(all, m)
	}
	add(entry)
	for i := 0; i < len(all); i++ {
		for _, r := range all[i].runs {
			add(r)
		}
	}
	return all
}
