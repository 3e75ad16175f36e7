package temporaltest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

const (
	journey = `def main():
    first = agent("a", "one").output
    said = gate("review", options = ["yes", "no"]).choice
    sleep("10ms")
    both = parallel([lambda: agent("b", "two").output, lambda: agent("c", "three").output])
    return [first, said, both, gate("last", options = ["yes", "no"], quorum = 1).choice]
`
	journeyEnds = `["done","yes",["done","done"],"yes"]`
)

// A worker is killed before and after each of the completions that it hands in: of the first turn,
// of each other, of those by which the run leaves a history, of the last. Whatever it was, the run
// ends as it does without that.
func TestAWorkerIsKilledAtEachTurn(t *testing.T) {
	t.Run("one history", func(t *testing.T) { killedAtEachTurn(t, trip{script: journey, ends: journeyEnds, play: "scribe"}) })
	t.Run("several histories", func(t *testing.T) {
		killedAtEachTurn(t, trip{script: journey, ends: journeyEnds, play: "scribe", short: true})
	})
}

// trip is a run that is played with workers that are killed.
type trip struct {
	script, ends string
	play         string // of its agents
	short        bool   // it leaves its histories early
	contents     string // address of the database in which larger contents lie, "" for none
}

func killedAtEachTurn(t *testing.T, what trip) {
	turns := travel(t, "", what)
	t.Logf("%d turns", turns)
	if turns < 5 {
		t.Fatalf("%d turns are too few to be true", turns)
	}
	var all sync.WaitGroup
	room := make(chan bool, 4)
	for n := 1; n <= turns; n++ {
		for _, side := range []string{"before", "after"} {
			room <- true
			all.Go(func() {
				travel(t, fmt.Sprintf("%s %d", side, n), what)
				<-room
			})
		}
	}
	all.Wait()
}

// travel plays a trip with a worker that crashes, and one that comes after it. It gives how
// many workflow tasks were completed.
func travel(t *testing.T, crash string, what trip) (turns int) {
	o, space := options(t, again(enginetest.Environment(nobody))), ""
	if what.short {
		o, space = shortly(t, o.Env), shortSpace
	}
	if what.contents != "" {
		o.Contents = contentsAt(t, what.contents)
	}
	as := hired{Namespace: space, Queue: o.Queue, File: t.TempDir() + "/said", Play: what.play, Contents: what.contents}
	h, file := &runtimetest.History{}, as.File
	plain := temporal.New(o)
	e := runtimetest.Observe(plain, h)
	as.Crash = crash
	w := spawn(t, as)
	crashed := make(chan bool)
	go func() {
		defer close(crashed)
		w.Wait()
		if crash == "" {
			return
		}
		if err := note(file, fmt.Sprintf("killed %d", w.Process.Pid)); err != nil {
			t.Error(err)
		}
		as.Crash = ""
		spawn(t, as)
	}()
	ctx, cancel := within(20 * time.Minute) // much is large, and the machine may be busy
	defer cancel()
	r, err := started(ctx, e, runtime.StartRequest{Key: o.Queue, Bundle: enginetest.Bundle(what.script), Script: "main.star"})
	if err != nil {
		t.Errorf("%s: %v", crash, err)
		return 0
	}
	r, err = answers(ctx, e, r.ID)
	switch {
	case err != nil:
		t.Errorf("%s: %v", crash, err)
		return 0
	case r.Status != runtime.Completed || string(r.Output) != what.ends:
		t.Errorf("%s: the run is %s with %.200s, %+v, want %.200s", crash, r.Status, r.Output, r.Error, what.ends)
	}
	journal(t, ctx, plain, h, r.ID)
	noTwoAtOnce(t, file, h)
	if err := h.Check(); err != nil {
		t.Errorf("%s: %v", crash, err)
	}
	chain := chainOf(t, o.Client, r.ID)
	if what.short != (len(chain) > 1) {
		t.Errorf("%s: the run has %d histories, several: %t", crash, len(chain), what.short)
	}
	for _, history := range chain {
		replayedAs(t, o, r.ID, history)
		for _, ev := range history.Events {
			if ev.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				turns++
			}
		}
	}
	if crash == "" {
		return turns
	}
	select {
	case <-crashed:
	case <-time.After(5 * time.Second):
		if !strings.HasPrefix(crash, "after") { // there may be fewer turns than without a crash
			t.Logf("%s: the run needed fewer turns", crash)
		}
		w.Process.Kill()
		<-crashed
	}
	return turns
}

