package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/memory"
)

const parent = `
def main():
    r = run("child.star", {"x": 2})
    return {"got": r}
`

var child = map[string]string{"child.star": `
def main(x):
    d = gate("ok", options = ["yes", "no"])
    if d.choice == "no":
        fail("not today")
    return [x, d.choice]
`}

func TestChildRun(t *testing.T) { // S1-35, A09: the child's gate is seen and answered from the top
	for name, end := range map[string]func(*world){"straight": func(*world) {}, "restart": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			top := w.startFiles(parent, "", child)
			at := w.until(top.ID, runtime.Suspended)
			if len(at.Gates) != 1 || at.Gates[0].Address != top.ID+"/run/ok" {
				t.Fatalf("gates: %+v", at.Gates)
			}
			l, err := w.engine.List(w.ctx, runtime.Query{Gates: true})
			if err != nil || len(l.Gates) != 1 || l.Gates[0].Address != at.Gates[0].Address {
				t.Errorf("inbox: %+v, %v", l, err)
			}
			end(w)
			w.resume()
			if r := w.signal(answer("@last", "run/ok", "yes")); r.Run != top.ID || r.Gate != "run/ok" {
				t.Errorf("receipt: %+v", r)
			}
			if end := w.until(top.ID, runtime.Completed); string(end.Output) != `{"got":[2,"yes"]}` {
				t.Errorf("output %s", end.Output)
			}
		})
	}
}

func TestChildRunFails(t *testing.T) {
	w := newWorld(t)
	top := w.startFiles(parent, "", child)
	w.until(top.ID, runtime.Suspended)
	w.signal(answer(top.ID, "run/ok", "no"))
	end := w.until(top.ID, runtime.Failed)
	if end.Error.Kind != "child" || !strings.Contains(end.Error.Message, "not today") {
		t.Errorf("error %+v", end.Error)
	}
}

func TestCancelReachesChildren(t *testing.T) { // A09: cancel stops all descendants and withdraws their gates
	w := newWorld(t)
	top := w.startFiles(parent, "", child)
	w.until(top.ID, runtime.Suspended)
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: top.ID}); err != nil {
		t.Fatal(err)
	}
	l, err := w.engine.List(w.ctx, runtime.Query{All: true})
	if err != nil || len(l.Runs) != 2 {
		t.Fatalf("runs: %+v, %v", l, err)
	}
	for _, r := range l.Runs {
		if end := w.until(r.ID, runtime.Cancelled); len(end.Gates) != 0 {
			t.Errorf("run %s has open gates: %+v", r.ID, end.Gates)
		}
	}
}

func TestCancelReachesChildrenAfterACrash(t *testing.T) {
	w := newWorld(t)
	top := w.startFiles(parent, "", child)
	w.until(top.ID, runtime.Suspended)
	l, err := w.engine.List(w.ctx, runtime.Query{})
	if err != nil {
		t.Fatal(err)
	}
	w.store.FailCommit(2, errors.New("the power fails"), memory.BeforeApply) // the parent's cancel is durable, the child's is not
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: top.ID}); err != nil {
		t.Fatal(err)
	}
	w.crash()
	w.refused(runtime.ErrClosed, answer(top.ID, "run/ok", "yes"))
	for _, r := range l.Runs {
		w.until(r.ID, runtime.Cancelled)
	}
}

func TestChildRunsAreNotNestedForEver(t *testing.T) {
	w := newWorld(t)
	top := w.startFiles(`
def main(n = 0):
    return run("main.star", {"n": n + 1})
`, "", nil)
	end := w.until(top.ID, runtime.Failed)
	if want := fmt.Sprintf("nested deeper than %d", 8); !strings.Contains(end.Error.Message, want) {
		t.Errorf("error %q, want %q", end.Error.Message, want)
	}
}

func TestParentThatOnlyWaitsIsNotTakenForPoison(t *testing.T) {
	w := newWorld(t)
	begun := make(chan string, 9)
	w.work = hanging(begun)
	top := w.startFiles(`
def main():
    return run("child.star", {})
`, "", map[string]string{"child.star": "def main():\n    return work('w', value = 3)\n"})
	<-begun
	for range 5 {
		w.crash()
		w.resume()
		<-begun
	}
	w.crash()
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		return effect.Reply{Value: starlark.MakeInt(3)}
	}
	w.resume()
	if end := w.until(top.ID, runtime.Completed); string(end.Output) != "3" {
		t.Errorf("output %s", end.Output)
	}
}

