package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// A daily budget counts what all runs spend on a day: over restarts and a crash, in a run that goes
// on over midnight, and anew on the next day. What is days ago leaves the store.
func TestDailyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins on 2000-01-01 at 00:00 UTC
		w := newWorld(t)
		w.does(func(context.Context, *effect.Attempt) effect.Reply {
			return effect.Reply{Value: starlark.None, Usage: testUsage(10)}
		})
		daily := &effect.Settings{Budgets: []effect.Ceiling{{Address: effect.ProjectBudget + "day", Tokens: 30, Daily: true}}}
		start := func(script string) *runtime.Run {
			t.Helper()
			run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, script, nil), Script: "main.star", Settings: *daily})
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
		const asks = "def asks(n):\n    done = 0\n    for _ in range(n):\n        if not attempt(agent, \"a\").ok:\n            break\n        done += 1\n    return done\n"
		asked := func(want string) {
			t.Helper()
			run := w.until(start(asks+"def main():\n    return asks(9)\n").ID, runtime.Completed)
			if got := string(run.Output); got != want {
				t.Fatalf("%s: %s agents answered, want %s", time.Now().UTC(), got, want)
			}
		}

		// This one goes on tomorrow.
		night := start(asks + "def main():\n    n = asks(1)\n    sleep(\"24h\")\n    return [n, asks(9)]\n")
		w.until(night.ID, runtime.Suspended)
		asked("2")
		asked("0")
		w.restart()
		asked("0")

		time.Sleep(23 * time.Hour)
		asked("0")
		w.resume(night.ID)
		time.Sleep(time.Hour)
		synctest.Wait()
		if run := w.until(night.ID, runtime.Completed); string(run.Output) != "[1,3]" {
			t.Fatalf("over midnight: got %s", run.Output)
		}
		asked("0")
		w.restart()
		asked("0")

		time.Sleep(5 * 24 * time.Hour)
		asked("3")
		var rows []string
		err := w.store.Scan([]byte("B/"), []byte("B0"), func(k, _ []byte) error {
			day, _, _ := strings.Cut(strings.TrimPrefix(string(k), "B/"), "/")
			rows = append(rows, day)
			return nil
		})
		if err != nil || len(rows) != 1 || rows[0] != "2000-01-07" {
			t.Fatalf("the store holds rows of %v: %v", rows, err)
		}
	})
}

// A run that is made of another counts for the day what it spends itself, not what came along.
func TestDailyBudgetOfARerun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no midnight falls into it
		w := newWorld(t)
		w.does(func(context.Context, *effect.Attempt) effect.Reply {
			return effect.Reply{Value: starlark.None, Usage: testUsage(10)}
		})
		first, err := w.engine.Start(w.ctx, runtime.StartRequest{
			Bundle: bundle(t, "def main():\n    return [attempt(agent, \"a\").ok for _ in range(2)]\n", nil), Script: "main.star",
			Settings: effect.Settings{Budgets: []effect.Ceiling{{Address: effect.ProjectBudget + "day", Tokens: 30, Daily: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		w.until(first.ID, runtime.Completed)
		for _, want := range []string{"[true,true]", "[true,false]"} { // of 30, 20 and then 30 are spent
			again := w.fork(runtime.ForkRequest{Kind: runtime.LineageRerun, Run: first.ID, Step: "a#2"})
			if got := string(w.until(again.ID, runtime.Completed).Output); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func testUsage(tokens int) starlark.Value {
	d := new(starlark.Dict)
	_ = d.SetKey(starlark.String("input_tokens"), starlark.MakeInt(tokens)) // a fresh dict
	return d
}

// Of a budget whose project has changed since, and of one that bounds agents by name, the run keeps
// what it began with.
func TestCeilingsAreKept(t *testing.T) {
	list := []effect.Ceiling{
		{Address: "budget", MicroUSD: 1, Ask: true},
		{Address: "budgets.a", Tokens: 2, Agents: []string{"x"}, Models: []string{"m-*"}, Daily: true, Backends: []string{"x", "y"}},
		{Address: "budgets.b", Calls: 3, Daily: true},
	}
	got := effect.CeilingsOf(effect.CeilingsPayload(list))
	if len(got) != len(list) {
		t.Fatalf("got %+v", got)
	}
	for i := range list {
		if want, again := effect.CeilingsPayload(list[i:i+1]), effect.CeilingsPayload(got[i:i+1]); string(want) != string(again) {
			t.Errorf("got %+v, want %+v", got[i], list[i])
		}
	}
}

func TestCeilingOver(t *testing.T) {
	type asked struct {
		agent            string
		backends, models []string
	}
	for _, c := range []struct {
		name    string
		ceiling effect.Ceiling
		asked   asked
		want    string // backends that it bounds, "all" or "none"
	}{
		{"everything", effect.Ceiling{}, asked{"a", []string{"x"}, []string{"m"}}, "all"},
		{"by the name that is asked", effect.Ceiling{Agents: []string{"a"}}, asked{"a", []string{"x", "y"}, nil}, "x y"},
		{"by who serves", effect.Ceiling{Agents: []string{"y"}}, asked{"a", []string{"x", "y"}, nil}, "y"},
		{"another", effect.Ceiling{Agents: []string{"z"}}, asked{"a", []string{"x", "y"}, nil}, "none"},
		{"by model", effect.Ceiling{Models: []string{"m"}}, asked{"a", []string{"x", "y"}, []string{"m-2", "m"}}, "y"},
		{"by the beginning", effect.Ceiling{Models: []string{"m-*"}}, asked{"a", []string{"x", "y"}, []string{"m-2", "m"}}, "x"},
		{"a model that nobody names", effect.Ceiling{Models: []string{"m"}}, asked{"a", []string{"x", "y"}, []string{"", "n"}}, "x"},
		{"both", effect.Ceiling{Agents: []string{"y"}, Models: []string{"m"}}, asked{"a", []string{"x", "y"}, []string{"m", "n"}}, "none"},
		{"nobody is found to serve", effect.Ceiling{Agents: []string{"z"}}, asked{"a", nil, nil}, "all"},
	} {
		over, ok := c.ceiling.Over(c.asked.agent, c.asked.backends, c.asked.models)
		got := strings.Join(over.Backends, " ")
		switch {
		case !ok:
			got = "none"
		case over.Backends == nil:
			got = "all"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
