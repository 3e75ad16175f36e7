package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

// leaves performs work whose transcript is what it was asked to return: the same for many steps of
// many runs.
func leaves(_ context.Context, a *effect.Attempt) effect.Reply {
	v := effect.ViewOf(a.Args).Value("value")
	return effect.Reply{Value: v, Blobs: map[string][]byte{"transcript.txt": []byte("it said " + v.String())}}
}

// littering is a world in which work leaves transcripts.
func littering(t *testing.T) *world {
	w := trims(t, 0)
	w.does(leaves)
	return w
}

// done brings a run that leaves n transcripts to its end.
func (w *world) done(script string, n int) string {
	w.t.Helper()
	run := w.start(script, fmt.Sprintf(`{"n": %d}`, n))
	w.until(run.ID, runtime.Completed)
	return run.ID
}

const leaving = `
def main(n):
    return [work("w", value = "%s %%d" %% i) for i in range(n)]
`

func (w *world) contents() int {
	n, _ := w.size("b/")
	return n
}

func (w *world) pruneAll() *runtime.MaintenanceReport {
	w.t.Helper()
	return w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)})
}

// Contents go with the last run, or the definition, that names them.
func TestIdleContentsAreDropped(t *testing.T) {
	w := littering(t)
	w.done(fmt.Sprintf(leaving, "a"), 3)
	open := w.start(`
def main():
    work("w", value = "a 1")
    return gate("g", options = ["go"]).choice
`, "")
	w.until(open.ID, runtime.Suspended)
	if got := w.contents(); got != 6 { // two scripts, settings, three transcripts
		t.Fatalf("%d contents, want 6", got)
	}
	if r := w.pruneAll(); r.Contents != 3 { // a script and two transcripts; settings and the third are named by the other run
		t.Errorf("%d contents were dropped, want 3", r.Contents)
	}
	w.export(open.ID)
	text := bundle(t, fmt.Sprintf(leaving, "b"), nil)
	d, err := runtime.Extension[runtime.Definitions](w.engine)
	if err == nil {
		_, err = d.Define(w.ctx, runtime.DefineRequest{Name: "b", Bundle: text})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.done(fmt.Sprintf(leaving, "b"), 0)
	w.signal(answer(open.ID, "g", "go"))
	w.until(open.ID, runtime.Completed)
	w.pruneAll()
	if got := w.contents(); got != 1 { // the definition's
		t.Errorf("%d contents are left, want 1", got)
	}
	w.done(fmt.Sprintf(leaving, "b"), 2) // what was dropped is stored again
	run := w.done(fmt.Sprintf(leaving, "a"), 3)
	w.export(run)
}

// What a trim drops names nothing any more; what the run began with and goes on with stays.
func TestContentsOfATrimmedRun(t *testing.T) {
	w := littering(t)
	run := w.start(`
def main():
    for i in range(60):
        work("w", value = "t%d" % i)
    gate("g", options = ["go"])
    return work("w", value = "last")
`, "")
	w.until(run.ID, runtime.Suspended)
	w.trim(20)
	r := w.care(runtime.MaintenanceRequest{Task: runtime.MaintenanceGC})
	if left := w.contents(); r.Contents < 40 || left < 7 || left+r.Contents != 62 {
		t.Errorf("%d contents were dropped, %d are left", r.Contents, left)
	}
	w.each("s/", func([]byte) []byte { return nil })
	w.crash()
	w.signal(answer(run.ID, "g", "go"))
	if end := w.rests(run.ID); string(end.Output) != `"last"` {
		t.Errorf("output %s, error %+v", end.Output, end.Error)
	}
}

// Runs come to name contents while these are being dropped: no content is ever missing.
func TestContentsAreNamedWhileTheyAreDropped(t *testing.T) {
	w := littering(t)
	var wg sync.WaitGroup
	starts := make(chan struct{}, 40) // so many a round, or those that drop and look would never come to an end
	for i := range 4 {
		wg.Go(func() {
			n := 0
			for range starts {
				n++
				run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, fmt.Sprintf(leaving, fmt.Sprint(n%3)), nil), Script: "main.star", Inputs: fmt.Appendf(nil, `{"n": %d}`, 1+(n+i)%5)})
				if err != nil && runtime.AsRefusal(err).Kind != runtime.ErrUnknownRun { // it was pruned before it was looked at
					t.Error(err)
					return
				}
				for err == nil && !run.Status.Ended() {
					if run, err = w.engine.Get(w.ctx, run.ID); err != nil {
						break // it was pruned
					}
				}
			}
		})
	}
	dropped, rounds := 0, 60
	if testing.Short() {
		rounds = 15
	}
	for i := 0; i < rounds || dropped < 100; i++ {
		for len(starts) < cap(starts) {
			starts <- struct{}{}
		}
		before := time.Now().Add(time.Hour)
		if i%3 > 0 {
			before = time.Now().Add(-time.Millisecond)
		}
		dropped += w.care(runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: before}).Contents
		dropped += w.care(runtime.MaintenanceRequest{Task: runtime.MaintenanceGC}).Contents
		w.nothingMissing()
	}
	close(starts)
	wg.Wait()
	w.nothingMissing()
	t.Logf("%d contents were dropped", dropped)
}

