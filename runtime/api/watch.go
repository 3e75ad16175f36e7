package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"starling/runtime"
)

// stream makes a handler of an answer of events. While it is open the client counts as attached.
func (s *Server) stream(serve func(context.Context, runtime.Engine, *Stream, *http.Request) error) http.Handler {
	return s.handler(false, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		e, err := s.begin()
		if err != nil {
			return err
		}
		st := NewStream(w)
		if !s.enter(st) {
			return runtime.Refuse(runtime.ErrOwnerUnreachable, "try again in a moment", "the owner serves %d streams at once, which is its limit", maxStreams)
		}
		defer s.leave(st)
		err = st.KeptAlive(ctx, s.options.KeepAlive, func(ctx context.Context) error {
			return guarded(func() error {
				ctx, err := bearer(ctx, e, r)
				if err != nil {
					return err
				}
				return serve(ctx, e, st, r)
			})
		})
		return s.finish(st, err)
	})
}

// enter turns a call into a stream, if there may be one more.
func (s *Server) enter(st *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if len(s.streams) >= maxStreams {
		return false
	}
	s.streams[st] = struct{}{}
	return true
}

func (s *Server) leave(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	s.lastCall = time.Now()
}

// attach keeps a client counted until one of the two goes.
func (s *Server) attach(ctx context.Context, _ runtime.Engine, st *Stream, _ *http.Request) error {
	if err := st.Comment("attached"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return &Away{State: Leaving}
	}
}

func (s *Server) watch(ctx context.Context, e runtime.Engine, st *Stream, r *http.Request) error {
	var q runtime.WatchRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	return e.Watch(runtime.WithRoom(ctx, s.lent), q, func(ev runtime.Event) error {
		data, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		return st.Send("id", fmt.Sprint(ev.Seq), data)
	})
}

// finish says how the stream ended, or, where it has not begun, leaves the answer to the handler.
func (s *Server) finish(st *Stream, err error) error {
	defer st.control.SetWriteDeadline(time.Time{}) // the connection may serve other requests
	if err == nil {
		st.Send("event", eventEnd, []byte("{}"))
		return nil
	}
	if !st.Begun() {
		return err
	}
	refusal := runtime.AsRefusal(err)
	if s.cutByLeaving(refusal) {
		<-s.closed
		st.Send("event", eventLeaving, []byte("{}"))
		return nil
	}
	data, err := json.Marshal(refusalBody{refusal})
	if err == nil {
		st.Send("event", eventError, data)
	}
	return nil
}
