package runtime_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"starling/runtime"
	"starling/runtime/memory"
)

const answered = `
def main(n):
    total = 0
    for i in range(n):
        gate("g", options = ["on"])
        total += 1
    return total
`

// counts is a store that counts what is read of journals.
type counts struct {
	*memory.Store
	commits int
}

func (c *counts) Scan(from, to []byte, fn func(key, value []byte) error) error {
	return c.Store.Scan(from, to, func(k, v []byte) error {
		if bytes.HasPrefix(k, []byte("j/")) {
			c.commits++
		}
		return fn(k, v)
	})
}

// points are the numbers in the keys of a run's checkpoints.
func (w *world) points(run string) (all []uint64) {
	w.t.Helper()
	prefix := "s/" + run
	err := w.store.Scan([]byte(prefix), []byte(prefix+"\xff"), func(k, _ []byte) error {
		all = append(all, binary.BigEndian.Uint64(k[len(prefix):]))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A run that rests often writes one checkpoint over and over, and keeps one now and then: whatever is damaged, a load reads a bounded piece of the journal and the run goes on from
// its newest record.
func TestCheckpointsOfARunThatRestsOften(t *testing.T) {
	const answers = 700 // of seven records each
	w := newWorld(t)
	run := w.start(answered, `{"n": 700}`).ID
	on := func() {
		w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Choice: "on"})
	}
	left := answers
	reload := func(what string, most int) {
		t.Helper()
		w.engine.Close()
		w.store = w.store.Reopen()
		c := &counts{Store: w.store}
		w.engine = w.build(c, 0)
		on()
		left--
		if c.commits > most {
			t.Errorf("%s: %d commits were read, want at most %d", what, c.commits, most)
		}
	}
	for range answers / 2 {
		on()
		left--
	}
	if got := w.points(run); len(got) != 2 || got[0] != 0 || got[1] < 2000 || got[1] > 2010 {
		t.Errorf("after half of it there are %v, want 0 and one that is little more than 2000", got)
	}
	reload("nothing damaged", 0)
	for range answers/2 - 100 {
		on()
		left--
	}
	kept := w.points(run)
	if len(kept) != 3 || kept[2] < 4000 {
		t.Fatalf("near its end there are %v, want 0 and two more", kept)
	}
	rest := slices.Concat([]byte("s/"+run), make([]byte, 10))
	w.damage("s/"+run, func(k []byte) bool { return bytes.Equal(k, rest) })
	reload("the newest damaged", 2000/7)
	reload("mended", 0)
	w.each(string(rest), func([]byte) []byte { return nil })
	reload("the newest lost", 2000/7)
	w.damage("s/"+run, func(k []byte) bool { return binary.BigEndian.Uint64(k[len(k)-10:]) != kept[1] })
	reload("all damaged but the oldest", 2*2000/7)
	for left > 0 {
		on()
		left--
	}
	if got := w.until(run, runtime.Completed); string(got.Output) != "700" {
		t.Errorf("output %s, want 700", got.Output)
	}
}
