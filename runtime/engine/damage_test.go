package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/runtime"
)

const asks = `
def main():
    return gate("g", options = ["go"]).choice
`

// listed is how the list shows a run.
func (w *world) listed(run string) runtime.Summary {
	w.t.Helper()
	l, err := w.engine.List(w.ctx, runtime.Query{})
	if err != nil {
		w.t.Fatal(err)
	}
	i := slices.IndexFunc(l.Runs, func(s runtime.Summary) bool { return s.ID == run })
	if i < 0 {
		w.t.Fatalf("run %s is not listed: %+v", run, l.Runs)
	}
	return l.Runs[i]
}

// A run whose journal cannot be read is quarantined: it is shown as damaged, every answer about it
// says so, and the others serve.
func TestDamagedRunIsSetAside(t *testing.T) {
	w := trims(t, 0)
	lost, other := w.start(asks, ""), w.start(asks, "")
	w.until(lost.ID, runtime.Suspended)
	w.until(other.ID, runtime.Suspended)
	w.restart()
	w.spoil("j/" + lost.ID)
	r := runtime.AsRefusal(w.damaged(lost.ID))
	if !strings.Contains(r.Message, "run "+lost.ID+" cannot be read: ") || !strings.Contains(r.Help, "store restore") || !strings.Contains(r.Help, "prune --damaged") {
		t.Errorf("got %q, help %q", r.Message, r.Help)
	}
	for _, end := range []func(*world){func(*world) {}, (*world).restart, (*world).crash} {
		end(w)
		if s := w.listed(lost.ID); s.Status != runtime.Damaged || s.Error != r.Message || s.Script != "main.star" {
			t.Errorf("it is listed as %+v", s)
		}
		w.damaged(lost.ID)
	}
	w.signal(answer(other.ID, "g", "go"))
	if end := w.until(other.ID, runtime.Completed); string(end.Output) != `"go"` {
		t.Errorf("the other run came to %s", end.Output)
	}
	if got := w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)}); len(got.Pruned) != 1 || len(got.Problems) != 1 {
		t.Errorf("pruned %+v, problems %+v; want the other run, and that contents stay", got.Pruned, got.Problems)
	}
	if got := w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Damaged: true}); len(got.Pruned) != 1 || got.Pruned[0].ID != lost.ID || got.Contents == 0 {
		t.Errorf("pruned %+v and %d contents", got.Pruned, got.Contents)
	}
	if _, err := w.engine.Get(w.ctx, lost.ID); runtime.AsRefusal(err).Kind != runtime.ErrUnknownRun {
		t.Errorf("a run that was given up: %v", err)
	}
}

// damaged wants every answer about a run to be that it is damaged, and gives the last.
func (w *world) damaged(run string) (err error) {
	w.t.Helper()
	_, shown := w.engine.Get(w.ctx, run)
	_, cancelled := w.engine.Cancel(w.ctx, runtime.CancelRequest{Run: run})
	_, carried := w.engine.Resume(w.ctx, runtime.ResumeRequest{Runs: []string{run}})
	_, err = w.engine.Signal(w.ctx, answer(run, "g", "go"))
	for _, err := range []error{shown, cancelled, carried, err} {
		if !errors.Is(err, runtime.ErrDamaged) || runtime.AsRefusal(err).Kind != runtime.ErrKindDamaged {
			w.t.Errorf("got %v, want %v", err, runtime.ErrDamaged)
		}
	}
	return err
}

// A run whose program is damaged rests at a gate: it stands where its journal says, and can be
// cancelled.
func TestRunWithADamagedProgramIsSetAside(t *testing.T) {
	w := newWorld(t)
	lost := w.start(asks, "")
	w.until(lost.ID, runtime.Suspended)
	w.spoil("b/")
	w.restart()
	other := w.start(asks+"\n", "")
	w.until(other.ID, runtime.Suspended)
	refused := w.refused(runtime.ErrNotOpen, answer(lost.ID, "g", "go"))
	if !strings.Contains(refused.Error(), "is quarantined") {
		t.Errorf("got %v", refused)
	}
	at := w.until(lost.ID, runtime.Suspended)
	i := slices.IndexFunc(at.Gates, func(g runtime.Gate) bool { return g.Gate == "!quarantine" })
	if i < 0 || !strings.Contains(at.Gates[i].Prompt, "its program") || !strings.Contains(at.Gates[i].Prompt, "does not have its hash") {
		t.Errorf("it rests at %+v", at.Gates)
	}
	w.signal(answer(other.ID, "g", "go"))
	w.until(other.ID, runtime.Completed)
	w.signal(answer(lost.ID, "!quarantine", "skip"))
	w.until(lost.ID, runtime.Cancelled)
}
