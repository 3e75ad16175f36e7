package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/memory"
	"starling/runtime/tool"
	"starling/runtime/web"
	"starling/stdlib"
)

// outsiders is a handler with an engine in memory, and a token that may do everything.
func outsiders(f testing.TB) (http.Handler, string) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	settings := &effect.Settings{ProjectFile: "/starling.toml", MaxSteps: 20_000, MaxMemory: 16 << 20,
		Project: []byte("[agents.helper]\nbackend = \"inbox\"\n[grants.\"*\"]\nagents = [\"helper\"]\n")}
	e, err := engine.Open(memory.New(), env, engine.Options{
		Project: func() (*effect.Settings, error) { return settings, nil }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { e.Close() })
	desk := &tool.Desk{Engine: e, Env: env, Library: stdlib.Library,
		Prepare: func(*runtime.StartRequest) error { return nil },
		Values:  func([]string) map[string]string { return nil }}
	h, err := web.Handler(web.Options{Desk: desk, Build: "test"})
	if err != nil {
		f.Fatal(err)
	}
	local := runtime.WithCaller(context.Background(), runtime.Caller{Name: "local:ann", Local: true})
	all := []string{"admin", "cancel", "define", "read", "run", "signal"}
	made, err := e.AddToken(local, runtime.TokenRequest{Name: "outsider", Can: all})
	if err != nil {
		f.Fatal(err)
	}
	return h, made.Secret
}

// FuzzRequest: whatever a program sends, the answer is JSON or a stream, a refusal has a kind, and
// none is told of a defect of ours.
func FuzzRequest(f *testing.F) {
	handler, secret := outsiders(f)
	for _, t := range tool.Tools() {
		f.Add("POST", "/v1/"+t.Name, "", `{}`)
	}
	f.Add("GET", "/v1/events?run=@last&follow=false", "3", "")
	f.Add("GET", "/v1/events?run=@last&follow=false&after=18446744073709551615", "", "")
	f.Add("GET", "/v1/blob?hash=00", "", "")
	f.Add("POST", "/v1/run", "", `{"source":"def main(n):\n    return gate(\"g\").payload\n","inputs":{"n":1}}`)
	f.Add("POST", "/v1/signal", "", `{"run":"@last","gate":"g","data":{"a":1,"a":2},"key":"k"}`)
	f.Add("POST", "/v1/push", "", `{"queue":"q","value":null,"key":"k"}`)
	f.Add("POST", "/v1/query", "", `{"filter":"status = suspended and age > 2h","limit":3}`)
	f.Add("POST", "/v1/await", "", `{"run":"@last","hold":0.01}`)
	f.Add("POST", "/v1/define", "", `{"name":"n","source":"def main():\n    pass\n"}`)
	f.Fuzz(func(t *testing.T, method, path, last, body string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			t.Skip("no method")
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			t.Skip("no path")
		}
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Last-Event-ID", last)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		wantNoDefect(t, ctx, w)
	})
}

func wantNoDefect(t *testing.T, ctx context.Context, w *httptest.ResponseRecorder) {
	t.Helper()
	var answer struct{ Error *runtime.Refusal }
	text := w.Body.Bytes()
	switch {
	case ctx.Err() != nil: // it was held too long
	case w.Code == http.StatusInternalServerError:
		t.Errorf("500: %s", text)
	case w.Code >= 400 && w.Header().Get("Content-Type") == "application/json":
		if err := json.Unmarshal(text, &answer); err != nil || answer.Error == nil || answer.Error.Kind == "" {
			t.Errorf("%d without a refusal: %q", w.Code, text)
		}
	case strings.Contains(string(text), `"kind":"internal"`):
		t.Errorf("a defect is told: %s", text)
	}
}

// A word that is longer than a key of the store may be is refused where it comes in, whatever it
// means.
func TestLongWords(t *testing.T) {
	handler, secret := outsiders(t)
	post := func(tool string, args map[string]any) (int, string) {
		body, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return posted(handler, secret, tool, string(body))
	}
	const source = "def main(n = 0):\n    gate(\"g\")\n"
	usual := map[string]any{"run": "@last", "gate": "g", "source": source, "name": "n", "queue": "q", "value": 1,
		"category": "c", "topic": "t", "details": "d", "step": "g", "message": "m", "hold": 0}
	if status, answer := post("run", map[string]any{"source": source}); status != 200 {
		t.Fatal(answer)
	}
	for _, tool := range tool.Tools() {
		fields, _ := tool.Input().Fields()
		for _, long := range fields {
			for _, length := range []int{5_000, 70_000} {
				args := map[string]any{}
				for _, f := range fields {
					if v, ok := usual[f.Name]; ok && f.Required || f.Name == "source" {
						args[f.Name] = v
					}
				}
				args[long.Name] = strings.Repeat("x", length)
				status, answer := post(tool.Name, args)
				if status >= 500 {
					t.Errorf("%s with %s of %d bytes: %d %.200s", tool.Name, long.Name, length, status, answer)
				}
			}
		}
	}
}

func posted(handler http.Handler, secret, tool, body string) (int, string) {
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/"+tool, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+secret)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// A key that stands twice in an object is refused with its path: which of the two was meant, and
// which another reader would have taken, nobody can say.
func TestDoubledKeys(t *testing.T) {
	handler, secret := outsiders(t)
	for _, c := range []struct{ tool, body, path string }{
		{"push", `{"queue": "a", "value": 1, "queue": "b"}`, "queue"},
		{"push", `{"queue": "a", "value": {"list": [1, {"x": 1, "\u0078": 2}]}}`, "value.list[1].x"},
		{"run", `{"source": "def main(n):\n    pass\n", "inputs": {"n": 1, "n": 2}}`, "inputs.n"},
		{"signal", `{"run": "@last", "gate": "g", "data": {"a": {"b": 1, "b": 1}}}`, "data.a.b"},
		{"signal", `{"workflow_id": "@last", "payload": {"choice": "a", "choice": "b"}}`, "payload.choice"},
	} {
		status, answer := posted(handler, secret, c.tool, c.body)
		if status != 400 || !strings.Contains(answer, c.path+": key ") || !strings.Contains(answer, "stands twice") {
			t.Errorf("%s %s: %d %s", c.tool, c.body, status, answer)
		}
	}
}
