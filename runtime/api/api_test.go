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

// fake is an engine with scripts that are source text.
func fake(t *testing.T) *runtimetest.Fake {
	t.Helper()
	f, err := runtimetest.OpenFake("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

const review = `
def main():
    d = gate("review", options = ["approve", "reject"])
    return d.choice
`

func start(t *testing.T, e runtime.Engine) *runtime.Run {
	t.Helper()
	run, err := e.Start(within(t), runtime.StartRequest{Bundle: []byte(review), Script: "review.star"})
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
	runtimetest.TestEngine(t, runtimetest.Subject{
		User:   user.Name,
		Bundle: func(source string) []byte { return []byte(source) },
		Open: func(t *testing.T) func(runtime.Caller) runtime.Engine {
			f := fake(t)
			return func(c runtime.Caller) runtime.Engine { return clientFor(t, f, c) }
		},
	})
}

// clientFor connects to a server of its own, which takes every peer for the caller.
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
	if err != nil {
		return refusing{err}
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// refusing is what is left of an engine for somebody who does not get in: each call would be
// refused as the first is.
type refusing struct{ err error }

func (r refusing) Start(context.Context, runtime.StartRequest) (*runtime.Run, error) {
	return nil, r.err
}
func (r refusing) Signal(context.Context, runtime.Signal) (*runtime.Receipt, error) {
	return nil, r.err
}
func (r refusing) Cancel(context.Context, runtime.CancelRequest) (*runtime.Receipt, error) {
	return nil, r.err
}
func (r refusing) Resume(context.Context, runtime.ResumeRequest) ([]string, error) { return nil, r.err }
func (r refusing) Get(context.Context, string) (*runtime.Run, error)               { return nil, r.err }
func (r refusing) List(context.Context, runtime.Query) (*runtime.Listing, error)   { return nil, r.err }
func (r refusing) Blob(context.Context, string) ([]byte, error)                    { return nil, r.err }
func (r refusing) Close() error                                                    { return nil }
func (r refusing) Watch(context.Context, runtime.WatchRequest, func(runtime.Event) error) error {
	return r.err
}
