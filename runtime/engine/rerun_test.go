package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// pipeline has three steps in a row, each of which sees the one before, and a question at the end.
const pipeline = `
def main(topic, tone = "dry"):
    ids = [uuid(), now()]
    plan = work("plan", value = topic)
    print("planned", plan)
    text = work("write", value = [plan, ids])
    print("written", text)
    verdict = work("review", value = [text, tone, uuid() != ""])
    d = gate("publish", options = ["yes", "no"], data = {"plan": plan})
    return [plan, text, verdict, d.choice]
`

// counting makes work say how often it was done, over all runs.
func counting(w *world) map[string]int {
	counts := map[string]int{}
	w.does(func(_ context.Context, a *effect.Attempt) effect.Reply {
		w.mu.Lock()
		defer w.mu.Unlock()
		counts[a.Step]++
		return effect.Reply{Value: starlark.String(a.Step + strings.Repeat("!", counts[a.Step]))}
	})
	return counts
}

func (w *world) reruns() runtime.Reruns {
	w.t.Helper()
	r, err := runtime.Extension[runtime.Reruns](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) fork(r runtime.ForkRequest) *runtime.Run {
	w.t.Helper()
	run, err := w.reruns().Fork(w.ctx, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// journal gives what a run's events say, without times.
func (w *world) journal(run string) []string {
	w.t.Helper()
	var out []string
	err := w.engine.Watch(w.ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		out = append(out, ev.Type+" "+ev.Step+" "+string(ev.Data))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) verified(run string) *runtime.Replayed {
	w.t.Helper()
	r, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run})
	if err != nil {
		w.t.Fatalf("replay of %s: %v", run, err)
	}
	return r
}

func TestRerunFromAStep(t *testing.T) {
	w := newWorld(t)
	counts := counting(w)
	run := w.start(pipeline, `{"topic": "bees"}`)
	w.until(run.ID, runtime.Suspended)
	w.signal(answer(run.ID, "publish", "yes"))
	w.until(run.ID, runtime.Completed)
	before := w.journal(run.ID)
	w.verified(run.ID)

	again := w.fork(runtime.ForkRequest{Key: "k", Kind: runtime.LineageRerun, Run: run.ID, Step: "write"})
	rests := w.until(again.ID, runtime.Suspended)
	if l := rests.Details.Lineage; l == nil || l.Run != run.ID || l.Step != "write" || l.Kind != runtime.LineageRerun {
		t.Errorf("lineage %+v", rests.Details.Lineage)
	}
	if same := w.fork(runtime.ForkRequest{Key: "k", Kind: runtime.LineageRerun, Run: run.ID, Step: "write"}); same.ID != again.ID {
		t.Errorf("the same key made %s and %s", again.ID, same.ID)
	}
	w.restart()
	w.signal(answer(again.ID, "publish", "no"))
	end := w.until(again.ID, runtime.Completed)
	if want := `["plan!","write!!","review!!","no"]`; string(end.Output) != want {
		t.Errorf("output %s, want %s", end.Output, want)
	}
	if counts["plan"] != 1 || counts["write"] != 2 || counts["review"] != 2 {
		t.Errorf("work was done %v", counts)
	}
	if keys := w.calls[3:]; !slices.Equal(keys, []string{again.ID + "/write", again.ID + "/review"}) {
		t.Errorf("keys %v, want those of the new run", keys)
	}
	if after := w.journal(run.ID); !slices.Equal(before, after) {
		t.Errorf("the original has changed:\n%v\n%v", before, after)
	}
	w.verified(again.ID)
	w.verified(run.ID)
}

func TestRerunOnlyAStep(t *testing.T) {
	w := newWorld(t)
	counts := counting(w)
	run := w.start(pipeline, `{"topic": "bees"}`)
	w.until(run.ID, runtime.Suspended)
	w.signal(answer(run.ID, "publish", "yes"))
	w.until(run.ID, runtime.Completed)

	only := w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "review"})
	end := w.until(only.ID, runtime.Completed)
	if want := `["plan!","write!","review!!","yes"]`; string(end.Output) != want {
		t.Errorf("output %s, want %s: the decision of the same question is taken", end.Output, want)
	}
	if counts["plan"] != 1 || counts["write"] != 1 || counts["review"] != 2 {
		t.Errorf("work was done %v", counts)
	}
	w.verified(only.ID)

	// Another text: the review of it was never asked for.
	refused := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "write"}).ID, runtime.Failed)
	if want := "review: its request is not the one of run " + run.ID; !strings.HasPrefix(refused.Error.Message, want) {
		t.Errorf("error %q, want %q", refused.Error.Message, want)
	}
	if counts["review"] != 2 || counts["write"] != 2 {
		t.Errorf("work was done %v", counts)
	}
	w.verified(refused.ID)
	on := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageRerun, Run: refused.ID, Step: "review"}).ID, runtime.Suspended)
	if counts["review"] != 3 || counts["write"] != 2 || on.Gates[0].Gate != "publish" {
		t.Errorf("work was done %v; gates %v", counts, on.Gates)
	}
}

