package runtime_test

import (
	"context"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/runtimetest"
)

// as is an engine as one caller sees it.
type as struct {
	runtime.Engine
	caller runtime.Caller
}

func (e as) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	return e.Engine.Start(runtime.WithCaller(ctx, e.caller), r)
}

func (e as) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	return e.Engine.Signal(runtime.WithCaller(ctx, e.caller), s)
}

func (e as) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	return e.Engine.Cancel(runtime.WithCaller(ctx, e.caller), c)
}

func (e as) Carry(ctx context.Context, c runtime.CarryRequest) ([]string, error) {
	return e.Engine.Carry(runtime.WithCaller(ctx, e.caller), c)
}

func TestLocalEngine(t *testing.T) {
	runtimetest.TestEngine(t, runtimetest.Subject{
		User: "local:ann",
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			e, err := runtime.Open(runtimetest.Memory(), environment(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} }), runtime.Options{Log: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return func(c runtime.Caller) runtime.Engine { return as{e, c} }
		},
		Bundle: func(source string) []byte { return bundle(t, source, nil) },
	})
}
