package engine_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// BenchmarkPostgres measures durable work on PostgreSQL against its own batches alone, as
// [BenchmarkFigures] does on a disk, and on Badger beside it, in turns:
//
//	go test -run '^$' -bench Postgres -benchtime 1x -timeout 30m ./runtime/engine -postgres
func BenchmarkPostgres(b *testing.B) {
	server := runtimetest.StartPostgres(b)
	stores := map[string]func(testing.TB) runtime.Store{"badger": openBadger, "postgres": func(b testing.TB) runtime.Store {
		s, err := postgres.Open(context.Background(), server.Address(), postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}}
	for _, c := range []struct{ runs, steps int }{{1, 500}, {64, 60}} {
		for _, on := range []string{"badger", "postgres"} {
			b.Run(fmt.Sprintf("steps/runs=%d/%s", c.runs, on), func(b *testing.B) { benchSteps(b, stores[on], c.runs, c.steps) })
		}
	}
	for _, on := range []string{"badger", "postgres"} {
		b.Run("starts/"+on, func(b *testing.B) { benchStarts(b, stores[on]) })
		b.Run("idle-signal/"+on, func(b *testing.B) { benchIdleSignal(b, stores[on]) })
		b.Run("burst/"+on, func(b *testing.B) { benchBurst(b, stores[on]) })
	}
	b.Run("resume", func(b *testing.B) { benchResume(b, server) })
	b.Run("waiting", func(b *testing.B) { benchWaiting(b, server) })
}

var manyWaiting = flag.Int("waiting", 100_000, "how many runs wait in BenchmarkPostgres/waiting")

const waits = `
def main(n):
    return gate("g", options = ["on"]).choice
`

// crowd starts runs from 64 callers until each waits at its gate.
func (l *lab) crowd(runs int) (ids []string) {
	encoded := bundle(l.b, waits, nil)
	ids = make([]string, runs)
	next := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range next {
				run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: encoded, Script: "bench.star", Inputs: json.RawMessage(`{"n": 1}`)})
				if err != nil {
					l.b.Error(err)
					return
				}
				if run.Status != runtime.Suspended { // else it waits by now
					follow(l.b, l.e, l.ctx, run.ID, "gate.opened")
				}
				ids[i] = run.ID
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	all.Wait()
	return ids
}

// benchStarts measures starts until runs wait, of what their batches alone take.
func benchStarts(b *testing.B, open func(testing.TB) runtime.Store) {
	l, floor := newLabOn(b, open(b)), open(b)
	defer floor.Close()
	var ratios, rates []float64
	for b.Loop() {
		for range rounds {
			const runs = 1000
			l.tape.record()
			begin := time.Now()
			l.crowd(runs)
			took := time.Since(begin)
			least := replayBy(b, floor, l.tape.take(), 64)
			ratios, rates = append(ratios, least.Seconds()/took.Seconds()), append(rates, runs/took.Seconds())
		}
	}
	b.ReportMetric(median(ratios), "of-floor")
	b.ReportMetric(median(rates), "starts/s")
}

// benchIdleSignal measures a signal for a run that is in the store alone, until it is answered, in
// commits of one batch.
func benchIdleSignal(b *testing.B, open func(testing.TB) runtime.Store) {
	l, floor := newLabOn(b, open(b)), open(b)
	defer floor.Close()
	ids := l.crowd(600)
	if err := l.e.Close(); err != nil {
		b.Fatal(err)
	}
	s := l.tape.Store
	if p, ok := s.(*postgres.Store); ok {
		s = reopened(b, p)
		e, err := engine.Open(s, benchEnvironment(l.work), engine.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		l.e = e
	} else {
		return // Badger's is measured by BenchmarkFigures
	}
	if _, err := l.e.Resume(l.ctx, runtime.ResumeRequest{All: true}); err != nil {
		b.Fatal(err)
	}
	var signals, commits []time.Duration
	for b.Loop() {
		for i, id := range ids {
			begin := time.Now()
			if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Choice: "on"}); err != nil {
				b.Fatal(err)
			}
			signals = append(signals, time.Since(begin))
			begin = time.Now()
			batch := &runtime.Batch{Fences: []runtime.Fence{{Run: id, Expect: 0, Next: 1, Head: make([]byte, 500)}}, Writes: []runtime.Write{{Key: fmt.Appendf(nil, "k%d", i), Value: make([]byte, 400)}}}
			if err := floor.Commit(l.ctx, batch); err != nil {
				b.Fatal(err)
			}
			commits = append(commits, time.Since(begin))
		}
	}
	slices.Sort(signals)
	slices.Sort(commits)
	reportTimes(b, "signal", signals)
	b.ReportMetric(float64(signals[len(signals)/2])/float64(commits[len(commits)/2]), "commits")
}

