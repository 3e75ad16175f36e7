package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A body is read to its bound, whoever mounts the handler; what is within it comes whole to who
// answers, and what that one writes passes, unless it is a refusal in plain text.
func TestWorded(t *testing.T) {
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{`"` + strings.Repeat("x", MaxRequest) + `"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request is larger than 8388608 bytes"}}`, 413},
		{`"echo"`, `"echo"`, 200},
		{`"fail"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"it failed"}}`, 500},
		{`"gone"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"` + sessionEnded + `"}}`, 404},
		{`"html"`, "<p>no</p>", 403},
		{`"mute"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Conflict"}}`, 409},
	} {
		h := worded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, len(c.body))
			n, _ := r.Body.Read(body)
			switch string(body[:n]) {
			case `"fail"`:
				http.Error(w, "it failed", http.StatusInternalServerError)
			case `"gone"`:
				http.Error(w, "session not found", http.StatusNotFound) // as the SDK
			case `"mute"`:
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusConflict)
			case `"html"`:
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte("<p>no</p>")) // a recorder takes all
			default:
				_, _ = w.Write(body[:n])
			}
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(c.body)))
		if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || got != c.want {
			t.Errorf("%.20s: got %d %s, want %d %s", c.body, w.Code, got, c.status, c.want)
		}
	}
}
