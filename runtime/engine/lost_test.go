package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// An owner that has lost its store learns of it with its next commit. It ends its attempts at once,
// tells those who watch, refuses everybody, and leaves; the newer owner goes on with what was
// acknowledged, and takes the attempt that was cut for one of which nothing is known.
func TestAnOwnerThatHasLostItsStoreLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ended := make(chan time.Duration, 2)
		w.does(func(ctx context.Context, a *effect.Attempt) effect.Reply {
			began := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			ended <- time.Since(began)
			return effect.Reply{Value: starlark.String("done")}
		})
		run := w.start(`
def main():
    d = gate("review", options = ["yes", "no"], wait = False)
    out = work("long")
    return [d.decision().choice, out]
`, `{}`)
		synctest.Wait()
		old, watched, slow := w.engine, make(chan error), make(chan error)
		watch := func(told chan<- error, fn func()) {
			told <- old.Watch(w.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { fn(); return nil })
		}
		go watch(watched, func() {})
		go watch(slow, func() { time.Sleep(time.Hour) }) // the store is closed before it reads on
		w.store = w.store.Reopen()
		w.open()
		time.Sleep(time.Minute)

		_, err := old.Signal(w.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "review", Choice: "no", Key: "k"})
		if r := runtime.AsRefusal(err); !errors.Is(err, runtime.ErrLost) || r.Kind != runtime.ErrOwnerUnreachable || r.Help == "" {
			t.Errorf("got %v, want owner_unreachable: the store has another owner", err)
		}
		if took := <-ended; took != time.Minute {
			t.Errorf("the attempt went on for %s, want until the loss was known, after a minute", took)
		}
		for _, told := range []chan error{watched, slow} {
			if err := <-told; !errors.Is(err, runtime.ErrLost) {
				t.Errorf("who watches is told %v, want %v", err, runtime.ErrLost)
			}
		}
		if _, err := old.Get(w.ctx, run.ID); runtime.AsRefusal(err).Kind != runtime.ErrOwnerUnreachable {
			t.Errorf("what has another owner is answered: %v", err)
		}
		if err := old.Close(); err != nil {
			t.Errorf("closing what has left: %v", err)
		}

		w.does(func(context.Context, *effect.Attempt) effect.Reply {
			return effect.Reply{Value: starlark.String("again")}
		})
		w.resume(run.ID)
		w.signal(runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "review", Choice: "yes", Key: "k"})
		if got := string(w.until(run.ID, runtime.Completed).Output); got != `["yes","again"]` {
			t.Errorf("with its newer owner the run came to %s", got)
		}
	})
}
