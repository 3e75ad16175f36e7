package temporaltest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
	"starling/runtime/engine/enginetest"
	"starling/runtime/temporal"
)

var (
	figureRounds = flag.Int("rounds", 5, "how often each side is measured by BenchmarkFigures")
	figureCrowd  = flag.Int("crowd", 2000, "how many runs wait for the burst of BenchmarkFigures")
	figurePast   = flag.Int("past", 10_000, "how many steps are behind the run that BenchmarkFigures resumes")
	figureSpace  = flag.Int("waiting", 10_000, "how many runs BenchmarkFigures has waiting to measure what they take")
)

// The scripts of the figures, and below the plain workflows that do the same.
const (
	stepsScript = "def main(n):\n    for i in range(n):\n        agent(\"a\", \"part\")\n"
	waitScript  = "def main():\n    return gate(\"g\", options = [\"on\"]).choice\n"
	pastScript  = `def main(n):
    for i in range(n // 50):
        parallel([lambda: agent("a", "part") for j in range(50)])
    return gate("g", options = ["on"]).choice
`
)

// BenchmarkFigures measures runs on Temporal beside a plain Go workflow with the same activities,
// on the same server and with the same worker, and beside runs in a folder: all in turns, and the
// medians of the rounds. It prints them as a table.
//
//	go -C runtime/temporal/temporaltest test -run '^$' -bench Figures -benchtime 1x -timeout 2h .
func BenchmarkFigures(b *testing.B) {
	for b.Loop() {
		tuned := startServers(b, true)
		l := newLab(b, tuned)
		table := []string{"| | runs | plain | ratio | wanted | a folder |", "|---|--:|--:|--:|--:|--:|"}
		add := func(rows ...string) {
			table = append(table, rows...)
			fmt.Println(strings.Join(rows, "\n"))
		}
		add(l.steps("steps a second, one run", 1, 60, "0.85"), l.steps("steps a second, 64 runs", 64, 8, "0.85"))
		add(l.events())
		add(l.starts(min(200, *figureCrowd)))
		add(l.idle(60))
		add(l.burst(*figureCrowd)...)
		add(l.resumes(*figurePast))
		add(l.killed())
		l.close()
		tuned.kill()
		plain := startServers(b, false)
		l = newLab(b, plain)
		add(l.steps("the server's defaults: steps a second, one run", 1, 40, ""), l.steps("the server's defaults: steps a second, 64 runs", 64, 4, ""))
		add(l.burst(min(200, *figureCrowd))...)
		l.close()
		plain.kill()
		add(space(b, *figureSpace))
		fmt.Printf("\n%s\n", strings.Join(table, "\n"))
	}
}

// lab measures on one server.
type lab struct {
	b       *testing.B
	servers *servers
	o       temporal.Options
	e       *temporal.Engine
	plain   string // queue of the plain workflows
	folder  *engine.Local
	ctx     context.Context
	stops   []func()
}

func newLab(b *testing.B, s *servers) *lab {
	o := options(b, enginetest.Environment(nobody))
	o.Client, o.Namespace = dialTo(b, s.address(), serversSpace), serversSpace
	l := &lab{b: b, servers: s, o: o, plain: o.Queue + "-plain"}
	l.ctx = runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})
	l.e = temporal.New(o)
	l.work()
	store, err := badger.Open(b.TempDir(), badger.Options{})
	l.must(err)
	l.folder, err = enginetest.Open(store, nobody)
	l.must(err)
	return l
}

// work starts the workers of both sides.
func (l *lab) work() {
	own := temporal.NewWorker(temporal.WorkerOptions{Options: l.o})
	l.must(own.Start())
	plain := worker.New(l.o.Client, l.plain, worker.Options{MaxConcurrentActivityExecutionSize: 100, MaxConcurrentWorkflowTaskPollers: 8,
		MaxConcurrentActivityTaskPollers: 8, StickyScheduleToStartTimeout: 5 * time.Second, WorkerStopTimeout: time.Second})
	plain.RegisterWorkflow(plainSteps)
	plain.RegisterWorkflow(plainWait)
	plain.RegisterWorkflow(plainPast)
	plain.RegisterActivityWithOptions(func(context.Context, []byte) ([]byte, error) { return nil, nil }, activity.RegisterOptions{Name: "plain"})
	l.must(plain.Start())
	l.stops = []func(){own.Stop, plain.Stop}
}

func (l *lab) rest() {
	for _, stop := range l.stops {
		stop()
	}
}

func (l *lab) close() {
	l.rest()
	l.must(l.folder.Close())
}

func (l *lab) must(err error) {
	l.b.Helper()
	if err != nil {
		l.b.Fatal(err)
	}
}

// plainStep begins what a step of a run begins.
func plainStep(ctx workflow.Context) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 15 * time.Second}), "plain", make([]byte, 200))
}

