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

// events streams what happens in a run. It begins with the first event, so that a refusal is a plain answer.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	q, err := watchRequest(r)
	if err != nil {
		return err
	}
	st := &stream{w: w, control: http.NewResponseController(w)}
	ctx, cancel := context.WithCancel(r.Context())
	beat := make(chan struct{})
	go func() {
		defer close(beat)
		st.beat(ctx)
	}()
	err = s.options.Desk.Engine.Watch(ctx, q, func(ev runtime.Event) error {
		data, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		return st.send(fmt.Sprintf("id: %d\ndata: %s\n\n", ev.Seq, data))
	})
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

// watchRequest reads what is asked for. Last-Event-ID is what a stream that was cut had sent last, and says more than the address with which it began.
func watchRequest(r *http.Request) (runtime.WatchRequest, error) {
	query := r.URL.Query()
	q := runtime.WatchRequest{Run: query.Get("run"), Follow: query.Get("follow") != "false"}
	if q.Run == "" {
		return q, runtime.Refuse(runtime.ErrUsage, "GET /v1/events?run=ID", "events: run: got nothing, want the id of a run")
	}
	for _, text := range []string{r.Header.Get("Last-Event-ID"), query.Get("after")} {
		if text == "" {
			continue
		}
		after, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return q, runtime.Refuse(runtime.ErrUsage, "it is the id of an event", "got %q, want the number of an event", text)
		}
		q.After = after
		break
	}
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
