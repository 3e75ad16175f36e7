package engine_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// hungry is a world whose runs may hold so much together. It hears what the engine says of it.
type hungry struct {
	*world
	bound   int64
	waits   chan string // runs that began to wait
	release chan struct{}
	mu      sync.Mutex
	most    int64 // that all runs held when one had to wait
}

// holds takes n MiB at the gate "go", and holds them while an attempt is in flight.
const holds = `
def main(n, step = "w"):
    gate("go", options = ["yes"])
    held = []
    for i in range(n * 4):
        held.append("x" * (256 << 10) + str(i))
    return [work(step), len(held), held[-1][-3:].strip("x")]
`

// spins holds n MiB and never waits for anything.
const spins = `
def main(n):
    held = ["x" * (256 << 10) + str(i) for i in range(n * 4)]
    for i in forever():
        pass
`

func newHungry(t *testing.T, bound int64) *hungry {
	h := &hungry{world: newWorld(t), bound: bound, waits: make(chan string, 1000), release: make(chan struct{})}
	h.unseen = true
	h.work = func(ctx context.Context, a *effect.Attempt) effect.Reply {
		select {
		case <-h.release:
			return effect.Reply{Value: starlark.String("done")}
		case <-ctx.Done():
			return effect.Reply{Err: effect.Errorf("effect", "stopped")}
		}
	}
	h.reopen()
	return h
}

var forMemory = regexp.MustCompile(`^run (\S+) waits for memory: all runs hold (\d+) bytes of (\d+), and it needs (\d+)$`)

// reopen has the engine leave, and another come.
func (h *hungry) reopen() {
	h.t.Helper()
	if err := h.engine.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.store = h.store.Reopen()
	h.serve()
}

// serve makes the engine of the store.
func (h *hungry) serve() {
	h.t.Helper()
	e, err := engine.Open(h.store, environment(h.perform), engine.Options{Grace: time.Millisecond, Memory: h.bound, Log: h.hear})
	if err != nil {
		h.t.Fatal(err)
	}
	h.engine = e
}

func (h *hungry) hear(format string, args ...any) {
	said := forMemory.FindStringSubmatch(fmt.Sprintf(format, args...))
	if said == nil {
		h.t.Logf(format, args...)
		return
	}
	held, _ := strconv.ParseInt(said[2], 10, 64)
	h.mu.Lock()
	h.most = max(h.most, held)
	h.mu.Unlock()
	h.waits <- said[1]
}

// waited waits until a run says that it waits for memory.
func (h *hungry) waited(run string) {
	h.t.Helper()
	for late := time.After(30 * time.Second); ; {
		select {
		case who := <-h.waits:
			if who == run {
				return
			}
		case <-late:
			h.t.Fatalf("run %s did not wait for memory", run)
		}
	}
}

// told tells whether a run and its row in the list say that it waits for memory.
func (h *hungry) told(run string, want bool) {
	h.t.Helper()
	r, err := h.engine.Get(h.ctx, run)
	if err != nil {
		h.t.Fatal(err)
	}
	list, err := h.engine.List(h.ctx, runtime.Query{All: true})
	if err != nil {
		h.t.Fatal(err)
	}
	row := list.Runs[slices.IndexFunc(list.Runs, func(s runtime.Summary) bool { return s.ID == run })]
	if strings.Contains(r.WaitsFor(), "MiB of memory") != want || (row.WaitsFor() != "") != want {
		h.t.Errorf("run %s waits for %q, in the list %q; for memory: %v", run, r.WaitsFor(), row.WaitsFor(), want)
	}
}

func (h *hungry) eats(n int) *runtime.Run {
	h.t.Helper()
	run := h.start(holds, fmt.Sprintf(`{"n": %d}`, n))
	h.until(run.ID, runtime.Suspended)
	return run
}

// Twelve runs hold three MiB each while their agents work, and all of them may hold eight: the runs
// that wait for an agent leave memory for those that go on, and come back as they were.
func TestRunsThatWaitMakeRoom(t *testing.T) {
	h := newHungry(t, 8<<20)
	var runs []string
	for range 12 {
		runs = append(runs, h.eats(3).ID)
	}
	for _, run := range runs {
		go h.engine.Signal(h.ctx, answer(run, "go", "yes"))
	}
	for _, run := range runs {
		h.await(run, "attempt.started")
	}
	close(h.release)
	for _, run := range runs {
		if end := h.until(run, runtime.Completed); string(end.Output) != `["done",12,"11"]` {
			t.Errorf("run %s: output %s", run, end.Output)
		}
	}
	if h.most == 0 || h.most > 12<<20 {
		t.Errorf("all runs held %d bytes when one had to wait: the bound is %d", h.most, h.bound)
	}
}

