package peers

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// system is an engine that can do what is measured. All that its methods did is durable when they return.
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

const rounds = 9

// BenchmarkPeers has both systems do the same in turns.
func BenchmarkPeers(b *testing.B) {
	ours, theirs := newStarling(b), newRestate(b)
	for _, w := range []struct {
		name  string
		units int
		do    func(system) error
	}{
		{"one-run/steps", 300, func(s system) error { return s.steps(300) }},
		{"64-runs/steps", 64 * 20, func(s system) error { return each(64, func(int) error { return s.steps(20) }) }},
		{"parallel=1000/steps", 1000, func(s system) error { return s.fan(1000) }},
		{"start+suspend/64-callers", 640, func(s system) error { _, err := crowd(s, 640); return err }},
	} {
		b.Run(w.name, func(b *testing.B) {
			for b.Loop() {
				compare(b, ours, theirs, w.units, w.do)
			}
		})
	}
	b.Run("signal/of-1000-that-wait", func(b *testing.B) {
		for b.Loop() {
			signals(b, ours, theirs)
		}
	})
}

// compare prints the rates of a workload and the median of their ratios.
func compare(b *testing.B, ours, theirs system, units int, do func(system) error) {
	var a, c, ratios []float64
	for range rounds {
		x, y := rate(b, units, ours, do), rate(b, units, theirs, do)
		a, c, ratios = append(a, x), append(c, y), append(ratios, x/y)
	}
	b.ReportMetric(median(a), "starling/s")
	b.ReportMetric(median(c), "restate/s")
	b.ReportMetric(median(ratios), "ratio")
}

func rate(b *testing.B, units int, s system, do func(system) error) float64 {
	begin := time.Now()
	if err := do(s); err != nil {
		b.Fatal(err)
	}
	return float64(units) / time.Since(begin).Seconds()
}

// signals answers runs of a crowd one after another, in turns.
func signals(b *testing.B, ours, theirs system) {
	const n, few = 1000, 200
	a, err := crowd(ours, n)
	if err != nil {
		b.Fatal(err)
	}
	c, err := crowd(theirs, n)
	if err != nil {
		b.Fatal(err)
	}
	var x, y []time.Duration
	var ratios []float64
	for i := range few {
		first, second := answered(b, ours, a[i]), answered(b, theirs, c[i])
		x, y, ratios = append(x, first), append(y, second), append(ratios, second.Seconds()/first.Seconds())
	}
	b.ReportMetric(float64(median(x).Microseconds()), "starling-p50-µs")
	b.ReportMetric(float64(median(y).Microseconds()), "restate-p50-µs")
	b.ReportMetric(median(ratios), "ratio")
	for i := few; i < n; i++ { // leave nobody waiting
		answered(b, ours, a[i])
		answered(b, theirs, c[i])
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
	err := each(64, func(worker int) error {
		for i := worker; i < n; i += 64 {
			run, err := s.suspend()
			if err != nil {
				return err
			}
			runs[i] = run
		}
		return nil
	})
	return runs, err
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

// TestSystemsAgree has both systems do each workload once, so that what is measured is known to work.
func TestSystemsAgree(t *testing.T) {
	for name, s := range map[string]system{"starling": newStarling(t), "restate": newRestate(t)} {
		run, err := s.suspend()
		for i, err := range []error{err, s.steps(5), s.fan(5), s.signal(run)} {
			if err != nil {
				t.Errorf("%s: %s: %v", name, []string{"suspend", "steps", "fan", "signal"}[i], err)
			}
		}
		if err := s.signal(run + "0"); err == nil {
			t.Error(fmt.Sprintf("%s: a signal to a run that is not there was taken", name))
		}
	}
}
