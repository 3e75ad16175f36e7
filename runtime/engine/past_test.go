package engine_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
)

var pastSteps = flag.Int("past", 20_000, "steps that the old run of BenchmarkPast has behind it; the figures in design.md name theirs")

// BenchmarkPast compares a run that has many steps behind it with one that has few, in turns: what
// a step costs, and what it costs to resume it in a store that was just opened.
//
//	go test ./runtime/engine -run '^$' -bench Past -benchtime 1x -timeout 1h -past 1000000
//
// "late/early" is the median over the rounds of the old run's time for a step divided by the young
// one's, on the clock and of processors.
func BenchmarkPast(b *testing.B) {
	for b.Loop() {
		w := &walk{b: b, dir: filepath.Join(b.TempDir(), "store"), ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:bench", Local: true})}
		w.open()
		old, young := w.start(), w.start()
		w.steps(old, *pastSteps)
		w.steps(young, fewSteps)
		w.compare(old, young)
		w.rest(old)
		w.rest(young)
		w.resume(old, young)
		w.close()
	}
}

// The young run's steps before it is measured, and those of each round.
const (
	fewSteps  = 1000
	pastRound = 500
)

// walk is an engine whose runs make as many steps as they are told to.
type walk struct {
	b   *testing.B
	dir string
	ctx context.Context
	e   *engine.Local

	mu      sync.Mutex // guards what follows
	walkers map[string]*walker
}

// walker holds a run at its next step until it may go on.
type walker struct {
	left    int // steps until it is held again; touched only by whoever holds the run
	reached chan struct{}
	goOn    chan struct{}
}

func (w *walk) open() {
	s, err := badger.Open(w.dir, badger.Options{})
	if err != nil {
		w.b.Fatal(err)
	}
	if w.e, err = engine.Open(s, benchEnvironment(w.work), engine.Options{}); err != nil {
		w.b.Fatal(err)
	}
}

func (w *walk) close() {
	if err := w.e.Close(); err != nil {
		w.b.Fatal(err)
	}
}

const walking = `
def main():
    for i in forever():
        if work("w", value = i):
            gate("g", options = ["on"])
`

// start starts a run and waits until it stands at its first step.
func (w *walk) start() (run string) {
	r, err := w.e.Start(w.ctx, runtime.StartRequest{Bundle: bundle(w.b, walking, nil), Script: "past.star", Inputs: json.RawMessage(`{}`)})
	if err != nil {
		w.b.Fatal(err)
	}
	<-w.walker(r.ID).reached
	return r.ID
}

func (w *walk) walker(run string) *walker {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.walkers == nil {
		w.walkers = map[string]*walker{}
	}
	if w.walkers[run] == nil {
		w.walkers[run] = &walker{reached: make(chan struct{}), goOn: make(chan struct{})}
	}
	return w.walkers[run]
}

// work is a step: it says whether the run is to rest.
func (w *walk) work(_ context.Context, a *effect.Attempt) effect.Reply {
	at := w.walker(a.Run)
	if at.left <= 0 {
		at.reached <- struct{}{}
		<-at.goOn
	}
	at.left--
	return effect.Reply{Value: starlark.Bool(at.left < 0)}
}

// steps lets a run make n steps, and tells how long that took, on the clock and of processors.
func (w *walk) steps(run string, n int) (took, used float64) {
	at := w.walker(run)
	at.left = n
	begin, before := time.Now(), processor()
	at.goOn <- struct{}{}
	<-at.reached
	return time.Since(begin).Seconds(), (processor() - before).Seconds()
}

// compare measures steps of the two runs in turns.
func (w *walk) compare(old, young string) {
	var clock, processors []float64
	for range rounds {
		lateTook, lateUsed := w.steps(old, pastRound)
		earlyTook, earlyUsed := w.steps(young, pastRound)
		clock, processors = append(clock, lateTook/earlyTook), append(processors, lateUsed/earlyUsed)
	}
	w.b.ReportMetric(median(clock), "late/early")
	w.b.ReportMetric(median(processors), "late/early-cpu")
}

// rest lets a run go on to its gate.
func (w *walk) rest(run string) {
	at := w.walker(run)
	at.left = 0
	at.goOn <- struct{}{}
	follow(w.b, w.e, w.ctx, run, "run.suspended")
}

// resume answers the gates of runs in a store that was just opened, in turns. A third run makes
// that the program is there: how long that takes is not a matter of the past.
func (w *walk) resume(old, young string) {
	third := w.start()
	w.rest(third)
	times := map[string][]time.Duration{}
	for i := range rounds {
		w.close()
		w.open()
		order := []string{old, young}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, run := range append([]string{third}, order...) {
			times[run] = append(times[run], w.answer(run))
		}
	}
	reportTimes(w.b, "resume-late", times[old])
	reportTimes(w.b, "resume-early", times[young])
	reportTimes(w.b, "resume-first", times[third])
}

// answer signals a run that rests, and lets it come to its next gate.
func (w *walk) answer(run string) time.Duration {
	begin := time.Now()
	if _, err := w.e.Signal(w.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Choice: "on"}); err != nil {
		w.b.Fatal(fmt.Errorf("%s: %w", run, err))
	}
	took := time.Since(begin)
	<-w.walker(run).reached
	w.rest(run)
	return took
}
