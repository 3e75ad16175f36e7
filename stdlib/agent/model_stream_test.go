package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// claudeEvents are events of the Messages API around blocks of a reply; usage stands at the end.
func claudeEvents(usage, stop string, blocks ...string) func(http.ResponseWriter) {
	events := []string{"", `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}`}
	for _, b := range blocks {
		events = append(events, "", b)
	}
	return stream(append(events, "", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":%s}`, stop, usage), "", `{"type":"message_stop"}`)...)
}

func claudeStart(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func claudeDelta(index int, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{%q:%q}}`, index, field, text)
}

// chunks are events of the Chat Completions API.
func chunks(chunks ...string) func(http.ResponseWriter) {
	var events []string
	for _, c := range chunks {
		events = append(events, "", c)
	}
	return stream(events...)
}

// Streams may be in other forms than the usual one.
func TestModelStreams(t *testing.T) {
	claude, openai := anthropicSpeech(), openaiSpeech()
	const text = `{"type":"text","text":""}`
	const said = `{"choices":[{"index":0,"delta":{"content":"Well."},"finish_reason":"stop"}]}`
	for _, c := range []struct {
		name   string
		speech dialectOfAPI
		answer func(http.ResponseWriter)
		want   string
	}{
		{"usage that is told anew at the end", claude, claudeEvents(`{"input_tokens":100,"cache_read_input_tokens":null,"output_tokens":5}`, "end_turn",
			claudeStart(0, text), claudeDelta(0, "text", "Well.")), `ok text="Well." usage={"input_tokens": 107, "output_tokens": 5, "cached_tokens": 7, "model": "x"}`},
		{"blocks in turns", claude, claudeEvents(`{"output_tokens":5}`, "end_turn", claudeStart(0, text), claudeDelta(0, "text", "All "), claudeStart(1, text),
			claudeDelta(1, "text", " well."), claudeDelta(0, "text", "is")), `ok text="All is well." usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x"}`},
		{"a block that begins with its text", claude, claudeEvents(`{"output_tokens":5}`, "end_turn", claudeStart(0, `{"type":"text","text":"Well"}`),
			claudeDelta(0, "text", ".")), `ok text="Well." usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x"}`},
		{"a piece that is no JSON", claude, claudeEvents(`{"output_tokens":5}`, "end_turn", claudeStart(0, text), `{"type":"content_`),
			`retryable agent: a: the stream has an event that is no JSON: {"type":"content_`},
		{"usage without a sum", openai, chunks(said, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, "[DONE]"),
			`ok text="Well." usage={"input_tokens": 3, "output_tokens": 2, "model": "x"}`},
		{"a reply that nobody asked for", openai, chunks(`{"choices":[{"index":1,"delta":{"content":"Or so."},"finish_reason":"length"}]}`, said, "[DONE]"), `ok text="Well."`},
		{"a piece that is no JSON", openai, chunks(`{"choices":[`, said, "[DONE]"), `retryable agent: a: the stream has an event that is no JSON: {"choices":[`},
		{"death behind the end", openai, hangUp(chunks(said, "[DONE]")), `ok text="Well."`},
	} {
		if got := show(modelStage(t, c.speech, newAPI(t, c.answer).URL, "").ask(t.Context(), `agent("a", "Look.")`)); got != c.want {
			t.Errorf("%s, %s\ngot  %s\nwant %s", c.speech.backend, c.name, got, c.want)
		}
	}
}

// A server may keep the connection open behind the end of a reply.
func TestModelsEndTheirReplies(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		done := make(chan struct{})
		api := newAPI(t, func(w http.ResponseWriter) {
			d.reply(d.stops[0], "Well.")(w)
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Errorf("%s: it is waited for more", d.backend)
			}
		})
		r := modelStage(t, d, api.URL, "").ask(t.Context(), `agent("a", "Look.")`)
		close(done)
		if r.Err != nil || r.Text != "Well." {
			t.Errorf("%s: got %s", d.backend, show(r))
		}
	}
}

// The input of a tool may stand where its block begins, and what a tool of the server's own is
// asked is none of ours.
func TestModelsAskForToolsAtOnce(t *testing.T) {
	d := anthropicSpeech()
	api := newAPI(t, claudeEvents(`{"output_tokens":5}`, "tool_use", claudeStart(0, `{"type":"tool_use","id":"c0","name":"db__select","input":{"query":"orders"}}`),
		claudeStart(1, `{"type":"tool_use","id":"c1","name":"db__fail","input":{}}`), claudeDelta(1, "partial_json", `{"name": "n"}`),
		claudeStart(2, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), claudeDelta(2, "partial_json", `{"query": "x"}`)), d.reply("end_turn", "Well."))
	if r := modelStage(t, d, api.URL, "").ask(t.Context(), `agent("a", "Look.")`); r.Err != nil {
		t.Fatal(r.Err)
	}
	asked, err := json.Marshal(api.requests[1].body["messages"].([]any)[1])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"content":[{"id":"c0","input":{"query":"orders"},"name":"db__select","type":"tool_use"},{"id":"c1","input":{"name":"n"},"name":"db__fail","type":"tool_use"}],"role":"assistant"}`; string(asked) != want {
		t.Errorf("got  %s\nwant %s", asked, want)
	}
}

// A server that says whether the request may come again knows it better than its status.
func TestModelsHeedServers(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		for _, c := range []struct {
			status       int
			should, want string
		}{{500, "false", "final "}, {429, "false", "final "}, {400, "true", "retryable "}, {400, "perhaps", "final "}, {500, "true", "retryable "}} {
			answer := refuse(c.status, d.trouble("api_error_of_ours", "no"), "X-Should-Retry", c.should)
			got := show(modelStage(t, d, newAPI(t, answer).URL, "").ask(t.Context(), `agent("a", "Look.")`))
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, %d, %s: got %s, want %s", d.backend, c.status, c.should, got, c.want)
			}
		}
	}
}
