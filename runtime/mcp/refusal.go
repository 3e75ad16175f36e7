package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Codes of JSON-RPC 2.0, section 5.1.
const (
	parseError     = -32700
	invalidRequest = -32600
	internalError  = -32603

	noSession = -32001 // what the SDKs of TypeScript and Python say of one that has ended
)

// sessionEnded says what to do to who comes with a session that is not known: no client finds out
// by itself that an owner of the store may come and go between two of its calls.
const sessionEnded = "the session has ended: it was silent for a quarter of an hour, or Starling was started again; " +
	"initialize a new one and call again, no run is lost"

// worded answers what is no request as JSON-RPC does, with an error object and an id that is null:
// the SDK has plain text for it.
func worded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
			tooLarge := (*http.MaxBytesError)(nil)
			switch {
			case errors.As(err, &tooLarge):
				refuse(w, http.StatusRequestEntityTooLarge, invalidRequest, fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit))
				return
			case err != nil:
				refuse(w, http.StatusBadRequest, parseError, "the request cannot be read: "+err.Error())
				return
			case !json.Valid(body):
				refuse(w, http.StatusBadRequest, parseError, "the request is no JSON")
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		out := &refusals{ResponseWriter: w}
		h.ServeHTTP(out, r)
		if out.status != 0 { // it said no more
			_, _ = out.Write([]byte(http.StatusText(out.status))) // as refuse
		}
	})
}

// refuse writes an error that answers no request in particular.
func refuse(w http.ResponseWriter, status, code int, message string) {
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(struct { // a client that has gone is told nothing
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, message}})
}

// refusals turns what [http.Error] writes into refuse. Everything else passes as it is.
type refusals struct {
	http.ResponseWriter
	status int // of a refusal whose text is still to come
}

// WriteHeader keeps the status of a refusal back.
func (w *refusals) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a refusal in the words of the protocol.
func (w *refusals) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	status, code := w.status, invalidRequest
	w.status = 0
	message := strings.TrimSpace(string(b))
	switch {
	case status == http.StatusNotFound && message == "session not found":
		code, message = noSession, sessionEnded
	case status >= http.StatusInternalServerError:
		code = internalError
	}
	refuse(w.ResponseWriter, status, code, message)
	return len(b), nil
}

// Unwrap is for http.ResponseController.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }
