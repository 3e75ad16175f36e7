package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"starling/stdlib/agent/modeltest"
)

// The server of models that the programs of others are played with does as it is told, in the words
// of each API.
func TestModelsAreTold(t *testing.T) {
	models := modeltest.Start(t)
	for backend, url := range map[string]string{"anthropic": models.URL, "openai": models.URL + "/v1"} {
		s := newStage(t, fmt.Sprintf("[agents.a]\nbackend = %q\nmodel = 'm'\nurl = %q\nenv = ['KEY']\n", backend, url), "")
		s.vars["KEY"] = "hunter2-key"
		for plan, want := range map[string]string{
			`[{"text": "All is well."}]`: `ok text="All is well."`,
			`[{"structured": {"n": 1}}]`: `ok text="{\"n\": 1}"`,
			`[]`:                         `ok text="` + modeltest.PlanOver + `"`,
			`[{"status": 401}]`:          "final agent: a: the API says 401 told: as it was told",
			`[{"status": 429, "header": {"Retry-After": "1"}}]`:          "retryable agent: a: the API says 429 told: as it was told",
			`[{"status": 503, "once": true, "text": "` + backend + `"}]`: "retryable agent: a: the API says 503 told: as it was told",
		} {
			if got := show(s.ask(t.Context(), fmt.Sprintf("agent('a', %q)", "PLAN<<"+plan+">>"))); !strings.HasPrefix(got, want) {
				t.Errorf("%s, %s: got %s, want %s", backend, plan, got, want)
			}
		}
		again := fmt.Sprintf("agent('a', %q)", `PLAN<<[{"status": 503, "once": true, "text": "`+backend+`"}]>>`)
		if got := show(s.ask(t.Context(), again)); !strings.HasPrefix(got, `ok text="`+backend) {
			t.Errorf("%s, the second time: got %s", backend, got)
		}
		if got := show(s.ask(t.Context(), "agent('a', 'Look.')")); !strings.HasPrefix(got, `ok text="`+modeltest.NoPlan) {
			t.Errorf("%s without a plan: got %s", backend, got)
		}
	}
	for _, r := range models.Requests() {
		if r.Key != "hunter2-key" {
			t.Errorf("%s had the key %q", r.API, r.Key)
		}
	}
}

// A plan goes on with the model's turns, in each API's form of a conversation.
func TestPlansGoOn(t *testing.T) {
	models := modeltest.Start(t)
	const plan = `PLAN<<[{\"tool\": \"look\"}, {\"text\": \"second\"}]>>`
	for path, body := range map[string]string{
		"/v1/messages":                 `{"messages": [{"role": "user", "content": "` + plan + `"}, {"role": "assistant", "content": []}, {"role": "user", "content": [{"type": "tool_result"}]}]}`,
		"/v1/responses":                `{"input": [{"type": "message", "role": "user", "content": [{"text": "` + plan + `"}]}, {"type": "function_call"}, {"type": "function_call_output"}]}`,
		"/v1/models/m:generateContent": `{"contents": [{"role": "user", "parts": [{"text": "` + plan + `"}]}, {"role": "model", "parts": [{}]}, {"role": "user", "parts": [{}]}]}`,
	} {
		for _, c := range []struct{ body, want string }{{body, `"second"`}, {strings.NewReplacer(`"assistant"`, `"user"`,
			`"function_call"`, `"none"`, `"model"`, `"user"`).Replace(body), `"look"`}} {
			r, err := http.Post(models.URL+path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || !strings.Contains(string(got), c.want) {
				t.Errorf("%s: got %s, %v; want %s", path, got, err, c.want)
			}
		}
	}
}

// What Gemini CLI asks beside the conversation takes no step of the plan, and does not wait for
// one.
func TestPlansAreForConversations(t *testing.T) {
	models := modeltest.Start(t)
	body := `{"contents": [{"role": "user", "parts": [{"text": "PLAN<<[{\"sleep\": 60000}]>>"}]}], "generationConfig": {"responseMimeType": "application/json"}}`
	r, err := http.Post(models.URL+"/v1/models/m:generateContent", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if got, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(got), "next_speaker") || !models.Requests()[0].Aside {
		t.Errorf("got %s, %v", got, err)
	}
}