// benchResume measures the answer of a run that is in the store alone, with 10,000 steps behind it
// and with ten, in turns.
func benchResume(b *testing.B, server *runtimetest.Postgres) {
	s, err := postgres.Open(context.Background(), server.Address(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	l := newLabOn(b, s)
	encoded := bundle(b, "def main(n):\n    at = min(n, 50)\n    for i in range(n // at):\n        parallel([lambda: work(\"w\") for j in range(at)])\n    for i in range(9):\n        gate(\"g\", options = [\"on\"])\n", nil)
	var ids [2][]string
	for i, n := range []int{10_000, 10} {
		for range 9 {
			run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: encoded, Script: "bench.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))})
			if err != nil {
				b.Fatal(err)
			}
			follow(b, l.e, l.ctx, run.ID, "gate.opened")
			ids[i] = append(ids[i], run.ID)
		}
	}
	var took [2][]time.Duration
	for b.Loop() {
		for round := range 5 { // each by another owner, who has none of them in memory
			if err := l.e.Close(); err != nil {
				b.Fatal(err)
			}
			if l.e, err = engine.Open(reopened(b, s), benchEnvironment(l.work), engine.Options{}); err != nil {
				b.Fatal(err)
			}
			if _, err := l.e.Resume(l.ctx, runtime.ResumeRequest{All: true}); err != nil {
				b.Fatal(err)
			}
			for n := range 2 * len(ids[0]) {
				i := (n + round) % 2
				begin := time.Now()
				if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: ids[i][n/2], Choice: "on"}); err != nil {
					b.Fatal(err)
				}
				took[i] = append(took[i], time.Since(begin))
			}
		}
	}
	if err := l.e.Close(); err != nil {
		b.Fatal(err)
	}
	for i := range took {
		slices.Sort(took[i])
	}
	b.ReportMetric(float64(took[0][len(took[0])/2])/float64(took[1][len(took[1])/2]), "of-short")
	b.ReportMetric(float64(took[0][len(took[0])/2].Microseconds())/1000, "ms")
}

// reopened opens the store of a handle that is closed, as its next owner.
func reopened(b *testing.B, s *postgres.Store) runtime.Store {
	next, err := postgres.Open(context.Background(), s.Address(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return next
}

// benchBurst measures 2,000 signals at once, of what their batches alone take.
func benchBurst(b *testing.B, open func(testing.TB) runtime.Store) {
	l, floor := newLabOn(b, open(b)), open(b)
	defer floor.Close()
	var ratios, rates []float64
	for b.Loop() {
		for range 5 {
			ids := l.crowd(2000)
			l.tape.record()
			begin := time.Now()
			var all sync.WaitGroup
			for _, id := range ids {
				all.Go(func() {
					if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Choice: "on"}); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			took := time.Since(begin)
			for _, id := range ids {
				follow(b, l.e, l.ctx, id, "run.completed")
			}
			least := replay(b, floor, l.tape.take())
			ratios, rates = append(ratios, least.Seconds()/took.Seconds()), append(rates, 2000/took.Seconds())
		}
	}
	b.ReportMetric(median(ratios), "of-floor")
	b.ReportMetric(median(rates), "signals/s")
}

// benchWaiting measures what a run that waits takes of the database, and how long the next owner
// needs until it carries all.
func benchWaiting(b *testing.B, server *runtimetest.Postgres) {
	runs := *manyWaiting
	address := server.Address()
	s, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	l := newLabOn(b, s)
	for b.Loop() {
		l.crowd(runs)
	}
	if err := l.e.Close(); err != nil {
		b.Fatal(err)
	}
	schema := address[strings.LastIndex(address, "=")+1:]
	server.Query("vacuum full analyze")
	var size float64
	fmt.Sscan(server.Query(fmt.Sprintf("select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = '%s' and c.relkind = 'r'", schema)), &size)
	b.ReportMetric(size/float64(runs), "bytes/run")
	next := reopened(b, s)
	begin := time.Now()
	e, err := engine.Open(next, benchEnvironment(l.work), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if carried, err := e.Resume(l.ctx, runtime.ResumeRequest{All: true}); err != nil || len(carried) != runs {
		b.Errorf("%d are carried, %v, wanted %d", len(carried), err, runs)
	}
	b.ReportMetric(float64(time.Since(begin).Milliseconds()), "takeover-ms")
}
