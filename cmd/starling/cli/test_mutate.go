package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"starling/cmd/starling/suite"
	"starling/lang/compile"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/mutate"
	"starling/runtime"
)

// mutateFlags are the flags of test --mutate.
type mutateFlags struct {
	on     bool
	of     []string
	sample int
	seed   uint64
	least  float64
}

// What one test may take under --mutate, where the flags do not say it: a mutant that loops or
// grows is ended soon. Tests that need more fail before there is a mutant.
const (
	mutateSteps  = 2_000_000
	mutateMemory = "32MiB"
)

// mutateGarbage is the GOGC of --mutate where nobody has said another: little lives on from one
// mutant to the next, and a third of the time went into looking for it.
const mutateGarbage = 400

func (f *mutateFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "mutate", false,
		"change the scripts, one change at a time, and show which changes no test notices")
	flags.StringArrayVar(&f.of, "of", nil, "change only the script `FILE`; may be repeated")
	flags.IntVar(&f.sample, "sample", 0, "try only `N` of the changes, drawn at random")
	flags.Uint64Var(&f.seed, "seed", 0, "draw the same as the run that printed the seed `N`")
	flags.Float64Var(&f.least, "least", 0, "exit with 11 if fewer than `PERCENT` are noticed")
}

// unless is what is said of tests that fail.
func (f *mutateFlags) unless() string {
	if !f.on {
		return ""
	}
	return "; mutants are tried once all pass"
}

// checkMutate refuses flags that mean nothing together, and gives the bounds their values.
func (v *testVerb) checkMutate(flags *pflag.FlagSet, now time.Time) error {
	m := &v.mutate
	if !m.on {
		for _, name := range []string{"of", "sample", "seed", "least"} {
			if flags.Changed(name) {
				return usage("", "test: --%s is for --mutate", name)
			}
		}
		return nil
	}
	switch {
	case v.cover.wanted():
		return usage("two calls show both", "test: --mutate and --cover do not go together")
	case flags.Changed("sample") && m.sample < 1:
		return usage("", "test: --sample: got %d, want at least 1", m.sample)
	case flags.Changed("seed") && m.sample == 0:
		return usage("without --sample all changes are tried", "test: --seed is for --sample")
	case !(m.least >= 0 && m.least <= 100):
		return usage("", "test: --least: got %v, want 0 to 100", m.least)
	}
	if !flags.Changed("steps") {
		v.steps = mutateSteps
	}
	if !flags.Changed("memory") {
		v.memory = mutateMemory
	}
	if !flags.Changed("seed") && m.sample > 0 {
		m.seed = uint64(now.UnixNano() % 1_000_000)
	}
	return nil
}

