package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// api is a server that speaks as a model's API does: it answers one request after the other, the
// last answer for ever.
type api struct {
	*httptest.Server
	answers  []func(http.ResponseWriter)
	requests []sent
}

// sent is a request as the server got it.
type sent struct {
	path, key string
	body      map[string]any
}

func newAPI(t *testing.T, answers ...func(http.ResponseWriter)) *api {
	s := &api{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		s.requests = append(s.requests, sent{r.URL.Path, r.Header.Get("X-Api-Key") + r.Header.Get("Authorization"), body})
		next := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		next(w)
	}))
	t.Cleanup(s.Close)
	return s
}

// stream answers with server-sent events: pairs of a type and data, "" for no type.
func stream(events ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; i+1 < len(events); i += 2 {
			if events[i] != "" {
				fmt.Fprintf(w, "event: %s\n", events[i])
			}
			fmt.Fprintf(w, "data: %s\n\n", events[i+1])
			w.(http.Flusher).Flush()
		}
	}
}

// refuse answers with a status and a body; header is a name and a value, or nothing.
func refuse(status int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		if len(header) > 0 {
			w.Header().Set(header[0], header[1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have gone
	}
}

// hangUp breaks the connection.
func hangUp(then func(http.ResponseWriter)) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		then(w)
		panic(http.ErrAbortHandler)
	}
}

// dialectOfAPI is how one API says the same things.
type dialectOfAPI struct {
	backend, path, key string
	reply              func(stop string, texts ...string) func(http.ResponseWriter)
	half               func(text string) func(http.ResponseWriter)
	trouble            func(kind, message string) string
	within             func(kind, message string) func(http.ResponseWriter) // in the middle of a stream
	stops              [3]string                                            // done, too long, refused
}

