package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
)

// BenchmarkFigures measures durable steps on the real store beside what the disk and the store can do at all, in one run on one disk:
//
//	go test -run '^$' -bench Figures -benchtime 1x ./runtime
//
// A step is a request, its attempt and its outcome. The outcome of one and the request of the next share a commit, so a run of N steps makes about N commits.
// The floors append, or commit, as many bytes as a step does.
func BenchmarkFigures(b *testing.B) {
	const steps = 2000
	var disk, store float64
	b.Run("floor/append+fdatasync", func(b *testing.B) { disk = benchDisk(b, steps) })
	b.Run("floor/store commits", func(b *testing.B) {
		store = benchCommits(b, steps)
		b.ReportMetric(store/disk, "of-disk")
	})
	for _, runs := range []int{1, 64} {
		b.Run(fmt.Sprintf("steps/runs=%d", runs), func(b *testing.B) {
			rate := benchSteps(b, runs, steps/runs)
			b.ReportMetric(rate/disk, "of-disk")
			b.ReportMetric(rate/store, "of-store")
		})
	}
	b.Run("parallel 1000", func(b *testing.B) { benchSteps(b, 0, 1000) })
	b.Run("signal to resumed", benchSignal)
}

const stepBytes = 420 // records of one step as the journal has them

func benchDisk(b *testing.B, n int) float64 {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	record := make([]byte, stepBytes)
	return rate(b, n, func() {
		for range n {
			if _, err := f.Write(record); err != nil {
				b.Fatal(err)
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchCommits(b *testing.B, n int) float64 {
	s := openBadger(b)
	defer s.Close()
	seq := uint64(0)
	return rate(b, n, func() {
		for range n {
			batch := &runtime.Batch{Fences: []runtime.Fence{{Run: "bench", Expect: seq, Next: seq + 1}},
				Writes: []runtime.Write{{Key: fmt.Appendf(nil, "j/bench%08d", seq), Value: make([]byte, stepBytes)}}}
			if err := s.Commit(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
			seq++
		}
	})
}

func openBadger(b *testing.B) *badger.Store {
	b.Helper()
	s, err := badger.Open(filepath.Join(b.TempDir(), "store"), badger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// rate runs do b.N times and returns, and reports, how many of n things a second that makes.
func rate(b *testing.B, n int, do func()) float64 {
	begin := time.Now()
	for b.Loop() {
		do()
	}
	r := float64(n*b.N) / time.Since(begin).Seconds()
	b.ReportMetric(r, "per-s")
	return r
}

const sequential = `
def main(n):
    for i in range(n):
        work("w", value = i)
`

const wide = `
def main(n):
    parallel([lambda: work("w") for _ in range(n)])
`

// benchSteps lets some runs make steps, each on its own; with no runs, one run makes them all at once.
func benchSteps(b *testing.B, runs, steps int) float64 {
	script := sequential
	if runs == 0 {
		script, runs = wide, 1
	}
	e, ctx := openEngine(b)
	encoded := bundle(b, script, nil)
	return rate(b, runs*steps, func() {
		ids := make([]string, runs)
		for i := range ids {
			run, err := e.Start(ctx, runtime.StartRequest{Bundle: encoded, Script: "bench.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, steps))})
			if err != nil {
				b.Fatal(err)
			}
			ids[i] = run.ID
		}
		for _, id := range ids {
			follow(b, e, ctx, id, "run.completed")
		}
	})
}

func openEngine(b *testing.B) (*runtime.Local, context.Context) {
	b.Helper()
	env := environment(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} })
	e, err := runtime.Open(openBadger(b), env, runtime.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e, runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:bench", Local: true})
}

// follow waits for an event of a run.
func follow(b *testing.B, e *runtime.Local, ctx context.Context, run, typ string) {
	b.Helper()
	found := false
	err := e.Watch(ctx, runtime.WatchRequest{Run: run, Follow: true}, func(ev runtime.Event) error {
		if found = ev.Type == typ; found {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil || !found {
		b.Fatalf("run %s ended without %s: %v", run, typ, err)
	}
}

// benchSignal measures from a signal to the run's being at its next gate, durably.
func benchSignal(b *testing.B) {
	e, ctx := openEngine(b)
	run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(b, `
def main():
    for i in forever():
        gate("g", options = ["on"])
`, nil), Script: "bench.star"})
	if err != nil {
		b.Fatal(err)
	}
	rate(b, 100, func() {
		for range 100 {
			if _, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Choice: "on"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
