package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
)

const claudeWorks = `{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":4,"cache_read_input_tokens":6,"output_tokens":2},"content":[{"type":"text","text":"I look."}]}}`

// What an attempt has taken is known also when it comes to nothing: as it told before, in events,
// and as the reply says that it failed with.
func TestUsageOfFailures(t *testing.T) {
	for _, c := range []struct {
		name, events, want string
		play               func(t *testing.T) *stage
	}{
		{"claude dies", `usage {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 6, "model": "opus"}`, `{"input_tokens": 10, "output_tokens": 2, "cached_tokens": 6, "model": "opus"}`, func(t *testing.T) *stage {
			return stub(t, "claude", "", lines(claudeInit, claudeWorks, claudeWorks)+"kill -9 $$")
		}},
		{"claude fails", "", `{"input_tokens": 3, "output_tokens": 1, "usd": 0.5, "model": "opus", "claimed": True}`, func(t *testing.T) *stage {
			return stub(t, "claude", "", lines(claudeInit, `{"type":"result","is_error":true,"result":"overloaded","total_cost_usd":0.5,"usage":{"input_tokens":3,"output_tokens":1}}`))
		}},
		{"codex is declined", "", `{"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4}`, func(t *testing.T) *stage {
			return stub(t, "codex", "", lines(codexBegin, `{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"rm","status":"declined"}}`, codexEnd))
		}},
		{"gemini fails", "", `{"input_tokens": 7, "output_tokens": 3, "model": "pro"}`, func(t *testing.T) *stage {
			return stub(t, "gemini", "", lines(geminiInit, `{"type":"result","status":"error","error":{"message":"no"},"stats":{"input_tokens":7,"output_tokens":3}}`))
		}},
		{"an ACP agent dies", `usage {"usd": 0.25, "claimed": True}`, `{"usd": 0.25, "claimed": True}`, func(t *testing.T) *stage { return acpStage(t, "", "cost=0.25", "cost=0.25", "die=") }},
		{"a model breaks off", `usage {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 7, "model": "x"}`, `{"input_tokens": 10, "output_tokens": 1, "cached_tokens": 7, "model": "x"}`, func(t *testing.T) *stage {
			d := anthropicSpeech()
			return modelStage(t, d, newAPI(t, hangUp(d.half("All"))).URL, "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.play(t)
			r := s.ask(t.Context(), `agent("a")`)
			if r.Err == nil || r.Usage == nil || r.Usage.String() != c.want {
				t.Errorf("got %v with %v, want a failure with %s", r.Err, r.Usage, c.want)
			}
			if got := s.told("usage"); got != c.events {
				t.Errorf("it told %s, want %s", got, c.events)
			}
		})
	}
}

// Where the project says a price, tokens cost something with every backend that tells them; what a
// program says of its cost itself stands.
func TestPrices(t *testing.T) {
	const price = "price = {input = 1.0, output = 10.0}"
	for _, c := range []struct {
		name, want string
		play       func(t *testing.T) *stage
	}{
		{"codex", `{"input_tokens": 9, "output_tokens": 2, "cached_tokens": 4, "usd": 2.9e-05}`, func(t *testing.T) *stage {
			return stub(t, "codex", price, lines(codexBegin, codexSays("Done."), codexEnd))
		}},
		{"gemini", `{"input_tokens": 5, "output_tokens": 4, "model": "pro", "usd": 4.5e-05}`, func(t *testing.T) *stage {
			return stub(t, "gemini", price, lines(geminiInit, geminiSays("Done."), geminiEnd))
		}},
		{"claude, which says it", `{"input_tokens": 13, "output_tokens": 7, "cached_tokens": 10, "usd": 0.25, "model": "opus", "claimed": True}`, func(t *testing.T) *stage {
			return stub(t, "claude", price, lines(claudeInit, claudeResult(`"result":"Done."`)))
		}},
		{"an ACP agent", `{"input_tokens": 4, "output_tokens": 4, "cached_tokens": 1, "usd": 4.4e-05}`, func(t *testing.T) *stage {
			return acpStage(t, price, "says=Done.", "tokens=3:4")
		}},
		{"one that tells nothing", "<nil>", func(t *testing.T) *stage { return acpStage(t, price, "says=Done.") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.play(t).ask(t.Context(), `agent("a")`)
			if got := fmt.Sprint(r.Usage); r.Err != nil || got != c.want {
				t.Errorf("got %s, want %s: %v", got, c.want, r.Err)
			}
		})
	}
	t.Run("before it ends", func(t *testing.T) {
		s := stub(t, "claude", price, lines(claudeInit, claudeWorks)+"kill -9 $$")
		s.ask(t.Context(), `agent("a")`)
		if got, want := s.told("usage"), `usage {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 6, "model": "opus", "usd": 3e-05}`; got != want {
			t.Errorf("it told %s, want %s", got, want)
		}
	})
}

// What no tokens are known of has no cost either: 0.0 would say that it was free.
func TestUsageOfTheUnheard(t *testing.T) {
	s := modelStage(t, anthropicSpeech(), newAPI(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }).URL, "price = {input = 1.0, output = 2.0}")
	if r := s.ask(t.Context(), `agent("a")`); r.Err == nil || r.Usage != nil {
		t.Errorf("got %v with %v, want a failure without usage", r.Err, r.Usage)
	}
}

