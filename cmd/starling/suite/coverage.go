package suite

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"starling/lang"
	"starling/lang/compile"
)

// Coverage counts what plays reach of the modules that they run. It may be used by several plays at
// once.
type Coverage struct {
	mu     sync.Mutex // guards what follows
	counts map[string][]atomic.Uint32
}

// counters are those of a module, as [effect.Environment].Reached wants them. A text that has
// another number of marks than the one that was first seen under the name is not counted.
func (c *Coverage) counters(module string, n int) []atomic.Uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string][]atomic.Uint32{}
	}
	known := c.counts[module]
	if known == nil {
		known = make([]atomic.Uint32, n)
		c.counts[module] = known
	}
	if len(known) != n {
		return make([]atomic.Uint32, n)
	}
	return known
}

// Of is how often each mark of a subject was reached. It is all zeros for one that did not run.
func (c *Coverage) Of(s *Subject) []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := make([]uint32, len(s.Marks))
	for _, module := range s.modules {
		for i := range c.counts[module] {
			sum[i] += c.counts[module][i].Load()
		}
	}
	return sum
}

// Subject is a file that tests are about: one that a file of tests loads or runs, itself or through
// others, that is no file of tests and lies in no folder testdata.
type Subject struct {
	Name    string         // as positions say; of a file of @std that lies beside the tests, where
	Source  []byte         // its text
	Marks   []compile.Mark // of it
	modules []string       // what the bundle calls it
}

// Subjects are the files that the tests are about, in the order of the bundle: those of the
// project, and those of @std whose text lies beside the tests, since whoever has that is its
// author.
func (f *File) Subjects() []*Subject { return f.subjects }

// library is what the names of the library's modules begin with.
const library = "@std/"

// findSubjects reads what lies beside the tests through files.
func (f *File) findSubjects(files lang.Source) error {
	known := map[string]*Subject{}
	for _, m := range f.bundle.Files() {
		name, ours := f.place(m, files)
		aside := slices.Contains(strings.Split(name, "/"), "testdata")
		if !ours || aside || strings.HasSuffix(name, Suffix) {
			continue
		}
		if s := known[name]; s != nil {
			s.modules = append(s.modules, m.Name)
			continue
		}
		tree, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
		if err != nil {
			return err // it was parsed when it was read
		}
		s := &Subject{Name: name, Source: m.Source, Marks: compile.Marks(tree), modules: []string{m.Name}}
		known[name] = s
		f.subjects = append(f.subjects, s)
	}
	return nil
}

// place is where a module lies, and whether that is in the project.
func (f *File) place(m *lang.Module, files lang.Source) (name string, ours bool) {
	rest, std := strings.CutPrefix(m.Name, library)
	if !std {
		return m.Name, true
	}
	name = path.Join(path.Dir(f.Name), rest)
	text, err := files(name)
	return name, err == nil && bytes.Equal(text, m.Source)
}