// What a run takes from another is its own: it is there after a restart, also when the other had a
// question in between that is asked anew.
func TestRerunOnlyAcrossARestart(t *testing.T) {
	w := newWorld(t)
	counts := counting(w)
	run := w.start(`
def main():
    plan = work("plan")
    verdict = work("review", value = plan)
    d = gate("publish", options = ["yes", "no"], data = verdict)
    return [work("print", value = plan), d.choice, work("bind", value = [plan, d.choice])]
`, "")
	w.until(run.ID, runtime.Suspended)
	w.signal(answer(run.ID, "publish", "yes"))
	w.until(run.ID, runtime.Completed)

	only := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "review"}).ID, runtime.Suspended)
	if len(only.Gates) != 1 || string(only.Gates[0].Data) != `"review!!"` {
		t.Fatalf("gates %+v, want the question with the new review", only.Gates)
	}
	w.restart()
	w.signal(answer(only.ID, "publish", "yes"))
	end := w.until(only.ID, runtime.Completed)
	if want := `["print!","yes","bind!"]`; string(end.Output) != want || counts["print"] != 1 || counts["bind"] != 1 {
		t.Errorf("output %s, want %s; work was done %v", end.Output, want, counts)
	}
	w.verified(only.ID)
}

func TestForkWithOtherInputs(t *testing.T) {
	w := newWorld(t)
	counting(w)
	run := w.start(pipeline, `{"topic": "bees"}`)
	w.until(run.ID, runtime.Suspended)
	fork := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "review", Set: []string{"tone=warm"}}).ID, runtime.Suspended)
	if string(fork.Inputs) != `{"topic":"bees","tone":"warm"}` {
		t.Errorf("inputs %s", fork.Inputs)
	}
	if text := strings.Join(w.journal(fork.ID), "\n"); !strings.Contains(text, `"warm"`) || strings.Count(text, "step.requested plan") != 1 {
		t.Errorf("journal:\n%s", text)
	}
	w.verified(fork.ID)

	_, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "review", Set: []string{"topic=wasps"}})
	r := runtime.AsRefusal(err)
	var d runtime.Divergence
	if r.Kind != runtime.ErrDiverged || json.Unmarshal(r.Data, &d) != nil || d.Want.What != "step.requested plan" || !strings.Contains(string(d.Got.Data), "wasps") {
		t.Errorf("an input that the plan depends on: got %v %s, want a divergence at plan", err, r.Data)
	}
}

