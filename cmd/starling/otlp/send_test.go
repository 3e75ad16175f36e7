package otlp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// envOf is an environment.
func envOf(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if v, ok := strings.CutPrefix(p, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

// The variables mean what the specification says: those of traces go before the general ones, and
// only the general address is a base.
func TestWhereSpansAreSent(t *testing.T) {
	for want, env := range map[string][]string{
		"http://localhost:4318/v1/traces 10s":         nil,
		"https://c.example/otlp/v1/traces 10s":        {"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example/otlp/"},
		"https://t.example/x 10s":                     {"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t.example/x"},
		"http://localhost:4318/v1/traces 1.5s a=b c;": {"OTEL_EXPORTER_OTLP_HEADERS= a=b%20c ", "OTEL_EXPORTER_OTLP_TIMEOUT=1500"},
		"http://localhost:4318/v1/traces 10s k=1; l=2;": {"OTEL_EXPORTER_OTLP_HEADERS=x=y", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=k=1,l=2", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json"},
	} {
		to, err := TargetOf(envOf(env...))
		got := to.Spans + " " + to.Timeout.String()
		for _, kv := range to.Headers {
			got += " " + kv[0] + "=" + kv[1] + ";"
		}
		if err != nil || got != want {
			t.Errorf("%v: got %s, want %s (%v)", env, got, want, err)
		}
	}
	for want, env := range map[string]string{
		"want http/protobuf or http/json": "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"want an address":                 "OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x",
		"want milliseconds":               "OTEL_EXPORTER_OTLP_TIMEOUT=10s",
		"want KEY=VALUE, percent-enc":     "OTEL_EXPORTER_OTLP_HEADERS=a=%zz",
		"OTEL_EXPORTER_OTLP_HEADERS: wa":  "OTEL_EXPORTER_OTLP_HEADERS=hunter2",
	} {
		if _, err := TargetOf(envOf(env)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %s and no secret", env, err, want)
		}
	}
}

// What a collector says decides whether spans were told. Where it sends elsewhere nothing is sent,
// for the headers are for it alone.
func TestWhatACollectorSays(t *testing.T) {
	var elsewhere bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"it takes them": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }, ""},
		"an empty body": {func(http.ResponseWriter, *http.Request) {}, ""},
		"a warning": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"0","errorMessage":"slow"}}`)
		}, ""},
		"it refuses": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`)
		}, "it refused 1 of what it was told: too old"},
		"as a number": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"partialSuccess":{"rejectedSpans":1,"errorMessage":"too old"}}`)
		}, "it refused 1 of what it was told"},
		"it is busy": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) }, "503 Service Unavailable: later"},
		"it sends away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "307"},
		"it never speaks": {func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			var body Spans
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				if name != "it never speaks" {
					json.NewDecoder(r.Body).Decode(&body)
				}
				c.answer(w, r)
			}))
			defer server.Close()
			to := Target{Spans: server.URL + "/v1/traces?key=hunter2", Headers: [][2]string{{"Authorization", "Bearer hunter2"}}, Timeout: time.Minute, Protocol: JSON}
			if c.want == "deadline" {
				to.Timeout = time.Millisecond
			}
			err := to.Send(t.Context(), &Spans{[]ResourceSpans{{Scopes: []ScopeSpans{{Spans: []Span{{TraceID: "t"}}}}}}})
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got %v, want %q and no secret", err, c.want)
			}
			if c.want == "deadline" {
				return // it may be over before anything has arrived
			}
			if got.Get("Content-Type") != "application/json" || got.Get("Authorization") != "Bearer hunter2" {
				t.Errorf("it was sent the headers %v", got)
			}
			if name == "it takes them" && body.Resources[0].Scopes[0].Spans[0].TraceID != "t" {
				t.Errorf("it was sent %+v", body)
			}
		})
	}
	if elsewhere {
		t.Error("a redirect was followed")
	}
}