// A child run whose machine fails while its parent has it carried on is quarantined, and its parent
// waits for what becomes of it: the step is not settled without it.
func TestChildRunIsSetAsideWhileItIsCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poisoned := false
		env := environment(nil)
		env.Names["poison"] = &effect.Builtin{FullName: "poison", Pure: func(*effect.Call) (starlark.Value, error) {
			if poisoned {
				panic("poisoned on purpose")
			}
			return starlark.None, nil
		}}
		store := memory.New()
		open := func() *engine.Local {
			e, err := engine.Open(store, env, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
		e := open()
		const taker = `
def main(x):
    item = queue.take("q")
    poison()
    queue.ack(item)
    return item.value + x
`
		run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, parent, map[string]string{"child.star": taker}), Script: "parent.star"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		store, poisoned = store.Reopen(), true
		e = open()
		defer e.Close()
		if _, err := e.Push(ctx, runtime.PushRequest{Queue: "q", Value: []byte("40")}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Resume(ctx, runtime.ResumeRequest{Runs: []string{run.ID}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r, err := e.Get(ctx, run.ID)
		if err != nil || r.Status != runtime.Suspended || len(r.Gates) != 1 || r.Gates[0].Gate != "run/!quarantine" {
			t.Fatalf("%v: %+v", err, r)
		}
		poisoned = false
		if _, err := e.Signal(ctx, answer(run.ID, "run/!quarantine", "retry")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r, err = e.Get(ctx, run.ID); err != nil || string(r.Output) != `{"got":42}` {
			t.Errorf("%v: %+v", err, r)
		}
	})
}

// heldBack is a store that waits before it looks for the child of a step the first time.
type heldBack struct {
	runtime.Store
	key           string
	looked        atomic.Bool
	looks, goesOn chan struct{}
}

func (s *heldBack) Get(key []byte) ([]byte, error) {
	if string(key) == s.key && s.looked.CompareAndSwap(false, true) {
		close(s.looks)
		<-s.goesOn
	}
	return s.Store.Get(key)
}

// Whoever looks after a child so late that its parent was pruned meanwhile starts no other.
func TestNoChildOfARunThatWasPruned(t *testing.T) {
	w := trims(t, 0)
	run := w.startFiles(deciding, "", decidingFiles).ID
	w.rests(run)
	w.signal(answer(run, "g", "yes"))
	w.rests(run)
	if err := w.engine.Close(); err != nil {
		t.Fatal(err)
	}
	w.store = w.store.Reopen()
	late := &heldBack{Store: w.store, key: string(journal.ChildKey(run + "@run")), looks: make(chan struct{}), goesOn: make(chan struct{})}
	local := w.build(late, 0)
	w.engine = local
	w.resume(run)
	<-late.looks
	w.signal(answer(run, "run/below", "yes"))
	w.rests(run)
	if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run}); err != nil {
		t.Fatal(err)
	}
	w.rests(run)
	if pruned := w.pruneAll().Pruned; len(pruned) != 2 {
		t.Fatalf("pruned %s", asJSON(pruned))
	}
	close(late.goesOn)
	local.Settle()
	l, err := w.engine.List(w.ctx, runtime.Query{All: true})
	if err != nil || len(l.Runs) > 0 {
		t.Errorf("got %s, %v; want no run", asJSON(l.Runs), err)
	}
}

// A child of which no step knows, as earlier builds have left some, ends when it is carried again.
func TestAStrayChildEnds(t *testing.T) {
	for what, of := range map[string][]byte{"no step": nil, "another": []byte("nosuchrun000")} {
		w := trims(t, 0)
		run := w.startFiles(deciding, "", decidingFiles).ID
		w.rests(run)
		w.signal(answer(run, "g", "yes"))
		w.rests(run)
		key := journal.ChildKey(run + "@run")
		id, err := w.store.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Close(); err != nil {
			t.Fatal(err)
		}
		w.store = w.store.Reopen()
		commit(t, w.store, runtime.Write{Key: key, Value: of})
		w.store = w.store.Reopen()
		w.open()
		w.resume(string(id))
		if got := w.rests(string(id)); got.Status != runtime.Cancelled {
			t.Errorf("a child that %s has: %s", what, got.Status)
		}
	}
}
