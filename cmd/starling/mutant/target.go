package mutant

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"starling/cmd/starling/snapshot"
	"starling/cmd/starling/suite"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/mutate"
	"starling/runtime"
)

// Played is a file of tests whose tests have all passed.
type Played struct {
	Root        string // the folder that names are relative to
	Suite       *suite.File
	Results     []*suite.Result
	Coverage    []*suite.Coverage   // what each result's test has reached
	Environment *effect.Environment // what the file sees
	Snapshots   *snapshot.File      // which mutants leave as they are
}

// Green tells whether all of some tests have passed, and there was one.
func Green(results []*suite.Result) bool {
	failed := func(r *suite.Result) bool { return !r.Passed }
	return len(results) > 0 && !slices.ContainsFunc(results, failed)
}

// Target is a script whose mutants are tried.
type Target struct {
	name   string
	path   string // on the disk
	source []byte
	marks  []mutate.Mark
	by     []tester
	trials []*trial
	drawn  bool // some of its mutants are left out
}

// tester is a file of tests that is about a target.
type tester struct {
	file    *Played
	subject *suite.Subject
}

// outcome is what became of a mutant.
type outcome string

const (
	noticed    outcome = "noticed"     // a test failed
	timedOut   outcome = "timed_out"   // a test was ended by a bound: of time, steps or memory
	survived   outcome = "survived"    // all tests that reach the change passed
	notReached outcome = "not_reached" // no test reaches it
	equivalent outcome = "equivalent"  // it survived, and its author says that it must
	invalid    outcome = "invalid"     // it does not compile, or check refuses it
)

// trial is a mutant on its way.
type trial struct {
	mutate.Mutant
	outcome outcome
	test    string // by which it was noticed, FILE: NAME
	reason  string // why it is equivalent
	took    time.Duration
	fault   error // it could not be tried
}

// KeepTried leaves out the mutants that were not tried to the end, and counts the others.
func (t *Target) KeepTried() int {
	t.trials = slices.DeleteFunc(t.trials, func(m *trial) bool { return m.took == 0 || m.fault != nil })
	t.drawn = true // nothing is said of marks whose mutants are left out
	return len(t.trials)
}

// Targets finds what is to be changed: what is named, or else of each file of tests the scripts
// that lie in its folder or below and have no file of tests of their own. The error is a
// diagnostic.List where marks or texts are wrong.
func Targets(files []*Played, of []string) ([]*Target, error) {
	named, err := absolute(of)
	if err != nil {
		return nil, err
	}
	all := map[string]*Target{}
	for _, f := range files {
		for _, s := range f.Suite.Subjects() {
			path := filepath.Join(f.Root, filepath.FromSlash(s.Name))
			if len(named) > 0 && named[path] != "" || len(named) == 0 && f.owns(path) {
				all[path] = &Target{name: s.Name, path: path, source: s.Source}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(named)) {
		if all[path] == nil {
			return nil, usage("", "test: --of %s: no test that is played loads or runs it", named[path])
		}
	}
	if len(all) == 0 {
		return nil, usage("--of FILE names one that lies elsewhere, or has tests of its own",
			"test: --mutate: the tests load and run no script of their folder")
	}
	byPath := func(a, b *Target) int { return cmp.Compare(a.path, b.path) }
	targets := slices.SortedFunc(maps.Values(all), byPath)
	return targets, fill(targets, files)
}

// absolute gives the paths of files, with how they were named.
func absolute(names []string) (map[string]string, error) {
	paths := map[string]string{}
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, usage("", "test: --of %s: %v", name, err)
		}
		paths[path] = name
	}
	return paths, nil
}

// owns tells whether a file of tests is the one that changes of a script are for.
func (f *Played) owns(path string) bool {
	tests := filepath.Join(f.Root, filepath.FromSlash(f.Suite.Name))
	below, err := filepath.Rel(filepath.Dir(tests), path)
	if first, _, _ := strings.Cut(below, string(filepath.Separator)); err != nil || first == ".." {
		return false
	}
	own := strings.TrimSuffix(path, runtime.ScriptSuffix) + suite.Suffix
	_, err = os.Stat(own)
	return own == tests || err != nil
}

// fill lists the mutants and the marks of targets, and the tests that are about them. The error is
// a diagnostic.List of all marks that are wrong.
func fill(targets []*Target, files []*Played) error {
	var wrong diagnostic.List
	for _, t := range targets {
		for _, f := range files {
			for _, s := range f.Suite.Subjects() {
				if filepath.Join(f.Root, filepath.FromSlash(s.Name)) == t.path {
					t.by = append(t.by, tester{f, s})
				}
			}
		}
		mutants, err := mutate.File(t.name, t.source)
		if err == nil {
			t.marks, err = mutate.Marks(t.name, t.source)
		}
		for _, m := range mutants {
			t.trials = append(t.trials, &trial{Mutant: m})
		}
		var list diagnostic.List
		if errors.As(err, &list) {
			wrong = append(wrong, list...)
		} else if err != nil {
			return err
		}
	}
	return wrong.Err()
}
