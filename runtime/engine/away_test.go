package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
)

// moved has the store go on on another machine, which carries all runs.
func (w *world) moved(to string) {
	w.t.Helper()
	w.machine = to
	w.restart()
	w.resume()
}

// awaits wants the run to rest at the gate of its workspace, and gives what it asks.
func (w *world) awaits(run string) string {
	w.t.Helper()
	at := w.until(run, runtime.Suspended)
	if len(at.Gates) != 1 || at.Gates[0].Gate != runtime.GateWorkspace {
		w.t.Fatalf("gates: %+v", at.Gates)
	}
	return at.Gates[0].Prompt
}

// begun is a run that was started on a machine, and waits at a gate before an agent.
func (w *world) begun(workspace, script string) string {
	w.t.Helper()
	run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(w.t, script, nil), Script: "main.star", Key: "start", Settings: effect.Settings{Workspace: workspace}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.until(run.ID, runtime.Suspended)
	return run.ID
}

const thenAgent = `
def main():
    gate("g", options = ["yes"])
    work("w")
    return agent("a")
`

func TestRunRestsAwayFromItsWorkspace(t *testing.T) {
	w := newWorld(t)
	w.moved("one/a")
	run := w.begun("/repository", thenAgent)
	w.moved("two/b")

	// The same request for a start finds the run, though the owner is on another machine.
	again, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, thenAgent, nil), Script: "main.star", Key: "start", Settings: effect.Settings{Workspace: "/repository"}})
	if err != nil || again.ID != run {
		t.Errorf("started again: %v, %v", again, err)
	}

	// What needs no workspace is done anywhere: the gate is answered, and work is.
	w.signal(answer(run, "g", "yes"))
	prompt := w.awaits(run)
	if want := "a needs the workspace /repository, but it is on one/a, and this is two/b."; !strings.Contains(prompt, want) {
		t.Errorf("it asks %q, wanted %q", prompt, want)
	}
	w.crash()
	w.resume()
	w.awaits(run)

	// On a third machine it rests as well, and on its own it goes on by itself.
	w.moved("three/c")
	w.awaits(run)
	w.moved("one/a")
	w.until(run, runtime.Completed)
}

func TestRunGoesOnWhereItsWorkspaceWasBrought(t *testing.T) {
	w := newWorld(t)
	w.moved("one/a")
	run := w.begun("/repository", `
def main():
    gate("g", options = ["yes"])
    agent("a")
    gate("h", options = ["yes"])
    return agent("b")
`)
	w.moved("two/b")
	w.signal(answer(run, "g", "yes"))
	w.awaits(run)
	w.signal(answer(run, runtime.GateWorkspace, "here"))
	w.until(run, runtime.Suspended)
	w.moved("one/a") // where it came from its folder is not the one any more
	w.signal(answer(run, "h", "yes"))
	w.awaits(run)
	w.moved("two/b")
	w.until(run, runtime.Completed)
}

func TestRunEndsAwayFromItsWorkspace(t *testing.T) {
	w := newWorld(t)
	w.moved("one/a")
	run := w.begun("/repository", thenAgent)
	w.moved("two/b")
	w.signal(answer(run, "g", "yes"))
	w.awaits(run)
	w.signal(answer(run, runtime.GateWorkspace, "fail"))
	if end := w.until(run, runtime.Failed); end.Error.Message != "its workspace /repository is on another machine" {
		t.Errorf("it failed with %q", end.Error.Message)
	}
}

// Who resumes a run with a project of this machine has it work there.
func TestResumedElsewhere(t *testing.T) {
	w := newWorld(t)
	w.moved("one/a")
	run := w.begun("/repository", thenAgent)
	w.moved("two/b")
	w.signal(answer(run, "g", "yes"))
	w.awaits(run)
	_, err := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run}, Settings: &effect.Settings{Workspace: "/here"}})
	if err != nil {
		t.Fatal(err)
	}
	w.until(run, runtime.Completed)
}

// Of a run of a store that was one machine's it is not known where it worked: the folder tells.
func TestRunOfAStoreThatWasOneMachines(t *testing.T) {
	w := newWorld(t)
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	w.moved("")
	stays := w.begun(here, thenAgent)
	rests, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, thenAgent, nil), Script: "main.star", Settings: effect.Settings{Workspace: gone}})
	if err != nil {
		t.Fatal(err)
	}
	w.moved("two/b")
	for _, run := range []string{stays, rests.ID} {
		w.signal(answer(run, "g", "yes"))
	}
	w.until(stays, runtime.Completed)
	if prompt := w.awaits(rests.ID); !strings.Contains(prompt, gone+", but there is none on two/b.") {
		t.Errorf("it asks %q", prompt)
	}
}