func TestForkInAParallelBranch(t *testing.T) {
	w := newWorld(t)
	counts := counting(w)
	run := w.start(`
def branch(name):
    a = work("a-" + name)
    g = gate("g", options = ["on"]).choice
    return [a, work("b-" + name), g]
def main():
    return parallel({k: (branch, k) for k in ["x", "y"]})
`, "")
	w.until(run.ID, runtime.Suspended)
	w.signal(answer(run.ID, "parallel/x/g", "on"))
	w.until(run.ID, runtime.Suspended)
	w.signal(answer(run.ID, "parallel/y/g", "on"))
	w.until(run.ID, runtime.Completed)

	// Before y's gate opens, nothing is decided: both gates ask again, and what was done before
	// them is not.
	fork := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "b-x"}).ID, runtime.Suspended)
	if len(fork.Gates) != 1 || fork.Gates[0].Gate != "parallel/y/g" || counts["parallel/x/b-x"] != 2 || counts["parallel/y/a-y"] != 1 {
		t.Errorf("gates %v, work %v", fork.Gates, counts)
	}
	w.restart()
	w.signal(answer(fork.ID, "parallel/y/g", "on"))
	w.until(fork.ID, runtime.Completed)
	w.verified(fork.ID)

	// Only one step of a branch: the other branch has its outcomes from the original.
	only := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageOnly, Run: run.ID, Step: "b-x"}).ID, runtime.Completed)
	if want := `{"x":["parallel/x/a-x!","parallel/x/b-x!!!","on"],"y":["parallel/y/a-y!","parallel/y/b-y!","on"]}`; string(only.Output) != want {
		t.Errorf("output %s, want %s", only.Output, want)
	}
	w.verified(only.ID)
}

// What was running at the cut goes on with the time that it had left.
func TestForkMovesDeadlines(t *testing.T) {
	w := newWorld(t)
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, `
def main():
    h = gate("late", options = ["on"], wait = False, timeout = "1h")
    work("first")
    work("second")
    return h.decision().choice
`, nil), Script: "main.star", Timeout: 2 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	origin := w.until(run.ID, runtime.Suspended)
	fork := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "second"}).ID, runtime.Suspended)
	if later := fork.Gates[0].Deadline.Sub(*origin.Gates[0].Deadline); later <= 0 || later > time.Minute {
		t.Errorf("the gate's deadline is %v later than the original's", later)
	}
	if !fork.Details.NextDue.Equal(*fork.Gates[0].Deadline) {
		t.Errorf("next due %v, the gate's deadline is %v", fork.Details.NextDue, fork.Gates[0].Deadline)
	}
}

func TestForkRefused(t *testing.T) {
	w := newWorld(t)
	run := w.start(pipeline, `{"topic": "bees"}`)
	w.until(run.ID, runtime.Suspended)
	session, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, "x = 1\n", nil), Script: "repl", Session: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    runtime.ForkRequest
		kind runtime.ErrorKind
		says string
	}{
		{runtime.ForkRequest{Run: "nosuch", Step: "plan"}, runtime.ErrUnknownRun, "nosuch"},
		{runtime.ForkRequest{Run: run.ID, Step: "reveiw"}, runtime.ErrUnknownStep, "reveiw"},
		{runtime.ForkRequest{Run: run.ID, Step: "uuid"}, runtime.ErrUnknownStep, "is answered by the run itself"},
		{runtime.ForkRequest{Run: run.ID, Step: "plan", Kind: "copy"}, runtime.ErrUsage, "copy"},
		{runtime.ForkRequest{Run: run.ID, Step: "plan", Kind: runtime.LineageRerun, Set: []string{"backend=x"}}, runtime.ErrUsage, "nothing of it can be set"},
		{runtime.ForkRequest{Run: run.ID, Step: "plan", Kind: runtime.LineageFork, Set: []string{"nosuch=x"}}, runtime.ErrBadInput, "nosuch"},
		{runtime.ForkRequest{Run: run.ID, Step: "plan", Kind: runtime.LineageFork, Set: []string{"nosuch"}}, runtime.ErrUsage, "NAME=TEXT"},
		{runtime.ForkRequest{Run: session.ID, Step: "plan"}, runtime.ErrUnknownStep, "plan"},
	} {
		_, err := w.reruns().Fork(w.ctx, c.r)
		if r := runtime.AsRefusal(err); err == nil || r.Kind != c.kind || !strings.Contains(r.Message, c.says) {
			t.Errorf("%+v: got %v, want %s that says %q", c.r, err, c.kind, c.says)
		}
	}
	l, err := w.engine.List(w.ctx, runtime.Query{All: true})
	if err != nil || len(l.Runs) != 2 {
		t.Errorf("%d runs (%v) after refusals, want the 2 that were started", len(l.Runs), err)
	}
}

