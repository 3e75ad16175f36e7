package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/metrics"
	"starling/runtime/query"
	"starling/runtime/tool"
)

// billing has agents at work between its gates, in branches, and in a child run. Some fail at
// first, and some are withdrawn while they work.
const billing = `
def main():
    for i in range(4):
        gate("g", options = ["yes", "no"])
        agent("judge", who = "judge", on_uncertain = "retry")
        parallel([lambda: agent("flaky", who = "flaky", retries = 2, on_uncertain = "retry") for _ in range(3)])
        if i == 1:
            run("child.star")
        attempt(lambda: agent("hopeless", who = "hopeless", on_uncertain = "retry"))
`

var billingFiles = map[string]string{"child.star": `
def main():
    agent("judge", who = "judge", on_uncertain = "retry")
    return gate("below", options = ["yes", "no"]).choice
`}

// bills is a world whose agents tell what they take: while they work, and at the end.
func bills(t *testing.T) *world {
	w := trims(t, 0)
	w.does(func(_ context.Context, a *effect.Attempt) effect.Reply {
		told := func(n int, more ...starlark.Tuple) *starlark.Dict {
			d := new(starlark.Dict)
			for _, pair := range append(more, starlark.Tuple{starlark.String("usd"), starlark.Float(float64(n) / 100)}, starlark.Tuple{starlark.String("input_tokens"), starlark.MakeInt(n)}) {
				_ = d.SetKey(pair[0], pair[1]) // a fresh dict
			}
			return d
		}
		model := starlark.Tuple{starlark.String("model"), starlark.String(fmt.Sprintf("m%d", len(a.Step)%2))}
		a.Emit("usage", told(1, model))
		a.Emit("usage", told(2))
		switch {
		case strings.Contains(a.Step, "hopeless"):
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "no hope"), Backend: "b2"} // what it told before counts
		case strings.Contains(a.Step, "flaky") && a.Number == 1:
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "reset"), Class: effect.Retryable, Usage: told(3, model)}
		}
		return effect.Reply{Value: starlark.None, Backend: "b1", Usage: told(5, model, starlark.Tuple{starlark.String("claimed"), starlark.True})}
	})
	return w
}

// unbilled is an engine that has no index of what was taken: the journals tell.
type unbilled struct{ runtime.Engine }

// cost is what agents have cost, by all that it can be summed up by, of all runs and of each.
func cost(w *world, e runtime.Engine) string {
	w.t.Helper()
	l, err := e.List(w.ctx, runtime.Query{All: true})
	if err != nil {
		w.t.Fatal(err)
	}
	var all strings.Builder
	ids := []string{""}
	for _, r := range l.Runs {
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		for _, by := range []string{"agent", "backend", "model", "day", "run", "label.team"} {
			c, err := query.CostOf(w.ctx, e, query.CostQuery{Run: id, By: by, Budgets: []effect.Ceiling{{Address: effect.ProjectBudget + "b", Tokens: 100, Models: []string{"m1"}, Agents: []string{"judge", "flaky"}}}})
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintln(&all, asJSON(c))
		}
	}
	return all.String()
}

// billed wants the index to say what the journals do.
func (w *world) billed(when string) string {
	w.t.Helper()
	synctest.Wait()
	got, want := cost(w, w.engine), cost(w, unbilled{w.engine})
	lines := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if line != lines[min(i, len(lines)-1)] {
			w.t.Fatalf("%s: got\n%s\nwant\n%s", when, line, lines[min(i, len(lines)-1)])
		}
	}
	return got
}

// standing wants the engine's count of its runs to be that of their list.
func (w *world) standing(when string) {
	w.t.Helper()
	gauges := func(e runtime.Engine) string {
		list, err := (&metrics.Reader{Desk: &tool.Desk{Engine: e}}).Read(w.ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		return asJSON(slices.DeleteFunc(list, func(f metrics.Family) bool { return f.Kind == metrics.Counter }))
	}
	if got, want := gauges(w.engine), gauges(unbilled{w.engine}); got != want {
		w.t.Fatalf("%s: got\n%s\nwant\n%s", when, got, want)
	}
}

// Whatever happens to the runs and to their owner, the index and the journals say the same of what
// agents have cost.
func TestTheBillIsTheJournals(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { billSeed(t, rand.New(rand.NewPCG(seed, 5))) })
		})
	}
}

