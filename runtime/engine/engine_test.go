package engine_test

import (
	"context"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

func openLocal(t *testing.T) *engine.Local {
	t.Helper()
	env := environment(func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{} })
	e, err := engine.Open(memory.New(), env, engine.Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestLocalIsAnEngine(t *testing.T) {
	s := runtimetest.Subject{
		User:   "local:ann",
		Bundle: func(source string) []byte { return bundle(t, source, nil) },
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			e := openLocal(t)
			return func(c runtime.Caller) runtime.Engine { return runtimetest.As(e, c) }
		},
	}
	runtimetest.TestEngine(t, s)
	runtimetest.TestExtensions(t, s)
}
