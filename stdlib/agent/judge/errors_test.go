package judge

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaioption "github.com/openai/openai-go/v3/option"

	"starling/lang/effect"
)

// refusal is an answer that is no stream.
type refusal struct {
	status int
	body   string
	header func(now time.Time) map[string]string // nil for none
}

func (r refusal) headers(now time.Time) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	if r.header != nil {
		for name, value := range r.header(now) {
			h.Set(name, value)
		}
	}
	return h
}

func always(pairs ...string) func(time.Time) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(time.Time) map[string]string { return m }
}

func dated(d time.Duration) func(time.Time) map[string]string {
	return func(now time.Time) map[string]string {
		return map[string]string{"Retry-After": now.Add(d).UTC().Format(http.TimeFormat)}
	}
}

// fate is what becomes of a request that failed: whether it is tried again, and how long the server
// has it wait.
type fate struct {
	again bool
	wait  time.Duration // 0 where the server says nothing
}

// theirFate sends a request through the official client, in time that passes at once, and sees
// whether it sends another.
func theirFate(t *testing.T, backend string, answer func(now time.Time) (*http.Response, error), told bool) (f fate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			response, err := answer(time.Now())
			if response != nil {
				response.Request = r
			}
			return response, err
		})}
		var err error
		if backend == "openai" {
			service := completions("http://test", openaioption.WithHTTPClient(client), openaioption.WithMaxRetries(1))
			stream := service.NewStreaming(t.Context(), openaiLook)
			for stream.Next() {
			}
			err = stream.Err()
		} else {
			service := messages("http://test", anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(1))
			stream := service.NewStreaming(t.Context(), anthropicLook)
			for stream.Next() {
			}
			err = stream.Err()
		}
		if err == nil {
			t.Errorf("%s: theirs has not failed", backend)
		}
		if f.again = len(at) > 1; f.again && told {
			f.wait = at[1].Sub(at[0])
		}
	})
	return f
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ourFate is what becomes of one of ours.
func ourFate(t *testing.T, srv *server, backend string, answer func(http.ResponseWriter)) (f fate, message string) {
	t.Helper()
	s := newStarling(t, backend, srv.URL, "")
	var reply effect.Reply
	asked := srv.play(func(w http.ResponseWriter, _ int) { answer(w) }, func() { reply = s.ask() })
	if reply.Err == nil || len(asked) > 1 {
		t.Fatalf("%s: %d requests came to %v", backend, len(asked), reply.Text)
	}
	return fate{reply.Class == effect.Retryable, reply.After}, reply.Err.Message
}

func (f fate) near(g fate) bool {
	return f.again == g.again && (f.wait-g.wait).Abs() < 2*time.Second // a date has no parts of a second
}

// The statuses that a request may fail with, with the kinds that the APIs name them by.
var statuses = map[int]string{400: "invalid_request_error", 401: "authentication_error", 402: "payment", 403: "permission_error", 404: "not_found_error",
	408: "timeout_error", 409: "conflict", 413: "request_too_large", 422: "unprocessable", 429: "rate_limit_error", 500: "api_error", 502: "", 503: "", 504: "timeout_error", 529: "overloaded_error"}

// waits are what servers say of when to come again.
var waits = map[string]func(time.Time) map[string]string{
	"nothing": nil, "seconds": always("Retry-After", "17"), "parts of a second": always("Retry-After", "2.5"), "a date": dated(40 * time.Second),
	"a date that has been": dated(-time.Minute), "milliseconds": always("Retry-After-Ms", "3500"), "both": always("Retry-After-Ms", "4500", "Retry-After", "60"),
	"not again": always("X-Should-Retry", "false", "Retry-After", "5"), "again": always("X-Should-Retry", "true", "Retry-After", "5"),
	"what is no header of theirs": always("X-Should-Retry", "perhaps", "Retry-After", "6"),
}