func TestMoveToAnotherProgram(t *testing.T) {
	w := newWorld(t)
	counting(w)
	run := w.start(pipeline, `{"topic": "bees"}`)
	w.until(run.ID, runtime.Suspended)
	move := func(src string) (*runtime.Replayed, error) {
		return w.reruns().Move(w.ctx, runtime.MoveRequest{Key: hashed(src), Run: run.ID, Bundle: bundle(t, src, nil), Script: "main2.star"})
	}

	_, err := move(strings.Replace(pipeline, `value = [plan, ids]`, `value = [ids, plan]`, 1))
	r := runtime.AsRefusal(err)
	var d runtime.Divergence
	if r.Kind != runtime.ErrDiverged || json.Unmarshal(r.Data, &d) != nil || d.Got.What != "step.requested write" || d.Got.Where == "" {
		t.Fatalf("got %v %s, want a divergence at write", err, r.Data)
	}
	if _, err := move(strings.Replace(pipeline, `work("review"`, `work("audit"`, 1)); runtime.AsRefusal(err).Kind != runtime.ErrDiverged {
		t.Errorf("another step: got %v", err)
	}
	if _, err := move("def main(topic):\n    return topic\n"); runtime.AsRefusal(err).Kind != runtime.ErrDiverged {
		t.Errorf("a program that ends: got %v", err)
	}

	better := strings.Replace(pipeline, `return [plan, text, verdict, d.choice]`, `return "better: " + d.choice`, 1)
	got, err := move(better)
	if err != nil || !got.Moved {
		t.Fatalf("move: %+v, %v", got, err)
	}
	if again, err := move(better); err != nil || !again.Moved {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	w.restart()
	w.verified(run.ID)
	w.signal(answer(run.ID, "publish", "yes"))
	end := w.until(run.ID, runtime.Completed)
	if string(end.Output) != `"better: yes"` || end.Script != "main2.star" {
		t.Errorf("output %s of %s", end.Output, end.Script)
	}
	if n := strings.Count(strings.Join(w.journal(run.ID), "\n"), "run.moved"); n != 1 {
		t.Errorf("%d records run.moved, want 1", n)
	}
	w.verified(run.ID)
	if late, err := move(better); err != nil || late.Moved != true {
		t.Errorf("the same request after the end: %+v, %v", late, err)
	}
	if ended, err := move(better + "\n"); err != nil || ended.Moved {
		t.Errorf("a run that has ended: %+v, %v; want no divergence, and no move", ended, err)
	}

	// A fork of a run that has moved has its new program.
	fork := w.until(w.fork(runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "plan"}).ID, runtime.Suspended)
	w.signal(answer(fork.ID, "publish", "no"))
	if end := w.until(fork.ID, runtime.Completed); string(end.Output) != `"better: no"` {
		t.Errorf("output %s", end.Output)
	}
}

func hashed(src string) string { return string(rune('a'+len(src)%26)) + src[len(src)-20:] }

// A machine that is no function of its journal is found out, with both sides.
func TestReplayFindsWhatIsNotPure(t *testing.T) {
	w := newWorld(t)
	n := 0
	env := environment(w.perform)
	env.Names["impure"] = &effect.Builtin{FullName: "impure", Pure: func(*effect.Call) (starlark.Value, error) {
		n++
		return starlark.MakeInt(n), nil
	}}
	if err := w.engine.Close(); err != nil {
		t.Fatal(err)
	}
	w.store = w.store.Reopen()
	var err error
	if w.engine, err = engine.Open(w.store, env, engine.Options{Log: t.Logf}); err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"def main():\n    return impure()\n":                                 "run.completed",
		"def main():\n    fail(\"no %d\" % impure())\n":                      "run.failed",
		"def main():\n    work(\"w\", value = impure())\n":                   "step.requested w",
		"def main():\n    print(impure())\n":                                 "output.print",
		"def main():\n    work(\"w-%d\" % impure())\n":                       "step.requested w-",
		"def main():\n    return [uuid(), now()][impure() % 2] and [uuid()]": "",
	} {
		run := w.start(src, "")
		w.until(run.ID, runtime.Completed, runtime.Failed)
		_, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run.ID})
		if want == "" {
			if err != nil {
				t.Errorf("%s: got %v, want no difference", src, err)
			}
			continue
		}
		r := runtime.AsRefusal(err)
		var d runtime.Divergence
		if r.Kind != runtime.ErrDiverged || json.Unmarshal(r.Data, &d) != nil || !strings.HasPrefix(d.Want.What, want) || !strings.HasPrefix(d.Got.What, want) {
			t.Errorf("%s: got %v %s, want both sides of %s", src, err, r.Data, want)
		}
	}
}

