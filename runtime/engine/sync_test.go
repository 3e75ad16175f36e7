package engine_test

import (
	"context"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/engine"
)

// A step costs one sync: the outcome of one and the request and attempt of the next are one commit,
// and the store makes it durable at once.
func TestOneSyncAStep(t *testing.T) {
	store := openBadger(t).(*badger.Store)
	var syncs []uint64
	e, err := engine.Open(store, environment(func(context.Context, *effect.Attempt) effect.Reply {
		syncs = append(syncs, store.Stats().Syncs)
		return effect.Reply{}
	}), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:test", Local: true})
	run, err := e.Start(ctx, runtime.StartRequest{Bundle: bundle(t, sequential, nil), Script: "sync.star", Inputs: []byte(`{"n": 100}`)})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, e, ctx, run.ID, "run.completed")
	if len(syncs) != 102 {
		t.Fatalf("%d attempts, wanted 102", len(syncs))
	}
	if n := syncs[101] - syncs[0]; n != 101 {
		t.Errorf("%d syncs between 102 attempts, wanted 101", n)
	}
}