func plainSteps(ctx workflow.Context, n int) error {
	for range n {
		if err := plainStep(ctx).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// plainWait waits for one answer.
func plainWait(ctx workflow.Context) (choice string, err error) {
	err = workflow.SetUpdateHandler(ctx, "ask", func(_ workflow.Context, answer string) (string, error) {
		choice = answer
		return "taken", nil
	})
	if err == nil {
		err = workflow.Await(ctx, func() bool { return choice != "" && workflow.AllHandlersFinished(ctx) })
	}
	return choice, err
}

// plainPast makes steps, 500 in a history, and waits.
func plainPast(ctx workflow.Context, n int) (string, error) {
	for i := 0; i < n; i += 50 {
		if i == 500 {
			return "", workflow.NewContinueAsNewError(ctx, plainPast, n-i)
		}
		var all []workflow.Future
		for range 50 {
			all = append(all, plainStep(ctx))
		}
		for _, f := range all {
			if err := f.Get(ctx, nil); err != nil {
				return "", err
			}
		}
	}
	return plainWait(ctx)
}

func (l *lab) start(script, inputs string, key string) string {
	r, err := l.e.Start(l.ctx, runtime.StartRequest{Key: key, Bundle: enginetest.Bundle(script), Script: "main.star", Inputs: json.RawMessage(inputs)})
	l.must(err)
	return r.ID
}

func (l *lab) startPlain(flow any, args ...any) string {
	w, err := l.o.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{TaskQueue: l.plain, WorkflowTaskTimeout: 2 * time.Second}, flow, args...)
	l.must(err)
	return w.GetID()
}

func (l *lab) startFolder(script, inputs string) string {
	r, err := l.folder.Start(l.ctx, runtime.StartRequest{Bundle: enginetest.Bundle(script), Script: "main.star", Inputs: json.RawMessage(inputs)})
	l.must(err)
	return r.ID
}

func (l *lab) ends(id string) { l.must(l.o.Client.GetWorkflow(l.ctx, id, "").Get(l.ctx, nil)) }

func (l *lab) endsInFolder(id string) {
	l.must(l.folder.Watch(l.ctx, runtime.WatchRequest{Run: id, Follow: true, Types: []string{"run.completed"}}, func(runtime.Event) error { return nil }))
}

func (l *lab) answer(id string) {
	_, err := l.e.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "g", Choice: "on"})
	l.must(err)
}

func (l *lab) answerPlain(id string) {
	h, err := l.o.Client.UpdateWorkflow(l.ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: "ask", Args: []any{"on"}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = h.Get(l.ctx, nil)
	}
	l.must(err)
}

func (l *lab) answerInFolder(id string) {
	_, err := l.folder.Signal(l.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: id, Gate: "g", Choice: "on"})
	l.must(err)
}

// at does something so many times at once, and gives how long that took.
func at(n int, do func(i int)) time.Duration {
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
	return time.Since(began)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// turns measures three sides in turns, as what each did in a second.
func turns(n float64, own, plain, folder func() time.Duration) (mine, theirs, ratio, home float64) {
	var a, b, r, h []float64
	for range *figureRounds {
		x, y := n/own().Seconds(), n/plain().Seconds()
		a, b, r, h = append(a, x), append(b, y), append(r, x/y), append(h, n/folder().Seconds())
	}
	return median(a), median(b), median(r), median(h)
}

func (l *lab) steps(name string, runs, steps int, wanted string) string {
	in := fmt.Sprintf(`{"n": %d}`, steps)
	a, p, r, h := turns(float64(runs*steps),
		func() time.Duration { return at(runs, func(int) { l.ends(l.start(stepsScript, in, "")) }) },
		func() time.Duration { return at(runs, func(int) { l.ends(l.startPlain(plainSteps, steps)) }) },
		func() time.Duration { return at(runs, func(int) { l.endsInFolder(l.startFolder(stepsScript, in)) }) })
	return fmt.Sprintf("| %s | %.0f | %.0f | %.2f | %s | %.0f |", name, a, p, r, wanted, h)
}

// events counts what a step leaves in a history.
func (l *lab) events() string {
	perStep := func(run func(n int) string) float64 {
		var length [2]int
		for i, n := range []int{10, 40} {
			id := run(n)
			l.ends(id)
			length[i] = len(historyOf(l.b, l.o.Client, id).Events)
		}
		return float64(length[1]-length[0]) / 30
	}
	own := perStep(func(n int) string { return l.start(stepsScript, fmt.Sprintf(`{"n": %d}`, n), "") })
	plain := perStep(func(n int) string { return l.startPlain(plainSteps, n) })
	return fmt.Sprintf("| events a step | %.1f | %.1f | %.2f | 7 to 6 | |", own, plain, own/plain)
}

// taken waits until the first task of a workflow is done: then it waits.
func (l *lab) taken(id string) {
	for events := l.o.Client.GetWorkflowHistory(l.ctx, id, "", true, 1); events.HasNext(); {
		ev, err := events.Next()
		if l.must(err); ev.GetWorkflowTaskCompletedEventAttributes() != nil {
			return
		}
	}
}

// starts measures starts until runs wait, which the workflow of each has taken up.
func (l *lab) starts(runs int) string {
	a, p, r, h := turns(float64(runs),
		func() time.Duration {
			return at(runs, func(int) { l.taken(l.start(waitScript, "", "")) })
		},
		func() time.Duration { return at(runs, func(int) { l.taken(l.startPlain(plainWait)) }) },
		func() time.Duration { return at(runs, func(int) { l.startFolder(waitScript, "") }) })
	return fmt.Sprintf("| started until they wait, a second | %.0f | %.0f | %.2f | 0.8 | %.0f |", a, p, r, h)
}
