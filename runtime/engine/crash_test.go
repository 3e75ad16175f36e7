package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

// crash drops the engine as SIGKILL would: nothing is written down, attempts in flight never land.
// Another owner opens what was durable.
func (w *world) crash() {
	w.t.Helper()
	dead := w.engine
	w.store = w.store.Crash()
	w.open()
	w.t.Cleanup(func() { dead.Close() })
}

func (w *world) resume(runs ...string) {
	w.t.Helper()
	if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: runs, All: len(runs) == 0}); err != nil {
		w.t.Fatal(err)
	}
}

// hanging performs work that never replies until its context ends, and tells when it has begun.
func hanging(begun chan<- string) func(context.Context, *effect.Attempt) effect.Reply {
	return func(ctx context.Context, a *effect.Attempt) effect.Reply {
		begun <- a.Key
		<-ctx.Done()
		return effect.Reply{Err: effect.Errorf(effect.KindEffect, "stopped"), Class: effect.Retryable}
	}
}

func TestCutAttemptIsRetriedWithItsKey(t *testing.T) { // S3-44
	w := newWorld(t)
	begun := make(chan string, 1)
	w.work = hanging(begun)
	run := w.start(`
def main():
    return work("post", value = 7)
`, "")
	key := <-begun
	w.crash()
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		if a.Key != key || a.Number != 2 {
			t.Errorf("attempt %d with key %s, want 2 with %s", a.Number, a.Key, key)
		}
		return effect.Reply{Value: starlark.MakeInt(7)}
	}
	w.resume(run.ID)
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != "7" {
		t.Errorf("output %s", end.Output)
	}
}