// A crash at any commit of a fork leaves the whole fork or nothing, also where its journal takes
// many commits.
func TestForkCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	const large = `
def main():
    text = "x" * 300000
    for i in range(5):
        work("w-%d" % i, value = text)
    gate("last", options = ["on"])
    work("end")
`
	for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
		commits := 0
		for n := 1; ; n++ {
			w := newWorld(t)
			run := w.start(large, "")
			w.until(run.ID, runtime.Suspended)
			w.signal(answer(run.ID, "last", "on"))
			w.until(run.ID, runtime.Completed)
			power := errors.New("the power is gone")
			w.store.FailCommit(n, power, moment)
			_, err := w.reruns().Fork(w.ctx, runtime.ForkRequest{Kind: runtime.LineageRerun, Run: run.ID, Step: "last"})
			w.crash()
			l, listed := w.engine.List(w.ctx, runtime.Query{All: true})
			if listed != nil {
				t.Fatal(listed)
			}
			w.wholeOrNothing(run.ID, l)
			if err == nil {
				break // the fork had no n-th commit
			}
			commits = n
		}
		if commits < 4 {
			t.Errorf("a fork of 1.5 MB made %d commits, want several", commits)
		}
	}
}

// wholeOrNothing checks that a store has a run, and what was made of it as a whole if at all.
func (w *world) wholeOrNothing(origin string, l *runtime.Listing) {
	w.t.Helper()
	listed := map[string]bool{}
	for _, r := range l.Runs {
		listed[r.ID] = true
		if r.ID == origin {
			continue
		}
		w.resume(r.ID)
		w.until(r.ID, runtime.Suspended)
		w.verified(r.ID)
	}
	err := w.store.Scan([]byte{1}, nil, func(k, _ []byte) error {
		if k[0] == 'a' {
			w.t.Errorf("the key %q is left", k)
		}
		if run := string(k[2:min(14, len(k))]); strings.HasPrefix(string(k), "j/") && !listed[run] {
			w.t.Errorf("a journal is left of run %s", run)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
}

// A crash at the commit of a move leaves the run with one of the two programs, and it goes on with
// that.
func TestMoveCrashes(t *testing.T) {
	better := strings.Replace(pipeline, `return [plan, text, verdict, d.choice]`, `return "better: " + d.choice`, 1)
	for moment, want := range map[memory.Moment]string{
		memory.BeforeApply: `["plan!","write!","review!","yes"]`,
		memory.AfterApply:  `"better: yes"`,
	} {
		w := newWorld(t)
		counting(w)
		run := w.start(pipeline, `{"topic": "bees"}`)
		w.until(run.ID, runtime.Suspended)
		w.store.FailCommit(1, errors.New("the power is gone"), moment)
		if _, err := w.reruns().Move(w.ctx, runtime.MoveRequest{Key: "k", Run: run.ID, Bundle: bundle(t, better, nil), Script: "main2.star"}); err == nil {
			t.Fatal("a move whose commit failed was answered")
		}
		w.crash()
		w.verified(run.ID)
		w.signal(answer(run.ID, "publish", "yes"))
		if end := w.until(run.ID, runtime.Completed); string(end.Output) != want {
			t.Errorf("moment %v: output %s, want %s", moment, end.Output, want)
		}
		w.verified(run.ID)
	}
}
