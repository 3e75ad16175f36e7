package temporaltest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/temporal"
)

var keep = flag.String("keep", "", "writes the histories of TestHistoriesAreReplayed and TestCallsOutliveAHistory into this `FOLDER`, for TestKeptHistories of later builds")

// told are scripts whose histories have all that a postman does but a hand-over.
var told = map[string]string{
	"review": `def main():
    sleep("10ms")
    found = parallel([lambda: agent("a", "one").output, lambda: agent("b", "two").output])
    return [found, gate("review", options = ["yes", "no"], timeout = "1h", fallback = "no").choice]
`,
	"failed":    "def main():\n    return agent(\"broken\", \"one\")\n",
	"cancelled": "def main():\n    return gate(\"never\", options = [\"yes\"])\n",
}

// What the postman did is what it does: with the history of a run that has ended, and with one that
// was kept.
func TestHistoriesAreReplayed(t *testing.T) {
	o := options(t, enginetest.Environment(func(_ context.Context, a *effect.Attempt) (string, error) {
		if a.Step == "broken" {
			return "", errors.New("no luck")
		}
		return "done", nil
	}))
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	ctx, cancel := local()
	defer cancel()
	for name, source := range told {
		id := start(t, e, source)
		if name != "failed" {
			until(t, e, id, is("run.suspended"))
		}
		if name == "cancelled" {
			if _, err := e.Cancel(ctx, runtime.CancelRequest{Run: id, Reason: "enough"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := answers(ctx, e, id); err != nil {
			t.Fatal(err)
		}
		replayed(t, o, id)
		if *keep != "" {
			keepHistory(t, historyOf(t, o.Client, id), filepath.Join(*keep, name+".history"))
		}
	}
}

func keepHistory(t *testing.T, h *historypb.History, file string) {
	t.Helper()
	text, err := proto.Marshal(h)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// historyOf is the newest history of a run.
func historyOf(t testing.TB, c client.Client, id string) *historypb.History {
	t.Helper()
	return historyAt(t, c, id, "")
}

func historyAt(t testing.TB, c client.Client, id, execution string) *historypb.History {
	t.Helper()
	h := new(historypb.History)
	for events := c.GetWorkflowHistory(context.Background(), id, execution, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		ev, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, ev)
	}
	return h
}

// chainOf are all histories of a run, the oldest first.
func chainOf(t testing.TB, c client.Client, id string) (all []*historypb.History) {
	t.Helper()
	for execution := ""; ; {
		h := historyAt(t, c, id, execution)
		all = slices.Insert(all, 0, h)
		if execution = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); execution == "" {
			return all
		}
	}
}

// A run leaves its history with a call in flight, which its worker goes on with, and one that
// nobody has begun, which is begun in the next.
func TestCallsOutliveAHistory(t *testing.T) {
	long := make(chan bool)
	o := shortly(t, backed(enginetest.Environment(func(ctx context.Context, a *effect.Attempt) (string, error) {
		if strings.HasSuffix(a.Step, "/long") {
			select {
			case <-long:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return fmt.Sprintf("%s/%d", a.Step, a.Number), nil
	})))
	o.Label = func(_ *effect.Settings, backend string) string {
		if backend == "late" {
			return o.Queue + "-late"
		}
		return ""
	}
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	ctx, cancel := local()
	defer cancel()
	id := start(t, e, `def main():
    def count():
        return [mailbox.take("m").payload for i in range(12)]
    return parallel([lambda: agent("long", "one").output, lambda: agent("late", "two").output, count])
`)
	for i := range 12 {
		if _, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalMessage, Run: id, Name: "m", Data: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the run is in another history", func() bool { return len(chainOf(t, o.Client, id)) > 1 })
	close(long)
	late := o
	late.Queue += "-late"
	other := temporal.NewWorker(temporal.WorkerOptions{Options: late, Only: true})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	until(t, e, id, ended)
	wants(t, e, o, id, runtime.Completed, `["parallel/0/long/1","parallel/1/late/1",[0,1,2,3,4,5,6,7,8,9,10,11]]`)
	if *keep != "" {
		for i, h := range chainOf(t, o.Client, id) {
			keepHistory(t, h, filepath.Join(*keep, fmt.Sprintf("handed.%d.history", i+1)))
		}
	}
}
