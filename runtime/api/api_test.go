package api_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/engine"
	"starling/runtime/engine/enginetest"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

// hang bounds a test that waits for what never comes.
const hang = 30 * time.Second

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

// socket is a path that is short enough for one.
func socket(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// listen serves s at a new socket until the test ends.
func listen(t testing.TB, s *api.Server) string {
	t.Helper()
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	return path
}

// serve serves an engine with options and returns the server and its socket.
func serve(t testing.TB, e runtime.Engine, o api.Options) (*api.Server, string) {
	t.Helper()
	s := api.NewServer(o)
	path := listen(t, s)
	s.Ready(e)
	return s, path
}

func dial(t testing.TB, path string) *api.Client {
	t.Helper()
	c, err := api.Dial(within(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// open is an engine over a store in memory.
func open(t *testing.T) *engine.Local {
	t.Helper()
	e, err := enginetest.Open(memory.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

const review = `
def main():
    d = gate("review", options = ["approve", "reject"])
    return d.choice
`

func start(t *testing.T, e runtime.Engine) *runtime.Run {
	t.Helper()
	run, err := e.Start(within(t), runtime.StartRequest{Bundle: enginetest.Bundle(review), Script: "review.star"})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestClientIsAnEngine(t *testing.T) {
	user, err := api.Authenticate(api.Self(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := runtimetest.Subject{
		User:   user.Name,
		Bundle: enginetest.Bundle,
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			e := open(t)
			return func(c runtime.Caller) runtime.Engine { return clientFor(t, e, c) }
		},
	}
	runtimetest.TestEngine(t, s)
	runtimetest.TestExtensions(t, s)
}

// clientFor connects to a server of its own, which takes every peer for the caller. A stranger does
// not get in, and is shown the engine itself.
func clientFor(t *testing.T, e runtime.Engine, c runtime.Caller) runtime.Engine {
	uid := os.Geteuid()
	if c.Name == "" {
		uid++
	}
	_, path := serve(t, e, api.Options{
		Peer:     func(net.Conn) (api.Peer, error) { return api.Peer{PID: 4711, UID: uid}, nil },
		Identify: func(int) (string, string, error) { return c.Agent, c.Run, nil },
	})
	client, err := api.Dial(within(t), path)
	if c.Name == "" {
		if runtime.AsRefusal(err).Kind != runtime.ErrDenied {
			t.Errorf("a stranger got %v, want denied", err)
		}
		return runtimetest.As(e, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
