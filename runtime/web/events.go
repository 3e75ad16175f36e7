package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/api"
	"starling/runtime/tool"
)

// events streams what happens in a run.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	q, err := watchRequest(r)
	if err != nil {
		return err
	}
	leave, err := enter(s.budget.streams, "streams")
	if err != nil {
		return err
	}
	defer leave()
	st := &stream{w: w, control: http.NewResponseController(w)}
	ctx, cancel := context.WithCancel(runtime.WithRoom(r.Context(), s.budget.lent))
	beat := make(chan struct{})
	go func() {
		defer close(beat)
		st.beat(ctx)
	}()
	err = s.watch(ctx, q, st)
	cancel()
	<-beat
	switch {
	case err == nil:
		return st.send("event: end\ndata: {}\n\n")
	case !st.begun:
		return err
	}
	data, _ := json.Marshal(refusalBody{tool.RefusalOf(err)})    // plain data
	_ = st.send(fmt.Sprintf("event: error\ndata: %s\n\n", data)) // a client that is gone needs no answer
	return nil
}

// watch sends what there is, so that a refusal is a plain answer and the stream has begun when the
// wait does, and then what comes.
func (s *server) watch(ctx context.Context, q runtime.WatchRequest, st *stream) error {
	r, err := s.options.Desk.Engine.Get(ctx, q.Run)
	if err != nil {
		return err
	}
	if q.After > r.Details.Seq { // of another run, or of a store before a backup was restored: what happens up to there would be missed
		return runtime.Refuse(runtime.ErrUsage, "leave it out to begin with the first event", "events: after: got %d, want at most %d, the newest event of run %s", q.After, r.Details.Seq, r.ID)
	}
	send := func(ev runtime.Event) error {
		q.After = ev.Seq
		data, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		return st.send(fmt.Sprintf("id: %d\ndata: %s\n\n", ev.Seq, data))
	}
	follow := q.Follow
	q.Run, q.Follow = r.ID, false // @last is another's in a moment
	if err := s.options.Desk.Engine.Watch(ctx, q, send); err != nil || !follow {
		return err
	}
	if err := st.send(": begun\n\n"); err != nil {
		return err
	}
	q.Follow = true
	return s.options.Desk.Engine.Watch(ctx, q, send)
}

// watchRequest reads what is asked for. Last-Event-ID is what a stream that was cut had sent last,
// and says more than the address with which it began.
func watchRequest(r *http.Request) (runtime.WatchRequest, error) {
	query := r.URL.Query()
	q := runtime.WatchRequest{Run: query.Get("run"), Follow: r.Method != http.MethodHead}
	if q.Run == "" {
		return q, runtime.Refuse(runtime.ErrUsage, "GET /v1/events?run=ID", "events: run: got nothing, want the id of a run")
	}
	switch follow := query.Get("follow"); follow {
	case "", "true":
	case "false":
		q.Follow = false
	default:
		return q, runtime.Refusef(runtime.ErrUsage, "events: follow: got %q, want true or false", follow)
	}
	name, text := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if text == "" {
		name, text = "after", query.Get("after")
	}
	if text == "" {
		return q, nil
	}
	after, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return q, runtime.Refuse(runtime.ErrUsage, "it is the id of an event", "events: %s: got %q, want the number of an event", name, text)
	}
	q.After = after
	return q, nil
}

// stream is an answer of events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex // protects what is below, and the order of writes
	begun bool
}

func (st *stream) send(text string) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.begun {
		st.begun = true
		st.w.Header().Set("Content-Type", "text/event-stream")
		st.w.WriteHeader(http.StatusOK)
	}
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.control.Flush()
}

// beat writes a comment now and then, so that no proxy takes the silence for an end.
func (st *stream) beat(ctx context.Context) {
	tick := time.NewTicker(api.DefaultKeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = st.send(": keep-alive\n\n") // the watch finds out who is gone
		}
	}
}
