package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"starling/runtime"
)

// How long one write to a client may take: it does not read, and keeps a goroutine and its place in
// the count of clients.
const (
	stalled        = time.Minute
	stalledLeaving = 2 * time.Second // when the owner waits for it in order to leave
)

// stream is an answer of events. It begins with the first write.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex // protects what is below, and the order of writes
	begun bool

	patience sync.Mutex // protects what is below; apart from mu, for a write that hangs holds that
	stall    time.Duration
}

// stream makes a handler of an answer of events. While it is open the client counts as attached.
func (s *Server) stream(serve func(context.Context, runtime.Engine, *stream, *http.Request) error) http.Handler {
	return s.handler(false, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		e, err := s.begin()
		if err != nil {
			return err
		}
		st := &stream{w: w, control: http.NewResponseController(w), stall: stalled}
		if !s.enter(st) {
			return runtime.Refuse(runtime.ErrOwnerUnreachable, "try again in a moment", "the owner serves %d streams at once, which is as many as it can", maxStreams)
		}
		defer s.leave(st)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		beat := make(chan struct{})
		go func() {
			defer close(beat)
			st.beat(ctx, s.options.KeepAlive)
		}()
		err = guarded(func() error {
			ctx, err := bearer(ctx, e, r)
			if err != nil {
				return err
			}
			return serve(ctx, e, st, r)
		})
		cancel()
		<-beat
		return s.finish(st, err)
	})
}

// enter turns a call into a stream, if there may be one more.
func (s *Server) enter(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if len(s.streams) >= maxStreams {
		return false
	}
	s.streams[st] = struct{}{}
	return true
}

func (s *Server) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	s.lastCall = time.Now()
}

// attach keeps a client counted until one of the two goes.
func (s *Server) attach(ctx context.Context, _ runtime.Engine, st *stream, _ *http.Request) error {
	if err := st.comment("attached"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return &Away{State: Leaving}
	}
}

func (s *Server) watch(ctx context.Context, e runtime.Engine, st *stream, r *http.Request) error {
	var q runtime.WatchRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	return e.Watch(runtime.WithRoom(ctx, s.lent), q, func(ev runtime.Event) error {
		data, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		return st.send("id", fmt.Sprint(ev.Seq), data)
	})
}

// finish says how the stream ended, or, where it has not begun, leaves the answer to the handler.
func (s *Server) finish(st *stream, err error) error {
	defer st.control.SetWriteDeadline(time.Time{}) // the connection may serve other requests
	if err == nil {
		st.send("event", eventEnd, []byte("{}"))
		return nil
	}
	if !st.hasBegun() {
		return err
	}
	refusal := runtime.AsRefusal(err)
	if s.cutByLeaving(refusal) {
		<-s.closed
		st.send("event", eventLeaving, []byte("{}"))
		return nil
	}
	data, err := json.Marshal(refusalBody{refusal})
	if err == nil {
		st.send("event", eventError, data)
	}
	return nil
}

// beat writes a comment whenever nothing was written for a while, until ctx ends. A client that is
// gone is found out by the connection, not by this.
func (st *stream) beat(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			st.comment("keep-alive")
		}
	}
}

func (st *stream) comment(text string) error {
	return st.write([]byte(": " + text + "\n\n"))
}

// send writes one event: a field, and data, which is one line.
func (st *stream) send(field, value string, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\ndata: %s\n\n", field, value, data)
	return st.write(b.Bytes())
}

func (st *stream) write(text []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.begun {
		st.begun = true
		st.w.Header().Set("Content-Type", typeStream)
		st.w.Header().Set("Cache-Control", "no-store")
		st.w.WriteHeader(http.StatusOK)
	}
	st.setDeadline(0)
	if _, err := st.w.Write(text); err != nil {
		return err
	}
	return st.control.Flush()
}

func (st *stream) hasBegun() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.begun
}

// hurry shortens the patience with a client that does not read, the write that hangs included.
func (st *stream) hurry() { st.setDeadline(stalledLeaving) }

// setDeadline bounds the write to come, and the one that hangs, with the patience that is left; a
// stall that is not 0 replaces it.
func (st *stream) setDeadline(stall time.Duration) {
	st.patience.Lock()
	defer st.patience.Unlock()
	if stall != 0 {
		st.stall = stall
	}
	st.control.SetWriteDeadline(time.Now().Add(st.stall))
}
