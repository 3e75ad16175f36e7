package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

const answered = `
def main(n, times = 0):
    total, pad = 0, ["large " * times]
    for i in range(n):
        gate("g", options = ["on"])
        total += 1
    return total if pad else None
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

// changed replaces the checkpoints of the runs whose ids begin with run: those that are kept, and
// heads. change returns nil to take one away.
func changed(store runtime.Store, run string, change func([]byte) []byte) (n int, err error) {
	var b runtime.Batch
	kept := store.Scan([]byte("s/"+run), []byte("s/"+run+"\xff"), func(k, v []byte) error {
		b.Writes = append(b.Writes, runtime.Write{Key: bytes.Clone(k), Value: change(bytes.Clone(v))})
		return nil
	})
	heads := store.Scan([]byte("r/"+run), []byte("r/"+run+"\xff"), func(k, _ []byte) error {
		id := string(k[len("r/"):])
		at, head, err := store.Head(id)
		if head != nil {
			b.Fences = append(b.Fences, runtime.Fence{Run: id, Expect: at, Next: at, Head: change(head)})
		}
		return err
	})
	return len(b.Writes) + len(b.Fences), errors.Join(kept, heads, store.Commit(context.Background(), &b))
}

// A run that rests often has its newest checkpoint as its head, and keeps one now and then:
// whatever is damaged, a load reads a bounded piece of the journal and the run goes on from its
// newest record.
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
	const apart = 1029 // records of 64 KiB
	if got := w.points(run); len(got) != 2 || got[1]-got[0] > apart || 350*7-got[1] > apart {
		t.Errorf("after half of it there are %v, want the last two of those that are %d apart", got, apart)
	}
	reload("nothing damaged", 0)
	for range answers/2 - 100 {
		on()
		left--
	}
	kept := w.points(run)
	if len(kept) != 2 || kept[0] < 3000 {
		t.Fatalf("near its end there are %v, want two", kept)
	}
	w.head(run, spoilByte)
	reload("the head damaged", apart/7)
	reload("mended", 0)
	w.head(run, func([]byte) []byte { return nil })
	reload("the head lost", apart/7)
	w.head(run, spoilByte)
	w.damage("s/"+run, func(k []byte) bool { return binary.BigEndian.Uint64(k[len(k)-10:]) != kept[0] })
	reload("all damaged but the oldest", 2*apart/7)
	for left > 0 {
		on()
		left--
	}
	if got := w.until(run, runtime.Completed); string(got.Output) != "700" {
		t.Errorf("output %s, want 700", got.Output)
	}
}

// A checkpoint that is too large for a head is kept when its run leaves memory: what is replayed,
// and when the next one is due, is measured from there.
func TestCheckpointOfALargeRunThatLeavesMemory(t *testing.T) {
	const some = 100 // answers, of 45 KiB: two thirds of what makes a checkpoint due
	w := newWorld(t)
	run := w.start(answered, fmt.Sprintf(`{"n": %d, "times": 8192}`, 3*some)).ID
	for range some {
		w.signal(answer(run, "", "on"))
	}
	if got := w.points(run); len(got) != 0 {
		t.Fatalf("after %d answers there are %v, want none", some, got)
	}
	w.restart()
	left := w.points(run)
	for range some {
		w.signal(answer(run, "", "on"))
	}
	if got := w.points(run); len(left) != 1 || !slices.Equal(got, left) {
		t.Errorf("%d answers after it left memory there are %v, want the one from then, %v", some, got, left)
	}
}

// What a machine did before the process died counts with what it does since: however often that
// happens, a replay is bounded.
func TestStepsOfARunWhoseProcessDiesOften(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	const life = 9_000_000 // steps; 20 million make a checkpoint due
	const lives = 3
	w := newWorld(t)
	begun := make(chan string, lives)
	run := ""
	for n := range lives {
		if got := w.points(run); n > 0 && len(got) != 0 {
			t.Fatalf("before life %d there are %v, want none", n, got)
		}
		w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
			if effect.ViewOf(a.Args).Int("value") < int64(n) {
				return effect.Reply{Value: starlark.None}
			}
			return hanging(begun)(ctx, a)
		})
		if n == 0 {
			run = w.start(fmt.Sprintf(`
def main():
    for life in range(%d):
        for i in range(%d):
            pass
        work("w", value = life)
`, lives, life), "").ID
		} else {
			w.crash()
			w.resume()
		}
		<-begun
	}
	if got := w.points(run); len(got) == 0 {
		t.Errorf("after %d lives there is no checkpoint", lives)
	}
}

// head changes the head of a run.
func (w *world) head(run string, change func([]byte) []byte) {
	w.t.Helper()
	at, head, err := w.store.Head(run)
	if err == nil && head != nil {
		err = w.store.Commit(w.ctx, &runtime.Batch{Fences: []runtime.Fence{{Run: run, Expect: at, Next: at, Head: change(head)}}})
	}
	if err != nil || head == nil {
		w.t.Fatalf("the head of run %s has %d bytes: %v", run, len(head), err)
	}
}
