package judge

import (
	"flag"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

var (
	streams = flag.Int("streams", 400, "how many generated streams are read, of each API")
	seed    = flag.Uint64("stream-seed", 0, "of the generated streams, 0 for one that is new each time")
)

// documented are streams written after the makers' documentation, in its events and fields:
// https://docs.claude.com/en/docs/build-with-claude/streaming and
// https://platform.openai.com/docs/api-reference/chat-streaming
var documented = []struct{ name, backend, text string }{
	{"a text", "anthropic", `event: message_start
data: {"type": "message_start", "message": {"id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "content": [], "model": "claude-opus-4-5", "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 25, "output_tokens": 1}}}

event: content_block_start
data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "!"}}

event: content_block_stop
data: {"type": "content_block_stop", "index": 0}

event: message_delta
data: {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence":null}, "usage": {"output_tokens": 15}}

event: message_stop
data: {"type": "message_stop"}

`},
	{"a tool", "anthropic", `event: message_start
data: {"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-opus-4-5","stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay, let's check the weather:"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"location\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"San Francisco, CA\", \"unit\": \"fahrenheit\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

`},
	{"a search of the server's own", "anthropic", `event: message_start
data: {"type":"message_start","message":{"id":"msg_01G","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":2679,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","name":"web_search","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"weather NYC today\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","content":[{"type":"web_search_result","title":"Weather","url":"https://example.org/","encrypted_content":"Ev0D","page_age":null}]}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Here's the weather."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":10682,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":510,"server_tool_use":{"web_search_requests":1}}}

event: message_stop
data: {"type":"message_stop"}

`},
	{"a text", "openai", `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb", "choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb", "choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}]}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb", "choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}

data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb", "choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}

data: [DONE]

`},
}

// judged has both clients read what a server answers.
func judged(t *testing.T, srv *server, s *starling, backend string, answer func(http.ResponseWriter)) (own, theirs reading) {
	t.Helper()
	own, _ = ours(s, srv, backend, answer, plainly(backend, ""))
	srv.play(func(w http.ResponseWriter, _ int) { answer(w) }, func() { theirs = official(t, backend, srv.URL) })
	return own, theirs
}

// agree tells whether two clients made the same of a stream. Why it failed each says in its own
// words.
func agree(own, theirs reading) bool {
	if own.Failed != "" && theirs.Failed != "" {
		own.Failed, theirs.Failed = "", ""
	}
	return reflect.DeepEqual(own, theirs)
}

// in writes pieces that arrive one by one.
func in(pieces []string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, piece := range pieces {
			events(w, []byte(piece))
			w.(http.Flusher).Flush()
		}
	}
}

// Both clients make the same of the streams of the documentation.
func TestDocumentedStreams(t *testing.T) {
	srv := newServer(t)
	for _, c := range documented {
		s := newStarling(t, c.backend, srv.URL, "")
		for _, text := range []string{c.text, strings.ReplaceAll(c.text, "\n", "\r\n")} {
			own, theirs := judged(t, srv, s, c.backend, in([]string{text}))
			if !agree(own, theirs) || own.Failed != "" {
				t.Errorf("%s, %s\nours   %v\ntheirs %v", c.backend, c.name, own, theirs)
			}
		}
	}
}

var words = []string{"Grüße, 世界! 🦜", "a\nb\r\n\tc", `"quoted" \ and </b> & data: [DONE]`, "", " ", "event: error\n\n", "\u2028 \u0000", "{\"error\": 1}"}

// Both clients make the same of generated streams.
func TestGeneratedStreams(t *testing.T) {
	base := *seed
	if base == 0 {
		base = uint64(time.Now().UnixNano())
	}
	t.Logf("play it again with -stream-seed %d", base)
	srv := newServer(t)
	for _, backend := range []string{"anthropic", "openai"} {
		s := newStarling(t, backend, srv.URL, "")
		for n := range *streams {
			draw := rand.New(rand.NewPCG(base, uint64(n)))
			text := generated(backend, draw)
			own, theirs := judged(t, srv, s, backend, in(cuts(text, draw)))
			if !agree(own, theirs) || own.Failed != "" {
				t.Fatalf("%s, the stream %d of -stream-seed %d\nours   %v\ntheirs %v\n%s", backend, n, base, own, theirs, text)
			}
		}
	}
}

