package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"golang.org/x/sys/unix"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/stdlib"
)

// BenchmarkFigures measures durable work on the real store against what the same store and the same
// disk can do at all:
//
//	go test -run '^$' -bench Figures -benchtime 1x ./runtime
//
// The floor of a workload is its own batches, recorded and committed again to a second store by as
// many callers, with nothing above them. Workload and floor take turns in one process, because the
// disk itself changes by a factor of two within minutes: "of-floor" is the median over the rounds
// of one's rate divided by the other's. A step is a request, its attempt and its outcome; the
// outcome of one and the request of the next share a commit.
func BenchmarkFigures(b *testing.B) {
	b.Run("disk", benchDisk)
	for _, c := range []struct{ runs, steps int }{{1, 500}, {64, 60}, {512, 20}} {
		b.Run(fmt.Sprintf("steps/runs=%d", c.runs), func(b *testing.B) { benchSteps(b, openBadger, c.runs, c.steps) })
	}
	b.Run("parallel=1000", benchParallel)
	b.Run("signal", benchSignal)
}

const rounds = 15

// benchDisk appends as many bytes as a step has and syncs them, which is the least that any durable
// step can cost on this disk.
func benchDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	record := make([]byte, 400)
	var times []time.Duration
	for b.Loop() {
		for range 2000 {
			begin := time.Now()
			if _, err := f.Write(record); err != nil {
				b.Fatal(err)
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(begin))
		}
	}
	reportTimes(b, "sync", times)
}

// reportTimes prints the middle and the 99th percentile in microseconds.
func reportTimes(b *testing.B, what string, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), what+"-p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), what+"-p99-µs")
}

// processor is the time that this process has used of all processors. Where others use them too it
// says more than the clock.
func processor() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // its own cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

const sequential = `
def main(n):
    work("ready")
    for i in range(n):
        work("w", value = i)
    work("done")
`

// lab is an engine on a tape whose work is done at once, but for the steps "ready" and "done"
// between which is measured.
type lab struct {
	b     *testing.B
	e     *engine.Local
	tape  *tape
	ctx   context.Context
	ready sync.WaitGroup
	begin chan struct{}
	done  sync.WaitGroup
}

// benchEnvironment is the standard library, with an effect that does nothing but what perform does:
// what steps cost is then the machine's and the engine's.
func benchEnvironment(perform func(context.Context, *effect.Attempt) effect.Reply) *effect.Environment {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	env.Names["work"] = &effect.Builtin{
		FullName: "work", Class: effect.Waiting, Params: []effect.Param{{Name: "name", Type: "string"}, {Name: "value", Type: "int", Default: "0"}},
		Request: func(c *effect.Call) (*effect.Request, error) {
			name := c.Text("name", "")
			value, err := c.Count("value", 0)
			var args effect.Object
			return &effect.Request{Class: effect.Waiting, Kind: "work", Name: name, Args: args.Text("name", name).Int("value", int64(value)).Payload()}, err
		},
	}
	env.Handlers["work"] = &effect.Handler{Perform: perform}
	env.Names["agent"] = ask("agent", effect.Waiting, "name", "who", "on_uncertain", "retries")
	env.Handlers["agent"] = &effect.Handler{Perform: func(context.Context, *effect.Attempt) effect.Reply {
		return effect.Reply{Value: starlark.None, Usage: testUsage(10)}
	}}
	return env
}

// newLab is an engine on the real store, with the processors that the program has.
func newLab(b *testing.B) *lab { return newLabOn(b, openBadger(b)) }

func newLabOn(b *testing.B, s runtime.Store) *lab {
	b.Cleanup(badger.SpareProcessor())
	l := &lab{b: b, tape: &tape{Store: s}, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:bench", Local: true})}
	e, err := engine.Open(l.tape, benchEnvironment(l.work), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	l.e = e
	return l
}

func (l *lab) work(_ context.Context, a *effect.Attempt) effect.Reply {
	switch {
	case strings.HasPrefix(a.Step, "ready"):
		l.ready.Done()
		<-l.begin
	case strings.HasPrefix(a.Step, "done"):
		l.done.Done()
	}
	return effect.Reply{}
}

// measure starts runs, lets them go all at once and returns when the last is done: how long that
// took, on the clock and of processors, and what it committed.
func (l *lab) measure(script string, runs, n int) (took, used time.Duration, batches map[string][]*runtime.Batch) {
	l.begin = make(chan struct{})
	l.ready.Add(runs)
	l.done.Add(runs)
	encoded := bundle(l.b, script, nil)
	ids := make([]string, runs)
	for i := range ids {
		run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: encoded, Script: "bench.star", Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))})
		if err != nil {
			l.b.Fatal(err)
		}
		ids[i] = run.ID
	}
	l.ready.Wait()
	l.tape.record()
	begin, before := time.Now(), processor()
	close(l.begin)
	l.done.Wait()
	took, used = time.Since(begin), processor()-before
	for _, id := range ids {
		follow(l.b, l.e, l.ctx, id, "run.completed")
	}
	return took, used, l.tape.take()
}

// benchSteps lets runs make steps, each run one after another.
func benchSteps(b *testing.B, open func(testing.TB) runtime.Store, runs, steps int) {
	l, floor := newLabOn(b, open(b)), open(b)
	defer floor.Close()
	var ratios, rates, ours, theirs []float64
	for b.Loop() {
		for range rounds {
			before := transactions(l.tape.Store)
			took, used, batches := l.measure(sequential, runs, steps)
			after := transactions(l.tape.Store)
			begin := processor()
			least := replay(b, floor, batches)
			theirs = append(theirs, float64((processor()-begin).Microseconds())/float64(runs*steps))
			ours = append(ours, float64(used.Microseconds())/float64(runs*steps))
			ratios = append(ratios, least.Seconds()/took.Seconds())
			rates = append(rates, float64(runs*steps)/took.Seconds())
			if len(ratios) == rounds {
				reportVolume(b, volumeOf(batches), after-before, runs*steps)
			}
		}
	}
	b.ReportMetric(median(ratios), "of-floor")
	b.ReportMetric(median(rates), "steps/s")
	b.ReportMetric(median(ours), "cpu-µs/step")
	b.ReportMetric(median(theirs), "floor-cpu-µs/step")
}

func reportVolume(b *testing.B, v volume, syncs uint64, steps int) {
	b.ReportMetric(float64(v.keys)/float64(steps), "keys/step")
	b.ReportMetric(float64(v.bytes)/float64(steps), "bytes/step")
	b.ReportMetric(float64(syncs)/float64(steps), "syncs/step")
}

const wide = `
def main(n):
    work("ready")
    parallel([lambda: work("w") for _ in range(n)])
    work("done")
`

// benchParallel lets one run make a thousand steps at once.
func benchParallel(b *testing.B) {
	l := newLab(b)
	var took []float64
	for b.Loop() {
		for range rounds {
			d, _, _ := l.measure(wide, 1, 1000)
			took = append(took, float64(d.Microseconds())/1000)
		}
	}
	b.ReportMetric(median(took), "ms")
}

// follow waits for an event of a run.
func follow(b testing.TB, e *engine.Local, ctx context.Context, run, typ string) {
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
	l := newLab(b)
	run, err := l.e.Start(l.ctx, runtime.StartRequest{Bundle: bundle(b, `
def main():
    for i in forever():
        gate("g", options = ["on"])
`, nil), Script: "bench.star"})
	if err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		for range 500 {
			begin := time.Now()
			if _, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Choice: "on"}); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(begin))
		}
	}
	reportTimes(b, "signal", times)
}
