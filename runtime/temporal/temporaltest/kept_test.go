package temporaltest

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
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

var keep = flag.String("keep", "", "writes the histories of TestHistoriesAreReplayed into this `FOLDER`, for TestKeptHistories of later builds")

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
		replayed(t, o.Client, id)
		if *keep != "" {
			keepHistory(t, o.Client, id, filepath.Join(*keep, name+".history"))
		}
	}
}

func keepHistory(t *testing.T, c client.Client, id, file string) {
	t.Helper()
	text, err := proto.Marshal(historyOf(t, c, id))
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
	h := new(historypb.History)
	for events := c.GetWorkflowHistory(context.Background(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		ev, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, ev)
	}
	return h
}
