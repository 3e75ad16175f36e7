package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/runtimetest"
)

// backends answer by name; those that are down fail as their class says.
type backends struct {
	names []string
	down  map[string]effect.Failure
	asked []string
}

func (b *backends) ask(_ context.Context, a *effect.Attempt) effect.Reply {
	name := b.names[a.Backend]
	b.asked = append(b.asked, name)
	if class, down := b.down[name]; down {
		return effect.Reply{Err: effect.Errorf(effect.KindAgent, "%s is down", name), Class: class}
	}
	return effect.Reply{Value: starlark.String(name)}
}

// A18 (5): five failures in a row open the breaker, calls fail at once then, one is let through
// after the pause; the state survives a restart.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := &backends{names: []string{"far"}, down: map[string]effect.Failure{"far": effect.Retryable}}
		w.does(b.ask)
		call := func() (string, int) {
			t.Helper()
			b.asked = nil
			run := w.start(`
def main():
    r = attempt(work, "w", backends = "far")
    return r.value if r.ok else r.error.message
`, "")
			return string(w.until(run.ID, runtime.Completed).Output), len(b.asked)
		}
		for range 5 {
			if got, asked := call(); got != `"far is down"` || asked != 1 {
				t.Fatalf("got %s after %d questions", got, asked)
			}
		}
		for _, restart := range []bool{false, true} {
			if restart {
				w.restart()
			}
			if got, asked := call(); !strings.Contains(got, "has failed 5 times in a row") || asked != 0 {
				t.Fatalf("breaker open: got %s after %d questions", got, asked)
			}
		}
		time.Sleep(31 * time.Second)
		if got, asked := call(); got != `"far is down"` || asked != 1 {
			t.Fatalf("after the pause: got %s after %d questions", got, asked)
		}
		if got, asked := call(); !strings.Contains(got, "has failed 6 times in a row") || asked != 0 {
			t.Fatalf("after the probe: got %s after %d questions", got, asked)
		}
		time.Sleep(31 * time.Second)
		delete(b.down, "far")
		for range 3 {
			if got, asked := call(); got != `"far"` || asked != 1 {
				t.Fatalf("when it is back: got %s after %d questions", got, asked)
			}
		}
	})
}

// A breaker that opens between two attempts ends the retries; a backend that says no has not
// failed.
func TestBreakerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := &backends{names: []string{"far"}, down: map[string]effect.Failure{"far": effect.Final}}
		w.does(b.ask)
		const script = `
def main():
    return [attempt(work, "w", backends = "far", retries = 9).error.message for _ in range(7)]
`
		run := w.start(script, "")
		if got := w.until(run.ID, runtime.Completed); strings.Count(string(got.Output), "far is down") != 7 {
			t.Errorf("a backend that refuses: got %s", got.Output)
		}
		b.down["far"], b.asked = effect.Retryable, nil
		run = w.start(script, "")
		if got := w.until(run.ID, runtime.Completed); strings.Count(string(got.Output), "5 times in a row") != 7 || len(b.asked) != 5 {
			t.Errorf("a backend that fails: got %s after %d questions", got.Output, len(b.asked))
		}
	})
}

// A10 (5): a backend that is missing, or left alone, falls to the next; the run that is restored in
// between goes on with the next as well.
func TestBackendsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := &backends{names: []string{"first", "second", "third"}, down: map[string]effect.Failure{"first": effect.Missing, "second": effect.Missing}}
		w.does(b.ask)
		const script = `
def main():
    return [work("w", backends = "first second third") for _ in range(6)]
`
		run := w.start(script, "")
		got := w.until(run.ID, runtime.Completed)
		if string(got.Output) != `["third","third","third","third","third","third"]` {
			t.Errorf("got %s", got.Output)
		}
		want := append(slices.Repeat([]string{"first", "second", "third"}, 5), "third")
		if !slices.Equal(b.asked, want) {
			t.Errorf("asked %v, want %v", b.asked, want)
		}

		b.down = map[string]effect.Failure{"first": effect.Missing, "second": effect.Missing, "third": effect.Missing}
		time.Sleep(time.Minute)
		run = w.start(`
def main():
    return attempt(work, "w", backends = "first second third").error.message
`, "")
		if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"third is down"` {
			t.Errorf("got %s", got.Output)
		}
	})
}

// The next backend is asked after a crash too: which one is to serve is in the journal and in the
// checkpoint.
func TestBackendAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := &backends{names: []string{"first", "second"}, down: map[string]effect.Failure{"first": effect.Missing, "second": effect.Retryable}}
		w.does(b.ask)
		run := w.start(`
def main():
    return work("w", backends = "first second", retries = 3)
`, "")
		w.until(run.ID, runtime.Suspended) // it waits for another try of the second
		delete(b.down, "second")
		b.asked = nil
		w.crash()
		w.resume()
		if got := w.until(run.ID, runtime.Completed); string(got.Output) != `"second"` || !slices.Equal(b.asked, []string{"second"}) {
			t.Errorf("got %s after asking %v", got.Output, b.asked)
		}
	})
}

// refusing is a store that does not take the commits that a test names.
type refusing struct {
	runtime.Store
	refuse atomic.Bool // the next one
}

func (s *refusing) Commit(ctx context.Context, b *runtime.Batch) error {
	if s.refuse.CompareAndSwap(true, false) {
		return errors.New("not this one")
	}
	return s.Store.Commit(ctx, b)
}

// A breaker learns what is durable: a failure whose turn was discarded is none.
func TestBreakerLearnsFromCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.engine.Close()
		store := &refusing{Store: w.store.Reopen()}
		w.engine = runtimetest.Observe(w.build(store, 0), w.history)
		b := &backends{names: []string{"far"}, down: map[string]effect.Failure{"far": effect.Retryable}}
		w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
			store.refuse.Store(len(b.asked) == 4)
			return b.ask(ctx, a)
		})
		run := w.start(`
def main():
    return [attempt(work, "w", backends = "far", on_uncertain = "retry").error.message for _ in range(6)]
`, "")
		synctest.Wait() // what the fifth question came to is lost with its commit
		if _, err := w.engine.Signal(w.ctx, runtime.Signal{Kind: runtime.SignalMessage, Run: run.ID, Name: "mail", Data: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		got := w.until(run.ID, runtime.Completed)
		if strings.Count(string(got.Output), "far is down") != 5 || strings.Count(string(got.Output), "5 times in a row") != 1 || len(b.asked) != 6 {
			t.Errorf("got %s after %d questions, want 5 failures that count of 6", got.Output, len(b.asked))
		}
	})
}
