package engine_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/api"
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

// One suite, two engines: the local one, and a client of its socket.
func TestEngines(t *testing.T) {
	me, err := api.Authenticate(api.Self(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, see := range map[string]func(*testing.T, runtime.Engine, runtime.Caller) runtime.Engine{
		"local":  func(_ *testing.T, e runtime.Engine, c runtime.Caller) runtime.Engine { return runtimetest.As(e, c) },
		"socket": overSocket,
	} {
		t.Run(name, func(t *testing.T) {
			s := runtimetest.Subject{
				User:   me.Name,
				Bundle: func(source string) []byte { return bundle(t, source, nil) },
				Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
					e := openLocal(t)
					return func(c runtime.Caller) runtime.Engine { return see(t, e, c) }
				},
			}
			runtimetest.TestEngine(t, s)
			t.Run("definitions", func(t *testing.T) { runtimetest.TestDefinitions(t, s) })
			t.Run("queues", func(t *testing.T) { runtimetest.TestQueues(t, s) })
			t.Run("reruns", func(t *testing.T) { runtimetest.TestReruns(t, s) })
			t.Run("tokens", func(t *testing.T) { runtimetest.TestTokens(t, s) })
			t.Run("decisions", func(t *testing.T) { runtimetest.TestDecisions(t, s) })
			t.Run("archive", func(t *testing.T) { runtimetest.TestArchive(t, s) })
		})
	}
}

// overSocket is an engine as a client of a socket sees it, whose peer is taken for the caller.
// Strangers do not get as far as a client.
func overSocket(t *testing.T, e runtime.Engine, c runtime.Caller) runtime.Engine {
	if c.Name == "" {
		return runtimetest.As(e, c)
	}
	dir, err := os.MkdirTemp("", "st") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := api.NewServer(api.Options{Identify: func(int) (string, string, error) { return c.Agent, c.Run, nil }})
	go s.Serve(l)
	s.Ready(e)
	t.Cleanup(func() { s.Close() })
	client, err := api.Dial(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
