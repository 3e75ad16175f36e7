package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
)

// Nothing is quiet while somebody is woken: an attempt that waits for the clock and is told
// something is in motion until it waits again, so that whoever moves the clock comes to its newest
// timer.
func TestQuietOnceTheToldWait(t *testing.T) {
	var timers, waits atomic.Int64
	still := func(time.Duration, func()) func() bool {
		timers.Add(1)
		return func() bool { timers.Add(-1); return true }
	}
	env := environment(nil)
	live := ask("agent", effect.Waiting, "name")
	request := live.Request
	live.Request = func(c *effect.Call) (*effect.Request, error) {
		r, err := request(c)
		if err == nil {
			r.Backends, r.Steers = []string{"scripted"}, []effect.Steering{effect.SteerLive}
		}
		return r, err
	}
	env.Names["agent"] = live
	env.Handlers["agent"] = &effect.Handler{Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
		for waits.Add(1); !a.Wait(ctx, time.Minute) && ctx.Err() == nil; waits.Add(1) {
			(<-a.Told).Taken()
		}
		return effect.Reply{Value: starlark.None}
	}}
	e, err := engine.Open(memory.New(), env, engine.Options{Clock: time.Now, After: still})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := runtime.WithCaller(t.Context(), runtime.Caller{Name: "local:test", Local: true})
	source := "def main():\n    agent(\"a\")\n"
	run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, source, nil), Script: "main.star"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(300) {
		e.Settle()
		if w, set := waits.Load(), timers.Load(); w != n+1 || set < 1 {
			t.Fatalf("told %d times, it is quiet while the agent has begun to wait %d times and %d "+
				"timers are set", n, w, set)
		}
		steer := runtime.Signal{Kind: runtime.SignalSteer, Run: run.ID, Step: "a", Reason: "go on"}
		if _, err := e.Signal(ctx, steer); err != nil {
			t.Fatal(err)
		}
	}
}
