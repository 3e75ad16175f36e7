package engine_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/fact"
	"starling/runtime/filter"
)

// finding are runs of which each has something that others have not.
func finding(w *world) {
	w.does(func(_ context.Context, a *effect.Attempt) effect.Reply {
		usage := new(starlark.Dict)
		_ = usage.SetKey(starlark.String("usd"), starlark.Float(0.3)) // a fresh dict
		return effect.Reply{Value: starlark.None, Usage: usage}
	})
	const script = `
def main(n, who = "", parts = [], note = None):
    for i in range(n):
        agent(who = "judge" if i % 2 else "smith")
    if n == 2:
        gate("g", options = ["yes"])
    return {"n": n, "deep": {"ok": n > 1}, "names": ["a", who], "empty": ""}
`
	for i := range 24 {
		r := runtime.StartRequest{Script: "main.star", Bundle: bundle(w.t, script, nil), Labels: effect.Labels{"team": []string{"web", "db", "ops"}[i%3], "x.org/half": fmt.Sprint(i / 12)}}
		if i%4 == 0 {
			r.Script = fmt.Sprintf("audit@%d", i%8+1)
		}
		note := []any{nil, "", "x", 0}[i%4]
		r.Inputs, _ = json.Marshal(map[string]any{"n": i % 4, "who": []string{"ann", "7", strings.Repeat("long ", 40)}[i%3], "parts": []any{i, map[string]any{"kind": "odd"}, 0.5}, "note": note}) // plain data
		run, err := w.engine.Start(w.ctx, r)
		if err != nil {
			w.t.Fatal(err)
		}
		w.until(run.ID, runtime.Completed, runtime.Suspended)
	}
}

// scanning is an engine that has no index of terms.
type scanning struct{ runtime.Engine }

func (s scanning) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	q.Terms = nil
	return s.Engine.List(ctx, q)
}

// filters that an index serves, and how many of the runs each means.
var filters = map[string]int{
	"label.team = web":                                8,
	"LABEL.team in (web, ops)":                        16,
	"label.Team = web":                                0,
	"label.x.org/half = 1 and label.team = db":        4,
	"label.team != web":                               16,
	"not label.team = web and label.x.org/half = 0":   8,
	"label.team = web or label.team = db":             16,
	"input.n = 3":                                     6,
	"input.n = 3.0":                                   6,
	"input.n >= 2":                                    12,
	"input.who = 7":                                   8,
	"input.who = \"7.00\"":                            8,
	"input.who ~ n":                                   8, // long texts are not looked at
	"input.parts = 5":                                 1,
	"input.parts.kind = odd":                          24,
	"input.parts = 0.5 and input.n = 1":               6,
	"input.note = \"\"":                               6,
	"input.note in (\"\", x)":                         12,
	"input.note = \"\" and label.team = web":          2,
	"output.empty = \"\"":                             18,
	"output.deep.ok = true":                           6, // those of 2 wait
	"output.n < 2":                                    12,
	"output.names = ann":                              6,
	"agent = judge":                                   12,
	"agent = smith and label.team = web":              6,
	"cost > 0.3":                                      12,
	"cost >= 0.3":                                     18,
	"cost = 0.9":                                      6,
	"cost = 0":                                        6,
	"cost > 0.5 and label.x.org/half = 1":             6,
	"definition = audit":                              6,
	"definition = audit@5 and label.team = ops":       1,
	"definition in (audit@1, audit@5)":                6,
	"status = suspended and agent = judge":            6,
	"input.n in (1, 2, 9) and age < 1h":               12,
	"label.team = web and (input.n = 0 or cost > 10)": 2,
}

// found is what a filter means, by pages.
func found(t *testing.T, e runtime.Engine, ctx context.Context, text string, limit int) string {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for q := (runtime.Query{All: true, Limit: limit}); ; {
		page, err := f.Runs(ctx, e, q, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.List {
			ids = append(ids, r.ID)
		}
		if q.After = page.Next; q.After == "" {
			return strings.Join(ids, " ")
		}
	}
}

// By the index a filter finds what it finds by looking at every run: with the engine that has run
// them, after a restart, where another build had the store meanwhile, and for a reader of that.
func TestFiltersFindByTheIndex(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		finding(w)
		want := map[string]string{}
		for _, text := range slices.Sorted(maps.Keys(filters)) {
			want[text] = found(t, scanning{w.engine}, w.ctx, text, 0)
			if n := len(strings.Fields(want[text])); n != filters[text] {
				t.Errorf("%s: means %d runs, want %d", text, n, filters[text])
			}
		}
		check := func(when string, e runtime.Engine) {
			for text, ids := range want {
				for _, limit := range []int{0, 1, 5} {
					if got := found(t, e, w.ctx, text, limit); got != ids {
						t.Errorf("%s: %s by %d: got %s\nwant %s", when, text, limit, got, ids)
					}
				}
			}
		}
		check("at once", w.engine)
		w.restart()
		check("after a restart", w.engine)

		for key := range keysOf(t, w.store, "e/f") {
			commit(t, w.store, runtime.Write{Key: []byte(key)})
		}
		for key := range keysOf(t, w.store, "F/") {
			commit(t, w.store, runtime.Write{Key: []byte(key)})
		}
		commit(t, w.store, runtime.Write{Key: []byte("m/index")})
		check("a reader without an index", engine.NewReader(w.store.Reader(), environment(nothingDone), nil))
		w.restart()
		check("made anew", w.engine)
		if len(keysOf(t, w.store, "e/f")) == 0 {
			t.Error("the index was not made anew")
		}

		withoutEmpty(t, w)
		check("a reader of what an earlier build kept", engine.NewReader(w.store.Reader(), environment(nothingDone), nil))
		w.restart()
		check("kept by an earlier build", w.engine)
	})
}