// Both say of a refusal whether and when the request is sent again, whatever form its body has.
func TestRefusals(t *testing.T) {
	srv := newServer(t)
	for _, backend := range []string{"anthropic", "openai"} {
		for status, kind := range statuses {
			for form, body := range map[string]string{"JSON": fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"the words","code":null,"param":null}}`, kind),
				"a text as error": `{"error":"the words"}`, "words": "<html>the words</html>", "nothing": ""} {
				for name, header := range waits {
					r := refusal{status, body, header}
					own, message := ourFate(t, srv, backend, r.write)
					theirs := theirFate(t, backend, r.response, header != nil)
					if !own.near(theirs) {
						t.Errorf("%s, %d, %s, %s: ours %+v, theirs %+v", backend, status, form, name, own, theirs)
					}
					if !strings.Contains(message, fmt.Sprint(status)) || body != "" && !strings.Contains(message, "the words") {
						t.Errorf("%s, %d, %s: the message says %q", backend, status, form, message)
					}
				}
			}
		}
	}
}

func (r refusal) write(w http.ResponseWriter) {
	for name, values := range r.headers(time.Now()) {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body) // the client may have gone
}

func (r refusal) response(now time.Time) (*http.Response, error) {
	return &http.Response{StatusCode: r.status, Header: r.headers(now), Body: io.NopCloser(strings.NewReader(r.body))}, nil
}

// refusedOtherwise are refusals that ours judges otherwise, and is to. One that both judge alike
// fails the test.
var refusedOtherwise = []struct {
	name, backend, why string
	refusal
	own fate
}{
	{"no money left", "openai", "it comes with 429, and no time of waiting brings money",
		refusal{429, `{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"no"}}`, nil}, fate{}},
	{"no money left", "anthropic", "likewise, where a proxy has it with 429",
		refusal{429, `{"type":"error","error":{"type":"billing_error","message":"no"}}`, nil}, fate{}},
	{"overloaded, with a status of its own", "anthropic", "the kind says more than the status that a proxy has made of it",
		refusal{400, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, nil}, fate{again: true}},
	{"a long wait", "openai", "a run can wait for an hour, and another backend may serve before that; theirs gives up at two minutes",
		refusal{429, "{}", always("Retry-After", "3600")}, fate{true, time.Hour}},
	{"a wait of no length", "anthropic", "it says nothing about seconds, which stand beside it",
		refusal{429, "{}", always("Retry-After-Ms", "0", "Retry-After", "9")}, fate{true, 9 * time.Second}},
	{"another server", "anthropic", "the request has a key, which stays with the server that the project names",
		refusal{307, "", always("Location", "http://127.0.0.1:9/", "X-Should-Retry", "perhaps")}, fate{}},
}

// What ours judges otherwise, and is to.
func TestRefusedOtherwise(t *testing.T) {
	srv := newServer(t)
	for _, c := range refusedOtherwise {
		own, _ := ourFate(t, srv, c.backend, c.write)
		if !own.near(c.own) {
			t.Errorf("%s, %s: ours comes to %+v, want %+v", c.backend, c.name, own, c.own)
		}
		sent := 0
		theirs := theirFate(t, c.backend, func(now time.Time) (*http.Response, error) {
			if sent++; c.status == 307 && sent > 1 {
				return nil, io.ErrUnexpectedEOF // it has followed
			}
			return c.response(now)
		}, c.header != nil)
		if own.near(theirs) {
			t.Errorf("%s, %s: theirs comes to the same by now: move it to the others", c.backend, c.name)
		}
	}
}

// A connection that ends before there is an answer is tried again by both.
func TestNoAnswer(t *testing.T) {
	srv := newServer(t)
	for _, backend := range []string{"anthropic", "openai"} {
		own, _ := ourFate(t, srv, backend, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
		theirs := theirFate(t, backend, func(time.Time) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, false)
		if own != theirs || !own.again {
			t.Errorf("%s: ours %+v, theirs %+v", backend, own, theirs)
		}
	}
}

// An error within a stream is a failure for both, wherever it comes. Theirs sends nothing again
// that has begun: that is its user's to do, and the runtime does.
func TestErrorsWithinStreams(t *testing.T) {
	srv := newServer(t)
	for _, backend := range []string{"anthropic", "openai"} {
		s := newStarling(t, backend, srv.URL, "")
		all := openaiStream(says("All is well.")).events("stop")
		if backend == "anthropic" {
			all = anthropicStream(says("All is well.")).events("end_turn")
		}
		for at := range all {
			for _, trouble := range []event{{"error", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`}, {"error", `{"error":{"message":"broken","code":500}}`},
				{"message_delta", "{\"type\": \"message_delta\", \"del"}, {"message_delta", "busy"}} {
				text := write(append(append([]event{}, all[:at]...), append([]event{trouble}, all[at:]...)...), nil)
				own, theirs := judged(t, srv, s, backend, in([]string{text}))
				if own.Failed == "" || theirs.Failed == "" {
					t.Errorf("%s, %s before the event %d\nours   %v\ntheirs %v", backend, trouble.data, at, own, theirs)
				}
				if f, message := ourFate(t, srv, backend, in([]string{text})); !f.again {
					t.Errorf("%s, %s before the event %d: it is final: %s", backend, trouble.data, at, message)
				}
			}
		}
	}
}
