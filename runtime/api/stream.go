package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// How long one write to a client may take: it does not read, and keeps a goroutine and its place in
// the count of clients.
const (
	stalled        = time.Minute
	stalledLeaving = 2 * time.Second // when the owner waits for it in order to leave
)

// Stream is an answer of server-sent events (HTML Standard, section 9.2). It begins with the first
// write; before that a refusal is a plain answer. A write to a client that does not read fails
// after a minute. Its methods may be called concurrently.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex // protects what is below, and the order of writes
	begun bool

	patience sync.Mutex // protects what is below; apart from mu, for a write that hangs holds that
	stall    time.Duration
}

// NewStream returns the stream that answers a request.
func NewStream(w http.ResponseWriter) *Stream {
	return &Stream{w: w, control: http.NewResponseController(w), stall: stalled}
}

// KeptAlive calls serve, and writes a comment after each such time until it returns, so that no
// proxy takes the silence for an end.
func (st *Stream) KeptAlive(ctx context.Context, every time.Duration, serve func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		st.beat(ctx, every)
	}()
	defer func() {
		cancel()
		<-done
	}()
	return serve(ctx)
}

// beat writes a comment whenever nothing was written for a while, until ctx ends. A client that is
// gone is found out by the connection, not by this.
func (st *Stream) beat(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			st.Comment("keep-alive")
		}
	}
}

// Comment writes a line that clients pass over.
func (st *Stream) Comment(text string) error {
	return st.write([]byte(": " + text + "\n\n"))
}

// Send writes one event: a field, and data, which is one line.
func (st *Stream) Send(field, value string, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\ndata: %s\n\n", field, value, data)
	return st.write(b.Bytes())
}

func (st *Stream) write(text []byte) error {
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

// Begun tells whether anything was written.
func (st *Stream) Begun() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.begun
}

// hurry shortens the patience with a client that does not read, the write that hangs included.
func (st *Stream) hurry() { st.setDeadline(stalledLeaving) }

// setDeadline bounds the write to come, and the one that hangs, with the patience that is left; a
// stall that is not 0 replaces it.
func (st *Stream) setDeadline(stall time.Duration) {
	st.patience.Lock()
	defer st.patience.Unlock()
	if stall != 0 {
		st.stall = stall
	}
	st.control.SetWriteDeadline(time.Now().Add(st.stall))
}
