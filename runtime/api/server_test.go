package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

func awayState(err error) api.State {
	var a *api.Away
	if errors.As(err, &a) {
		return a.State
	}
	return ""
}

// TestStates follows an owner through its life.
func TestStates(t *testing.T) {
	s := api.NewServer(api.Options{Build: "v1", Store: "/store"})
	path := listen(t, s)
	if _, err := api.Dial(within(t), path); awayState(err) != api.Starting || err.Error() != "the owner of the store is starting" {
		t.Errorf("before Ready: got %v, want starting", err)
	}
	resp, content := raw(t, path, "GET", "/run?run=x", "1", "")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(content, "the owner of the store is starting") {
		t.Errorf("before Ready: got %d %s", resp.StatusCode, content)
	}

	s.Ready(open(t))
	c := dial(t, path)
	if h := c.Hello(); h.Build != "v1" || h.Store != "/store" || h.State != api.Serving {
		t.Errorf("got hello %+v", h)
	}
	start(t, c)

	s.Drain()
	if _, err := c.Get(within(t), "@last"); awayState(err) != api.Leaving {
		t.Errorf("after Drain: got %v, want leaving", err)
	}
	if _, err := api.Dial(within(t), path); awayState(err) != api.Leaving {
		t.Errorf("a client that comes after Drain: got %v, want leaving", err)
	}
	s.Resume()
	if _, err := c.Get(within(t), "@last"); err != nil {
		t.Errorf("after Resume: got %v", err)
	}

	s.Close()
	if _, err := c.Get(within(t), "@last"); awayState(err) != api.Gone {
		t.Errorf("after Close: got %v, want gone", err)
	}
}

// TestQuietCountsClients checks what keeps an owner from leaving: streams, attachments, calls in
// flight.
func TestQuietCountsClients(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	hold := func(ctx context.Context) {
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	s, path := serve(t, stub{
		get: func(ctx context.Context, run string) (*runtime.Run, error) {
			hold(ctx)
			return &runtime.Run{ID: run}, nil
		},
		watch: func(ctx context.Context, _ runtime.WatchRequest, _ func(runtime.Event) error) error {
			hold(ctx)
			return nil
		},
	}, api.Options{})
	c := dial(t, path)
	busy := func(what string) {
		t.Helper()
		if s.Quiet() >= 0 || s.DrainIfQuiet(0) {
			t.Errorf("with %s the server says it is quiet", what)
		}
	}

	attached, detach := context.WithCancel(within(t))
	if _, err := c.Attach(attached); err != nil {
		t.Fatal(err)
	}
	busy("a client attached")
	detach()
	untilQuiet(t, s)

	done := make(chan error)
	go func() { _, err := c.Get(within(t), "x"); done <- err }()
	<-entered
	busy("a call in flight")
	release <- struct{}{}
	<-done
	untilQuiet(t, s)

	go func() { done <- c.Watch(within(t), runtime.WatchRequest{Run: "x", Follow: true}, nil) }()
	<-entered
	busy("a watch")
	release <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
	untilQuiet(t, s)

	if s.DrainIfQuiet(time.Hour) {
		t.Error("it has been quiet for a moment and drains as if it were an hour")
	}
	if !s.DrainIfQuiet(0) || s.DrainIfQuiet(0) {
		t.Error("a quiet server drains, once")
	}
}

// untilQuiet waits for the server to notice that a client has gone.
func untilQuiet(t *testing.T, s *api.Server) {
	t.Helper()
	for ctx := within(t); s.Quiet() < 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("the server counts a client that has gone")
		}
	}
}

// TestLeavingCutsAfterTheStoreIsFree checks that who waits for an answer or an event while the
// owner leaves hears of it when Close is called, not when the engine closes under it: that is when
// trying elsewhere makes sense.
func TestLeavingCutsAfterTheStoreIsFree(t *testing.T) {
	closed, leaves := errors.New("the engine is closed"), runtime.Refusef(runtime.ErrOwnerUnreachable, "the engine is leaving")
	entered, engineCloses := make(chan struct{}, 3), make(chan struct{})
	s, path := serve(t, stub{
		get: func(context.Context, string) (*runtime.Run, error) {
			entered <- struct{}{}
			<-engineCloses
			return nil, closed
		},
		watch: func(_ context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
			if w.Run == "talks" {
				fn(runtime.Event{Seq: 1, Run: w.Run})
			}
			entered <- struct{}{}
			<-engineCloses
			return leaves
		},
	}, api.Options{})
	c := dial(t, path)
	lost, err := c.Attach(within(t))
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 3)
	go func() { _, err := c.Get(within(t), "x"); answers <- err }()
	for _, run := range []string{"talks", "silent"} {
		go func() {
			answers <- c.Watch(within(t), runtime.WatchRequest{Run: run, Follow: true}, func(runtime.Event) error { return nil })
		}()
	}
	for range 3 {
		<-entered
	}
	s.Drain()
	close(engineCloses)
	select {
	case err := <-answers:
		t.Fatalf("got %v before Close", err)
	case <-lost:
		t.Fatal("the attachment ended before Close")
	default:
	}
	go s.Close()
	for range 3 {
		if err := <-answers; awayState(err) != api.Leaving {
			t.Errorf("got %v, want leaving", err)
		}
	}
	<-lost
}