// started starts a run, once its worker is there: on a busy machine a process takes its time, and
// so does a server. A run that may be there already needs a key.
func started(ctx context.Context, e runtime.Engine, r runtime.StartRequest) (run *runtime.Run, err error) {
	err = patiently(ctx, func() (err error) { run, err = e.Start(ctx, r); return err })
	return run, err
}

// A worker that is cut off from the server has ended its attempt before the next one begins,
// whichever direction is cut.
func TestAWorkerIsCutOff(t *testing.T) {
	for name, swallow := range map[string][2]bool{"both directions": {true, true}, "requests": {true, false}, "answers": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, again(enginetest.Environment(nobody)))
			e, file := temporal.New(o), t.TempDir()+"/said"
			proxy := runtimetest.StartProxy(t, served.GetFrontendHostPort())
			spawn(t, hired{Server: fmt.Sprintf("127.0.0.1:%d", proxy.Port), Queue: o.Queue, File: file, Play: "clock"})
			id := start(t, e, "def main():\n    return agent(\"a\", \"one\").output\n")
			waitFor(t, "the agent works", func() bool { return len(ticks(t, file)) > 0 })
			spawn(t, hired{Queue: o.Queue, File: file, Play: "quick"})
			proxy.Swallow(swallow[0], swallow[1])
			began := time.Now()
			until(t, e, id, ended)
			t.Logf("cut off until ended: %s", time.Since(began).Round(10*time.Millisecond))
			wants(t, e, o, id, runtime.Completed, `"done"`)
			time.Sleep(time.Second) // one that goes on would write
			all := ticks(t, file)
			for i, tick := range all[:len(all)-1] {
				if tick != all[0] {
					t.Fatalf("%s was at work after %s had begun: %v", all[i+1], tick, all[max(0, i-3):])
				}
			}
			if last := all[len(all)-1]; last == all[0] {
				t.Errorf("all work was done by %s", last)
			}
		})
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute it is not so: %s", what)
		}
	}
}

// The network between everybody and the server is slow and breaks: requests and answers are lost
// with their connections. Nothing else is.
func TestABadNetwork(t *testing.T) {
	seed := seeded(t)
	o := options(t, again(enginetest.Environment(nobody)))
	proxy := runtimetest.StartProxy(t, served.GetFrontendHostPort())
	through := fmt.Sprintf("127.0.0.1:%d", proxy.Port)
	o.Client = dialTo(t, through, served.GetDefaultNamespace())
	file := t.TempDir() + "/said"
	spawn(t, hired{Server: through, Queue: o.Queue, File: file, Play: "scribe"})
	h := &runtimetest.History{}
	plain := temporal.New(o)
	run := errand(t, o, plain, runtimetest.Observe(plain, h), h)
	proxy.Delay(5 * time.Millisecond)
	proxy.Trouble(100, int64(seed))
	run()
	proxy.Trouble(0, 0)
	proxy.Delay(0)
	noTwoAtOnce(t, file, h)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

// errand starts the four runs of errands, and gives what answers their gates and holds their ends
// against what is wanted.
func errand(t *testing.T, o temporal.Options, plain *temporal.Engine, e runtime.Engine, h *runtimetest.History) func() {
	t.Helper()
	var ids []string
	ctx, cancel := local()
	t.Cleanup(cancel)
	for i := range 4 {
		r, err := started(ctx, e, runtime.StartRequest{Key: fmt.Sprintf("%s-%d", o.Queue, i), Bundle: enginetest.Bundle(errands), Script: "main.star"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return func() {
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() { finishes(t, ctx, o, plain, e, h, id) })
		}
		all.Wait()
	}
}

// finishes answers the gates of one of the errands, asking again where the server does not answer,
// and wants its end.
func finishes(t *testing.T, ctx context.Context, o temporal.Options, plain *temporal.Engine, e runtime.Engine, h *runtimetest.History, id string) {
	r, err := answers(ctx, e, id)
	for err != nil && ctx.Err() == nil {
		time.Sleep(200 * time.Millisecond)
		r, err = answers(ctx, e, id)
	}
	if err != nil {
		t.Error(err)
		return
	}
	if want := "[" + strings.Repeat(`,"done","yes"`, 8)[1:] + "]"; r.Status != runtime.Completed || string(r.Output) != want {
		t.Errorf("run %s is %s with %s, %+v, want %s", r.ID, r.Status, r.Output, r.Error, want)
	}
	journal(t, ctx, plain, h, r.ID)
	replayed(t, o, r.ID)
}

// ticks are who wrote in a file that it is at work, in the order of that.
func ticks(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Fields(line)[1])
	}
	return all
}
