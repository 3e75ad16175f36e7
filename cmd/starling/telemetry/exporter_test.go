package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/cmd/starling/trace"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/metrics"
	"starling/stdlib/project"
)

// ended is an engine with one run, which has ended.
type ended struct{ runtime.Engine }

func (ended) Get(_ context.Context, id string) (*runtime.Run, error) {
	return &runtime.Run{ID: id, Script: "x.star", Status: runtime.Completed, Details: &runtime.Details{}}, nil
}

func (ended) Watch(context.Context, runtime.WatchRequest, func(runtime.Event) error) error {
	return nil
}

// told has an exporter of a project told that a run has ended, and gives what comes of it.
func told(t *testing.T, text, channel string) effect.Reply {
	t.Helper()
	x := New(func(name string) (string, bool) { return map[string]string{"OTLP_TOKEN": "hunter2"}[name], true }, time.Now)
	x.Opened(ended{})
	env := x.Within(&effect.Environment{Handlers: map[string]*effect.Handler{"notify": {Perform: func(context.Context, *effect.Attempt) effect.Reply {
		return effect.Reply{Text: "by the other"}
	}}}})
	args := starlark.NewDict(1)
	if err := args.SetKey(starlark.String("channel"), starlark.String(channel)); err != nil {
		t.Fatal(err)
	}
	return env.Handlers["notify"].Perform(t.Context(), &effect.Attempt{Run: "r1", Args: args, Env: x.getenv, Settings: &effect.Settings{ProjectFile: "starling.toml", Project: []byte(text)}})
}

const header = "headers = {Authorization = \"Bearer {otlp}\"}\n[secrets.otlp]\nenv = \"OTLP_TOKEN\"\n"

// What a collector answers decides whether a run is told again, and when. No secret is in what is
// said of it, whatever the collector repeats.
func TestWhatACollectorAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		class  effect.Failure
		after  time.Duration
	}{
		"it takes it": {answer: func(http.ResponseWriter, *http.Request) {}},
		"it is busy": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "not now, "+r.Header.Get("Authorization"), http.StatusServiceUnavailable)
		}, "503 Service Unavailable: not now, Bearer", effect.Retryable, 7 * time.Second},
		"it knows nobody": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "401", effect.Retryable, 0},
		"it cannot read":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, "400", effect.Final, 0},
		"it refuses some": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			io.WriteString(w, "\x0a\x07\x08\x02\x12\x03old")
		}, "it refused 2 of what it was told: old", effect.Final, 0},
		"it hangs": {func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }, "deadline", effect.Retryable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Content-Type")
				c.answer(w, r)
			}))
			defer server.Close()
			timeout := "20s"
			if c.want == "deadline" {
				timeout = "50ms"
			}
			r := told(t, fmt.Sprintf("[telemetry]\nendpoint = %q\ntimeout = %q\n", server.URL, timeout)+header, project.TelemetryChannel)
			said := ""
			if r.Err != nil {
				said = r.Err.Message
			}
			if strings.Contains(said, "hunter2") || (c.want == "") != (r.Err == nil) || !strings.Contains(said, c.want) || r.Err != nil && (r.Class != c.class || r.After != c.after) {
				t.Errorf("got %q (%v, after %v), want %q (%v, after %v)", said, r.Class, r.After, c.want, c.class, c.after)
			}
			if asked != "/v1/traces Bearer hunter2 application/x-protobuf" {
				t.Errorf("it was asked %s", asked)
			}
		})
	}
}

// Who is told by others is told by them, and a project without a collector tells none.
func TestOtherChannels(t *testing.T) {
	if r := told(t, "", "ops"); r.Text != "by the other" {
		t.Errorf("got %+v", r)
	}
	if r := told(t, "", project.TelemetryChannel); r.Err == nil || !strings.Contains(r.Err.Message, "there is no [telemetry]") {
		t.Errorf("got %+v", r)
	}
}

// TestMetrics: families keep their names on their way through a collector to Prometheus, and
// attempts are counted where the conventions want them.
func TestMetrics(t *testing.T) {
	began := time.Unix(1, 0)
	list := ofFamilies([]metrics.Family{
		{Name: "starling_runs_ended_total", Kind: metrics.Counter, Help: "h", Samples: []metrics.Sample{{Label: "status", Of: "failed", Value: 2}}},
		{Name: "starling_gates", Kind: metrics.Gauge, Help: "g", Samples: []metrics.Sample{{Value: 0}}},
		{Name: "starling_work", Kind: metrics.Gauge, Help: "none"},
	}, began, time.Unix(2, 0))
	const want = `[{"name":"starling.runs.ended","description":"h","sum":{"dataPoints":[{"attributes":[{"key":"status","value":{"stringValue":"failed"}}],"startTimeUnixNano":"1000000000","timeUnixNano":"2000000000","asDouble":2}],"aggregationTemporality":2,"isMonotonic":true}},` +
		`{"name":"starling.gates","description":"g","gauge":{"dataPoints":[{"timeUnixNano":"2000000000","asDouble":0}]}}]`
	if text, err := json.Marshal(list); err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
	g := newAgents(began)
	g.add([]trace.Attempt{{Agent: "a", Provider: "p", Input: 4, Output: 5, Took: 80 * time.Millisecond}, {Agent: "a", Provider: "p", Failed: "retryable", Took: time.Hour}})
	got := map[string]string{}
	for _, m := range g.metrics(time.Unix(2, 0)) {
		for _, p := range m.Histogram.Points {
			last := p.Attributes[len(p.Attributes)-1]
			got[m.Name+" "+*last.Value.Text] = fmt.Sprintf("%s %v %v %s", p.Count, p.Sum, p.Counts, m.Unit)
		}
	}
	for name, want := range map[string]string{
		"gen_ai.client.token.usage input":            "1 4 [0 1 0 0 0 0 0 0 0 0 0 0 0 0 0] {token}",
		"gen_ai.client.token.usage output":           "1 5 [0 0 1 0 0 0 0 0 0 0 0 0 0 0 0] {token}",
		"gen_ai.client.operation.duration a":         "1 0.08 [0 0 0 1 0 0 0 0 0 0 0 0 0 0 0] s",
		"gen_ai.client.operation.duration retryable": "1 3600 [0 0 0 0 0 0 0 0 0 0 0 0 0 0 1] s",
	} {
		if got[name] != want {
			t.Errorf("%s: got %s, want %s", name, got[name], want)
		}
	}
	if b := bounds(duration); b[0] != 0.01 || b[13] != 81.92 {
		t.Errorf("the bounds of durations are %v", b)
	}
}