// target is a script whose mutants are tried.
type target struct {
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
	file    *testFile
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

// testMutate tries mutants. The tests as they are have been played.
func (c *call) testMutate(ctx context.Context, files []*testFile, settings *effect.Settings,
	v *testVerb) error {
	targets, err := c.targets(files, v.mutate.of)
	if err != nil {
		return c.answerMarks(err)
	}
	n := v.mutate.draw(targets)
	c.notice("%s", v.mutate.plan(n, targets))
	if _, told := c.getenv("GOGC"); !told {
		defer debug.SetGCPercent(debug.SetGCPercent(mutateGarbage))
	}
	c.tryAll(ctx, targets, settings, v)
	if err := ctx.Err(); err != nil {
		tried := 0
		for _, t := range targets {
			tried += t.keepTried()
		}
		if c.notice("ended after %d of %d mutants", tried, n); !c.json && tried > 0 {
			_ = c.answerMutate(targets, v) // why it ended says more than what it lacks
		}
		return context.Cause(ctx)
	}
	return c.answerMutate(targets, v)
}

// keepTried leaves out the mutants that were not tried to the end, and counts the others.
func (t *target) keepTried() int {
	t.trials = slices.DeleteFunc(t.trials, func(m *trial) bool { return m.took == 0 || m.fault != nil })
	t.drawn = true // nothing is said of marks whose mutants are left out
	return len(t.trials)
}

// targets finds what is to be changed: what is named, or else of each file of tests the scripts
// that lie in its folder or below and have no file of tests of their own.
func (c *call) targets(files []*testFile, of []string) ([]*target, error) {
	named, err := absolute(of)
	if err != nil {
		return nil, err
	}
	all := map[string]*target{}
	for _, f := range files {
		for _, s := range f.suite.Subjects() {
			path := filepath.Join(f.root, filepath.FromSlash(s.Name))
			if len(named) > 0 && named[path] != "" || len(named) == 0 && f.owns(path) {
				all[path] = &target{name: s.Name, path: path, source: s.Source}
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
	byPath := func(a, b *target) int { return cmp.Compare(a.path, b.path) }
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
func (f *testFile) owns(path string) bool {
	tests := filepath.Join(f.root, filepath.FromSlash(f.suite.Name))
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
func fill(targets []*target, files []*testFile) error {
	var wrong diagnostic.List
	for _, t := range targets {
		for _, f := range files {
			for _, s := range f.suite.Subjects() {
				if filepath.Join(f.root, filepath.FromSlash(s.Name)) == t.path {
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

// draw leaves all mutants out but those of the sample, and counts the rest.
func (m *mutateFlags) draw(targets []*target) (n int) {
	for _, t := range targets {
		n += len(t.trials)
	}
	if m.sample == 0 || m.sample >= n {
		return n
	}
	chosen := make([]bool, n)
	for _, i := range rand.New(rand.NewPCG(m.seed, 0)).Perm(n)[:m.sample] {
		chosen[i] = true
	}
	for _, t := range targets {
		mine := chosen[:len(t.trials)]
		chosen = chosen[len(t.trials):]
		t.drawn = slices.Contains(mine, false)
		var kept []*trial
		for i, trial := range t.trials {
			if mine[i] {
				kept = append(kept, trial)
			}
		}
		t.trials = kept
	}
	return m.sample
}

// plan says what is going to be done.
func (m *mutateFlags) plan(n int, targets []*target) string {
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	said := fmt.Sprintf("trying %s of %s", counted(n, "mutant"), strings.Join(names, ", "))
	if m.sample > 0 {
		said += fmt.Sprintf(", drawn with --seed %d", m.seed)
	}
	return said
}

// neighbours is how many mutants that stand next to each other are tried one after another: a test
// that has noticed one is likely to notice the next.
const neighbours = 16

// tryAll tries the mutants of all targets, as many at a time as there are processors.
func (c *call) tryAll(ctx context.Context, targets []*target, settings *effect.Settings,
	v *testVerb) {
	seats := make(chan struct{}, goruntime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, t := range targets {
		for some := range slices.Chunk(t.trials, neighbours) {
			seats <- struct{}{}
			all.Go(func() {
				defer func() { <-seats }()
				var last []keen
				for _, m := range some {
					if ctx.Err() != nil {
						return
					}
					began := time.Now()
					m.fault = c.try(ctx, t, m, &last, settings, v)
					m.took = time.Since(began)
				}
			})
		}
	}
	all.Wait()
}

// keen is a test that has noticed a mutant: the number of its file among those of the target, and
// its own.
type keen struct{ by, test int }

// try plays the tests that reach a mutant until one of them notices it. Those that have noticed its
// neighbours come first, the last of them at the end of the list.
func (c *call) try(ctx context.Context, t *target, m *trial, last *[]keen, settings *effect.Settings,
	v *testVerb) error {
	text := m.Apply(t.source)
	m.outcome = notReached
	for k, by := range t.by {
		lately := func(test int) int { return slices.Index(*last, keen{k, test}) }
		tests := by.reaching(&m.Mutant, lately)
		if len(tests) == 0 {
			continue
		}
		f, err := by.file.suite.Mutate(by.subject, text, c.environmentOf(by.file.name))
		var wrong diagnostic.List
		if errors.As(err, &wrong) {
			m.outcome = invalid
			return nil
		}
		if err != nil {
			return err
		}
		m.outcome = survived
		for _, i := range tests {
			plain := by.file.results[i]
			o := suite.Options{Settings: *settings, Bounds: v.mutantBounds(plain)}
			result, err := f.Run(ctx, plain.Test, o)
			if err != nil {
				return err
			}
			if !result.Passed {
				m.notice(result)
				*last = append(slices.DeleteFunc(*last, func(o keen) bool { return o == keen{k, i} }), keen{k, i})
				return nil
			}
		}
		if f.Refused(c.environmentOf(by.file.name)) {
			m.outcome = invalid
			return nil
		}
	}
	return nil
}

// notice takes the test that has noticed a mutant.
func (m *trial) notice(r *suite.Result) {
	m.outcome, m.test = noticed, r.File+": "+r.Name
	if r.Ended != "" {
		m.outcome = timedOut
	}
}

// mutantBounds are those of a test for which it is known how long it takes as it is. The clock on
// the wall is for what steps do not bound; it leaves room for a machine that is busy.
func (v *testVerb) mutantBounds(r *suite.Result) suite.Bounds {
	b := v.bounds
	b.Time = min(b.Time, 5*time.Second+10*r.Took)
	return b
}

// slow is 1 for a test that takes many times as long as others, 0 for the others.
func (by *tester) slow(test int) int {
	if by.file.results[test].Git {
		return 1
	}
	return 0
}

// reaching lists the tests that reach a mutant by their numbers: slow ones last, and first those
// that lately says the greatest number of, then those that reach least of the file: they are the
// ones that are about what they reach.
func (by *tester) reaching(m *mutate.Mutant, lately func(test int) int) []int {
	mark := compile.Around(by.subject.Marks,
		int32(m.Line), int32(m.Column), int32(m.EndLine), int32(m.EndColumn))
	reach := make([]int, len(by.file.results))
	var tests []int
	for i, of := range by.file.coverage {
		counts := of.Of(by.subject)
		if mark >= 0 && counts[mark] == 0 {
			continue
		}
		tests = append(tests, i)
		for _, n := range counts {
			if n > 0 {
				reach[i]++
			}
		}
	}
	slices.SortStableFunc(tests, func(a, b int) int {
		return cmp.Or(by.slow(a)-by.slow(b), lately(b)-lately(a), cmp.Compare(reach[a], reach[b]))
	})
	return tests
}