// A run that waits for memory can be cancelled, does not keep the engine from closing, and goes on
// in the next one; who needs little goes on beside it.
func TestRunThatWaitsForMemory(t *testing.T) {
	h := newHungry(t, 4<<20)
	hog := h.start(spins, `{"n": 4}`)
	first, second := h.eats(3), h.eats(3)
	for _, run := range []*runtime.Run{first, second} {
		go h.engine.Signal(h.ctx, answer(run.ID, "go", "yes"))
		h.waited(run.ID)
		h.told(run.ID, true)
	}
	small := h.start(`
def main():
    gate("go", options = ["yes"])
    return sum([i for i in range(100)])
def sum(list):
    n = 0
    for i in list:
        n += i
    return n
`, "")
	h.until(small.ID, runtime.Suspended)
	h.signal(answer(small.ID, "go", "yes"))
	h.until(small.ID, runtime.Completed)

	if _, err := h.engine.Cancel(h.ctx, runtime.CancelRequest{Run: first.ID}); err != nil {
		t.Fatal(err)
	}
	h.told(h.until(first.ID, runtime.Cancelled).ID, false)

	h.reopen() // while the second waits: its answer was not taken
	h.signal(answer(second.ID, "go", "yes"))
	if _, err := h.engine.Cancel(h.ctx, runtime.CancelRequest{Run: hog.ID}); err != nil {
		t.Fatal(err)
	}
	close(h.release)
	if end := h.until(second.ID, runtime.Completed); string(end.Output) != `["done",12,"11"]` {
		t.Errorf("output %s", end.Output)
	}
}

// The deadline of a run that waits for memory is kept.
func TestDeadlineOfARunThatWaitsForMemory(t *testing.T) {
	h := newHungry(t, 4<<20)
	hog := h.start(spins, `{"n": 4}`)
	late, err := h.engine.Start(h.ctx, runtime.StartRequest{Bundle: bundle(t, holds, nil), Script: "main.star",
		Inputs: []byte(`{"n": 3}`), Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	h.until(late.ID, runtime.Suspended)
	go h.engine.Signal(h.ctx, answer(late.ID, "go", "yes"))
	h.waited(late.ID)
	h.until(late.ID, runtime.Failed)
	if _, err := h.engine.Cancel(h.ctx, runtime.CancelRequest{Run: hog.ID}); err != nil {
		t.Fatal(err)
	}
	h.until(hog.ID, runtime.Cancelled)
}

// What comes for a run that waits for memory has its turn taken again once, not again and again.
func TestTimersOfARunThatWaitsForMemory(t *testing.T) {
	h := newHungry(t, 4<<20)
	close(h.release)
	hog := h.start(spins, `{"n": 4}`)
	run := h.start(`
def grow():
    gate("go", options = ["yes"])
    return len(["x" * (256 << 10) + str(i) for i in range(12)])
def main():
    return parallel([lambda: sleep("500ms"), grow])[1]
`, "")
	h.until(run.ID, runtime.Suspended)
	go h.engine.Signal(h.ctx, answer(run.ID, "parallel/1/go", "yes"))
	h.waited(run.ID)
	if h.count(run.ID, "step.settled") == 0 { // else the timer came before there was something to wait for
		h.waited(run.ID)
	}
	if _, err := h.engine.Cancel(h.ctx, runtime.CancelRequest{Run: hog.ID}); err != nil {
		t.Fatal(err)
	}
	if end := h.until(run.ID, runtime.Completed); string(end.Output) != "12" {
		t.Errorf("output %s", end.Output)
	}
	if n := len(h.waits); n > 20 {
		t.Errorf("the run began to wait %d times more", n)
	}
}

// One run alone may hold as much as its own limit says, whatever all of them may.
func TestOneRunGoesOnBeyondTheBoundOfAll(t *testing.T) {
	h := newHungry(t, 1<<20)
	close(h.release)
	run := h.eats(6)
	h.signal(answer(run.ID, "go", "yes"))
	h.until(run.ID, runtime.Completed)
}

// A kill at any commit while runs make room for each other loses nothing.
func TestKilledWhileRunsMakeRoom(t *testing.T) {
	for n := 1; n <= 16; n++ {
		h := newHungry(t, 2<<20)
		close(h.release)
		var runs []string
		for range 3 {
			runs = append(runs, h.eats(2).ID)
		}
		h.store.FailCommit(n, errors.New("killed"), memory.Moment(n%2))
		var answers sync.WaitGroup
		for _, run := range runs {
			answers.Go(func() { _, _ = h.engine.Signal(h.ctx, answer(run, "go", "yes")) })
		}
		answers.Wait()
		dead := h.engine
		h.store = h.store.Crash()
		h.serve()
		dead.Close()
		h.resume()
		for _, run := range runs {
			_, _ = h.engine.Signal(h.ctx, answer(run, "go", "yes")) // it may have been answered before
			if end := h.until(run, runtime.Completed); string(end.Output) != `["done",8,"7"]` {
				t.Errorf("killed at commit %d: output %s", n, end.Output)
			}
		}
	}
}