func TestUncertainAttemptAsks(t *testing.T) {
	for choice, want := range map[string]string{"retry": "completed 7", "skip": "completed null", "fail": "failed uncertain"} {
		t.Run(choice, func(t *testing.T) {
			w := newWorld(t)
			begun := make(chan string, 2)
			w.work = hanging(begun)
			run := w.start(`
def main():
    return work("post", value = 7, on_uncertain = "ask")
`, "")
			<-begun
			w.crash()
			w.work = func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{Value: starlark.MakeInt(7)} }
			w.resume(run.ID)
			at := w.until(run.ID, runtime.Suspended)
			if len(at.Gates) != 1 || at.Gates[0].Gate != "!uncertain:post" {
				t.Fatalf("gates: %+v", at.Gates)
			}
			w.refused(runtime.ErrBadChoice, answer(run.ID, "!uncertain:post", "approve"))
			w.crash() // the question itself survives
			w.signal(answer(run.ID, "!uncertain:post", choice))
			end := w.until(run.ID, runtime.Completed, runtime.Failed)
			got := fmt.Sprintf("%s %s", end.Status, end.Output)
			if end.Error != nil {
				got = fmt.Sprintf("%s %s", end.Status, end.Error.Kind)
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestUncertainAttemptFails(t *testing.T) {
	w := newWorld(t)
	begun := make(chan string, 1)
	w.work = hanging(begun)
	run := w.start(`
def main():
    o = attempt(work, "post", on_uncertain = "fail")
    return o.error.kind
`, "")
	<-begun
	w.crash()
	w.resume()
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != `"uncertain"` {
		t.Errorf("output %s", end.Output)
	}
}

// three gates in three branches.
const three = `
def one(name):
    d = gate(name, options = ["yes", "no"])
    return name + " " + d.choice + " " + d.reason

def main():
    before = [x * x for x in range(4)]
    return {"before": before, "answers": parallel({k: (one, k) for k in ["a", "b", "c"]})}
`

func TestThreeGatesInAllOrders(t *testing.T) { // ecosystem: three parallel gates, every order, every process gone between
	orders := [][]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}}
	for _, order := range orders {
		for _, end := range []func(*world){(*world).crash, (*world).restart} {
			t.Run(strings.Join(order, ""), func(t *testing.T) {
				w := newWorld(t)
				run := w.start(three, "")
				if at := w.until(run.ID, runtime.Suspended); len(at.Gates) != 3 || at.Gates[1].Gate != "parallel/b/b" {
					t.Fatalf("gates: %+v", at.Gates)
				}
				for i, name := range order {
					end(w)
					s := answer(run.ID, "parallel/"+name+"/"+name, "yes")
					s.Reason = fmt.Sprint(i)
					w.signal(s)
				}
				got := w.until(run.ID, runtime.Completed)
				want := `{"before":[0,1,4,9],"answers":{`
				for i, k := range []string{"a", "b", "c"} {
					want += fmt.Sprintf(`"%s":"%s yes %d"`, k, k, slices.Index(order, k))
					if i < 2 {
						want += ","
					}
				}
				if want += "}}"; string(got.Output) != want {
					t.Errorf("got %s, want %s", got.Output, want)
				}
			})
		}
	}
}

// gateScripts have gates g-x, g-y, g-z where calls are: inside sort keys, comprehensions, nested
// calls, attempt in parallel, defaults.
func gateScripts() map[string]string {
	return map[string]string{
		"sort key": `
def main():
    return sorted(["x", "y", "z"], key = lambda n: gate("g-" + n, options = ["1", "2", "3"]).choice)
`,
		"comprehension": `
def main():
    return [gate("g-" + n, options = ["1", "2", "3"]).choice + n for n in ["x", "y", "z"] if n]
`,
		"nested": `
def ask(n): return gate("g-" + n, options = ["1", "2", "3"]).choice
def deep(n, k): return ask(n) if k == 0 else deep(n, k - 1)
def main():
    return {n: deep(n, 20) for n in ["x", "y", "z"]}
`,
		"attempt in parallel": `
def ask(n):
    o = attempt(lambda: gate("g-" + n, options = ["1", "2", "3"]).choice)
    p = attempt(lambda: fail("no " + o.value))
    return o.value + " " + p.error.message
def main():
    return parallel(ask, over = ["x", "y", "z"])
`,
		"default": `
def main():
    out = []
    for n in ["x", "y", "z"]:
        def f(v = gate("g-" + n, options = ["1", "2", "3"]).choice): return v
        out.append(f())
    return out
`,
		"handle": `
def main():
    hs = [gate("g-" + n, options = ["1", "2", "3"], wait = False) for n in ["x", "y", "z"]]
    return [h.decision().choice for h in hs]
`,
		"no main": `
out = []
for n in ["x", "y", "z"]:
    out.append(gate("g-" + n, options = ["1", "2", "3"]).choice)
`,
	}
}

func TestGatesWhereCallsAre(t *testing.T) {
	for name, script := range gateScripts() {
		t.Run(name, func(t *testing.T) {
			var outputs []string
			for _, end := range []func(*world){func(*world) {}, (*world).restart, (*world).crash} {
				outputs = append(outputs, answerAll(newWorld(t), script, end))
			}
			if outputs[0] != outputs[1] || outputs[0] != outputs[2] {
				t.Errorf("outputs differ: %v", outputs)
			}
		})
	}
}

// answerAll answers the gates g-x, g-y, g-z with 3, 1, 2, ending the process before each.
func answerAll(w *world, script string, end func(*world)) string {
	w.t.Helper()
	run := w.start(script, "")
	for _, step := range [][2]string{{"g-x", "3"}, {"g-y", "1"}, {"g-z", "2"}} {
		w.until(run.ID, runtime.Suspended)
		end(w)
		w.signal(answer(run.ID, step[0], step[1]))
	}
	return string(w.until(run.ID, runtime.Completed).Output)
}

func TestFiftySignalsOneDecision(t *testing.T) { // A02 (4)
	w := newWorld(t)
	run := w.start(`
def main():
    return gate("g", options = ["a", "b"]).choice
`, "")
	w.until(run.ID, runtime.Suspended)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 50 {
		wg.Go(func() {
			_, err := w.engine.Signal(w.ctx, answer(run.ID, "g", []string{"a", "b"}[i%2]))
			var r *runtime.Refusal
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case !errors.As(err, &r) || r.Kind != runtime.ErrDecided:
				t.Errorf("got %v, want decided", err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d signals won", won)
	}
	w.until(run.ID, runtime.Completed)
}

func TestFailedCommitChangesNothing(t *testing.T) { // law 3: what is not durable has not happened
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprint(applied), func(t *testing.T) { failedCommit(t, applied) })
	}
}

func TestTimers(t *testing.T) { // S0-19, S0-20, A03
	for name, c := range map[string]struct{ script, want string }{
		"fallback": {`
def main():
    d = gate("g", options = ["yes", "no"], timeout = "2h", fallback = "no")
    return [d.choice, d.via, d.by, d.timed_out]
`, `["no","fallback","system",true]`},
		"return": {`
def main():
    d = gate("g", options = ["yes", "no"], timeout = "2h", on_timeout = "return")
    return [d.choice, d.timed_out]
`, `[null,true]`},
		"raise": {`
def main():
    return attempt(gate, "g", options = ["yes"], timeout = "2h").error.kind
`, `"timeout"`},
		"sleep": {`
def main():
    a = now()
    sleep("2h")
    return now() > a
`, `true`},
		"mailbox": {`
def main():
    return attempt(take, "m", timeout = "2h").error.kind
`, `"timeout"`},
		"escalation": {`
def main():
    d = gate("g", options = ["yes", "no"], escalate = [("first", "1h"), ("second", "1h")], fallback = "no")
    return [d.choice, d.via]
`, `["no","fallback"]`},
		"parallel": {`
def nap(d):
    sleep(d)
    return d
def main():
    return parallel(nap, over = ["2h", "1h", "90m"], wait = "any")[1].value
`, `"1h"`},
	} {
		for kind, end := range map[string]func(*world){"": func(*world) {}, " after restart": (*world).restart, " after crash": (*world).crash} {
			t.Run(name+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					run := w.start(c.script, "")
					w.until(run.ID, runtime.Suspended)
					begin := time.Now()
					end(w)
					w.resume()
					got := w.until(run.ID, runtime.Completed)
					if string(got.Output) != c.want {
						t.Errorf("got %s, want %s", got.Output, c.want)
					}
					if took := time.Since(begin); took < time.Hour || took > 2*time.Hour+time.Second {
						t.Errorf("it took %s", took)
					}
					w.engine.Close()
				})
			})
		}
	}
}

