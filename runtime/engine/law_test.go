package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

// count is how many events of a type a run's journal has.
func (w *world) count(run, typ string) (n int) {
	w.t.Helper()
	for _, t := range w.types(run) {
		if t == typ {
			n++
		}
	}
	return n
}

// at opens the world's engine anew, over a store whose commits take a while and by a clock on the
// wall that may jump.
func (w *world) at(slow time.Duration, skew *atomic.Int64) {
	w.t.Helper()
	if err := w.engine.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.store = w.store.Reopen()
	s := runtimetest.Slow(w.store, func() (time.Duration, time.Duration) { return slow, slow })
	e, err := engine.Open(s, environment(w.perform), engine.Options{Log: w.t.Logf, Grace: time.Millisecond,
		Clock: func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = runtimetest.Observe(e, w.history)
}

func TestSignalAndDeadlineInTheSameInstant(t *testing.T) {
	won := map[string]int{}
	for early := -2; early <= 2; early++ { // in milliseconds; a commit takes two
		for range 5 {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.at(time.Millisecond, new(atomic.Int64))
				run := w.start(`
def main():
    d = gate("g", options = ["yes", "no"], timeout = "1h", fallback = "no")
    return [d.choice, d.via]
`, "")
				due := w.until(run.ID, runtime.Suspended).Gates[0].Deadline
				time.Sleep(time.Until(*due) + time.Duration(early)*time.Millisecond)
				_, err := w.engine.Signal(w.ctx, answer(run.ID, "g", "yes"))
				want := `["yes","signal"]`
				if err != nil {
					want = `["no","fallback"]`
					if kind := runtime.AsRefusal(err).Kind; kind != runtime.ErrExpired {
						t.Errorf("%d ms from the deadline: refused with %s: %v", early, kind, err)
					}
				}
				if end := w.until(run.ID, runtime.Completed); string(end.Output) != want {
					t.Errorf("%d ms from the deadline: the answer came to %v and the run to %s", early, err, end.Output)
				}
				if n := w.count(run.ID, "gate.decided"); n != 1 {
					t.Errorf("%d decisions", n)
				}
				won[want]++
				w.engine.Close()
			})
		}
	}
	if len(won) != 2 {
		t.Errorf("one side always wins: %v", won)
	}
}

