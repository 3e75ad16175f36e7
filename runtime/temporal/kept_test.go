package temporal

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
)

// kept is how the runs ended whose histories lie in testdata, as earlier builds have made them with
// a server: see -keep of temporaltest. A run that has left some has them all, by their numbers.
var kept = map[string]string{
	"v1/cancelled": "cancelled null",
	"v1/failed":    "failed null",
	"v1/review":    `completed [["done","done"],"yes"]`,
	"v2/handed":    `completed ["parallel/0/long/1","parallel/1/late/1",[0,1,2,3,4,5,6,7,8,9,10,11]]`,
}

// A history of an earlier build is read as it was meant, and replayed without a difference, by the
// SDK and by the machine.
func TestKeptHistories(t *testing.T) {
	known := 0
	for name, want := range kept {
		files, err := filepath.Glob("testdata/" + name + "*.history")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got the files %v and %v, want some", name, files, err)
		}
		known += len(files)
		t.Run(name, func(t *testing.T) { tryKept(t, files, want) })
	}
	if all, err := filepath.Glob("testdata/v*/*.history"); err != nil || len(all) != known {
		t.Errorf("testdata has %v, %v; %d of them are tried", all, err, known)
	}
}

func tryKept(t *testing.T, files []string, want string) {
	env := enginetest.Environment(func(context.Context, *effect.Attempt) (string, error) { return "", nil })
	env.Since = effect.BehaviourUnbounded // as the program's is: runs of earlier behaviours go on
	w := &Worker{connection: connect(Options{Env: env, Log: t.Logf})}
	var h *history
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events := new(historypb.History)
		if err := proto.Unmarshal(text, events); err != nil {
			t.Fatal(err)
		}
		id := events.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
		if h == nil {
			h = &history{book: newBook(id)}
			h.store = h.book.store
		}
		for _, ev := range events.Events {
			if err := h.take(ev); err != nil {
				t.Fatal(err)
			}
		}
		again, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true}) // a busy machine is none
		if err != nil {
			t.Fatal(err)
		}
		w.Register(workflowsOnly{again})
		err = again.ReplayWorkflowHistoryWithOptions(tlog.NewStructuredLogger(quiet()), events, worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: id}})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "ann", Local: true})
	from := w.desk.Reader(h.store, goesOn(h.store))
	r, err := from.Get(ctx, h.run)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Status) + " " + string(r.Output); got != want {
		t.Errorf("the run is %s, want %s", got, want)
	}
	if _, err := from.(runtime.Reruns).Replay(ctx, runtime.ReplayRequest{Run: h.run}); err != nil {
		t.Errorf("its journal: %v", err)
	}
}

// workflowsOnly registers no activities: a replay performs none.
type workflowsOnly struct{ r worker.WorkflowReplayer }

func (r workflowsOnly) RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions) {
	r.r.RegisterWorkflowWithOptions(w, o)
}

func (workflowsOnly) RegisterActivityWithOptions(any, activity.RegisterOptions) {}
