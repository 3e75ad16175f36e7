package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"starling/runtime"
)

// What all clients together may hold of the owner's memory. Nobody knows who is slow and who means
// harm: whoever finds no room waits for some, or is refused and told when to come back.
const (
	maxRequests = 512      // at once, streams among them; each holds some 30 KB
	maxStreams  = 256      // each holds some 60 KB
	bodyRoom    = 16 << 20 // bytes, for bodies that are larger than smallBody
	smallBody   = 32 << 10
	lentRoom    = 16 << 20 // bytes, for large events and answers that were not taken yet
	smallAnswer = 64 << 10 // bytes
	maxWebhooks = 16       // at once, of senders that are not known yet
	hookBody    = 1 << 20  // bytes of what one of them posts
	hookWithin  = 10 * time.Second
	comeBack    = 2               // seconds, for those who are refused
	defaultWait = 5 * time.Second // for room
)

// budget is what is left.
type budget struct {
	requests, streams, webhooks chan struct{} // as many as there may be
	bodies, lent                *runtime.Room
	wait                        time.Duration // for room
}

func newBudget(wait time.Duration) *budget {
	if wait == 0 {
		wait = defaultWait
	}
	return &budget{requests: make(chan struct{}, maxRequests), streams: make(chan struct{}, maxStreams), webhooks: make(chan struct{}, maxWebhooks),
		bodies: runtime.NewRoom(bodyRoom), lent: runtime.NewRoom(lentRoom), wait: wait}
}

// errBusy is what gets who finds no room.
type errBusy struct{ *runtime.Refusal }

// Unwrap gives the refusal.
func (e errBusy) Unwrap() error { return e.Refusal }

// busy refuses what there is no room for.
func busy(format string, args ...any) error {
	return errBusy{runtime.Refuse(runtime.ErrOwnerUnreachable, "try again in a moment, as Retry-After says", format, args...)}
}

// enter takes one of some places, and gives it back when the request is over.
func enter(places chan struct{}, what string) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, busy("the server serves %d %s at once, which is its limit", cap(places), what)
	}
}

// arrive reads a body, all of it and within its time; done gives its room back. Afterwards there
// is no deadline: one that passed while a call is held would look like a client that is gone.
func (b *budget) arrive(w http.ResponseWriter, r *http.Request) (done func(), err error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // what cannot have a deadline is no connection
	body, done, err := b.read(w, r)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		err = errTooLarge{runtime.Refusef(runtime.ErrBadPayload, "%s: got a body of more than %d bytes", r.URL.Path, large.Limit)}
	} else if none := (errBusy{}); err != nil && !errors.As(err, &none) {
		err = runtime.Refusef(runtime.ErrUsage, "the body did not arrive: %v", err)
	}
	if err != nil {
		done()
		return nil, err
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return done, nil
}

// read reads a body. One that is not small first takes room for all of it, so that of those that
// wait none holds what another needs.
func (b *budget) read(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	done = func() {}
	from := http.MaxBytesReader(w, r.Body, MaxBody)
	if r.ContentLength > MaxBody {
		return nil, done, &http.MaxBytesError{Limit: MaxBody}
	}
	begin, err := io.ReadAll(io.LimitReader(from, smallBody))
	if err != nil || len(begin) < smallBody {
		return begin, done, err
	}
	size := r.ContentLength
	if size < 0 {
		size = MaxBody
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.wait)
	defer cancel()
	release, err := b.bodies.Take(ctx, size)
	if err != nil {
		return nil, done, busy("%s: the bodies of others fill the %d MiB that there are for them", r.URL.Path, bodyRoom>>20)
	}
	whole := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // it does not grow
	whole.Write(begin)
	_, err = whole.ReadFrom(from)
	return whole.Bytes(), release, err
}

// answer sends a content whose text is there. A large one takes room until it was taken.
func (b *budget) answer(w http.ResponseWriter, contentType string, content []byte) error {
	if len(content) > smallAnswer {
		release, ok := b.lent.Try(int64(len(content)))
		if !ok {
			return busy("answers that others have not read fill the %d MiB that there are for them", lentRoom>>20)
		}
		defer release()
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content) // a client that is gone needs no answer
	return nil
}

// encoded is a value as JSON, with <, > and & as they are.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// retryAfter says when to come back.
func retryAfter(w http.ResponseWriter) { w.Header().Set("Retry-After", strconv.Itoa(comeBack)) }