func billSeed(t *testing.T, draw *rand.Rand) {
	w := bills(t)
	deeds := slices.DeleteFunc(w.deeds(draw), func(d deed) bool { return d.name == "start" || d.name == "trim" }) // a trimmed journal does not have it all
	deeds = append(deeds, deed{"time passes", func() { time.Sleep(time.Duration(draw.IntN(3000)) * time.Millisecond) }})
	rows := 0
	for i := range 40 {
		if i%10 == 0 {
			team := effect.Labels{"team": fmt.Sprint(i / 10 % 2)}
			run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, billing, billingFiles), Script: "main.star", Labels: team})
			if err != nil {
				t.Fatal(err)
			}
			w.rests(run.ID)
		}
		d := deeds[draw.IntN(len(deeds))]
		d.do()
		w.billed(d.name)
		w.standing(d.name)
		rows = max(rows, len(keysOf(t, w.store, "C/")))
	}
	w.restart()
	w.billed("in the end")
	if rows < 10 || rows > 200 {
		t.Errorf("the bills had %d rows", rows)
	}
}

// billedRun is a run that has come to its second gate.
func (w *world) billedRun() string {
	w.t.Helper()
	run := w.startFiles(billing, "", billingFiles)
	w.rests(run.ID)
	w.signal(answer(run.ID, "g", "yes"))
	time.Sleep(time.Minute) // what failed at first is tried again
	if r := w.rests(run.ID); r.Error != nil {
		w.t.Fatal(r.Error)
	}
	return run.ID
}

// Of a run whose journal is trimmed everything is counted all the same. Where another build had the
// store meanwhile, or one that knew no bills, they are made anew, and say from which record on.
func TestTheBillOfATrimmedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := bills(t)
		run := w.billedRun()
		before := w.billed("whole")
		if done := w.trim(5); len(done) != 1 {
			t.Fatalf("trimmed: %+v", done)
		}
		if got := cost(w, w.engine); got != before || strings.Contains(got, "trimmed") {
			t.Errorf("trimmed: got\n%s\nwant\n%s", got, before)
		}
		mark := binary.BigEndian.AppendUint64([]byte{5}, w.store.Info().Epoch)
		commit(t, w.store, runtime.Write{Key: []byte("m/index"), Value: mark})
		for _, e := range []runtime.Engine{engine.NewReader(w.store.Reader(), environment(nothingDone), nil), unbilled{w.engine}} {
			if got := cost(w, e); !strings.Contains(got, fmt.Sprintf(`"trimmed":{%q:%d}`, run, w.horizon(run)+1)) {
				t.Errorf("by the journal: got\n%s", got)
			}
		}
		w.restart()
		w.billed("made anew")
		w.resume(run)
		w.signal(answer(run, "g#2", "yes"))
		w.rests(run)
		if got := cost(w, w.engine); !strings.Contains(got, `"trimmed"`) {
			t.Errorf("it goes on: got\n%s", got)
		}
	})
}

// A row that cannot be read is made again: for who asks, and when the run goes on. What is pruned
// leaves nothing.
func TestTheBillIsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := bills(t)
		run, other := w.billedRun(), w.billedRun()
		w.each("C/"+run, func([]byte) []byte { return []byte{0xff} })
		w.billed("damaged")
		w.restart()
		w.billed("damaged, restarted")
		w.resume(run, other)
		w.signal(answer(run, "g#2", "yes"))
		w.rests(run)
		w.billed("it went on")
		for _, id := range []string{run, other} {
			if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: id}); err != nil {
				t.Fatal(err)
			}
			w.rests(id)
		}
		w.billed("cancelled")
		w.pruneAll()
		if left := keysOf(t, w.store, "C/"); len(left) > 0 {
			t.Errorf("%d rows are left: %q", len(left), slices.Sorted(maps.Keys(left))[0])
		}
	})
}