func TestOverdueWhileNobodyLived(t *testing.T) { // A03 (b): the deadline is applied before a late signal
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		run := w.start(`
def main():
    return gate("g", options = ["yes", "no"], timeout = "2s", fallback = "no").choice
`, "")
		w.until(run.ID, runtime.Suspended)
		if err := w.engine.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // in the bubble's time
		w.store = w.store.Reopen()
		w.open()
		w.refused(runtime.ErrExpired, answer(run.ID, "g", "yes"))
		if end := w.until(run.ID, runtime.Completed); string(end.Output) != `"no"` {
			t.Errorf("output %s", end.Output)
		}
		w.engine.Close()
	})
}

func failedCommit(t *testing.T, applied bool) {
	w := newWorld(t)
	run := w.start(`
def main():
    d = gate("g", options = ["yes"])
    return work("after", value = d.choice)
`, "")
	w.until(run.ID, runtime.Suspended)
	moment := memory.BeforeApply
	if applied {
		moment = memory.AfterApply
	}
	w.store.FailCommit(1, errors.New("the disk is full"), moment)
	if _, err := w.engine.Signal(w.ctx, answer(run.ID, "g", "yes")); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("signal: got %v, want the disk's error", err)
	}
	if len(w.calls) != 0 {
		t.Errorf("work was performed although nothing was durable: %v", w.calls)
	}
	w.crash()
	if applied {
		w.resume()
	} else {
		w.signal(answer(run.ID, "g", "yes"))
	}
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != `"yes"` {
		t.Errorf("output %s", end.Output)
	}
	if len(w.calls) != 1 {
		t.Errorf("work was performed %d times", len(w.calls))
	}
}

// Each script is told once, then again for each of its commits, with the power failing there: the
// same output and the same journal.
func TestPowerFailsAtEveryCommit(t *testing.T) {
	for name, script := range gateScripts() {
		t.Run(name, func(t *testing.T) {
			want, _ := answerThrough(newWorld(t), script, 1<<20, memory.BeforeApply)
			for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
				n := 1
				for hit := true; hit; n++ {
					var got string
					if got, hit = answerThrough(newWorld(t), script, n, moment); got != want {
						t.Errorf("the power failed at commit %d, applied: %t: got %s, want %s", n, moment == memory.AfterApply, got, want)
					}
				}
				if n < 5 {
					t.Errorf("a start and three answers have %d commits", n-2)
				}
			}
		})
	}
}