func anthropicSpeech() dialectOfAPI {
	begin := []string{"message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}`,
		"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, "ping", `{"type":"ping"}`}
	texts := func(texts ...string) []string {
		events := begin
		for _, text := range texts {
			events = append(events[:len(events):len(events)], "content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, text))
		}
		return events
	}
	trouble := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"r"}`, kind, message)
	}
	return dialectOfAPI{"anthropic", "/v1/messages", "", func(stop string, said ...string) func(http.ResponseWriter) {
		return stream(append(texts(said...), "content_block_stop", `{"type":"content_block_stop","index":0}`,
			"message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, stop),
			"message_stop", `{"type":"message_stop"}`)...)
	}, func(text string) func(http.ResponseWriter) { return stream(texts(text)...) }, trouble,
		func(kind, message string) func(http.ResponseWriter) {
			return stream(append(texts("All"), "error", trouble(kind, message))...)
		},
		[3]string{"end_turn", "max_tokens", "refusal"}}
}

func openaiSpeech() dialectOfAPI {
	chunk := func(delta, stop string) string {
		return fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, stop)
	}
	texts := func(texts ...string) []string {
		events := []string{"", chunk(`{"role":"assistant","content":""}`, "null")}
		for _, text := range texts {
			events = append(events, "", chunk(fmt.Sprintf(`{"content":%q}`, text), "null"))
		}
		return events
	}
	trouble := func(kind, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":null}}`, message, kind)
	}
	return dialectOfAPI{"openai", "/chat/completions", "Bearer ", func(stop string, said ...string) func(http.ResponseWriter) {
		return stream(append(texts(said...), "", chunk("{}", fmt.Sprintf("%q", stop)),
			"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":7}}}`,
			"", "[DONE]")...)
	}, func(text string) func(http.ResponseWriter) { return stream(texts(text)...) }, trouble,
		func(kind, message string) func(http.ResponseWriter) {
			return stream(append(texts("All"), "", trouble(kind, message))...)
		},
		[3]string{"stop", "length", "content_filter"}}
}

const modelKey = "sk-hunter2-hunter2"

// modelStage is a project whose agent a is the model behind a server.
func modelStage(t *testing.T, d dialectOfAPI, url, keys string) *stage {
	t.Setenv("ANTHROPIC_API_KEY", "of-the-owner")
	t.Setenv("OPENAI_API_KEY", "of-the-owner")
	t.Setenv("ANTHROPIC_BASE_URL", "http://192.0.2.1")
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1")
	s := newStage(t, fmt.Sprintf("[agents.a]\nbackend = %q\nmodel = 'x'\nurl = %q\nenv = ['MODEL_KEY']\n%s", d.backend, url, keys), "")
	s.vars["MODEL_KEY"] = modelKey
	return s
}

// Both APIs come to the same replies, failures included.
func TestModels(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		for _, c := range []struct {
			name    string
			answers []func(http.ResponseWriter)
			output  string
			want    string
		}{
			{"a text", []func(http.ResponseWriter){d.reply(d.stops[0], "All is ", "well.")}, "",
				`ok text="All is well." usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x", "usd": 6e-05}`},
			{"structured output", []func(http.ResponseWriter){d.reply(d.stops[0], `{"n": 1, `, `"why": null}`)}, "{n: int, why?: string}",
				`ok output={"n": 1} text="{\"n\": 1, \"why\": null}" usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x", "usd": 6e-05}`},
			{"a contract that no schema states", []func(http.ResponseWriter){d.reply(d.stops[0], "Here:\n```json\n[1]\n```")}, "[int]",
				"ok output=[1] text=\"Here:\\n```json\\n[1]\\n```\" " + `usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x", "usd": 6e-05}`},
			{"a server without schemas", []func(http.ResponseWriter){refuse(400, d.trouble("invalid_request_error", "output_config.format / response_format: unknown field")),
				d.reply(d.stops[0], `Sure: {"n": 2}`)}, "{n: int}",
				`ok output={"n": 2} text="Sure: {\"n\": 2}" usage={"input_tokens": 10, "output_tokens": 5, "cached_tokens": 7, "model": "x", "usd": 6e-05}`},
			{"a rate limit", []func(http.ResponseWriter){refuse(429, d.trouble("rate_limit_error", "slow down"), "Retry-After", "17")}, "",
				`retryable after 17s agent: a: the API says 429 rate_limit_error: slow down`},
			{"overloaded", []func(http.ResponseWriter){refuse(529, d.trouble("overloaded_error", "busy"), "Retry-After-Ms", "1500")}, "",
				`retryable after 1.5s agent: a: the API says 529 overloaded_error: busy`},
			{"a broken server", []func(http.ResponseWriter){refuse(502, "<html>Bad Gateway</html>")}, "", `retryable agent: a: the API says 502`},
			{"a wrong key", []func(http.ResponseWriter){refuse(401, d.trouble("authentication_error", "the key "+modelKey+" is not valid"))}, "",
				`final agent: a: the API says 401 authentication_error: the key [MODEL_KEY] is not valid`},
			{"no such model", []func(http.ResponseWriter){refuse(404, d.trouble("not_found_error", "model: x"))}, "", `final agent: a: the API says 404 not_found_error: model: x`},
			{"overloaded in the middle", []func(http.ResponseWriter){d.within("overloaded_error", "busy")}, "", `retryable agent: a: the API says 200 overloaded_error: busy`},
			{"the end in the middle", []func(http.ResponseWriter){d.half("All is")}, "", `retryable agent: a: the reply broke off in the middle`},
			{"death in the middle", []func(http.ResponseWriter){hangUp(d.half("All is"))}, "", `retryable agent: a: unexpected EOF`},
			{"too long", []func(http.ResponseWriter){d.reply(d.stops[1], "All is")}, "",
				`final agent: a: the reply is longer than max_tokens; raise it in the project file, or ask for less`},
			{"endless", []func(http.ResponseWriter){d.reply(d.stops[0], slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 5)...)}, "",
				`final agent: a: the reply is longer than 4194304 bytes`},
			{"nothing said", []func(http.ResponseWriter){d.reply(d.stops[0])}, "", `retryable agent: a: the reply is empty`},
		} {
			s := newAPI(t, c.answers...)
			call := `agent("a", "Look.")`
			if c.output != "" {
				call = fmt.Sprintf(`agent("a", "Look.", output = contract(%q))`, c.output)
			}
			r := modelStage(t, d, s.URL, "price = { input = 1, output = 10 }").ask(t.Context(), call)
			got := show(r)
			if r.After > 0 {
				got = strings.Replace(got, "retryable", "retryable after "+r.After.String(), 1)
			}
			if got != c.want && !(strings.HasSuffix(c.want, " 502") && strings.HasPrefix(got, c.want)) {
				t.Errorf("%s, %s\ngot  %s\nwant %s", d.backend, c.name, got, c.want)
			}
			if n, want := len(s.requests), len(c.answers); n != want {
				t.Errorf("%s, %s: %d requests, want %d: retrying is the runtime's", d.backend, c.name, n, want)
			}
			for _, q := range s.requests {
				if q.path != d.path || q.key != d.key+modelKey {
					t.Errorf("%s: got %s with the key %q", d.backend, q.path, q.key)
				}
			}
		}
	}
}