func TestThousandSignalsForOneGate(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    return gate("g", options = ["a", "b"]).choice
`, "")
	w.until(run.ID, runtime.Suspended)
	const crowd = 1000
	var all sync.WaitGroup
	var won, refused atomic.Int64
	for i := range crowd {
		all.Go(func() {
			s := answer(run.ID, "g", []string{"a", "b"}[i%2])
			s.Key = fmt.Sprint("key ", i)
			_, err := w.engine.Signal(w.ctx, s)
			switch {
			case err == nil:
				won.Add(1)
			case runtime.AsRefusal(err).Kind == runtime.ErrDecided:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || refused.Load() != crowd-1 || w.count(run.ID, "signal.refused") != crowd-1 {
		t.Errorf("%d won, %d were refused, %d refusals are recorded", won.Load(), refused.Load(), w.count(run.ID, "signal.refused"))
	}
	w.until(run.ID, runtime.Completed)
}

func TestTenThousandTimersDueAtOnce(t *testing.T) { // after a crash: the next owner fires them
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.start(`
def main():
    hs = [gate("g", options = ["yes"], timeout = "1h", on_timeout = "return", wait = False) for _ in range(9999)]
    sleep("1h")
    return len([h for h in hs if h.decision().timed_out])
`, "")
		w.await(run.ID, "run.suspended")
		w.crash()
		w.resume()
		w.await(run.ID, "run.completed")
		if end, err := w.engine.Get(w.ctx, run.ID); err != nil || string(end.Output) != "9999" {
			t.Errorf("output %+v, %v", end, err)
		}
		if n := w.count(run.ID, "timer.fired"); n != 10_000 {
			t.Errorf("%d timers fired", n)
		}
		w.engine.Close()
	})
}

// await follows a run to an event, looking at the run only once.
func (w *world) await(run, typ string) {
	w.t.Helper()
	found := false
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run, Follow: true}, func(ev runtime.Event) error {
		if found = ev.Type == typ; found {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil || !found {
		w.t.Fatalf("no event %s: %v", typ, err)
	}
}

func TestClockJumps(t *testing.T) {
	for name, c := range map[string]struct {
		jump  time.Duration
		least time.Duration // until the sleep of an hour ends
		most  time.Duration
	}{
		"forward":         {30 * time.Minute, 30 * time.Minute, 31 * time.Minute},
		"beyond the time": {3 * time.Hour, 0, time.Minute},
		"backward":        {-30 * time.Minute, 90 * time.Minute, 91 * time.Minute},
		"by a year":       {-24 * 365 * time.Hour, 24 * 365 * time.Hour, 24*365*time.Hour + 2*time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var skew atomic.Int64
				w.at(0, &skew)
				run := w.start(`
def main():
    sleep("1h")
`, "")
				w.until(run.ID, runtime.Suspended)
				skew.Store(int64(c.jump))
				began := time.Now()
				w.until(run.ID, runtime.Completed)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("it slept for another %s, want %s to %s", took, c.least, c.most)
				}
				if n := w.count(run.ID, "timer.fired"); n != 1 {
					t.Errorf("the timer fired %d times", n)
				}
				w.engine.Close()
			})
		})
	}
}

// A branch may be cancelled in the turn that asks for its work, while the commit that starts it is
// on its way, and when it is at work: never does an attempt stay.
func TestBranchCancelledWhileItsWorkIsBeingStarted(t *testing.T) {
	for after := range 12 { // milliseconds; a commit takes four
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			var working atomic.Int64
			w.does(func(ctx context.Context, _ *effect.Attempt) effect.Reply {
				working.Add(1)
				defer working.Add(-1)
				<-ctx.Done()
				return effect.Reply{Err: effect.Errorf(effect.KindEffect, "stopped"), Class: effect.Retryable}
			})
			w.at(2*time.Millisecond, new(atomic.Int64))
			run := w.start(fmt.Sprintf(`
def first():
    sleep("%dms")
    return "first"
def main():
    os = parallel([lambda: work("w"), lambda: [sleep("4ms"), work("v")], first], wait = "any")
    return [o.status for o in os]
`, after+1), "")
			end := w.until(run.ID, runtime.Completed)
			time.Sleep(time.Second)
			if string(end.Output) != `["cancelled","cancelled","ok"]` || working.Load() != 0 {
				t.Errorf("won after %d ms: output %s, %d attempts are at work", after+1, end.Output, working.Load())
			}
			w.engine.Close()
		})
	}
}

// A run may be cancelled before its child is begun, while it is being created, and when it is at
// work: all of them end, with whatever they had going.
func TestCancelReachesChildrenThatAreBeingCreated(t *testing.T) {
	for after := range 20 { // milliseconds; a commit takes two
		for name, end := range map[string]func(*world){"": func(*world) {}, " and crash": (*world).crash} {
			t.Run(fmt.Sprint(after, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.does(hanging(make(chan string, 9)))
					w.at(time.Millisecond, new(atomic.Int64))
					top := w.startFiles(`
def main():
    return parallel([lambda: run("child.star", {}), lambda: run("child.star", {})])
`, "", map[string]string{"child.star": "def main():\n    return run('leaf.star', {})\n", "leaf.star": "def main():\n    return [work('w'), gate('g')]\n"})
					time.Sleep(time.Duration(after) * time.Millisecond)
					if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: top.ID, Key: "c"}); err != nil {
						t.Fatal(err)
					}
					end(w)
					w.resume()
					time.Sleep(time.Minute)
					l, err := w.engine.List(w.ctx, runtime.Query{All: true})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range l.Runs {
						if r.Status != runtime.Cancelled {
							t.Errorf("run %s of %q is %s", r.ID, r.Parent, r.Status)
						}
					}
					w.engine.Close()
				})
			})
		}
	}
}

// The power may fail at any commit of a cancel: the next owner ends what is left.
func TestCrashAtEveryCommitOfACancel(t *testing.T) {
	for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.does(hanging(make(chan string, 9)))
			top := w.startFiles(`
def main():
    return parallel([lambda: run("child.star", {}), lambda: run("child.star", {}), lambda: work("w"), lambda: gate("g"), lambda: sleep("1h")])
`, "", map[string]string{"child.star": "def main():\n    return parallel([lambda: work('w'), lambda: gate('g')])\n"})
			w.children(top.ID, 2)
			w.store.FailCommit(n, errors.New("the power failed"), moment)
			c := runtime.CancelRequest{Run: top.ID, Key: "c"}
			_, err := w.engine.Cancel(w.ctx, c)
			w.engine.Close()
			hit := w.store.Failure() != nil
			w.crash()
			if again, failed := w.engine.Cancel(w.ctx, c); failed != nil || err == nil && !again.Repeated {
				t.Errorf("commit %d: the cancel, sent again: %+v %v", n, again, failed)
			}
			w.resume()
			l, err := w.engine.List(w.ctx, runtime.Query{All: true})
			if err != nil || len(l.Runs) != 3 {
				t.Fatalf("%+v %v", l, err)
			}
			for _, r := range l.Runs {
				if end := w.until(r.ID, runtime.Cancelled); len(end.Gates) != 0 {
					t.Errorf("run %s has gates: %+v", r.ID, end.Gates)
				}
			}
			if !hit {
				if n < 3 {
					t.Errorf("the cancel of three runs has %d commits", n-1)
				}
				break
			}
		}
	}
}

// children waits until a run has some child runs, each of which has an open gate.
func (w *world) children(top string, n int) {
	w.t.Helper()
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: top, Follow: true}, func(runtime.Event) error { return runtime.ErrStopWatch })
	for err == nil {
		var l *runtime.Listing
		if l, err = w.engine.List(w.ctx, runtime.Query{Gates: true}); err == nil && len(l.Gates) == n+1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.t.Fatal(err)
}

// A child's gate is seen and answered from the top through every level between, and an answer for
// the level below is not taken for it.
func TestGatesOfGrandchildren(t *testing.T) {
	w := newWorld(t)
	top := w.startFiles(`
def main():
    return parallel({"a": lambda: run("mid.star", {"n": 1}), "b": lambda: run("mid.star", {"n": 2})})
`, "", map[string]string{
		"mid.star":  "def main(n):\n    return run('leaf.star', {'n': n})\n",
		"leaf.star": "def main(n):\n    return [n, gate('g', options = ['yes', 'no']).choice]\n",
	})
	w.children(top.ID, 1)
	w.refused(runtime.ErrUnknownGate, answer(top.ID, "parallel/a/run/nothing", "yes"))
	w.crash()
	for branch, choice := range map[string]string{"a": "yes", "b": "no"} {
		if r := w.signal(answer(top.ID, "parallel/"+branch+"/run/run/g", choice)); r.Run != top.ID || r.Gate != "parallel/"+branch+"/run/run/g" {
			t.Errorf("receipt %+v", r)
		}
	}
	if end := w.until(top.ID, runtime.Completed); string(end.Output) != `{"a":[1,"yes"],"b":[2,"no"]}` {
		t.Errorf("output %s", end.Output)
	}
}

// A watcher whose connection broke right at the end is told that there is nothing more.
func TestWatchAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	w.does(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{Value: starlark.MakeInt(1)} })
	run := w.start("def main():\n    return work('w')\n", "")
	last := w.until(run.ID, runtime.Completed).Details.Seq
	w.refused(runtime.ErrClosed, answer(run.ID, "", "yes"))
	var late []string
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run.ID, After: last, Follow: true}, func(ev runtime.Event) error {
		late = append(late, ev.Type)
		return nil
	})
	if text, _ := json.Marshal(late); err != nil || string(text) != `["signal.refused"]` {
		t.Errorf("got %s, %v", text, err)
	}
}

// A run may be quarantined before its child exists: the child is begun when the run goes on.
func TestRunIsSetAsideBeforeItsChildExists(t *testing.T) {
	w := newWorld(t)
	top := w.startFiles(`
def main():
    gate("a", options = ["yes"])
    return run("child.star", {})
`, "", map[string]string{"child.star": "def main():\n    return gate('c', options = ['yes']).choice\n"})
	w.until(top.ID, runtime.Suspended)
	w.store.FailCommit(2, errors.New("the power failed"), memory.BeforeApply) // the child's first
	w.signal(answer(top.ID, "a", "yes"))
	w.engine.Close()
	for range 3 { // owners that die in the first turn of the recovery
		w.crash()
		w.store.FailCommit(2, errors.New("killed"), memory.BeforeApply)
		if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{top.ID}}); err == nil {
			t.Fatal("the recovery did not fail")
		}
		w.engine.Close()
	}
	w.crash()
	w.resume()
	if at := w.until(top.ID, runtime.Suspended); len(at.Gates) != 1 || at.Gates[0].Gate != "!quarantine" {
		t.Fatalf("gates: %+v", at.Gates)
	}
	w.signal(answer(top.ID, "!quarantine", "retry"))
	w.crash() // before it has gone on, perhaps
	w.resume()
	w.children(top.ID, 0)
	w.signal(answer(top.ID, "run/c", "yes"))
	if end := w.until(top.ID, runtime.Completed); string(end.Output) != `"yes"` {
		t.Errorf("output %s", end.Output)
	}
}
