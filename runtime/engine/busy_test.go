package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

func TestCancelReachesABusyMachine(t *testing.T) {
	w := newWorld(t)
	run := w.start(`
def main():
    for i in forever():
        print("x" * 4000, i)
`, "")
	ctx, stop := context.WithTimeout(w.ctx, 5*time.Second)
	defer stop()
	if _, err := w.engine.Cancel(ctx, runtime.CancelRequest{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	w.until(run.ID, runtime.Cancelled)
}

func TestReplayStopsWhereASliceYielded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for n := 1; n < 12; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			w.work = func(ctx context.Context, a *effect.Attempt) effect.Reply {
				<-ctx.Done()
				return effect.Reply{Err: effect.Errorf("effect", "x")}
			}
			w.store.FailCommit(n, errors.New("killed"), 0)
			run, err := w.engine.Start(w.ctx, runtime.StartRequest{Bundle: bundle(t, `
def chat():
    for i in range(2000):
        print("line", i)
def main():
    parallel([lambda: work("w"), chat])
`, nil), Script: "main.star"})
			if err != nil {
				return
			}
			_ = run
			for range 200 {
				if r, err := w.engine.Get(w.ctx, run.ID); err != nil || r.Status != runtime.Running {
					break
				}
				time.Sleep(time.Millisecond)
			}
			w.crash()
			w.does(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} })
			w.resume()
			w.until(run.ID, runtime.Completed)
		})
	}
}