// generated is a whole stream: words and calls in any order, or a reply that the model does not
// end.
func generated(backend string, draw *rand.Rand) string {
	var blocks []block
	called := false
	for range 1 + draw.IntN(4) {
		if draw.IntN(3) > 0 {
			blocks = append(blocks, says(words[draw.IntN(len(words))]))
			continue
		}
		called = true
		id := "call" + string(rune('a'+len(blocks)))
		blocks = append(blocks, asks(id, "tool_"+id, `{"a": [1, 2.50, null], "b": `+quoted(words[draw.IntN(len(words))])+`}`))
	}
	if !called {
		blocks = append(blocks, says("The end.")) // without a word there is no reply
	}
	u := tokens{1 + draw.IntN(1000), draw.IntN(50), draw.IntN(50), 1 + draw.IntN(1000)}
	stops := []string{"end_turn", "stop_sequence", "max_tokens", "refusal", "pause_turn"}
	if backend == "openai" {
		stops = []string{"stop", "stop", "length", "content_filter", "refused"}
	}
	stop := stops[draw.IntN(len(stops))]
	if called && (stop == stops[0] || stop == stops[1]) {
		stop = map[string]string{"anthropic": "tool_use", "openai": "tool_calls"}[backend]
	}
	if backend == "anthropic" {
		return write(anthropicFlow(blocks, u, draw).events(stop), draw)
	}
	refusal := ""
	if stop == "refused" {
		stop, refusal = "stop", "I can't: "+words[draw.IntN(len(words))]
	}
	return write(openaiFlow(blocks, u, refusal, draw).events(stop), draw)
}

// A stream that ends at any byte, in order or not, is a reply for both or for none.
func TestCuts(t *testing.T) {
	srv := newServer(t)
	for backend, text := range map[string]string{
		"anthropic": anthropicStream(says("Grüße."), asks("c1", "t", `{"a": "ü"}`)).text("tool_use"),
		"openai":    openaiStream(says("Grüße."), asks("c1", "t", `{"a": "ü"}`)).text("tool_calls"),
	} {
		s := newStarling(t, backend, srv.URL, "")
		for _, torn := range []bool{false, true} {
			for at := range len(text) + 1 {
				own, theirs := judged(t, srv, s, backend, func(w http.ResponseWriter) {
					in([]string{text[:at]})(w)
					if torn {
						panic(http.ErrAbortHandler)
					}
				})
				// Ours hears nothing behind message_stop, and so nothing of what becomes of the
				// connection.
				heard := backend == "anthropic" && torn && at == len(text)
				if agree(own, theirs) == heard || heard && own.Failed != "" {
					t.Errorf("%s, cut at %d of %d, torn %v\nours   %v\ntheirs %v", backend, at, len(text), torn, own, theirs)
				}
			}
		}
	}
}

// otherwise are streams of which both clients make something else, and are to. One of which they
// make the same fails the test.
var otherwise = []struct {
	name, backend, why string
	text               string
	own                func(reading) bool
}{
	{"events without a type", "anthropic", "the type stands in the data as well, and servers of others send nothing else",
		untyped(plainly("anthropic", "Well.")), func(r reading) bool { return r.Failed == "" && r.Text == "Well." }},
	{"no error", "openai", "an error that is null is none, and servers of others say so",
		strings.ReplaceAll(plainly("openai", "Well."), `"id":"c"`, `"id":"c","error":null`), func(r reading) bool { return r.Failed == "" && r.Text == "Well." }},
	{"usage of the whole in each piece", "openai", "vLLM tells with each piece what it has taken so far; theirs adds it up",
		strings.ReplaceAll(plainly("openai", "Well."), `"finish_reason":"stop"}]`, `"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":4}`),
		func(r reading) bool { return r.Input == 10 && r.Output == 5 }},
	{"the name of a tool again", "openai", "servers of others repeat it with each piece; theirs strings the names together",
		strings.ReplaceAll(openaiStream(asks("c1", "t", "{}")).text("tool_calls"), `"function":{"arguments"`, `"function":{"name":"t","arguments"`),
		func(r reading) bool { return len(r.Calls) == 1 && r.Calls[0].Name == "t" }},
	{"an error in an event of another type", "anthropic", "proxies send it as OpenAI does, in the data",
		untyped(`data: {"error":{"type":"overloaded_error","message":"busy"}}` + "\n\n"), func(r reading) bool { return strings.Contains(r.Failed, "busy") }},
}

func untyped(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "event:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// What ours reads otherwise, and is to.
func TestReadOtherwise(t *testing.T) {
	srv := newServer(t)
	for _, c := range otherwise {
		own, theirs := judged(t, srv, newStarling(t, c.backend, srv.URL, ""), c.backend, in([]string{c.text}))
		if !c.own(own) {
			t.Errorf("%s, %s: ours comes to %v", c.backend, c.name, own)
		}
		if reflect.DeepEqual(own, theirs) {
			t.Errorf("%s, %s: theirs comes to the same by now, %v: move it to the others", c.backend, c.name, theirs)
		}
	}
}
