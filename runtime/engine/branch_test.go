package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/memory"
)

// failing has a branch that fails after a step, one that fails without any, and one at which the
// join waits meanwhile.
const failing = `
def fails():
    work("try", value = 1)
    fail("no " + "luck " * 300)

def main():
    ends = parallel({
        "late": fails,
        "bare": lambda: fail("at\nonce"),
        "good": lambda: gate("go", options = ["yes"]).choice,
    }, on_error = "collect")
    return [ends[k].status for k in ends]
`

// failedBranches lists the branches that a run's journal says have failed, each with its error.
func (w *world) failedBranches(run string) (list []string) {
	w.t.Helper()
	page, err := w.engine.(runtime.Pages).StepPage(w.ctx, runtime.StepQuery{Run: run})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range page.Failed {
		list = append(list, fmt.Sprintf("%s %s %.20s", f.Branch, f.Where, f.Why()))
	}
	slices.Sort(list)
	return list
}

// TestFailedBranchesAreRecorded: a branch that ends with an error says so once, also where the
// power fails at any commit before its parallel has joined; what it says is executed again alike.
func TestFailedBranchesAreRecorded(t *testing.T) {
	want := []string{"parallel/bare main.star:9:29 script: fail: at onc", "parallel/late main.star:4:9 script: fail: no luc"}
	for n, crashed := 1, true; crashed; n++ {
		for _, moment := range []memory.Moment{memory.BeforeApply, memory.AfterApply} {
			l := &life{world: newWorld(t)}
			l.store.FailCommit(n, errors.New("the power failed"), moment)
			l.through(func() error {
				r, err := l.engine.Start(l.ctx, runtime.StartRequest{Key: "start", Bundle: bundle(t, failing, nil), Script: "main.star"})
				if err == nil {
					l.run = r.ID
				}
				return err
			})
			l.through(l.rest)
			if got := l.failedBranches(l.run); !slices.Equal(got, want) {
				t.Errorf("a crash at commit %d: before the join %q have failed, want %q", n, got, want)
			}
			s := answer(l.run, "parallel/good/go", "yes")
			s.Key = "answer"
			l.through(func() error {
				_, err := l.engine.Signal(l.ctx, s)
				return err
			})
			l.through(l.rest)
			end, err := l.engine.Get(l.ctx, l.run)
			if err != nil || string(end.Output) != `["error","error","ok"]` {
				t.Fatalf("a crash at commit %d: the run came to %+v, %v", n, end, err)
			}
			if got := l.failedBranches(l.run); !slices.Equal(got, want) {
				t.Errorf("a crash at commit %d: at the end %q have failed, want %q", n, got, want)
			}
			if _, err := l.reruns().Replay(l.ctx, runtime.ReplayRequest{Run: l.run}); err != nil {
				t.Errorf("a crash at commit %d: executed again: %v", n, err)
			}
			crashed = l.crashed
		}
		if !crashed && n < 4 {
			t.Errorf("the run had %d commits", n-1)
		}
	}
}

// TestFailedBranchesHavePages: one counts as a step does, and is on one page.
func TestFailedBranchesHavePages(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def one(i):
    if i % 2:
        work("try", value = i)
    fail(str(i))

def main():
    parallel([(one, i) for i in range(10)], on_error = "collect")
`, "").ID
	w.until(run, runtime.Completed)
	for _, limit := range []int{1, 4, 7, 100} {
		branches := map[string]int{}
		steps := 0
		for after := uint64(0); ; {
			page, err := w.engine.(runtime.Pages).StepPage(w.ctx, runtime.StepQuery{Run: run, After: after, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Steps) + len(page.Failed); n > limit || n == 0 {
				t.Fatalf("a page of %d has %d", limit, n)
			}
			steps += len(page.Steps)
			for _, f := range page.Failed {
				branches[f.Branch]++
			}
			if after = page.Next; after == 0 {
				break
			}
		}
		if len(branches) != 10 || steps != 5 || slices.Max(slices.Collect(maps.Values(branches))) > 1 {
			t.Errorf("by pages of %d: %d steps, branches %v", limit, steps, branches)
		}
	}
	page, err := w.engine.(runtime.Pages).StepPage(w.ctx, runtime.StepQuery{Run: run, Limit: 3, Newest: true})
	if err != nil || len(page.Steps) != 3 || len(page.Failed) != 3 {
		t.Errorf("the newest: %+v, %v", page, err)
	}
}

// TestWhatBranchesTellIsKept: a run that began before branches told that they fail, and before
// exactly as many of them as the limit says could be, goes on so, and is executed again alike.
func TestWhatBranchesTellIsKept(t *testing.T) {
	const script = `
def main():
    gate("go", options = ["yes"])
    parallel([lambda: fail("no")], on_error = "collect")
    return len(parallel([(str, 1)] * 10000))
`
	w := newWorld(t)
	early := w.restsUnder(effect.BehaviourBranchesUntold, script, effect.Settings{})
	late := w.restsUnder(effect.BehaviourBranchesUntold+1, script, effect.Settings{})
	for run, want := range map[string]struct {
		end    string
		failed int
	}{
		early: {"failed parallel: 10000 branches would be running at once, the limit is 10000", 0},
		late:  {"completed 10000", 1},
	} {
		w.signal(answer(run, "go", "yes"))
		end := w.until(run, runtime.Completed, runtime.Failed)
		got := string(end.Status) + " " + string(end.Output)
		if end.Error != nil {
			got = string(end.Status) + " " + end.Error.Message
		}
		failed := strings.Count(strings.Join(w.types(run), " "), "branch.failed")
		if got != want.end || failed != want.failed {
			t.Errorf("it came to %q with %d failed branches, want %q with %d", got, failed, want.end, want.failed)
		}
		if _, err := w.reruns().Replay(w.ctx, runtime.ReplayRequest{Run: run}); err != nil {
			t.Errorf("executed again: %v", err)
		}
	}
}