// answerThrough answers the gates as answerAll does, while the power fails at the n-th commit.
// Whoever gets no answer asks again, with the same key.
func answerThrough(w *world, script string, n int, moment memory.Moment) (transcript string, hit bool) {
	w.t.Helper()
	w.store.FailCommit(n, errors.New("the power failed"), moment)
	again := func(do func() error) {
		for err := do(); err != nil; err = do() {
			if hit = w.store.Failure() != nil; !hit {
				w.t.Fatal(err)
			}
			w.engine.Close()
			w.crash()
			w.resume()
		}
	}
	var run *runtime.Run
	again(func() (err error) {
		run, err = w.engine.Start(w.ctx, runtime.StartRequest{Key: "start", Bundle: bundle(w.t, script, nil), Script: "main.star"})
		return err
	})
	for _, step := range [][2]string{{"g-x", "3"}, {"g-y", "1"}, {"g-z", "2"}} {
		w.until(run.ID, runtime.Suspended)
		s := answer(run.ID, step[0], step[1])
		s.Key = step[0]
		again(func() error {
			_, err := w.engine.Signal(w.ctx, s)
			return err
		})
	}
	end := w.until(run.ID, runtime.Completed)
	return fmt.Sprint(string(end.Output), w.types(run.ID)), hit
}

// TestConversationIsGoneOnWith: what the journal knows of the conversation of an attempt that was
// cut is what the next attempt goes on with, whoever cut it, whoever says that it is tried again,
// and also when that one was cut before it came to tell of any. An attempt that has failed leaves
// none.
func TestConversationIsGoneOnWith(t *testing.T) {
	for name, c := range map[string]struct {
		cut   func(w *world, hang func())
		fails bool // the first attempt fails after it has told
		want  string
	}{
		"killed": {func(w *world, _ func()) { w.crash() }, false, "s7 true"},
		"left":   {func(w *world, _ func()) { w.restart() }, false, "s7 true"},
		"killed twice": {func(w *world, hang func()) {
			w.crash()
			hang()
			w.crash()
		}, false, "s7 true"},
		"failed": {nil, true, " false"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			begun := make(chan string, 3)
			last := func(_ context.Context, a *effect.Attempt) effect.Reply {
				return effect.Reply{Value: starlark.String(fmt.Sprint(a.Session, " ", a.Cut))}
			}
			w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
				if a.Number > 1 {
					return last(ctx, a)
				}
				if a.Session != "" || a.Cut {
					t.Errorf("it goes on with %q before there was anything", a.Session)
				}
				event := starlark.NewDict(1)
				_ = event.SetKey(starlark.String("id"), starlark.String("s7")) // a fresh dict and a string key
				a.Emit("session", event)
				if c.fails {
					return effect.Reply{Err: effect.Errorf(effect.KindAgent, "no"), Class: effect.Retryable}
				}
				return hanging(begun)(ctx, a)
			})
			run := w.start(`
def main():
    return work("write", on_uncertain = "retry", retries = 1)
`, "")
			if c.cut != nil {
				<-begun
				w.await(run.ID, "agent.event")
				c.cut(w, func() {
					w.does(hanging(begun))
					w.resume(run.ID)
					<-begun
				})
				w.does(last)
				w.resume(run.ID)
			}
			if end := w.until(run.ID, runtime.Completed); string(end.Output) != fmt.Sprintf("%q", c.want) {
				t.Errorf("output %s, want %q", end.Output, c.want)
			}
		})
	}
}

// TestRejectedReplyIsShown: whoever is asked again is given what it had said, as far as that is
// known whole.
func TestRejectedReplyIsShown(t *testing.T) {
	for said, want := range map[string]string{"ten": "ten", strings.Repeat("x", 1<<16): ""} {
		w := newWorld(t)
		w.does(func(_ context.Context, a *effect.Attempt) effect.Reply {
			if len(a.Feedback) > 0 {
				return effect.Reply{Value: starlark.MakeInt(len(a.Rejected)), Text: a.Rejected}
			}
			event := starlark.NewDict(1)
			_ = event.SetKey(starlark.String("text"), starlark.String(said)) // a fresh dict and a string key
			a.Emit("delta", event)
			return effect.Reply{Value: starlark.String(said)}
		})
		run := w.start(`
def main():
    return work("w", returns = "int", reasks = 1)
`, "")
		if end := w.until(run.ID, runtime.Completed, runtime.Failed); string(end.Output) != fmt.Sprint(len(want)) {
			t.Errorf("got %s, want %d: %v", end.Output, len(want), end.Error)
		}
	}
}
