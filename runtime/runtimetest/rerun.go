package runtimetest

import (
	"encoding/json"
	"strings"
	"testing"

	"starling/runtime"
)

// testReruns checks that an engine keeps the promises of runtime.Reruns. What the steps of a run
// come to again is for the engine's own tests: the suite has nobody who performs anything.
func testReruns(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject, runtime.Reruns){
		"replay":  testReplay,
		"fork":    testFork,
		"move":    testMove,
		"refused": testRerunRefused,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			test(e, extension[runtime.Reruns](e, e.Engine))
		})
	}
}

func testReplay(e *subject, r runtime.Reruns) {
	run := e.opened(review, "review")
	first, err := r.Replay(e.ctx, runtime.ReplayRequest{Run: run.ID})
	e.ok(err)
	again, err := r.Replay(e.ctx, runtime.ReplayRequest{Run: run.ID})
	e.ok(err)
	e.same("a replay of the same journal", again, first)
	if first.Schema != runtime.Schema || first.Run != run.ID || first.Records == 0 || first.Steps != 1 || first.Journal == "" || first.Program != run.Details.Program {
		e.Fatalf("got %+v, want what was replayed", first)
	}
	_, err = e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.ended(run.ID)
	after, err := r.Replay(e.ctx, runtime.ReplayRequest{Run: run.ID})
	e.ok(err)
	e.same("status", after.Status, runtime.Completed)
	if after.Journal == first.Journal || after.Records <= first.Records {
		e.Fatalf("got %+v after %+v, want a longer journal", after, first)
	}
}

func testFork(e *subject, r runtime.Reruns) {
	run := e.opened(review, "review")
	_, err := e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.ended(run.ID)
	before := e.journal(run.ID, 0)
	request := runtime.ForkRequest{Key: "once", Kind: runtime.LineageRerun, Run: run.ID, Step: "review"}
	fork, err := r.Fork(e.ctx, request)
	e.ok(err)
	again, err := r.Fork(e.ctx, request)
	e.ok(err)
	e.same("the run under a key", again.ID, fork.ID)
	request.Step = "other"
	_, err = r.Fork(e.ctx, request)
	e.refused(runtime.ErrKeyConflict, err)

	rests := e.until(fork.ID, func(r *runtime.Run) bool { return len(r.Gates) == 1 })
	e.same("lineage", rests.Details.Lineage, map[string]any{"kind": "rerun", "run": run.ID, "step": "review", "seq": 3, "copied": 2})
	e.same("started by", rests.Details.StartedBy, e.user)
	l, err := e.List(e.ctx, runtime.Query{Gates: true})
	e.ok(err)
	e.same("the inbox", l.Gates[0].Address, fork.ID+"/review")
	reject := approve(fork.ID)
	reject.Choice = "reject"
	_, err = e.Signal(e.ctx, reject)
	e.ok(err)
	if end := e.ended(fork.ID); !strings.Contains(string(end.Output), `"reject"`) {
		e.Fatalf("output %s, want what was decided anew", end.Output)
	}
	e.same("the original", e.journal(run.ID, 0), before)
}

func testMove(e *subject, r runtime.Reruns) {
	run := e.opened(review, "review")
	other := strings.Replace(review, `"by": d.by`, `"by": "the new program"`, 1)
	request := runtime.MoveRequest{Key: "once", Run: run.ID, Bundle: e.bundle(other), Script: "new.star"}
	moved, err := r.Move(e.ctx, request)
	e.ok(err)
	if !moved.Moved || moved.Program == run.Details.Program {
		e.Fatalf("got %+v, want the run moved to another program", moved)
	}
	_, err = r.Move(e.ctx, request)
	e.ok(err)
	now, err := e.Get(e.ctx, run.ID)
	e.ok(err)
	e.same("its script", now.Script, "new.star")
	e.same("its program", now.Details.Program, moved.Program)
	_, err = e.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	if end := e.ended(run.ID); !strings.Contains(string(end.Output), "the new program") {
		e.Fatalf("output %s, want that of the new program", end.Output)
	}
}

func testRerunRefused(e *subject, r runtime.Reruns) {
	run := e.opened(review, "review")
	_, err := r.Replay(e.ctx, runtime.ReplayRequest{Run: "nosuchrun"})
	e.refused(runtime.ErrUnknownRun, err)
	_, err = r.Fork(e.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: "nosuchrun", Step: "review"})
	e.refused(runtime.ErrUnknownRun, err)
	_, err = r.Fork(e.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "revue"})
	e.refused(runtime.ErrUnknownStep, err)
	_, err = r.Move(e.ctx, runtime.MoveRequest{Run: "nosuchrun", Bundle: e.bundle(review)})
	e.refused(runtime.ErrUnknownRun, err)
	_, err = r.Move(e.ctx, runtime.MoveRequest{Run: run.ID, Bundle: []byte("not a bundle")})
	e.refused(runtime.ErrCheckFailed, err)
	_, err = r.Move(e.ctx, runtime.MoveRequest{Run: run.ID, Bundle: e.bundle(two)})
	var d runtime.Divergence
	e.ok(json.Unmarshal(e.refused(runtime.ErrDiverged, err).Data, &d))
	e.same("the record at which they differ", d.Seq, 2)
	e.same("what the journal has", d.Want.What, "output.print")
	if !strings.Contains(d.Got.What, "first") {
		e.Fatalf("got %+v, want the request that the new program makes", d.Got)
	}
	agent := extension[runtime.Reruns](e, e.agent("builder", run.ID))
	_, err = agent.Fork(e.ctx, runtime.ForkRequest{Kind: runtime.LineageFork, Run: run.ID, Step: "review"})
	e.refused(runtime.ErrDenied, err)
	_, err = agent.Move(e.ctx, runtime.MoveRequest{Run: run.ID, Bundle: e.bundle(review)})
	e.refused(runtime.ErrDenied, err)
}