// nothingMissing exports every run, for which all that it names must be there. One may end and be
// gone meanwhile.
func (w *world) nothingMissing() {
	w.t.Helper()
	f, err := runtime.Extension[runtime.Archive](w.engine)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := w.engine.List(w.ctx, runtime.Query{All: true})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range l.Runs {
		if _, err := f.Export(w.ctx, r.ID); err != nil && runtime.AsRefusal(err).Kind != runtime.ErrUnknownRun {
			w.t.Fatalf("run %s: %v", r.ID, err)
		}
	}
}

// A prune and its sweep may be cut at any of their commits: what is left is whole, and the next one
// drops the rest.
func TestDroppingIsCutAtEveryCommit(t *testing.T) {
	for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
		over := false
		for n := 1; !over; n++ {
			w := littering(t)
			w.done(fmt.Sprintf(leaving, "a"), 3)
			w.done(fmt.Sprintf(leaving, "b"), 3)
			open := w.start(`
def main():
    work("w", value = "a 0")
    work("w", value = "b 2")
    return gate("g", options = ["go"]).choice
`, "")
			w.rests(open.ID)
			w.store.FailCommit(n, errors.New("cut"), moment)
			f, _ := runtime.Extension[runtime.Maintenance](w.engine)
			_, err := f.Maintain(w.ctx, runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)})
			over = w.store.Failure() == nil
			if over != (err == nil) {
				t.Fatalf("commit %d: %v", n, err)
			}
			w.crash()
			w.nothingMissing()
			w.pruneAll()
			w.care(runtime.MaintenanceRequest{Task: runtime.MaintenanceGC})
			w.nothingMissing()
			if left := w.contents(); left != 4 { // a script, settings, two transcripts
				t.Errorf("commit %d: %d contents are left, want 4", n, left)
			}
			if n > 40 {
				t.Fatal("there is no end of commits")
			}
		}
	}
}

// The owner itself sweeps what a prune that was cut has left.
func TestOwnerTakesCare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := littering(t)
		w.done(fmt.Sprintf(leaving, "a"), 3)
		w.store.FailCommit(2, errors.New("cut"), memory.AfterApply) // the run is forgotten, and nothing else is done
		f, _ := runtime.Extension[runtime.Maintenance](w.engine)
		if _, err := f.Maintain(w.ctx, runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(time.Hour)}); err == nil {
			t.Fatal("it was not cut")
		}
		w.crash()
		if got := w.contents(); got != 5 {
			t.Fatalf("%d contents are left, want 5", got)
		}
		time.Sleep(time.Hour)
		if got := w.contents(); got != 0 {
			t.Errorf("%d contents are left after an hour, want none", got)
		}
	})
}

// Many runs are forgotten by few commits, whole, each with the runs that it has started.
func TestPruningTakesFewCommits(t *testing.T) {
	w := trims(t, 0)
	for range 120 {
		run := w.startFiles("def main(): return run('c.star')\n", "", map[string]string{"c.star": "def main(): return 1\n"})
		w.until(run.ID, runtime.Completed)
	}
	w.store.FailCommit(30, errors.New("too many"), memory.BeforeApply)
	if report := w.pruneAll(); len(report.Pruned) != 240 {
		t.Errorf("%d runs were pruned, want 240", len(report.Pruned))
	}
	if keys, _ := w.size("a/", "g/", "j/", "o/", "r/", "s/"); keys != 0 {
		t.Errorf("%d keys are left of them", keys)
	}
	w.store.FailCommit(1<<30, nil, memory.BeforeApply)
}