// told are the events of one kind.
func (s *stage) told(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []string
	for _, e := range s.events {
		if strings.HasPrefix(e, kind+" ") {
			told = append(told, e)
		}
	}
	return strings.Join(told, "; ")
}

// What an attempt has taken that is cut off has been told before, and what it says while it ends
// counts as well.
func TestUsageOfTheCancelled(t *testing.T) {
	d := anthropicSpeech()
	model := modelStage(t, d, newAPI(t, func(w http.ResponseWriter) {
		d.half(strings.Repeat("x", 1024))(w)
		<-t.Context().Done()
	}).URL, "price = {input = 1.0, output = 2.0}")
	for _, c := range []struct {
		stage        *stage
		events, want string
	}{
		{stub(t, "claude", "", lines(claudeInit, claudeWorks)+": >here; exec sleep 3600"), `usage {"input_tokens": 10, "output_tokens": 2, "cached_tokens": 6, "model": "opus"}`,
			`{"input_tokens": 10, "output_tokens": 2, "cached_tokens": 6, "model": "opus"}`},
		{acpStage(t, "", "cost=0.25", "tokens=3:4", "hang=here"), `usage {"usd": 0.25, "claimed": True}`, `{"input_tokens": 4, "output_tokens": 4, "cached_tokens": 1, "usd": 0.25, "claimed": True}`},
		{model, `usage {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 7, "model": "x", "usd": 1.2e-05}`, `{"input_tokens": 10, "output_tokens": 1, "cached_tokens": 7, "model": "x", "usd": 1.2e-05}`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for c.stage.told("usage") == "" {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		r := c.stage.ask(ctx, `agent("a")`)
		if r.Err == nil || r.Err.Kind != effect.KindCancelled || r.Usage == nil || r.Usage.String() != c.want {
			t.Errorf("got %v with %v, want %s", r.Err, r.Usage, c.want)
		}
		if got := c.stage.told("usage"); got != c.events {
			t.Errorf("it told %s, want %s", got, c.events)
		}
	}
}

// The tokens of a turn are its own, and turns are summed up; the cost is that of the session, of
// which an attempt that goes on with one has not spent what was spent before.
func TestUsageOfACPSessions(t *testing.T) {
	for _, c := range []struct {
		does []string
		want string
	}{
		{[]string{"load", "before=0.5", "cost=0.75", "tokens=3:4"}, `{"input_tokens": 4, "output_tokens": 4, "cached_tokens": 1, "usd": 0.25, "claimed": True}`},
		{[]string{"load", "cost=0.75"}, `{"usd": 0.75, "claimed": True}`},
		{[]string{"before=0.5", "cost=0.25"}, `{"usd": 0.25, "claimed": True}`},
	} {
		s := acpStage(t, "", append(c.does, "says=better")...)
		r, fault := s.request(`agent("a", "Look.")`)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		a.Session, a.Feedback = "s7", someFeedback()
		if got := s.env.Handlers["agent"].Perform(t.Context(), a).Usage; fmt.Sprint(got) != c.want {
			t.Errorf("%v: got %v, want %s", c.does, got, c.want)
		}
	}
	s := acpStage(t, "", "cost=0.25", "tokens=3:4", "hang=here", "says=done")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	told := make(chan effect.Steer)
	a := s.attempt(r)
	a.Told = told
	go func() {
		s.await("here")
		told <- effect.Steer{Message: "faster", Taken: func() {}}
	}()
	if got := s.env.Handlers["agent"].Perform(t.Context(), a).Usage; fmt.Sprint(got) != `{"input_tokens": 8, "output_tokens": 8, "cached_tokens": 2, "usd": 0.25, "claimed": True}` {
		t.Errorf("two turns: got %v", got)
	}
	if got, want := s.told("usage"), `usage {"usd": 0.25, "claimed": True}; usage {"input_tokens": 4, "output_tokens": 4, "cached_tokens": 1, "usd": 0.25, "claimed": True}`; got != want {
		t.Errorf("it told %s, want %s", got, want)
	}
}
