package temporaltest

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/temporal"
)

func local() (context.Context, func()) { return within(3 * time.Minute) }

// within is the context of somebody at this machine who has so much time.
func within(d time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	return runtime.WithCaller(ctx, runtime.Caller{Name: "local:ann", Local: true}), cancel
}

func start(t *testing.T, e *temporal.Engine, source string) string {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	r, err := started(ctx, e, runtime.StartRequest{Bundle: enginetest.Bundle(source), Script: "main.star"})
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// until follows a run to the first event that is as wanted, or to its end, and gives the types of
// all that it has seen.
func until(t testing.TB, e *temporal.Engine, id string, ok func(runtime.Event) bool) (types []string) {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	err := e.Watch(ctx, runtime.WatchRequest{Run: id, Follow: true}, func(ev runtime.Event) error {
		types = append(types, ev.Type)
		if ok(ev) {
			return runtime.ErrStopWatch
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func ended(runtime.Event) bool { return false }

func is(typ string) func(runtime.Event) bool {
	return func(ev runtime.Event) bool { return ev.Type == typ }
}

// wants holds a run against its end, and its histories against what the postman does today.
func wants(t *testing.T, e *temporal.Engine, o temporal.Options, id string, status runtime.Status, output string) {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	r, err := e.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != status || string(r.Output) != output {
		t.Errorf("got a run that is %s with %.200s, %+v; want %s with %.200s", r.Status, r.Output, r.Error, status, output)
	}
	if _, err := e.Replay(ctx, runtime.ReplayRequest{Run: id}); err != nil {
		t.Errorf("its journal: %v", err)
	}
	replayed(t, o, id)
}

// replayed has the SDK replay the histories of a run: it fails where the postman would do something
// else now.
func replayed(t *testing.T, o temporal.Options, id string) {
	t.Helper()
	for _, history := range chainOf(t, o.Client, id) {
		replayedAs(t, o, id, history)
	}
}

func replayedAs(t *testing.T, o temporal.Options, id string, history *historypb.History) {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true}) // a busy machine is none
	if err != nil {
		t.Error(err)
		return
	}
	w := temporal.NewWorker(temporal.WorkerOptions{Options: temporal.Options{Client: o.Client, Contents: o.Contents, Env: enginetest.Environment(nobody)}})
	w.Register(replaying{r})
	err = r.ReplayWorkflowHistoryWithOptions(quiet(), history, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id}})
	if err != nil {
		t.Errorf("a history of %s is not replayed: %v", id, err)
	}
}

// replaying registers workflows alone: a replay performs nothing.
type replaying struct{ r worker.WorkflowReplayer }

func (r replaying) RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions) {
	r.r.RegisterWorkflowWithOptions(w, o)
}

func (replaying) RegisterActivityWithOptions(any, activity.RegisterOptions) {}

// A worker that is killed in the middle of an attempt leaves it uncertain, which a policy may have
// tried again; the run goes on with another worker.
func TestAWorkerIsKilled(t *testing.T) {
	env := again(enginetest.Environment(func(context.Context, *effect.Attempt) (string, error) { return "done", nil }))
	o := options(t, env)
	e := temporal.New(o)
	began := t.TempDir() + "/began"
	first := spawn(t, hired{Queue: o.Queue, File: began, Play: "stuck"})
	id := start(t, e, "def main():\n    return agent(\"a\", \"one\").output\n")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(began); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the first worker has begun nothing")
		}
	}
	first.Process.Kill()
	killed := time.Now()
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	story := strings.Join(until(t, e, id, ended), " ")
	t.Logf("killed until ended: %s", time.Since(killed).Round(10*time.Millisecond))
	if !strings.Contains(story, "attempt.started attempt.ended attempt.started attempt.ended step.settled") {
		t.Errorf("got the story %s, want an attempt that was cut, and one after it", story)
	}
	wants(t, e, o, id, runtime.Completed, `"done"`)
}

// What runs on Temporal do not have is refused before the run exists.
func TestUnsupported(t *testing.T) {
	e := temporal.New(options(t, enginetest.Environment(nobody)))
	ctx, cancel := local()
	defer cancel()
	for _, call := range []string{`queue.push("q", 1)`, `schedule.remove("s")`} {
		_, err := e.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle("def main():\n    " + call + "\n"), Script: "main.star"})
		if k := runtime.AsRefusal(err).Kind; k != runtime.ErrUnsupported {
			t.Errorf("%s: got %v, want %s", call, err, runtime.ErrUnsupported)
		}
	}
}

// A parent waits for its child run, whose gate is answered through it.
func TestChildRuns(t *testing.T) {
	o := options(t, enginetest.Environment(nobody))
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	files := map[string]string{
		"main.star":  "def main():\n    return [run(\"child.star\"), run(\"child.star\", inputs = {\"n\": 2})]\n",
		"child.star": "def main(n = 1):\n    return str(n) + gate(\"review\", options = [\"yes\"]).choice\n",
	}
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := local()
	defer cancel()
	r, err := e.Start(ctx, runtime.StartRequest{Bundle: b.Encode(), Script: "main.star"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		gate := ""
		for deadline := time.Now().Add(time.Minute); gate == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			now, err := e.Get(ctx, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(now.Gates) == 1 {
				gate = now.Gates[0].Gate
			}
		}
		if _, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: r.ID, Gate: gate, Choice: "yes"}); err != nil {
			t.Fatalf("%s: %v", gate, err)
		}
	}
	until(t, e, r.ID, ended)
	wants(t, e, o, r.ID, runtime.Completed, `["1yes","2yes"]`)
}
