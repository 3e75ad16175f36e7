package temporaltest

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/temporal"
)

// workerOf names, in a process that is to be a worker, its server, namespace and queue, a file, and
// what it is.
const workerOf = "STARLING_TEST_WORKER"

// beWorker is what such a process does: it carries runs. One that is stuck never comes to an end
// with an attempt, and says in the file that it has begun one; a scribe is one that does.
func beWorker(of string) {
	f := strings.Fields(of)
	c, err := client.Dial(client.Options{HostPort: f[0], Namespace: f[1], Logger: quiet()})
	if err != nil {
		panic(err)
	}
	play := scribe(f[3])
	if f[4] == "stuck" {
		play = func(ctx context.Context, a *effect.Attempt) (string, error) {
			os.WriteFile(f[3], []byte(a.Step), 0o600)
			<-ctx.Done()
			return "", ctx.Err()
		}
	}
	w := temporal.NewWorker(temporal.WorkerOptions{Options: temporal.Options{Client: c, Queue: f[2], Env: again(enginetest.Environment(play))}})
	if err := w.Start(); err != nil {
		panic(err)
	}
	select {}
}

// spawn starts a worker that is a process of its own.
func spawn(t *testing.T, queue, file, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerOf+"="+strings.Join([]string{served.GetFrontendHostPort(), served.GetDefaultNamespace(), queue, file, what}, " "))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func local() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	return runtime.WithCaller(ctx, runtime.Caller{Name: "local:ann", Local: true}), cancel
}

func start(t *testing.T, e *temporal.Engine, source string) string {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	r, err := e.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle(source), Script: "main.star"})
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// until follows a run to the first event that is as wanted, or to its end, and gives the types of
// all that it has seen.
func until(t *testing.T, e *temporal.Engine, id string, ok func(runtime.Event) bool) (types []string) {
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
func wants(t *testing.T, e *temporal.Engine, c client.Client, id string, status runtime.Status, output string) {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	r, err := e.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != status || string(r.Output) != output {
		t.Errorf("got a run that is %s with %s, %+v; want %s with %s", r.Status, r.Output, r.Error, status, output)
	}
	if _, err := e.Replay(ctx, runtime.ReplayRequest{Run: id}); err != nil {
		t.Errorf("its journal: %v", err)
	}
	replayed(t, c, id)
}

// replayed has the SDK replay a history: it fails where the postman would do something else now.
func replayed(t *testing.T, c client.Client, id string) {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	w := temporal.NewWorker(temporal.WorkerOptions{Options: temporal.Options{Client: c, Env: enginetest.Environment(nobody)}})
	w.Register(replaying{r})
	if err := r.ReplayWorkflowHistory(quiet(), historyOf(t, c, id)); err != nil {
		t.Errorf("the history of %s is not replayed: %v", id, err)
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
	first := spawn(t, o.Queue, began, "stuck")
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
	wants(t, e, o.Client, id, runtime.Completed, `"done"`)
}

// Looking needs no worker; an answer does, and says so.
func TestNoWorkerIsThere(t *testing.T) {
	o := options(t, enginetest.Environment(nobody))
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o, Grace: time.Millisecond})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	e := temporal.New(o)
	id := start(t, e, "def main():\n    return gate(\"review\", options = [\"yes\"]).choice\n")
	until(t, e, id, is("run.suspended"))
	w.Stop()
	ctx, cancel := local()
	defer cancel()
	if r, err := e.Get(ctx, id); err != nil || len(r.Gates) != 1 {
		t.Errorf("without a worker: got %+v, %v, want the run at its gate", r, err)
	}
	if _, err := e.Replay(ctx, runtime.ReplayRequest{Run: id}); err != nil {
		t.Errorf("without a worker: replay: %v", err)
	}
	file, err := e.Export(ctx, id)
	if err != nil || len(file) == 0 {
		t.Errorf("without a worker: export: %v", err)
	}
	again := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	defer again.Stop()
	if _, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "review", Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	until(t, e, id, ended)
	wants(t, e, o.Client, id, runtime.Completed, `"yes"`)
}

// Nobody has ever been at the queue: a start is refused, and nothing is there.
func TestNobodyWorks(t *testing.T) {
	o := options(t, enginetest.Environment(nobody))
	e := temporal.New(o)
	ctx, cancel := local()
	defer cancel()
	began := time.Now()
	_, err := e.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle("def main():\n    pass\n"), Script: "main.star"})
	r := runtime.AsRefusal(err)
	if r.Kind != runtime.ErrOwnerUnreachable || !strings.Contains(r.Message, o.Queue) || !strings.Contains(r.Help, "starling-temporal worker") {
		t.Errorf("got %v, want a refusal that names the queue and the command", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s, want 10 s at most", took)
	}
}

// What runs on Temporal do not have is refused before the run exists.
func TestUnsupported(t *testing.T) {
	e := temporal.New(options(t, enginetest.Environment(nobody)))
	ctx, cancel := local()
	defer cancel()
	_, err := e.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle("def main():\n    queue.push(\"q\", 1)\n"), Script: "main.star"})
	if k := runtime.AsRefusal(err).Kind; k != runtime.ErrUnsupported {
		t.Errorf("a script with a queue: got %v, want %s", err, runtime.ErrUnsupported)
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
	wants(t, e, o.Client, r.ID, runtime.Completed, `["1yes","2yes"]`)
}