func TestContextsEndOnBothSides(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	_, path := serve(t, stub{get: func(ctx context.Context, run string) (*runtime.Run, error) {
		close(entered)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}, api.Options{})
	c := dial(t, path)
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-entered; cancel() }()
	if _, err := c.Get(ctx, "x"); err != context.Canceled {
		t.Errorf("the caller gets %v, want %v", err, context.Canceled)
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the engine gets %v, want %v", err, context.Canceled)
	}
}

func TestCloseOfAClientEndsItsRequests(t *testing.T) {
	entered := make(chan struct{}, 1)
	_, path := serve(t, stub{get: func(ctx context.Context, _ string) (*runtime.Run, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}, api.Options{})
	c := dial(t, path)
	go func() { <-entered; c.Close() }()
	_, err := c.Get(within(t), "x")
	if awayState(err) != api.Gone || err.Error() != "the owner of the store is gone: this client is closed" {
		t.Errorf("got %v, want gone, for the client is closed", err)
	}
}

// TestKeepAlive watches through many silent periods, any three of which in a row would end the
// stream if there were no comments.
func TestKeepAlive(t *testing.T) {
	_, path := serve(t, open(t), api.Options{KeepAlive: 250 * time.Millisecond})
	c := dial(t, path)
	run := start(t, c)
	comments := make(chan struct{}, 100)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /attach HTTP/1.1\r\nHost: starling\r\nStarling-Protocol: 1\r\n\r\n")
	go func() {
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if lines.Text() == ": keep-alive" {
				comments <- struct{}{}
			}
		}
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(within(t), runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error { return nil })
	}()
	for range 5 {
		<-comments
	}
	if _, err := c.Cancel(within(t), runtime.CancelRequest{Run: run.ID}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the watch ended with %v, want nil: the run has ended", err)
	}
}

// TestSilentOwnerIsLost talks to an owner that has stopped in the middle of everything, as SIGSTOP
// does.
func TestSilentOwnerIsLost(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	asleep := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hello" {
			json.NewEncoder(w).Encode(api.Hello{Protocol: api.Protocol, State: api.Serving, KeepAlive: 100 * time.Millisecond})
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, ": attached\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})}
	go asleep.Serve(l)
	defer asleep.Close()
	c := dial(t, path)
	lost, err := c.Attach(within(t))
	if err != nil {
		t.Fatal(err)
	}
	<-lost
	err = c.Watch(within(t), runtime.WatchRequest{Run: "x", Follow: true}, func(runtime.Event) error { return nil })
	if awayState(err) != api.Gone || err.Error() != "the owner of the store is gone: it has been silent for too long" {
		t.Errorf("got %v, want gone after a silence", err)
	}
}

// TestCutStreamIsNotAnEnd breaks a connection in the middle of a stream.
func TestCutStreamIsNotAnEnd(t *testing.T) {
	_, path := serve(t, stub{watch: func(ctx context.Context, _ runtime.WatchRequest, fn func(runtime.Event) error) error {
		fn(runtime.Event{Seq: 1})
		<-ctx.Done()
		return ctx.Err()
	}}, api.Options{})
	front, cut := throughProxy(t, path)
	var seen []uint64
	err := dial(t, front).Watch(within(t), runtime.WatchRequest{}, func(ev runtime.Event) error {
		seen = append(seen, ev.Seq)
		cut()
		return nil
	})
	if awayState(err) != api.Gone || len(seen) != 1 {
		t.Errorf("got %v after events %v, want gone after one", err, seen)
	}
}

// throughProxy returns a socket that leads to another, and a function that breaks all connections.
func throughProxy(t *testing.T, path string) (front string, cut func()) {
	front = socket(t)
	l, err := net.Listen("unix", front)
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 10)
	go func() {
		defer close(conns)
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", path)
			if err != nil {
				return
			}
			conns <- near
			conns <- far
			go io.Copy(near, far)
			go io.Copy(far, near)
		}
	}()
	return front, func() {
		l.Close()
		for c := range conns {
			c.Close()
		}
	}
}

// TestCloseWithAClientThatDoesNotRead checks that one who does not read does not keep the owner.
func TestCloseWithAClientThatDoesNotRead(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	s, path := serve(t, stub{watch: func(_ context.Context, _ runtime.WatchRequest, fn func(runtime.Event) error) error {
		data, err := json.Marshal(strings.Repeat("x", 1<<20))
		close(begun)
		for n := uint64(1); err == nil; n++ {
			err = fn(runtime.Event{Seq: n, Data: data})
		}
		ended <- err
		return err
	}}, api.Options{})
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /watch HTTP/1.1\r\nHost: starling\r\nStarling-Protocol: 1\r\nContent-Length: 2\r\n\r\n{}")
	<-begun
	s.Drain()
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the write that hangs ended with %v, want %v", err, os.ErrDeadlineExceeded)
	}
	s.Close()
}
