package runtimetest

import (
	"context"
	"testing"

	"starling/runtime"
)

func TestFakeIsAnEngine(t *testing.T) {
	TestEngine(t, Subject{
		User:   "local:ann",
		Bundle: func(source string) []byte { return []byte(source) },
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			f, err := OpenFake("", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return func(c runtime.Caller) runtime.Engine { return As(f, c) }
		},
	})
}

// TestFakeRemembers closes a fake while an agent is at work and one gate is open, and goes on in
// another with the same events.
func TestFakeRemembers(t *testing.T) {
	path := t.TempDir() + "/fake"
	hangs := func(ctx context.Context, c FakeCall) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	first := openFake(t, path, hangs)
	waits := first.start(review)
	works := first.start("def main():\n    r = agent(\"worker\")\n    return r.text\n")
	before := first.journal(waits.ID, 0)
	first.ok(first.Close())

	second := openFake(t, path, func(_ context.Context, c FakeCall) (string, error) {
		return c.Agent + " with " + c.Env["TOKEN"], nil
	})
	second.same("events", second.journal(waits.ID, 0), before)
	carried, err := second.Resume(second.ctx, runtime.ResumeRequest{Runs: []string{works.ID}, Env: map[string]string{"TOKEN": "x"}})
	second.ok(err)
	second.same("carried", carried, []string{works.ID})
	second.same("output", second.ended(works.ID).Output, `"worker with x"`)
	_, err = second.Signal(second.ctx, approve(waits.ID))
	second.ok(err)
	second.same("status", second.ended(waits.ID).Status, runtime.Completed)
}

func openFake(t *testing.T, path string, perform func(context.Context, FakeCall) (string, error)) *subject {
	t.Helper()
	f, err := OpenFake(path, perform)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return newEngine(t, Subject{
		User:   "local:ann",
		Bundle: func(source string) []byte { return []byte(source) },
		Open: func(*testing.T) func(runtime.Caller) runtime.Engine {
			return func(c runtime.Caller) runtime.Engine { return As(f, c) }
		},
	})
}
