package temporaltest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

var (
	manySteps    = flag.Int("steps", 1000, "how many steps the run of TestManySteps makes")
	manyChildren = flag.Int("children", 700, "how many child runs the run of TestManyBranches has")
)

// burst waits for a call and takes messages meanwhile.
const burst = `def count(n):
    return [mailbox.take("m").payload for i in range(n)]

def main(n):
    return parallel([lambda: agent("long", "one").output, lambda: count(n)])
`

// A run is sent more than its history takes while a call of it is in flight: it goes on in others,
// the call goes on with it, and of messages that each came three times each is taken once.
func TestAHandOverInABurst(t *testing.T) {
	const messages, senders = 1100, 8
	h, release, calls := &runtimetest.History{}, make(chan bool), make(chan *effect.Attempt, 9)
	o := options(t, enginetest.Environment(func(ctx context.Context, a *effect.Attempt) (string, error) {
		h.Performed(a)
		calls <- a
		select {
		case <-release:
			return "at last", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}))
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	plain := temporal.New(o)
	e := runtimetest.Observe(plain, h)
	ctx, cancel := within(8 * time.Minute)
	defer cancel()
	r, err := e.Start(ctx, runtime.StartRequest{Key: o.Queue, Bundle: enginetest.Bundle(burst), Script: "main.star", Inputs: fmt.Appendf(nil, `{"n": %d}`, messages)})
	if err != nil {
		t.Fatal(err)
	}
	first := historyOf(t, o.Client, r.ID).Events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := s; i < messages; i += senders {
				for range 3 {
					_, err := e.Signal(ctx, runtime.Signal{Kind: runtime.SignalMessage, Run: r.ID, Name: "m", Data: fmt.Append(nil, i), Key: fmt.Sprint(i)})
					if err != nil {
						t.Errorf("message %d: %v", i, err)
					}
				}
			}
		})
	}
	all.Wait()
	close(release)
	until(t, plain, r.ID, ended)
	done, err := plain.Get(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	var got []int
	err = json.Unmarshal(done.Output, &out)
	if err == nil && len(out) == 2 {
		text, _ := json.Marshal(out[1])
		err = json.Unmarshal(text, &got)
	}
	if err != nil || done.Status != runtime.Completed || out[0] != "at last" {
		t.Fatalf("the run is %s with %.200s, %+v, %v", done.Status, done.Output, done.Error, err)
	}
	seen := map[int]bool{}
	for _, i := range got {
		seen[i] = true
	}
	if len(got) != messages || len(seen) != messages {
		t.Errorf("%d messages were taken, %d of them different, want %d", len(got), len(seen), messages)
	}
	if n := len(calls); n != 1 {
		t.Errorf("the call was begun %d times, want once", n)
	}
	now := historyOf(t, o.Client, r.ID).Events[0].GetWorkflowExecutionStartedEventAttributes()
	if now.GetContinuedExecutionRunId() == "" {
		t.Errorf("the run has ended in its first history %s, want another", first)
	}
	journal(t, ctx, plain, h, r.ID)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	wants(t, plain, o, r.ID, runtime.Completed, string(done.Output))
}

// A run makes more steps than one history takes.
func TestManySteps(t *testing.T) {
	o := options(t, enginetest.Environment(func(_ context.Context, a *effect.Attempt) (string, error) { return "x", nil }))
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	ctx, cancel := within(30 * time.Minute)
	defer cancel()
	const script = `def main(n):
    made = 0
    for i in range(n // 50):
        made += len("".join([r.output for r in parallel([lambda: agent("a", "part") for j in range(50)])]))
    return made
`
	began := time.Now()
	r, err := e.Start(ctx, runtime.StartRequest{Bundle: enginetest.Bundle(script), Script: "main.star", Inputs: fmt.Appendf(nil, `{"n": %d}`, *manySteps)})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Watch(ctx, runtime.WatchRequest{Run: r.ID, Follow: true, Types: []string{"run.completed", "run.failed"}}, func(runtime.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps in %s", *manySteps, time.Since(began).Round(time.Second))
	h := &runtimetest.History{}
	journal(t, ctx, e, h, r.ID)
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	wants(t, e, o, r.ID, runtime.Completed, fmt.Sprint(*manySteps/50*50))
}

// A run has more branches than a workflow may have activities in flight, each of which calls an
// agent or opens a gate; or more child runs than leave at once (-children has as many as wanted,
// which takes its time).
func TestManyBranches(t *testing.T) {
	const branches = 2500
	files := map[string]string{
		"agents.star": fmt.Sprintf("def main():\n    return len(parallel([lambda: agent(\"a\", \"part\").output for i in range(%d)]))\n", branches),
		"gates.star":  fmt.Sprintf("def main():\n    return len(parallel([lambda: gate(\"g\", timeout = \"20s\", fallback = \"no\") for i in range(%d)]))\n", branches),
		"runs.star":   fmt.Sprintf("def main():\n    return len(parallel([lambda: run(\"child.star\") for i in range(%d)]))\n", *manyChildren),
		"child.star":  "def main():\n    return gate(\"g\", timeout = \"60s\", fallback = \"no\").choice\n",
	}
	for _, script := range []string{"agents.star", "gates.star", "runs.star"} {
		t.Run(strings.TrimSuffix(script, ".star"), func(t *testing.T) {
			o := options(t, enginetest.Environment(func(_ context.Context, a *effect.Attempt) (string, error) { return "x", nil }))
			w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			e := temporal.New(o)
			b, err := lang.Read(script, func(name string) ([]byte, error) {
				text, ok := files[name]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return []byte(text), nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := within(30 * time.Minute)
			defer cancel()
			began := time.Now()
			r, err := e.Start(ctx, runtime.StartRequest{Bundle: b.Encode(), Script: script})
			if err != nil {
				t.Fatal(err)
			}
			err = e.Watch(ctx, runtime.WatchRequest{Run: r.ID, Follow: true, Types: []string{"run.completed", "run.failed"}}, func(runtime.Event) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("it took %s", time.Since(began).Round(time.Second))
			replayed(t, o, r.ID)
			if script != "runs.star" { // to show that one reads all its child runs
				wants(t, e, o, r.ID, runtime.Completed, fmt.Sprint(branches))
			}
		})
	}
}
