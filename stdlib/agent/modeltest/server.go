// Package modeltest is a server of models that do as they are told, for tests with programs that
// ask models: it speaks the Messages API of Anthropic, the Responses and Chat Completions APIs of
// OpenAI and that of Gemini, streamed where that is asked.
//
// The plan stands in what the model is asked: PLAN<<[STEP, …]>>. The n-th turn of the model behind
// the newest plan takes the n-th step; so a conversation that goes on takes the next one, and one
// that has begun anew has no plan. Each [Step] is JSON.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Step is what a model does in one turn: it says Text, Structured as JSON, or calls Tool with
// Input.
type Step struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Tool       string          `json:"tool"`
	Namespace  string          `json:"namespace"` // of the tool, in the Responses API
	Input      json.RawMessage `json:"input"`

	Sleep  int               `json:"sleep"`  // milliseconds before it does
	Status int               `json:"status"` // in place of it all, an error with this status
	Once   bool              `json:"once"`   // the error is the first request's only
	Header map[string]string `json:"header"`
}

// Answers of a model that was not told what to do.
const (
	NoPlan   = "NO PLAN"
	PlanOver = "THE PLAN IS OVER"
)

// Server is a server of models. Its methods may be called concurrently.
type Server struct {
	URL string

	mu       sync.Mutex
	requests []Request
	refused  map[string]bool // steps with Once that have been
}

// Request is what a model was asked.
type Request struct {
	API   string // "anthropic", "responses", "chat" or "gemini"
	Key   string // as it came, without "Bearer "
	Body  string
	Aside bool // it is no turn of a conversation, and takes no step of a plan
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	s := &Server{refused: map[string]bool{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.CloseClientConnections)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Requests are those that came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// turn is one message of a conversation.
type turn struct {
	model bool
	text  string
}

var plans = regexp.MustCompile(`(?s)PLAN<<(\[.*?\])>>`)

// next is the step that a conversation has come to.
func next(turns []turn) Step {
	var plan []Step
	taken := 0
	for _, t := range turns {
		if t.model {
			taken++
			continue
		}
		if all := plans.FindAllStringSubmatch(t.text, -1); all != nil {
			plan, taken = steps(all[len(all)-1][1]), 0
		}
	}
	switch {
	case plan == nil:
		return Step{Text: NoPlan}
	case taken >= len(plan):
		return Step{Text: PlanOver}
	}
	return plan[taken]
}

// steps reads a plan, which a program may have put into a text of JSON.
func steps(text string) (plan []Step) {
	plain := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
	if json.Unmarshal([]byte(text), &plan) != nil && json.Unmarshal([]byte(plain), &plan) != nil {
		return []Step{{Text: "this is no plan: " + text}}
	}
	return plan
}

// said is the text that a step has the model say.
func (s Step) said() string {
	if len(s.Structured) > 0 {
		return string(s.Structured)
	}
	return s.Text
}

// ServeHTTP answers a program.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		answer(w, map[string]int{"input_tokens": 100, "totalTokens": 100})
	case strings.HasSuffix(path, "/messages"):
		s.serve(w, r, "anthropic", body, anthropicTurns, anthropic)
	case strings.HasSuffix(path, "/responses"):
		s.serve(w, r, "responses", body, responsesTurns, responses)
	case strings.HasSuffix(path, "/chat/completions"):
		s.serve(w, r, "chat", body, anthropicTurns, chat)
	case strings.Contains(path, ":streamGenerateContent"), strings.Contains(path, ":generateContent"):
		s.serve(w, r, "gemini", body, geminiTurns, gemini)
	default:
		http.NotFound(w, r)
	}
}

// serve notes a request, and has the model take its step.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, api string, body []byte,
	turns func([]byte) []turn, say func(*stream, Step, []byte)) {
	key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
	step, aside := next(turns(body)), api == "gemini" && geminiAside(body)
	if aside {
		step = Step{Text: settled}
	}
	name, _ := json.Marshal(step)
	s.mu.Lock()
	s.requests = append(s.requests, Request{api, strings.TrimPrefix(key, "Bearer "), string(body), aside})
	refuses := step.Status > 0 && !(step.Once && s.refused[string(name)])
	s.refused[string(name)] = true
	n := len(s.requests)
	s.mu.Unlock()
	select {
	case <-time.After(time.Duration(step.Sleep) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	if refuses {
		for name, value := range step.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(step.Status)
		fmt.Fprintf(w, `{"type": "error", "error": {"type": "told", "code": %d, "status": "TOLD", "message": "as it was told"}}`, step.Status)
		return
	}
	var asks struct{ Stream bool }
	_ = json.Unmarshal(body, &asks)
	out := &stream{w: w, n: n, streams: asks.Stream || strings.Contains(r.URL.Path, ":stream"), named: api != "chat" && api != "gemini"}
	if out.streams {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	say(out, step, body)
}

// stream writes an answer: events, or the last of them alone.
type stream struct {
	w       http.ResponseWriter
	n       int // of the request, from 1
	streams bool
	named   bool // each event has its type as a name
	seq     int
}

type object = map[string]any

func (o *stream) event(v object) {
	if !o.streams {
		return
	}
	if o.named {
		fmt.Fprintf(o.w, "event: %s\n", v["type"])
		v["sequence_number"] = o.seq
		o.seq++
	}
	text, _ := json.Marshal(v)
	fmt.Fprintf(o.w, "data: %s\n\n", text)
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

// whole is the answer of a request that is not streamed.
func (o *stream) whole(v object) {
	if !o.streams {
		answer(o.w, v)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // whoever has gone does not read it
}

func input(s Step) json.RawMessage {
	if len(s.Input) == 0 {
		return json.RawMessage("{}")
	}
	return s.Input
}
