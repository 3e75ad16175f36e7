package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// office is an engine with so many places for agents, and what is seen of them. An agent works for
// a second; one called "asker" asks for leave first, and one called "caller" starts a run and waits
// for its end.
type office struct {
	t      *testing.T
	ctx    context.Context
	store  *memory.Store
	engine *engine.Local
	agents int
	began  time.Time

	mu    sync.Mutex // guards what follows
	now   map[string]int
	most  int
	begun map[string]int // attempts by their run and the second in which they began
}

func newOffice(t *testing.T, agents int) *office {
	o := &office{t: t, ctx: runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true}), store: memory.New(), agents: agents, began: time.Now()}
	o.open()
	t.Cleanup(func() { o.engine.Close() })
	return o
}

func (o *office) open() {
	o.t.Helper()
	o.now, o.most, o.begun = map[string]int{}, 0, map[string]int{}
	env := environment(nil)
	env.Names["agent"] = ask("agent", effect.Waiting, "name", "timeout")
	env.Handlers["agent"] = &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
		name := effect.ViewOf(a.Args).Text("name")
		o.work(a.Run, 1)
		defer func() { o.work(a.Run, -1) }()
		switch name {
		case "asker":
			o.work(a.Run, -1)
			_, err := a.Ask(ctx, effect.Leave{Prompt: "may I?"})
			o.work(a.Run, 1)
			if err != nil {
				return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err)}
			}
		case "caller":
			run, err := o.engine.Start(o.ctx, o.request(`agent("a")`))
			if err == nil {
				err = o.follow(run.ID)
			}
			if err != nil {
				return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err)}
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return effect.Reply{Err: effect.Errorf(effect.KindCancelled, "%v", context.Cause(ctx)), Class: effect.Cut}
		}
		return effect.Reply{}
	}}
	var err error
	if o.engine, err = engine.Open(o.store, env, engine.Options{Agents: o.agents, Grace: time.Millisecond}); err != nil {
		o.t.Fatal(err)
	}
}

// work counts who is at work.
func (o *office) work(run string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now[run] += n
	all := 0
	for _, n := range o.now {
		all += n
	}
	o.most = max(o.most, all)
	if n > 0 {
		o.begun[fmt.Sprint(run, " ", int(time.Since(o.began).Seconds()))]++
	}
}

func (o *office) request(call string) runtime.StartRequest {
	return runtime.StartRequest{Bundle: bundle(o.t, "def main():\n    return "+call+"\n", nil), Script: "office.star"}
}

func (o *office) start(call string) string {
	o.t.Helper()
	run, err := o.engine.Start(o.ctx, o.request(call))
	if err != nil {
		o.t.Fatal(err)
	}
	return run.ID
}

func (o *office) follow(run string) error {
	return o.engine.Watch(o.ctx, runtime.WatchRequest{Run: run, Follow: true}, func(runtime.Event) error { return nil })
}

// end waits until a run has completed.
func (o *office) end(runs ...string) {
	o.t.Helper()
	for _, id := range runs {
		if err := o.follow(id); err != nil {
			o.t.Fatal(err)
		}
		if r, err := o.engine.Get(o.ctx, id); err != nil || r.Status != runtime.Completed {
			o.t.Fatalf("run %s: %v, %+v", id, err, r)
		}
	}
}

const sixAgents = `parallel([lambda i = i: agent("a%d" % i) for i in range(6)])`

// Agents of all runs together take no more places than there are, none stays empty while somebody
// waits, and runs take turns; after a restart as before.
func TestPlaces(t *testing.T) {
	for name, restart := range map[string]bool{"straight": false, "restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(t, 3)
				runs := []string{o.start(sixAgents), o.start(sixAgents), o.start(sixAgents)}
				if restart {
					time.Sleep(1500 * time.Millisecond)
					if err := o.engine.Close(); err != nil {
						t.Fatal(err)
					}
					o.store = o.store.Reopen()
					o.open()
					if _, err := o.engine.Resume(o.ctx, runtime.ResumeRequest{All: true}); err != nil {
						t.Fatal(err)
					}
				}
				o.end(runs...)
				if o.most > 5 { // each run has begun at once, the first has taken three places
					t.Errorf("%d were at work at once, want 5 at most", o.most)
				}
				if took := time.Since(o.began); !restart && took != 6*time.Second {
					t.Errorf("18 seconds of work by 3 at once took %s", took)
				}
				for i, run := range runs {
					for second := 1; second <= 3 && !restart; second++ {
						if n := o.begun[fmt.Sprint(run, " ", second)]; n != 1 {
							t.Errorf("run %d began %d attempts in second %d, want one of the 3", i, n, second)
						}
					}
				}
			})
		})
	}
}

// One run alone takes all places and no more, and what waits for one is in motion, not at rest.
func TestPlacesOfOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, 2)
		run := o.start(sixAgents)
		o.end(run)
		if took := time.Since(o.began); o.most != 2 || took != 3*time.Second {
			t.Errorf("%d at once, 6 seconds of work took %s", o.most, took)
		}
		var types []string
		if err := o.engine.Watch(o.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error { types = append(types, ev.Type); return nil }); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(types, "run.suspended") {
			t.Errorf("it rested: %v", types)
		}
	})
}

// Who waits for a person keeps nobody from working, of no run; nor does an agent that waits for a
// run which it has started. Whoever is withdrawn while it waits leaves its turn to the next.
func TestPlacesHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, 1)
		asking := o.start(`parallel({"asks": lambda: agent("asker"), "works": lambda: agent("a")})`)
		synctest.Wait() // it has asked before the others come
		o.end(o.start(`agent("b")`), o.start(`agent("caller")`))
		synctest.Wait()
		if r, err := o.engine.Get(o.ctx, asking); err != nil || len(r.Gates) != 1 || o.begun[asking+" 0"] != 2 {
			t.Errorf("%v: %+v; %v: want an agent that asks and one beside it that has begun", err, r, o.begun)
		}
		if _, err := o.engine.Signal(o.ctx, answer(asking, "!permission:parallel/asks/asker", "approve")); err != nil {
			t.Fatal(err)
		}
		o.end(asking)

		long := o.start(sixAgents)
		hasty := o.start(`parallel([lambda: agent("x"), lambda: agent("y"), lambda: agent("z")], wait = "any")`)
		cancelled := o.start(sixAgents)
		time.Sleep(2500 * time.Millisecond)
		if _, err := o.engine.Cancel(o.ctx, runtime.CancelRequest{Run: cancelled}); err != nil {
			t.Fatal(err)
		}
		o.end(long, hasty)
		if got := fmt.Sprint(o.now[long], o.now[hasty], o.now[cancelled]); got != "0 0 0" {
			t.Errorf("still at work: %s", got)
		}
	})
}
