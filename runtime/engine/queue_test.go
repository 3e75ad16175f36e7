package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"starling/runtime"
	"starling/runtime/memory"
)

// out starts a run that needs nobody, and gives its output.
func (w *world) out(script string) string {
	w.t.Helper()
	return string(w.until(w.start(script, "").ID, runtime.Completed).Output)
}

// items is what a queue holds.
func (w *world) items(queue string) string {
	w.t.Helper()
	return w.out(fmt.Sprintf(`
def main():
    return ["%%s %%d %%s" %% (str(i.value), i.tries, i.status + (": " + i.reason if i.reason else "")) for i in queue.all(%q)]
`, queue))
}

func TestProjectOutlivesRuns(t *testing.T) {
	w := newWorld(t)
	count := `
def main():
    n = memory.project.get("n", 0) + 1
    memory.project.set("n", n)
    return n
`
	for _, again := range []func(*world){(*world).restart, (*world).crash} {
		w.out(count)
		again(w)
	}
	if got := w.out(count); got != "3" {
		t.Errorf("the third run counts %s", got)
	}
	got := w.out(`
def main():
    memory.project.set("m", None)
    return [memory.project.all(), memory.project.delete("n"), memory.project.delete("n"), memory.project.get("n"), memory.project.get("m", 7), memory.project.all()]
`)
	if want := `[{"m":null,"n":3},true,false,null,null,{"m":null}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestQueueIsFirstInFirstOut(t *testing.T) {
	w := newWorld(t)
	got := w.out(`
def main():
    ids = [queue.push("q", v) for v in ["a", "b", None]]
    other = queue.push("q.2", "z")
    a, b = queue.take("q"), queue.take("q")
    queue.park(b, "no way")
    queue.ack(a)
    twice = attempt(queue.ack, a).error
    c = queue.take("q", wait = False)
    left = [(i.id, i.status, i.reason) for i in queue.all("q")]
    none = queue.take("q", wait = False)
    late = attempt(queue.take, "q", timeout = "1ms").error.kind
    for i in queue.all("q"):
        if i.status == "parked":
            queue.ack(i)
    return [ids, other, a.value, b.value, c.value, c.tries, left, none, late, twice.kind, [i.id for i in queue.all("q")]]
`)
	if want := `[[1,2,3],1,"a","b",null,1,[[3,"held",""],[2,"parked","no way"]],null,"timeout","refused",[3]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := w.items("q"); got != `["None 1 waiting"]` { // the run that held it has ended
		t.Errorf("after the run: %s", got)
	}
}

func TestTakeWaitsForAnItem(t *testing.T) {
	for name, end := range map[string]func(*world){"straight": func(*world) {}, "restart": (*world).restart, "crash": (*world).crash} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			run := w.start(`
def main():
    def one(n):
        i = queue.take("q")
        queue.ack(i)
        return i.value
    return parallel(one, over = [1, 2])
`, "")
			w.until(run.ID, runtime.Suspended)
			end(w)
			w.resume()
			w.out(`def main(): queue.push("other", 0); return queue.push("q", "a")`)
			end(w)
			w.out(`def main(): return queue.push("q", "b")`)
			w.resume()
			if got := w.until(run.ID, runtime.Completed); string(got.Output) != `["a","b"]` {
				t.Errorf("output %s", got.Output)
			}
			w.verified(run.ID)
		})
	}
}