// Servers that speak an API say their errors in other ways, and none can have the key sent
// elsewhere.
func TestModelsOfOthers(t *testing.T) {
	elsewhere := newAPI(t, refuse(500, "{}"))
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		for _, c := range []struct {
			answer func(http.ResponseWriter)
			want   string
		}{
			{refuse(404, `{"error": "model 'x' not found"}`), "final agent: a: the API says 404: model 'x' not found"},
			{refuse(400, `{"error": {"code": 400, "message": "no", "type": "BadRequest"}}`), "final agent: a: the API says 400 BadRequest: no"},
			{refuse(400, `{"error": {"code": "insufficient_quota", "message": "no", "type": "x"}}`), "final agent: a: the API says 400 insufficient_quota: no"},
			{refuse(503, ""), "retryable agent: a: the API says 503: Service Unavailable"},
			{refuse(307, "", "Location", elsewhere.URL), "final agent: a: the API says 307: Temporary Redirect"},
			{refuse(200, `{"choices": [{"message": {"content": "not streamed"}}]}`), "retryable agent: a: the reply broke off in the middle"},
			{stream("", `{"error": null, "type": "ping"}`, "", "[DONE]"), "retryable agent: a: the reply broke off in the middle"},
			{stream("", strings.Repeat("x", 9<<20)), "retryable agent: a: bufio.Scanner: token too long"},
		} {
			r := modelStage(t, d, newAPI(t, c.answer).URL, "").ask(t.Context(), `agent("a", "Look.")`)
			if got := show(r); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", d.backend, got, c.want)
			}
		}
	}
	if n := len(elsewhere.requests); n > 0 {
		t.Errorf("a server that another one named has got %d requests with a key", n)
	}
}

// What each API is sent.
func TestModelRequests(t *testing.T) {
	for _, c := range []struct {
		speech dialectOfAPI
		want   string
	}{
		{anthropicSpeech(), `{"max_tokens":99,"messages":[{"content":[{"text":"PROMPT","type":"text"}],"role":"user"}],"model":"x","output_config":{"format":{"schema":SCHEMA,"type":"json_schema"}},` +
			`"stream":true,"system":[{"text":"Be brief.","type":"text"}]}`},
		{openaiSpeech(), `{"max_tokens":99,"messages":[{"content":"Be brief.","role":"system"},{"content":"PROMPT","role":"user"}],"model":"x",` +
			`"response_format":{"json_schema":{"name":"reply","schema":SCHEMA,"strict":true},"type":"json_schema"},"stream":true,"stream_options":{"include_usage":true}}`},
	} {
		s := newAPI(t, c.speech.reply(c.speech.stops[0], `{"n":1}`))
		modelStage(t, c.speech, s.URL, "max_tokens = 99\ninstructions = 'Be brief.'").ask(t.Context(), `agent("a", "Look.", output = contract("{n: int}"))`)
		got, err := json.Marshal(s.requests[0].body)
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := json.Marshal("Look.\n\nReply with one JSON value that meets this JSON Schema, and with nothing else:\n```json\n" +
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}` + "\n```")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(c.want, `"PROMPT"`, string(prompt))
		want = strings.ReplaceAll(want, "SCHEMA", `{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}`)
		if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.speech.backend, got, want)
		}
	}
}