// withoutEmpty leaves what runs are found by as a build did that knew no empty texts.
func withoutEmpty(t *testing.T, w *world) {
	t.Helper()
	empty := func(f runtime.Fact) bool { return f.Value == "" }
	for key := range keysOf(t, w.store, "F/") {
		row, err := w.store.Get([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		f, err := fact.Read(slices.Clone(row))
		if err != nil {
			t.Fatal(err)
		}
		for _, gone := range f.Entries(strings.TrimPrefix(key, "F/")) {
			commit(t, w.store, runtime.Write{Key: gone})
		}
		f.Facts.Inputs, f.Facts.Output = slices.DeleteFunc(f.Facts.Inputs, empty), slices.DeleteFunc(f.Facts.Output, empty)
		for _, row := range f.Anew(strings.TrimPrefix(key, "F/")) {
			commit(t, w.store, row)
		}
	}
	mark := binary.BigEndian.AppendUint64([]byte{4}, w.store.Info().Epoch)
	commit(t, w.store, runtime.Write{Key: []byte("m/index"), Value: mark})
}

// A run goes on after a restart, and what it is found by with it; what is pruned leaves nothing.
func TestFactsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unseen, w.spoiled = true, true
		w.restart()
		finding(w)
		w.restart()
		w.resume()
		const text = "status = suspended and cost = 0.6"
		for _, id := range strings.Fields(found(t, w.engine, w.ctx, text, 0)) {
			if _, err := w.engine.Signal(w.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Choice: "yes"}); err != nil {
				t.Fatal(err)
			}
			w.until(id, runtime.Completed)
		}
		for _, text := range []string{"output.n = 2 and cost = 0.6 and agent = judge", "output.deep.ok = true and input.n = 2"} {
			ids := found(t, w.engine, w.ctx, text, 0)
			if len(strings.Fields(ids)) != 6 || ids != found(t, scanning{w.engine}, w.ctx, text, 0) {
				t.Errorf("%s: got %q", text, ids)
			}
		}
		w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)})
		for _, prefix := range []string{"e/f", "F/"} {
			if left := keysOf(t, w.store, prefix); len(left) > 0 {
				t.Errorf("%d rows of %s are left: %q", len(left), prefix, slices.Sorted(maps.Keys(left))[0])
			}
		}
	})
}

// What a run is found by has no row as long as that is what it was started with: it is found, and
// listed with it, all the same, when its journal was trimmed and when it moves to another script,
// and goes on from it.
func TestFactsOfAStartHaveNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unseen, w.spoiled, w.keep = true, true, 4
		w.restart()
		const script = "def main(n, who = \"\"):\n    for i in range(n):\n        gate(\"g\", options = [\"yes\"])\n    return {\"who\": who}\n"
		var ids []string
		for i, name := range []string{"audit@1", "audit@2", "main.star"} {
			run, err := w.engine.Start(w.ctx, runtime.StartRequest{Script: name, Bundle: bundle(t, script, nil), Labels: effect.Labels{"team": "web"},
				Inputs: json.RawMessage(fmt.Sprintf(`{"n": %d, "who": "ann"}`, 1+20*i))})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, w.until(run.ID, runtime.Suspended).ID)
		}
		check := func(when string, want map[string]int) {
			t.Helper()
			for _, text := range slices.Sorted(maps.Keys(want)) {
				for _, e := range []runtime.Engine{w.engine, scanning{w.engine}} {
					if n := len(strings.Fields(found(t, e, w.ctx, text, 2))); n != want[text] {
						t.Errorf("%s: %s: %d runs are found by %T, want %d", when, text, n, e, want[text])
					}
				}
			}
		}
		rows := func(when string, want int) {
			t.Helper()
			if got := keysOf(t, w.store, "F/"); len(got) != want {
				t.Errorf("%s: %d runs have a row of facts, want %d", when, len(got), want)
			}
		}
		all := map[string]int{"label.team = web": 3, "input.who = ann": 3, "definition = audit": 2, "input.n = 21 and definition = audit@2": 1, "output.who = ann": 0}
		check("at once", all)
		w.restart()
		w.resume()
		for range 12 { // the journal of the longest is trimmed
			w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: ids[2], Choice: "yes"})
			w.until(ids[2], runtime.Suspended)
		}
		w.trim(4)
		if w.horizon(ids[2]) == 0 {
			t.Error("nothing was trimmed")
		}
		w.restart()
		w.resume()
		check("answered and trimmed", all)
		rows("answered and trimmed", 0)

		if _, err := w.reruns().Move(w.ctx, runtime.MoveRequest{Run: ids[1], Bundle: bundle(t, script+"\n# better\n", nil), Script: "main.star"}); err != nil {
			t.Fatal(err)
		}
		rows("moved", 1)
		all["definition = audit"], all["input.n = 21 and definition = audit@2"] = 1, 0
		check("moved", all)
		w.restart()
		w.resume()
		w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: ids[0], Choice: "yes"})
		w.until(ids[0], runtime.Completed)
		rows("ended", 2)
		all["output.who = ann"] = 1
		check("ended", all)
		for _, id := range ids[1:] {
			if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: id}); err != nil {
				t.Fatal(err)
			}
			w.until(id, runtime.Cancelled)
		}
		w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)})
		for _, prefix := range []string{"e/f", "F/"} {
			if left := keysOf(t, w.store, prefix); len(left) > 0 {
				t.Errorf("%d rows of %s are left: %q", len(left), prefix, slices.Sorted(maps.Keys(left))[0])
			}
		}
	})
}
