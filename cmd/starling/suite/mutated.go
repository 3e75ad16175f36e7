package suite

import (
	"io/fs"
	"slices"
	"sync"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/effect"
)

// Mutate is the file with another text of one of its subjects. Nothing is read: what else it needs
// is what it was read with. env is what test files see. The error is a diagnostic.List where the
// text does not compile, or check refuses it whatever the types are; see [File.Refused].
func (f *File) Mutate(s *Subject, text []byte, env *effect.Environment) (*File, error) {
	modules := map[string][]byte{}
	for _, m := range f.bundle.Files() {
		modules[m.Name] = m.Source
		if slices.Contains(s.modules, m.Name) {
			modules[m.Name] = text
		}
	}
	serve := func(prefix string) lang.Source {
		return func(name string) ([]byte, error) {
			if source, ok := modules[prefix+name]; ok {
				return source, nil
			}
			return nil, fs.ErrNotExist
		}
	}
	return read(f.Name, serve(""), serve(library), &above{below: f.compiled}, func(b *lang.Bundle) error {
		return lang.CheckUntyped(b, env, check.Project{}).Err()
	})
}

// Refused tells whether a whole check refuses a file that Mutate has made, for its types.
func (f *File) Refused(env *effect.Environment) bool {
	return lang.Check(f.bundle, env, check.Project{}).Err() != nil
}

// above is what the tests of a mutant share: what the file has, and their own.
type above struct {
	sync.Map
	below effect.Cache
}

func (a *above) Load(key any) (any, bool) {
	if v, ok := a.below.Load(key); ok {
		return v, true
	}
	return a.Map.Load(key)
}
