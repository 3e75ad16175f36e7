package agent_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

func someFeedback() contract.Violations {
	return contract.Violations{{Path: "n", Got: `"x"`, Want: "int"}, {Path: "m", Got: "nothing", Want: "int", Hint: "add it"}}
}

func someDeadline() time.Time { return time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC) }

func TestScriptedFailures(t *testing.T) {
	for _, c := range []struct{ fake, want string }{
		{`fail("no", "quota")`, `retryable agent: a: no quota`},
		{`return req.nothing`, `retryable agent: a: Request has no .nothing field or method`},
		{`return stop("x")`, `ok output=Verdict(action = "stop", message = "x")`},
	} {
		s := newStage(t, "", "def a(req):\n    "+c.fake)
		if got := show(s.ask(t.Context(), `agent("a")`)); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.fake, got, c.want)
		}
	}
}

// What varies from call to call comes from the request.
func TestScriptedAgentSucceedsLater(t *testing.T) {
	s := newStage(t, "", "def a(req):\n    if req.attempt < 2: fail('busy')\n    return req.attempt")
	if got := show(s.ask(t.Context(), `agent("a")`)); got != "retryable agent: a: busy" {
		t.Errorf("got %s", got)
	}
	s.number = 2
	if got := show(s.ask(t.Context(), `agent("a")`)); got != "ok output=2" {
		t.Errorf("got %s", got)
	}
}

func TestDelay(t *testing.T) {
	s := newStage(t, "", `def a(req): return reply(text = "x", delay = "30ms", events = [{"kind": "started"}])`)
	before := time.Now()
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok text="x"` {
		t.Errorf("got %s", got)
	}
	if took := time.Since(before); took < 30*time.Millisecond {
		t.Errorf("it took %v, which is less than it claims", took)
	}
}

// The events come before the delay, so that a script can stop an agent that is still at work.
func TestEventsComeBeforeTheDelay(t *testing.T) {
	s := newStage(t, "", `def a(req): return reply(text = "x", delay = "1000s", events = [{"kind": "started"}])`)
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := s.attempt(r)
	emit := a.Emit
	a.Emit = func(kind string, data starlark.Value) { emit(kind, data); cancel() }
	if got := show(s.env.Handlers["agent"].Perform(ctx, a)); got != "final cancelled: a: cancelled" {
		t.Errorf("got %s", got)
	}
	if len(s.events) != 1 {
		t.Errorf("got %v", s.events)
	}
}

// A fake that was pinned anew under a waiting request may not have its agent any more.
func TestFunctionGone(t *testing.T) {
	s := newStage(t, "", "def a(req): return 1")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	s.settings.Fake = []byte("def b(req): return 1")
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), s.attempt(r))); got != "missing refused: a: the fake has no function for it any more" {
		t.Errorf("got %s", got)
	}
}

// More fakes than are kept: each still answers as itself.
func TestManyFakes(t *testing.T) {
	s := newStage(t, "", "x")
	for i := range 200 {
		s.settings.Fake = fmt.Appendf(nil, "def a(req): return %d", i)
		r := s.ask(t.Context(), `agent("a")`)
		if n, err := intOf(r.Value); err != nil || n != i {
			t.Fatalf("fake %d answers %s", i, show(r))
		}
	}
}
