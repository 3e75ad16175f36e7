package temporaltest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

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
	wants(t, e, o, id, runtime.Completed, `"yes"`)
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

// refusedFor wants a refusal, within ten seconds, that names a queue and the command for it.
func refusedFor(t *testing.T, err error, queue string, began time.Time) {
	t.Helper()
	if err == nil {
		t.Error("it was taken, want a refusal")
		return
	}
	r := runtime.AsRefusal(err)
	if r.Kind != runtime.ErrOwnerUnreachable || !strings.Contains(r.Message, fmt.Sprintf("%q", queue)) || !strings.Contains(r.Help, "starling-temporal worker") {
		t.Errorf("got %v, want a refusal that names the queue and the command", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s, want 10 s at most", took)
	} else {
		t.Logf("refused after %s", took.Round(time.Millisecond))
	}
}

// needs waits until a run is shown to wait for a worker in some words, or, for none, not to.
func needs(t *testing.T, e *temporal.Engine, id string, words ...string) string {
	t.Helper()
	ctx, cancel := local()
	defer cancel()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, err := e.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := r.Details.NeedsWorker, true
		for _, w := range words {
			ok = ok && strings.Contains(got, w)
		}
		if ok && (got == "") == (len(words) == 0) {
			if waits := r.WaitsFor(); !strings.Contains(waits, got) {
				t.Errorf("it is shown to wait for %q, want also %q", waits, got)
			}
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("the run is shown to need %q, want %q", got, words)
		}
	}
}

// A worker that was killed a moment ago is missed by whoever answers a gate, by whoever looks at
// the run, and by the next start. The answer counts when another comes.
func TestAKilledWorkerIsMissed(t *testing.T) {
	o := options(t, enginetest.Environment(nobody))
	e := temporal.New(o)
	w := spawn(t, hired{Queue: o.Queue, Play: "scribe"})
	id := start(t, e, "def main():\n    return gate(\"review\", options = [\"yes\"]).choice\n")
	until(t, e, id, is("run.suspended"))
	w.Process.Kill()
	w.Wait()
	ctx, cancel := local()
	defer cancel()
	began := time.Now()
	_, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "review", Choice: "yes", Key: "k"})
	refusedFor(t, err, o.Queue, began)
	needs(t, e, id, o.Queue, "starling-temporal worker")
	next := temporal.New(o) // which has seen no worker yet
	began = time.Now()
	_, err = next.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle("def main():\n    pass\n"), Script: "main.star"})
	refusedFor(t, err, o.Queue, began)
	other := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	until(t, e, id, ended)
	wants(t, e, o, id, runtime.Completed, `"yes"`)
}

// A worker that has more to do than it can asks its queue for nothing, but goes on saying that it
// is there. Whoever answers a gate waits for it for longer than for one that is not there.
func TestABusyWorkerIsNotMissed(t *testing.T) {
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
	says, hush := context.WithCancel(ctx)
	defer hush()
	go func() { // as a worker does whose pollers have no room
		for says.Err() == nil {
			poll, cancel := context.WithTimeout(says, 3*time.Second)
			_, _ = o.Client.WorkflowService().PollActivityTaskQueue(poll, &workflowservice.PollActivityTaskQueueRequest{Namespace: o.Namespace,
				Identity: "runs 1@elsewhere", TaskQueue: &taskqueue.TaskQueue{Name: o.Queue + "@workers"}})
			cancel()
		}
	}()
	told := make(chan error, 1)
	go func() {
		_, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "review", Choice: "yes"})
		told <- err
	}()
	select {
	case err := <-told:
		t.Errorf("while a worker says that it is there: got %v, want that its answer is waited for", err)
	case <-time.After(14 * time.Second):
	}
	again := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	defer again.Stop()
	if err := <-told; err != nil {
		t.Error(err)
	}
	until(t, e, id, ended)
	wants(t, e, o, id, runtime.Completed, `"yes"`)
}

