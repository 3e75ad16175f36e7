package engine_test

import (
	"context"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

func TestPinnedSettingsSurvive(t *testing.T) {
	w := newWorld(t)
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		return effect.Reply{Value: starlark.String(a.Settings.Workspace)}
	}
	run := w.start(`
def main():
    gate("g", options = ["go"])
    return work("w")
`, "")
	w.until(run.ID, runtime.Suspended)
	if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run.ID}, Settings: &effect.Settings{Workspace: "/new"}}); err != nil {
		t.Fatal(err)
	}
	w.crash()
	w.signal(answer(run.ID, "g", "go"))
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != `"/new"` {
		t.Errorf("output %s", end.Output)
	}
}

func TestEndedRunIsNotCarried(t *testing.T) {
	w := newWorld(t)
	run := w.start("def main(): return 1\n", "")
	w.until(run.ID, runtime.Completed)
	got, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run.ID}})
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestOneDamagedRunDoesNotKeepOthersFromBeingCarried(t *testing.T) {
	w := newWorld(t)
	bad := w.start(three, "")
	good := w.start(three, "")
	w.until(bad.ID, runtime.Suspended)
	w.until(good.ID, runtime.Suspended)
	w.restart()
	w.spoil("s/" + bad.ID)
	w.spoil("j/" + bad.ID)
	w.resume()
	for _, g := range []string{"a", "b", "c"} {
		w.signal(answer(good.ID, g, "yes"))
	}
	w.until(good.ID, runtime.Completed)
	if _, err := w.engine.List(w.ctx, runtime.Query{}); err != nil {
		t.Error(err)
	}
	w.spoil("r/" + bad.ID)
	if l, err := w.engine.List(w.ctx, runtime.Query{All: true}); err != nil || len(l.Runs) != 2 {
		t.Errorf("%+v %v", l, err)
	}
}

func TestChildGetsWhatItsTopIsBrought(t *testing.T) {
	w := newWorld(t)
	w.work = func(_ context.Context, a *effect.Attempt) effect.Reply {
		v, _ := a.Env("TOKEN")
		return effect.Reply{Value: starlark.String(v)}
	}
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, `
def main():
    return run("child.star", {})
`, map[string]string{"child.star": "def main():\n    return work('w')\n"}), Script: "main.star", Settings: effect.Settings{Env: []string{"TOKEN"}}})
	if err != nil {
		t.Fatal(err)
	}
	at := w.until(run.ID, runtime.Suspended)
	if len(at.Gates) != 1 || at.Gates[0].Gate != "run/!needs:TOKEN" {
		t.Fatalf("%+v", at.Gates)
	}
	if _, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run.ID}, Env: map[string]string{"TOKEN": "x"}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(w.ctx, 5*time.Second)
	defer stop()
	w.ctx = ctx
	if end := w.until(run.ID, runtime.Completed); string(end.Output) != `"x"` {
		t.Errorf("output %s", end.Output)
	}
}
