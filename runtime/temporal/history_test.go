package temporal

import (
	"context"
	"os"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"starling/runtime"
	"starling/runtime/engine/enginetest"
)

// forgetful is a server with one history, which it breaks off once, behind so many events.
type forgetful struct {
	client.Client
	events []*historypb.HistoryEvent
	after  int
}

func (s *forgetful) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &given{server: s}
}

// given is how far a history was given.
type given struct {
	server *forgetful
	n      int
}

func (g *given) HasNext() bool { return g.n < len(g.server.events) }

func (g *given) Next() (*historypb.HistoryEvent, error) {
	if s := g.server; s.after > 0 && g.n == s.after {
		s.after = 0
		return nil, serviceerror.NewInvalidArgument("Current and request branch tokens, or current and request versioned transitions, don't match.")
	}
	g.n++
	return g.server.events[g.n-1], nil
}

// A server that is behind breaks off what it gives of a history. Whoever reads begins again, and
// who watches is told each event once.
func TestAHistoryIsTorn(t *testing.T) {
	text, err := os.ReadFile("testdata/v1/review.history")
	if err != nil {
		t.Fatal(err)
	}
	events := new(historypb.History)
	if err := proto.Unmarshal(text, events); err != nil {
		t.Fatal(err)
	}
	id := events.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
	server := &forgetful{events: events.Events}
	e := New(Options{Client: server, Env: enginetest.Environment(nil), Log: t.Logf})
	ctx, cancel := context.WithCancel(runtime.WithCaller(t.Context(), runtime.Caller{Name: "ann", Local: true}))
	defer cancel()
	watched := func(after int) (seqs []uint64) {
		server.after = after
		err := e.Watch(ctx, runtime.WatchRequest{Run: id, Follow: true}, func(ev runtime.Event) error {
			seqs = append(seqs, ev.Seq)
			return nil
		})
		if err != nil {
			t.Errorf("broken off behind %d events: %v", after, err)
		}
		return seqs
	}
	want := len(watched(0))
	for n := 1; n < len(server.events); n++ {
		all := watched(n)
		for i, seq := range all {
			if seq != uint64(i+1) {
				t.Fatalf("broken off behind %d events: the event %d has the number %d", n, i+1, seq)
			}
		}
		if len(all) != want {
			t.Errorf("broken off behind %d events: %d were told, want %d", n, len(all), want)
		}
		server.after = n
		if r, err := e.Get(ctx, id); err != nil || r.Status != runtime.Completed {
			t.Errorf("broken off behind %d events: the run is %+v, %v", n, r, err)
		}
	}
}

// A task that is made again because something came meanwhile is nothing that a worker cannot carry.
func TestWhatAWorkerCannotCarry(t *testing.T) {
	failed := func(cause enums.WorkflowTaskFailedCause, says string) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{Cause: cause, Failure: &failure.Failure{Message: says}}}}
	}
	h := new(history)
	h.note(failed(enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, "UnhandledCommand"))
	if h.failed != "" {
		t.Errorf("something came meanwhile: got %q, want nothing", h.failed)
	}
	h.note(failed(enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, "behaviour 8"))
	if h.failed != "behaviour 8" {
		t.Errorf("a worker that cannot carry it: got %q, want what it says", h.failed)
	}
}
