package peers

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// system is an engine that can do what is measured. All that its methods did is durable when they
// return.
type system interface {
	// steps has one run make n steps that do nothing, one after another.
	steps(n int) error

	// fan has one run make n steps that do nothing, all at once.
	fan(n int) error

	// suspend starts a run and returns when it is sure to wait for a signal.
	suspend() (run string, err error)

	// signal answers a run that waits and returns when the run has gone on and has ended.
	signal(run string) error
}

// peer is a system that Starling is measured beside.
type peer struct {
	name string
	open func(testing.TB) system
}

func peers() []peer {
	return []peer{{"go-workflows", newGoWorkflows}, {"dbos", newDBOS}, {"restate", newRestate}}
}

// nothing is the step of the peers that are libraries.
func nothing(context.Context) (int, error) { return 0, nil }

// workload is a number of units that a system does in a round.
type workload struct {
	name  string
	units int
	do    func(system) (waiting []string, err error) // waiting are runs to be answered when the clock has stopped
}

func workloads() []workload {
	return []workload{
		{"one-run/steps", 300, func(s system) ([]string, error) { return nil, s.steps(300) }},
		{"64-runs/steps", 64 * 20, func(s system) ([]string, error) { return nil, each(64, func(int) error { return s.steps(20) }) }},
		{"parallel=1000/steps", 1000, func(s system) ([]string, error) { return nil, s.fan(1000) }},
		{"start+suspend/64-callers", 640, func(s system) ([]string, error) { return crowd(s, 640) }},
	}
}

const rounds = 9

// BenchmarkPeers has Starling and a peer do the same in turns.
func BenchmarkPeers(b *testing.B) {
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			theirs, ours := p.open(b), newStarling(b)
			for _, w := range workloads() {
				b.Run(w.name, func(b *testing.B) {
					for b.Loop() {
						compare(b, ours, theirs, w)
					}
				})
			}
			b.Run("signal/of-1000-that-wait", func(b *testing.B) {
				for b.Loop() {
					signals(b, ours, theirs)
				}
			})
		})
	}
}

// compare prints the rates of a workload and the median of their ratios.
func compare(b *testing.B, ours, theirs system, w workload) {
	var a, c, ratios []float64
	for range rounds {
		x, y := rate(b, ours, w), rate(b, theirs, w)
		a, c, ratios = append(a, x), append(c, y), append(ratios, x/y)
	}
	b.ReportMetric(median(a), "starling/s")
	b.ReportMetric(median(c), "peer/s")
	b.ReportMetric(median(ratios), "ratio")
}

func rate(b *testing.B, s system, w workload) float64 {
	begin := time.Now()
	waiting, err := w.do(s)
	took := time.Since(begin)
	if err == nil {
		err = answer(s, waiting)
	}
	if err != nil {
		b.Fatal(err)
	}
	return float64(w.units) / took.Seconds()
}

// signals answers runs of a crowd, in turns. A signal comes at any time, and not when the one
// before has just been taken: a peer that polls is not asked at the worst moment.
func signals(b *testing.B, ours, theirs system) {
	const n, few = 1000, 100
	a, err := crowd(ours, n)
	c, theirErr := crowd(theirs, n)
	if err := cmp.Or(err, theirErr); err != nil {
		b.Fatal(err)
	}
	var x, y []time.Duration
	var ratios []float64
	for i := range few {
		time.Sleep(rand.N(time.Second))
		first, second := answered(b, ours, a[i]), answered(b, theirs, c[i])
		x, y, ratios = append(x, first), append(y, second), append(ratios, second.Seconds()/first.Seconds())
	}
	b.ReportMetric(float64(median(x).Microseconds()), "starling-p50-µs")
	b.ReportMetric(float64(median(y).Microseconds()), "peer-p50-µs")
	b.ReportMetric(median(ratios), "ratio")
	if err := cmp.Or(answer(ours, a[few:]), answer(theirs, c[few:])); err != nil {
		b.Fatal(err)
	}
}

func answered(b *testing.B, s system, run string) time.Duration {
	begin := time.Now()
	if err := s.signal(run); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// crowd starts runs that wait, 64 at a time.
func crowd(s system, n int) ([]string, error) {
	runs := make([]string, n)
	err := shared(n, func(i int) (err error) {
		runs[i], err = s.suspend()
		return err
	})
	return runs, err
}

// answer leaves nobody waiting.
func answer(s system, runs []string) error {
	return shared(len(runs), func(i int) error { return s.signal(runs[i]) })
}

// shared has 64 callers share n calls of do.
func shared(n int, do func(i int) error) error {
	return each(64, func(caller int) error {
		for i := caller; i < n; i += 64 {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// each calls do at once for 0 to n-1 and returns the first error.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return cmp.Or(errs...)
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// TestSystemsAgree has each system do each workload once, so that what is measured is known to
// work.
func TestSystemsAgree(t *testing.T) {
	for _, p := range append(peers(), peer{"starling", func(t testing.TB) system { return newStarling(t) }}) {
		t.Run(p.name, func(t *testing.T) {
			s := p.open(t)
			run, err := s.suspend()
			for i, err := range []error{err, s.steps(5), s.fan(5), s.signal(run)} {
				if err != nil {
					t.Errorf("%s: %v", []string{"suspend", "steps", "fan", "signal"}[i], err)
				}
			}
			if err := s.signal(run + "0"); err == nil {
				t.Error("a signal to a run that is not there was taken")
			}
		})
	}
}
