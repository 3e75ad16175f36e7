package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
	"starling/stdlib/process"
	"starling/stdlib/tool/tooltest"
)

const key = "sk-of-the-judges"

// TestMain is the guard under which tool servers run, and the tool server.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	if os.Getenv("TOOL_SERVER") != "" && len(os.Args) > 1 && os.Args[1] == "log" {
		tooltest.Main(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// wire is a request as a server got it.
type wire struct {
	Method, Path string
	Header       http.Header
	Body         any
}

// server answers every request as it is told, and keeps the requests.
type server struct {
	*httptest.Server
	mu     sync.Mutex // protects what is below
	answer func(w http.ResponseWriter, nth int)
	got    []wire
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client has gone
		}
		var body any
		if err := json.Unmarshal(text, &body); err != nil {
			t.Errorf("the request is no JSON: %v: %s", err, text)
		}
		s.mu.Lock()
		s.got = append(s.got, wire{r.Method, r.URL.Path, r.Header, body})
		answer, nth := s.answer, len(s.got)
		s.mu.Unlock()
		answer(w, nth)
	}))
	t.Cleanup(s.Close)
	return s
}

// play has the server answer so while do runs, and returns what it was asked.
func (s *server) play(answer func(w http.ResponseWriter, nth int), do func()) []wire {
	s.mu.Lock()
	s.answer, s.got = answer, nil
	s.mu.Unlock()
	do()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// starling is a project whose agent a is a model behind a server.
type starling struct {
	t        *testing.T
	env      *effect.Environment
	settings *effect.Settings
	files    []string // go with the task
	returns  string   // the contract of the reply
	rejected string   // the former reply
}

// newStarling has further lines of the agent's section, and sections behind it.
func newStarling(t *testing.T, backend, url, more string) *starling {
	t.Helper()
	project := fmt.Sprintf("[agents.a]\nbackend = %q\nmodel = 'm'\nurl = %q\nenv = ['MODEL_KEY']\n%s", backend, url, more)
	dir := t.TempDir()
	return &starling{t: t, env: stdlib.Environment(stdlib.Options{Natives: vm.Natives()}),
		settings: &effect.Settings{Workspace: dir, ProjectFile: filepath.Join(dir, "starling.toml"), Project: []byte(project)}}
}

// ask performs one attempt of agent("a", "Look.").
func (s *starling) ask() effect.Reply {
	s.t.Helper()
	keywords := []effect.Keyword{}
	if len(s.files) > 0 {
		var names []starlark.Value
		for _, name := range s.files {
			names = append(names, starlark.String(name))
		}
		keywords = append(keywords, effect.Keyword{Name: "files", Value: starlark.NewList(names)})
	}
	if s.returns != "" {
		c, err := contract.Parse("output", s.returns)
		if err != nil {
			s.t.Fatal(err)
		}
		keywords = append(keywords, effect.Keyword{Name: "output", Value: c})
	}
	builtin, _ := s.env.Lookup("agent")
	call, err := builtin.(*effect.Builtin).Bind(starlark.Tuple{starlark.String("a"), starlark.String("Look.")}, keywords)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := builtin.(*effect.Builtin).Request(call)
	if err != nil {
		s.t.Fatal(err)
	}
	if fault := s.env.Handlers["agent"].Resolve(s.settings, r); fault != nil {
		s.t.Fatal(fault)
	}
	return s.env.Handlers["agent"].Perform(s.t.Context(), s.attempt(r))
}

func (s *starling) attempt(r *effect.Request) *effect.Attempt {
	args, err := r.Args.Value()
	if err != nil {
		s.t.Fatal(err)
	}
	resolved, err := r.Resolved.Value()
	if err != nil {
		s.t.Fatal(err)
	}
	a := &effect.Attempt{Run: "run1", Step: "b/a", Branch: "b", Kind: r.Kind, Number: 1, Key: "run1/b/a", Args: args,
		Resolved: resolved, Returns: r.Returns, Settings: s.settings, Store: filepath.Join(s.settings.Workspace, ".starling"),
		Env: func(name string) (string, bool) {
			v, ok := map[string]string{"MODEL_KEY": key, "TOOL_SERVER": "1"}[name]
			return v, ok
		},
		Wait: func(ctx context.Context, d time.Duration) bool { time.Sleep(d); return ctx.Err() == nil },
		Emit: func(string, starlark.Value) {}}
	if s.rejected != "" {
		a.Number, a.Rejected = 2, s.rejected
		a.Feedback = []contract.Violation{{Path: "n", Got: `"x"`, Want: "int"}}
	}
	return a
}

// toolCall is a tool that a model asks for.
type toolCall struct {
	ID, Name string
	Input    any // the JSON of it, or the text where it is none
}

// reading is what a client makes of a stream.
type reading struct {
	Failed                string // "", or why there is no reply
	Text                  string
	Calls                 []toolCall
	Input, Output, Cached int64
	Stop                  string // "" for a model that was done, else why it was not
}

// String shows it in a message of a test.
func (r reading) String() string {
	text, _ := json.Marshal(r) // of plain fields
	return string(text)
}

func parsed(input string) any {
	var v any
	if json.Unmarshal([]byte(input), &v) != nil {
		return input
	}
	return v
}

// ours is how Starling reads the answer: from its reply or, where the model asks for tools, from
// the conversation that it goes on with. finish is a stream without tokens that ends that.
func ours(s *starling, srv *server, backend string, answer func(http.ResponseWriter), finish string) (reading, effect.Reply) {
	var reply effect.Reply
	asked := srv.play(func(w http.ResponseWriter, nth int) {
		if nth == 1 {
			answer(w)
			return
		}
		events(w, []byte(finish))
	}, func() { reply = s.ask() })
	var got reading
	if reply.Usage != nil {
		u := effect.ViewOf(reply.Usage)
		got.Input, got.Output, got.Cached = u.Int("input_tokens"), u.Int("output_tokens"), u.Int("cached_tokens")
	}
	switch {
	case len(asked) > 2:
		s.t.Fatalf("%d requests", len(asked))
	case len(asked) == 2:
		got.Text, got.Calls = goneOn(s.t, backend, asked[1].Body)
	case reply.Err == nil:
		got.Text = reply.Text
	default:
		got.Failed, got.Stop = stopped(reply.Err.Message)
	}
	if len(got.Calls) > 0 && strings.TrimSpace(got.Text) == "" {
		got.Text = "" // it is not told again
	}
	return got, reply
}

// stopped tells failures from replies that a model did not end.
func stopped(message string) (failed, stop string) {
	message = strings.TrimPrefix(message, "a: ")
	for words, stop := range map[string]string{"the reply is longer than max_tokens": "length", "the model refuses": "refusal",
		"the reply was withheld by a content filter": "content_filter", "the model stopped: ": ""} {
		if rest, ok := strings.CutPrefix(message, words); ok {
			if stop == "" {
				stop = rest
			}
			return "", stop
		}
	}
	return message, ""
}

// goneOn reads the turn of the model from a request that goes on with the conversation.
func goneOn(t *testing.T, backend string, body any) (text string, calls []toolCall) {
	messages := body.(map[string]any)["messages"].([]any)
	var asked map[string]any
	for _, m := range messages {
		if m := m.(map[string]any); m["role"] == "assistant" {
			asked = m
		}
	}
	if backend == "openai" {
		text, _ = asked["content"].(string)
		for _, c := range asked["tool_calls"].([]any) {
			c := c.(map[string]any)
			f := c["function"].(map[string]any)
			calls = append(calls, toolCall{c["id"].(string), f["name"].(string), parsed(f["arguments"].(string))})
		}
		return text, calls
	}
	for _, b := range asked["content"].([]any) {
		b := b.(map[string]any)
		switch b["type"] {
		case "text":
			text += b["text"].(string)
		case "tool_use":
			calls = append(calls, toolCall{b["id"].(string), b["name"].(string), b["input"]})
		default:
			t.Fatalf("a block of the type %v", b["type"])
		}
	}
	return text, calls
}

// events answers with a stream.
func events(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(text) // the client may have gone
}
