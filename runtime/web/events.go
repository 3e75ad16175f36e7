package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

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
	st := api.NewStream(w)
	ctx := runtime.WithRoom(r.Context(), s.budget.lent)
	err = st.KeptAlive(ctx, api.DefaultKeepAlive, func(ctx context.Context) error { return s.watch(ctx, q, st) })
	switch {
	case err == nil:
		return st.Send("event", "end", []byte("{}"))
	case !st.Begun():
		return err
	}
	data, _ := json.Marshal(refusalBody{tool.RefusalOf(err)}) // plain data
	_ = st.Send("event", "error", data)                       // a client that is gone needs no answer
	return nil
}

// watch sends what there is, so that a refusal is a plain answer and the stream has begun when the
// wait does, and then what comes.
func (s *server) watch(ctx context.Context, q runtime.WatchRequest, st *api.Stream) error {
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
		return st.Send("id", fmt.Sprint(ev.Seq), data)
	}
	follow := q.Follow
	q.Run, q.Follow = r.ID, false // @last is another's in a moment
	if err := s.options.Desk.Engine.Watch(ctx, q, send); err != nil || !follow {
		return err
	}
	if err := st.Comment("begun"); err != nil {
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