// What was pushed while nobody carried the run that waits is there when somebody does.
func TestTakeFindsWhatCameMeanwhile(t *testing.T) {
	w := newWorld(t)
	run := w.start(`def main(): return queue.take("q").value`, "")
	w.until(run.ID, runtime.Suspended)
	w.crash()
	w.out(`def main(): return queue.push("q", "a")`)
	if got, err := w.engine.Get(w.ctx, run.ID); err != nil || got.Status != runtime.Suspended {
		t.Fatalf("%v %v: nobody carries it", got, err)
	}
	w.resume()
	if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"a"` {
		t.Errorf("output %s", got.Output)
	}
}

// However a run ends, what it held is there for the next, with one more try.
func TestItemsOfAnEndedRunAreFree(t *testing.T) {
	ends := map[string]func(w *world, run string){
		"completed": func(w *world, run string) { w.signal(answer(run, "g", "end")) },
		"failed":    func(w *world, run string) { w.signal(answer(run, "g", "fail")) },
		"cancelled": func(w *world, run string) {
			if _, err := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run}); err != nil {
				w.t.Fatal(err)
			}
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.out(`def main(): return queue.push("q", "a")`)
			holds := w.start(`
def main():
    queue.take("q")
    if gate("g", options = ["end", "fail"]).choice == "fail":
        fail("no")
`, "")
			w.until(holds.ID, runtime.Suspended)
			waits := w.start(`
def main():
    i = queue.take("q")
    queue.ack(i)
    return [i.value, i.tries]
`, "")
			w.until(waits.ID, runtime.Suspended)
			w.crash()
			w.resume()
			if got := w.items("q"); got != `["a 1 held"]` {
				t.Errorf("a crash has freed it: %s", got)
			}
			end(w, holds.ID)
			if got := w.until(waits.ID, runtime.Completed); string(got.Output) != `["a",2]` {
				t.Errorf("output %s", got.Output)
			}
		})
	}
}

func TestLeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.out(`def main(): return queue.push("q", "a")`)
		slow := w.start(`
def main():
    i = queue.take("q", lease = "1h")
    gate("g", options = ["go"])
    return [attempt(f, i, *a).error.message for f, a in [(queue.ack, []), (queue.park, ["late"])]]
`, "")
		w.until(slow.ID, runtime.Suspended)
		next := w.start(`
def main():
    i = queue.take("q")
    gate("g", options = ["go"])
    queue.ack(i)
    return i.tries
`, "")
		w.until(next.ID, runtime.Suspended)
		w.crash()
		w.resume()
		w.await(next.ID, "gate.opened") // in an hour
		w.signal(answer(slow.ID, "g", "go"))
		want := `is not held by this call any more: it was taken 2 times, last by run ` + next.ID + `, and this is number 1`
		if got := w.until(slow.ID, runtime.Completed); strings.Count(string(got.Output), want) != 2 {
			t.Errorf("output %s", got.Output)
		}
		w.signal(answer(next.ID, "g", "go"))
		if got := w.until(next.ID, runtime.Completed); string(got.Output) != "2" {
			t.Errorf("output %s", got.Output)
		}
	})
}

func TestEachItemIsTakenOnce(t *testing.T) {
	w := newWorld(t)
	w.out(`def main(): return [queue.push("q", n) for n in range(60)]`)
	const drain = `
def main():
    mine = []
    for _ in range(100):
        i = queue.take("q", wait = False)
        if i == None:
            return mine
        mine.append(work("w", value = i.value))
        queue.ack(i)
`
	var runs []string
	for range 4 {
		runs = append(runs, w.start(drain, "").ID)
	}
	w.crash()
	w.resume()
	var all []string
	for _, run := range runs {
		if got := strings.Trim(string(w.until(run, runtime.Completed).Output), "[]"); got != "" {
			all = append(all, strings.Split(got, ",")...)
		}
	}
	seen := map[string]bool{}
	for _, v := range all {
		if seen[v] {
			t.Errorf("item %s was taken twice", v)
		}
		seen[v] = true
	}
	if len(seen) != 60 {
		t.Errorf("%d of 60 items were taken: %s", len(seen), all)
	}
}

// The power fails at each commit of a run that pushes, takes, acknowledges and parks, before and
// after it: the next owner goes on, and the queue is what it would have been.
func TestQueueAtEveryCommit(t *testing.T) {
	const script = `
def main():
    for v in ["a", "b", "c"]:
        queue.push("q", v)
    done = []
    for _ in range(2):
        i = queue.take("q", lease = "1h")
        done.append([i.value, i.tries, work("w", value = i.value)])
        queue.ack(i) if i.value == "a" else queue.park(i, "odd")
    memory.project.set("done", memory.project.get("done", 0) + len(done))
    gate("g", options = ["go"])
    return done + [memory.project.get("done")]
`
	const want, left = `[["a",1,"a"],["b",1,"b"],2]`, `["c 0 waiting","b 1 parked: odd"]`
	crashes := 0
	for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
		for n := 1; ; n++ {
			l := &life{world: newWorld(t)}
			l.store.FailCommit(n, errors.New("the power failed"), moment)
			l.through(func() error {
				r, err := l.engine.Start(l.ctx, runtime.StartRequest{Key: "start", Bundle: bundle(t, script, nil), Script: "main.star"})
				if err == nil {
					l.run = r.ID
				}
				return err
			})
			l.through(l.rest)
			s := answer(l.run, "g", "go")
			s.Key = "answer"
			l.through(func() error {
				_, err := l.engine.Signal(l.ctx, s)
				return err
			})
			l.through(l.rest)
			if got := l.until(l.run, runtime.Completed); string(got.Output) != want {
				t.Errorf("a crash at commit %d: output %s", n, got.Output)
			}
			l.verified(l.run)
			if !l.crashed {
				break
			}
			if got := l.items("q"); got != left {
				t.Errorf("a crash at commit %d leaves %s", n, got)
			}
			crashes++
		}
	}
	if crashes < 20 {
		t.Errorf("%d crashes, want ten at least before a commit, and ten after one", crashes)
	}
}

// A run that performs one step of another anew leaves what runs share alone.
func TestRerunOfOneStepLeavesQueuesAlone(t *testing.T) {
	w := newWorld(t)
	counts := counting(w)
	run := w.start(`
def main():
    queue.push("q", "a")
    v = work("one")
    memory.project.set("v", v)
    return [v, queue.take("q").value]
`, "")
	w.until(run.ID, runtime.Completed)
	before := w.items("q")
	again := w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "one"})
	end := w.until(again.ID, runtime.Completed, runtime.Failed)
	if counts["one"] != 2 || end.Status != runtime.Failed || !strings.Contains(end.Error.Message, "memory.project.set") {
		t.Errorf("%s, %d times, error %+v: memory.project.set has another argument and is not to be performed", end.Status, counts["one"], end.Error)
	}
	if after := w.items("q"); after != before {
		t.Errorf("the queue was %s and is %s", before, after)
	}
}

func TestStoreThatFailsWhileAQueueIsRead(t *testing.T) {
	w := newWorld(t)
	w.out(`def main(): return queue.push("q", "a")`)
	w.spoiled = true
	w.damageRow("l/q/")
	run := w.start(`def main(): return queue.take("q").value`, "")
	if end := w.until(run.ID, runtime.Failed); end.Error == nil || end.Error.Kind != "effect" {
		t.Errorf("error %+v", end.Error)
	}
}

// damageRow makes the rows with a prefix unreadable.
func (w *world) damageRow(prefix string) {
	w.t.Helper()
	var keys [][]byte
	err := w.store.Scan([]byte(prefix), []byte(prefix+"\xff"), func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	})
	b := &runtime.Batch{}
	for _, k := range keys {
		b.Writes = append(b.Writes, runtime.Write{Key: k, Value: []byte("\xff\xff")})
	}
	if err == nil {
		err = w.store.Commit(context.Background(), b)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// While an item of a key is in the queue, there is no second one; when it has left, there may be.
func TestKeyIsInTheQueueOnce(t *testing.T) {
	w := newWorld(t)
	got := w.out(`
def main():
    ids = [queue.push("q", n, key = "a") for n in range(3)] + [queue.push("q", "b", key = "b"), queue.push("other", "a", key = "a")]
    first = queue.take("q")
    ids.append(queue.push("q", "held", key = "a"))
    queue.park(first, "later")
    ids.append(queue.push("q", "parked", key = "a"))
    queue.ack(first)
    ids.append(queue.push("q", "gone", key = "a"))
    return [ids, [i.value for i in queue.all("q")]]
`)
	if want := `[[1,1,1,2,1,1,1,3],["b","gone"]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Two runs push the same at the same time: one of them has put it there.
func TestKeyOfTwoRuns(t *testing.T) {
	w := newWorld(t)
	var runs []string
	for range 8 {
		runs = append(runs, w.start(`def main(): return queue.push("q", "a", key = "k")`, "").ID)
	}
	for _, run := range runs {
		if got := w.until(run, runtime.Completed); string(got.Output) != "1" {
			t.Errorf("run %s: %s", run, got.Output)
		}
	}
	if got := w.items("q"); got != `["a 0 waiting"]` {
		t.Error(got)
	}
}

func TestTakeOfOneItemAndRelease(t *testing.T) {
	w := newWorld(t)
	got := w.out(`
def main():
    for v in ["a", "b", "c"]:
        queue.push("q", v)
    b = queue.take("q", id = 2)
    none = [queue.take("q", id = 2, wait = False), queue.take("q", id = 9)]
    queue.release(b, value = "b, answered")
    late = attempt(queue.release, b).error.kind
    again = queue.take("q", id = 2)
    queue.park(again, "odd")
    queue.release(again)
    return [b.value, none, late, again.value, again.tries, [(i.value, i.status, i.reason) for i in queue.all("q")]]
`)
	if want := `["b",[null,null],"refused","b, answered",2,[["a","waiting",""],["b, answered","waiting",""],["c","waiting",""]]]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run that waits for one item has it when its holder gives it back.
func TestReleaseWakesWhoWaits(t *testing.T) {
	w := newWorld(t)
	w.out(`def main(): return queue.push("q", "a", key = "k")`)
	holds := w.start(`
def main():
    i = queue.take("q")
    gate("g", options = ["on"])
    queue.release(i, value = "changed")
`, "")
	w.until(holds.ID, runtime.Suspended)
	waits := w.start(`def main(): return queue.take("q", id = 1).value`, "")
	w.until(waits.ID, runtime.Suspended)
	w.signal(answer(holds.ID, "g", "on"))
	if got := w.until(waits.ID, runtime.Completed); string(got.Output) != `"changed"` {
		t.Errorf("output %s", got.Output)
	}
	w.verified(holds.ID)
	w.verified(waits.ID)
}

// What comes back into a queue from aside is the oldest again, though younger ones were dropped
// since.
func TestItemComesBackInFrontOfTheOldest(t *testing.T) {
	w := newWorld(t)
	got := w.out(`
def main():
    [queue.push("q", v) for v in ["a", "b", "c"]]
    queue.park(queue.take("q"), "later")
    queue.ack(queue.take("q"))
    c = queue.take("q")
    for i in queue.all("q"):
        if i.status == "parked":
            queue.release(i)
    a = queue.take("q")
    queue.ack(a)
    queue.ack(c)
    none = queue.take("q", wait = False)
    queue.push("q", "d")
    return [a.value, c.value, none, queue.take("q").value]
`)
	if want := `["a","c",null,"d"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
