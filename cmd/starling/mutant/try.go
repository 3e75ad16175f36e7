package mutant

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"starling/cmd/starling/suite"
	"starling/lang/compile"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/mutate"
)

// neighbours is how many mutants that stand next to each other are tried one after another: a test
// that has noticed one is likely to notice the next.
const neighbours = 16

// Play is how tests are played against a mutant.
type Play struct {
	Settings effect.Settings
	Bounds   suite.Bounds // of one test
}

// TryAll tries the mutants of all targets, as many at a time as there are processors, until ctx is
// done.
func (p *Play) TryAll(ctx context.Context, targets []*Target) {
	seats := make(chan struct{}, runtime.GOMAXPROCS(0))
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
					m.fault = p.try(ctx, t, m, &last)
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
func (p *Play) try(ctx context.Context, t *Target, m *trial, last *[]keen) error {
	text := m.Apply(t.source)
	m.outcome = notReached
	for k, by := range t.by {
		lately := func(test int) int { return slices.Index(*last, keen{k, test}) }
		tests := by.reaching(&m.Mutant, lately)
		if len(tests) == 0 {
			continue
		}
		f, err := by.file.Suite.Mutate(by.subject, text, by.file.Environment)
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
			plain := by.file.Results[i]
			o := suite.Options{Settings: p.Settings, Bounds: p.boundsOf(plain), Snapshot: by.file.Snapshots.Compare}
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
		if f.Refused(by.file.Environment) {
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

// boundsOf are those of a test for which it is known how long it takes as it is. The clock on
// the wall is for what steps do not bound; it leaves room for a machine that is busy.
func (p *Play) boundsOf(r *suite.Result) suite.Bounds {
	b := p.Bounds
	b.Time = min(b.Time, 5*time.Second+10*r.Took)
	return b
}

// slow is 1 for a test that takes many times as long as others, 0 for the others.
func (by *tester) slow(test int) int {
	if by.file.Results[test].Git {
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
	reach := make([]int, len(by.file.Results))
	var tests []int
	for i, of := range by.file.Coverage {
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