// A model that is asked again has its own reply before what was wrong with it.
func TestModelsSeeTheirRejectedReply(t *testing.T) {
	for _, speech := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		s := newAPI(t, speech.reply(speech.stops[0], `{"n":1,"m":2}`))
		stage := modelStage(t, speech, s.URL, "")
		r, fault := stage.request(`agent("a", "Look.", output = contract("{n: int, m: int}"))`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := stage.attempt(r)
		a.Feedback, a.Rejected, a.Messages = someFeedback(), `{"n": "x"}`, []string{"hurry"}
		if got := show(stage.env.Handlers["agent"].Perform(t.Context(), a)); !strings.HasPrefix(got, `ok output={"n": 1, "m": 2}`) {
			t.Fatal(got)
		}
		var said []string
		for _, m := range s.requests[0].body["messages"].([]any) {
			m := m.(map[string]any)
			text, whole := m["content"].(string)
			if !whole {
				text = m["content"].([]any)[0].(map[string]any)["text"].(string)
			}
			text, _, _ = strings.Cut(text, "\n\nReply with one JSON value")
			said = append(said, fmt.Sprintf("%s: %s", m["role"], text))
		}
		want := []string{"user: Look.", `assistant: {"n": "x"}`,
			"user: While you work on this you are told: hurry\n\nYour previous reply was not accepted. Reply again, whole. " +
				"What was wrong with it:\n- n: got \"x\", want int\n- m: got nothing, want int; add it"}
		if !slices.Equal(said, want) {
			t.Errorf("%s\ngot  %q\nwant %q", speech.backend, said, want)
		}
	}
}

// A text is journaled while it comes: the server goes on when the first piece has been heard.
func TestModelsStream(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		s := newAPI(t, d.reply(d.stops[0], strings.Repeat("x", 1024), "y"))
		st := modelStage(t, d, s.URL, "")
		if r := st.ask(t.Context(), `agent("a")`); r.Err != nil {
			t.Errorf("%s: %v", d.backend, r.Err)
		}
		want := []string{`delta {"text": "` + strings.Repeat("x", 1024) + `"}`, `delta {"text": "y"}`}
		if d.backend == "anthropic" {
			want = slices.Insert(want, 0, `usage {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 7, "model": "x"}`) // it says so at the beginning
		}
		if fmt.Sprint(st.events) != fmt.Sprint(want) {
			t.Errorf("%s: got %v", d.backend, st.events)
		}
	}
}

func TestModelsThatAreNotThere(t *testing.T) {
	for _, d := range []dialectOfAPI{anthropicSpeech(), openaiSpeech()} {
		gone := httptest.NewServer(nil)
		gone.Close()
		const other = "[agents.b]\ncommand = ['x']\n"
		s := modelStage(t, d, gone.URL, other)
		has(t, show(s.ask(t.Context(), `agent("a")`)), "retryable agent: a: ", "connection refused")
		has(t, show(s.ask(t.Context(), `agent("a", backend = ["a", "b"])`)), "missing agent: a: ", "connection refused")
		delete(s.vars, "MODEL_KEY")
		if got := show(s.ask(t.Context(), `agent("a")`)); got != "missing refused: a: the environment variable MODEL_KEY, which a declares, has no value; set it and resume the run" {
			t.Errorf("%s: got %s", d.backend, got)
		}
	}
}
