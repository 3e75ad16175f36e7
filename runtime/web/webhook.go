package web

import (
	"errors"
	"io"
	"net/http"
	"time"

	"starling/runtime"
)

// webhook takes what somebody posts who is not known before all of it was read: so it may be as
// large as such things are, and no more, and few are read at once.
func (s *server) webhook(w http.ResponseWriter, r *http.Request) {
	answer, err := s.take(w, r)
	if err == nil {
		var text []byte
		if text, err = encoded(answer); err == nil {
			err = s.budget.answer(w, "application/json", text)
		}
	}
	if err != nil {
		refuse(w, err)
	}
}

func (s *server) take(w http.ResponseWriter, r *http.Request) (any, error) {
	leave, err := enter(s.budget.webhooks, "webhooks")
	if err != nil {
		return nil, err
	}
	defer leave()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(hookWithin)) // what cannot have a deadline is no connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, hookBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, errTooLarge{runtime.Refusef(runtime.ErrBadPayload, "%s: got a body of more than %d bytes", r.URL.Path, large.Limit)}
	}
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "the body did not arrive: %v", err)
	}
	_ = control.SetReadDeadline(time.Time{})
	return s.options.Webhooks(r, r.PathValue("name"), body)
}