// A server that takes its time, as all do on a machine that has none left, is no reason to be told
// later that no worker is there: neither for several who start something at once nor for who
// answers a gate.
func TestNobodyWorksAtASlowServer(t *testing.T) {
	o := options(t, enginetest.Environment(nobody))
	w := spawn(t, hired{Queue: o.Queue, Play: "scribe"})
	e := temporal.New(o)
	id := start(t, e, "def main():\n    return gate(\"review\", options = [\"yes\"]).choice\n")
	until(t, e, id, is("run.suspended"))
	w.Process.Kill()
	w.Wait()
	proxy := runtimetest.StartProxy(t, served.GetFrontendHostPort())
	through, empty := o, options(t, o.Env).Queue
	slow := func() *temporal.Engine {
		through.Client = dialTo(t, fmt.Sprintf("127.0.0.1:%d", proxy.Port), served.GetDefaultNamespace())
		return temporal.New(through)
	}
	answers := slow()
	through.Queue = empty
	starts := slow()
	proxy.Delay(200 * time.Millisecond)
	ctx, cancel := local()
	defer cancel()
	var all sync.WaitGroup
	began := time.Now()
	all.Go(func() {
		_, err := answers.Signal(ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "review", Choice: "yes", Key: "k"})
		refusedFor(t, err, o.Queue, began)
	})
	for range 3 {
		all.Go(func() {
			_, err := starts.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle("def main():\n    pass\n"), Script: "main.star"})
			refusedFor(t, err, empty, began)
		})
	}
	all.Wait()
}

// said keeps what operators are told.
type said struct {
	mu  sync.Mutex
	all strings.Builder
}

func (s *said) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.all, format+"\n", args...)
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// backed has agents named by their backends, as those of projects are.
func backed(env *effect.Environment) *effect.Environment {
	agent := *env.Handlers["agent"]
	resolve := agent.Resolve
	agent.Resolve = func(s *effect.Settings, r *effect.Request) *effect.Error {
		r.Backends = []string{r.Name}
		return resolve(s, r)
	}
	env.Handlers["agent"] = &agent
	return env
}

// The work of an agent whose queue has no worker waits, and says so to whoever looks at its run and
// to whoever watches it.
func TestWorkOnAQueueWithoutAWorker(t *testing.T) {
	o := options(t, backed(enginetest.Environment(func(context.Context, *effect.Attempt) (string, error) { return "drawn", nil })))
	gpu, told := o.Queue+"-gpu", &said{}
	o.Label, o.Log = func(*effect.Settings, string) string { return gpu }, told.log
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	began := time.Now()
	id := start(t, e, "def main():\n    return agent(\"painter\", \"a bird\").output\n")
	watched := make(chan bool)
	go func() {
		defer close(watched)
		until(t, e, id, ended)
	}()
	words := needs(t, e, id, fmt.Sprintf("%q", gpu), "starling-temporal worker --queue "+gpu)
	for !strings.Contains(told.text(), words) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("whoever watches it is told %q within 10 s, want %q", told.text(), words)
		}
		time.Sleep(50 * time.Millisecond)
	}
	o.Queue = gpu
	painter := temporal.NewWorker(temporal.WorkerOptions{Options: o, Only: true})
	if err := painter.Start(); err != nil {
		t.Fatal(err)
	}
	defer painter.Stop()
	<-watched
	if n := strings.Count(told.text(), words); n != 1 {
		t.Errorf("whoever watches it was told so %d times, want once: %s", n, told.text())
	}
	wants(t, e, o, id, runtime.Completed, `"drawn"`)
}

// Two builds share a queue. A run of the newer one waits while only the older one is there, which
// cannot serve it, and says why; it goes on with the newer one, whoever else asks for work. A run
// of the older one goes on with both.
func TestTwoBuildsShareAQueue(t *testing.T) {
	o := options(t, enginetest.Environment(func(context.Context, *effect.Attempt) (string, error) { return "done", nil }))
	newer := o
	env := *o.Env
	env.Behaviour, env.Since = o.Env.Behaviour+1, 1
	newer.Env = &env
	old := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	defer old.Stop()
	before, after := temporal.New(o), temporal.New(newer)
	const script = "def main():\n    return [agent(\"a\", str(i)).output for i in range(5)]\n"
	const want = `["done","done","done","done","done"]`
	first := start(t, after, script)
	needs(t, after, first, "a worker comes that can carry it", fmt.Sprintf("behaviour %d", env.Behaviour))
	next := temporal.NewWorker(temporal.WorkerOptions{Options: newer})
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	defer next.Stop()
	began := time.Now()
	all := []string{first}
	for range 5 {
		all = append(all, start(t, after, script), start(t, before, script))
	}
	for _, id := range all {
		until(t, after, id, ended)
		wants(t, after, o, id, runtime.Completed, want)
	}
	t.Logf("it took %s", time.Since(began).Round(time.Millisecond))
}
