package engine_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
)

// countingStore counts what is asked of a store: over a network each of these is a round trip.
type countingStore struct {
	runtime.Store
	reads atomic.Int64
	rows  atomic.Int64 // that scans have given
}

// counted closes the engine of a world and opens it again, on a store that counts from before it is
// opened.
func (w *world) counted(t *testing.T) *countingStore {
	t.Helper()
	w.engine.Close()
	w.store = w.store.Reopen()
	counted := &countingStore{Store: w.store}
	e, err := engine.Open(counted, environment(w.perform), engine.Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	w.engine = e
	return counted
}

func (s *countingStore) Get(key []byte) ([]byte, error) {
	s.reads.Add(1)
	return s.Store.Get(key)
}

func (s *countingStore) Scan(from, to []byte, fn func(key, value []byte) error) error {
	s.reads.Add(1)
	return s.Store.Scan(from, to, func(key, value []byte) error {
		s.rows.Add(1)
		return fn(key, value)
	})
}

func (s *countingStore) Head(run string) (uint64, []byte, error) {
	s.reads.Add(1)
	return s.Store.Head(run)
}

// What a take-over asks of the store does not grow with the runs that wait. A run that rests for
// want of a variable, which its carrier now has, goes on; the others stay where they are.
func TestTakingOverAsksInBulk(t *testing.T) {
	const script = `
def main(n = 0):
    gate("g", options = ["yes"])
    return work("w")
`
	takeOver := func(waiting int) int64 {
		w := newWorld(t)
		var resting []string
		for n := range waiting {
			id := w.start(script, fmt.Sprintf(`{"n": %d}`, n)).ID
			w.until(id, runtime.Suspended)
			resting = append(resting, id)
		}
		needy, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, "def main():\n    work(\"v\")\n    return run(\"child.star\")\n", map[string]string{"child.star": "def main():\n    return work(\"w\", \"x\")\n"}),
			Script: "needy.star", Settings: effect.Settings{Env: []string{"TOKEN"}}})
		if err != nil {
			t.Fatal(err)
		}
		w.until(needy.ID, runtime.Suspended)
		counted := w.counted(t)
		carried, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{All: true, Lookup: func(name string) (string, bool) { return "of the owner", name == "TOKEN" }})
		for _, id := range resting { // the one with a variable may have ended by now
			if err != nil || !slices.Contains(carried, id) {
				t.Fatalf("carried %d runs, %v, want %s among them", len(carried), err, id)
			}
		}
		reads := counted.reads.Load()
		if got := w.until(needy.ID, runtime.Completed); string(got.Output) != `"x"` {
			t.Errorf("with its variable the run came to %s", got.Output)
		}
		l, err := w.engine.List(w.ctx, runtime.Query{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.Runs {
			if r.Parent != "" && slices.Contains(w.types(r.ID), "gate.opened") {
				t.Errorf("its child asks for what the carrier has: %q", w.types(r.ID))
			}
		}
		return reads
	}
	few, many := takeOver(10), takeOver(300)
	if many > few+100 { // the one that goes on may have read by then
		t.Errorf("to take over 10 runs the store is asked %d times, for 300 %d times", few, many)
	}
	t.Logf("the store is asked %d times for 10 runs, %d times for 300", few, many)
}

// What the list of all gates asks of the store does not grow with them once they are many: an owner
// asks for it before it takes over.
func TestListingGatesAsksInBulk(t *testing.T) {
	w := newWorld(t)
	const runs = 600
	for range runs {
		w.start("def main():\n    gate(\"g\", options = [\"yes\"])\n", `{}`)
	}
	counted := w.counted(t)
	before := counted.reads.Load()
	l, err := w.engine.List(w.ctx, runtime.Query{Gates: true})
	if err != nil || len(l.Gates) != runs {
		t.Fatalf("%d gates are listed, %v, want %d", len(l.Gates), err, runs)
	}
	if reads := counted.reads.Load() - before; reads > runs/2 {
		t.Errorf("it asks %d times for %d gates", reads, runs)
	}

	// A page costs what it has, also one of many gates: the rows of other runs are not read.
	const page = runs / 2
	rows := counted.rows.Load()
	l, err = w.engine.List(w.ctx, runtime.Query{Gates: true, Limit: page})
	if err != nil || len(l.Gates) != page {
		t.Fatalf("a page has %d gates, %v, want %d", len(l.Gates), err, page)
	}
	if read := counted.rows.Load() - rows; read >= runs {
		t.Errorf("scans give %d rows for a page of %d gates", read, page)
	}
}

// An owner that serves and dies before it has changed anything leaves the index to the next one,
// which need not make it anew.
func TestAnIdleOwnerLeavesTheIndex(t *testing.T) {
	w := newWorld(t)
	const runs = 100
	for range runs {
		w.start("def main():\n    gate(\"g\", options = [\"yes\"])\n", `{}`)
	}
	reads := int64(0)
	for range 2 {
		reads = w.counted(t).reads.Load()
		if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{All: true, Schedules: true}); err != nil {
			t.Fatal(err)
		}
	}
	if reads > runs/2 {
		t.Errorf("it asks %d times before it owns %d runs", reads, runs)
	}
}
