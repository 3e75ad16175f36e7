package temporal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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
// a server: see -keep of temporaltest.
var kept = map[string]string{
	"v1/cancelled.history": "cancelled null",
	"v1/failed.history":    "failed null",
	"v1/review.history":    `completed [["done","done"],"yes"]`,
}

// A history of an earlier build is read as it was meant, and replayed without a difference, by the
// SDK and by the machine.
func TestKeptHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/v*/*.history")
	if err != nil || len(files) != len(kept) {
		t.Fatalf("got the files %v and %v, want %d", files, err, len(kept))
	}
	for _, file := range files {
		name := strings.TrimPrefix(filepath.ToSlash(file), "testdata/")
		t.Run(name, func(t *testing.T) { tryKept(t, file, kept[name]) })
	}
}

func tryKept(t *testing.T, file, want string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := new(historypb.History)
	if err := proto.Unmarshal(text, events); err != nil {
		t.Fatal(err)
	}
	id := events.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
	env := enginetest.Environment(func(context.Context, *effect.Attempt) (string, error) { return "", nil })
	env.Since = effect.BehaviourUnbounded // as the program's is: runs of earlier behaviours go on
	w := &Worker{connection: connect(Options{Env: env, Log: t.Logf})}
	h := &history{book: newBook(id)}
	h.store = h.book.store
	for _, ev := range events.Events {
		if err := h.take(ev); err != nil {
			t.Fatal(err)
		}
	}
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "ann", Local: true})
	from := w.desk.Reader(h.store, goesOn(h.store))
	r, err := from.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Status) + " " + string(r.Output); got != want {
		t.Errorf("the run is %s, want %s", got, want)
	}
	if _, err := from.(runtime.Reruns).Replay(ctx, runtime.ReplayRequest{Run: id}); err != nil {
		t.Errorf("its journal: %v", err)
	}
	again := worker.NewWorkflowReplayer()
	w.Register(workflowsOnly{again})
	if err := again.ReplayWorkflowHistory(tlog.NewStructuredLogger(quiet()), events); err != nil {
		t.Errorf("its history: %v", err)
	}
}

// workflowsOnly registers no activities: a replay performs none.
type workflowsOnly struct{ r worker.WorkflowReplayer }

func (r workflowsOnly) RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions) {
	r.r.RegisterWorkflowWithOptions(w, o)
}

func (workflowsOnly) RegisterActivityWithOptions(any, activity.RegisterOptions) {}
