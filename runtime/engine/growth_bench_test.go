package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"starling/runtime"
)

// BenchmarkGrowth measures what is asked for beside ever more that is not, on the real store:
//
//	go test -run '^$' -bench Growth -benchtime 1x -timeout 30m ./runtime
//
// Each workload runs at three sizes, the largest ten times the smallest. "growth" is the median
// cost at the largest divided by that at the smallest: 1 is what
// does not grow, 10 what grows with the size.
func BenchmarkGrowth(b *testing.B) {
	b.Run("answers", func(b *testing.B) { grow(b, []int{500, 1500, 5000}, growAnswers) })
	b.Run("lists", func(b *testing.B) { grow(b, []int{5000, 15_000, 50_000}, growLists) })
	b.Run("decisions", func(b *testing.B) { grow(b, []int{5000, 15_000, 50_000}, growDecisions) })
	b.Run("records", func(b *testing.B) { grow(b, []int{20_000, 60_000, 200_000}, growRecords) })
}

// grow runs a workload at several sizes. It gives the median of each of its measurements in
// microseconds.
func grow(b *testing.B, sizes []int, run func(*testing.B, *lab, int) map[string][]time.Duration) {
	for b.Loop() {
		first := map[string]float64{}
		for i, n := range sizes {
			for what, times := range run(b, newLab(b), n) {
				micros := make([]float64, len(times))
				for i, t := range times {
					micros[i] = float64(t.Microseconds())
				}
				m := median(micros)
				b.ReportMetric(m, fmt.Sprintf("%s-of-%d-µs", what, n))
				if i == 0 {
					first[what] = m
				}
				if i == len(sizes)-1 {
					b.ReportMetric(m/first[what], what+"-growth")
				}
			}
		}
	}
}

// growAnswers answers gates of a run that has n of them open. It is the processor that is
// measured: a sync takes longer than all else.
func growAnswers(b *testing.B, l *lab, n int) map[string][]time.Duration {
	run := l.begun(manyGates, n, "run.suspended")
	var times []time.Duration
	for i := range 300 {
		before := processor()
		address := fmt.Sprintf("parallel/b%d/g", i)
		if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: address, Choice: "yes"}); err != nil {
			b.Fatal(err)
		}
		times = append(times, processor()-before)
	}
	return map[string][]time.Duration{"answer": times}
}

// growWaiting starts n runs that wait at a gate.
func growWaiting(b *testing.B, l *lab, n int) *crowd {
	c := &crowd{lab: l, ids: make([]string, n)}
	c.each(n, func(i int) {
		run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: c.bundle(), Script: "grow.star", Inputs: json.RawMessage(`{"n": 1}`)})
		if err != nil {
			b.Error(err)
			return
		}
		c.ids[i] = run.ID
	})
	return c
}

// growLists asks for the first pages of lists in a store of n runs that wait.
func growLists(b *testing.B, l *lab, n int) map[string][]time.Duration {
	growWaiting(b, l, n)
	times := map[string][]time.Duration{}
	for name, q := range map[string]runtime.Query{"ps": {}, "ps-a": {All: true}, "inbox": {Gates: true}, "inbox-target": {Gates: true, Target: "nobody"}} {
		q.Limit = 100
		for range 30 {
			times[name] = append(times[name], timed(func() error {
				_, err := l.e.List(l.ctx, q)
				return err
			}, b))
		}
	}
	return times
}

// growDecisions asks for pages of the record in a store of n decisions in n runs. The index is made
// anew once.
func growDecisions(b *testing.B, l *lab, n int) map[string][]time.Duration {
	c := growWaiting(b, l, n)
	c.each(n, func(i int) {
		if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: c.ids[i], Choice: "on"}); err != nil {
			b.Error(err)
		}
	})
	times := map[string][]time.Duration{}
	middle, err := l.e.Decisions(l.ctx, runtime.DecisionQuery{Run: c.ids[n/2]})
	if err != nil || len(middle.Decisions) == 0 {
		b.Fatal(err)
	}
	for name, q := range map[string]runtime.DecisionQuery{"newest": {}, "older": {Until: middle.Decisions[0].At}, "of-a-run": {Run: c.ids[n/2]}} {
		q.Limit = 100
		for range 30 {
			times[name] = append(times[name], timed(func() error {
				_, err := l.e.Decisions(l.ctx, q)
				return err
			}, b))
		}
	}
	times["anew"] = []time.Duration{timed(l.e.Reindex, b)}
	return times
}

const manyRecords = `
def main(n):
    parallel([lambda: some(n // 400) for _ in range(100)])

def some(n):
    for i in range(n):
        work("w", value = i)
`

// growRecords asks for the first pages of a run with some n records, and for the first of its
// events.
func growRecords(b *testing.B, l *lab, n int) map[string][]time.Duration {
	run := l.begun(manyRecords, n, "run.completed")
	times := map[string][]time.Duration{}
	for range 15 {
		note := func(what string, do func() error) { times[what] = append(times[what], timed(do, b)) }
		note("show", func() error {
			_, err := l.e.Get(l.ctx, run)
			_, failed := l.e.StepPage(l.ctx, runtime.StepQuery{Run: run, Limit: 200, Newest: true})
			return errors.Join(err, failed)
		})
		note("steps", func() error {
			_, err := l.e.StepPage(l.ctx, runtime.StepQuery{Run: run, Limit: 200})
			return err
		})
		note("logs", func() error {
			return l.e.Watch(l.ctx, runtime.WatchRequest{Run: run, Follow: true}, func(runtime.Event) error { return runtime.ErrStopWatch })
		})
	}
	return times
}

// begun starts a run and waits for an event of it.
func (l *lab) begun(script string, n int, until string) string {
	l.b.Helper()
	run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: bundle(l.b, script, nil), Script: "grow.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))})
	if err != nil {
		l.b.Fatal(err)
	}
	follow(l.b, l.e, l.ctx, run.ID, until)
	return run.ID
}

func timed(do func() error, b *testing.B) time.Duration {
	begin := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}
