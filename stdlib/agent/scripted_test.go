package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

func someFeedback() contract.Violations {
	return contract.Violations{{Path: "n", Got: `"x"`, Want: "int"}, {Path: "m", Got: "nothing", Want: "int", Hint: "add it"}}
}

func someDeadline() time.Time { return time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC) }

func TestScriptedFailures(t *testing.T) {
	for _, c := range []struct{ fake, want string }{
		{`fail("no", "quota")`, `retryable agent: a: no quota`},
		{`return req.nothing`, `retryable agent: a: Request has no .nothing field or method`},
		{`return agent("b")`, `final agent: a: agent cannot be called in a file of scripted agents: what varies comes from the request`},
		{`return [gate("g", wait = False).decision()]`,
			`final agent: a: gate cannot be called in a file of scripted agents: what varies comes from the request`},
		{`return now()`, `final agent: a: now cannot be called in a file of scripted agents: what varies comes from the request`},
		{"for _ in forever():\n        pass", `final agent: a: the script has run for 5000000 steps without waiting for anything: the limit is 5000000`},
		{"print('x'); log.info('y'); emit('z')\n    return parallel([lambda: 1, lambda: attempt(fail, 'x').ok])", `ok output=[1, False]`},
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

func TestScriptedAgentChangesFiles(t *testing.T) {
	for _, c := range []struct{ files, want, left string }{
		{`{"src/a.go": "package a", "old.txt": None, "gone.txt": None}`, `ok text="x"`, "src/a.go=package a"},
		{`{"b": b"\xff", "old.txt": "new"}`, `ok text="x"`, "b=\xff old.txt=new"},
		{`{}`, `ok text="x"`, "old.txt=old"},
		{`{"../out": "x"}`, "final agent: a: files: ../out: it leads out of the workspace", "old.txt=old"},
		{`{"n": 3}`, "final agent: a: files: n: got int, want string, bytes or None", "old.txt=old"},
		{`{3: "x"}`, "final agent: a: files: got the path 3, want a string", "old.txt=old"},
	} {
		s := newStage(t, "", `def a(req): return reply(text = "x", files = `+c.files+`)`)
		keep := func(name, text string) {
			if err := os.WriteFile(filepath.Join(s.settings.Workspace, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		keep("old.txt", "old")
		for range 2 { // a crash may have it done again
			if got := show(s.ask(t.Context(), `agent("a")`)); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.files, got, c.want)
			}
		}
		var left []string
		for _, name := range []string{"b", "old.txt", "src/a.go"} {
			if text, err := os.ReadFile(filepath.Join(s.settings.Workspace, name)); err == nil {
				left = append(left, name+"="+string(text))
			}
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s leaves %s, want %s", c.files, got, c.left)
		}
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

// An agent that computes without end is ended with its attempt.
func TestCancelledComputation(t *testing.T) {
	s := newStage(t, "", "def a(req):\n    for _ in forever(): pass")
	if got := show(s.ask(ended(t, false), `agent("a")`)); got != "final cancelled: a: cancelled" {
		t.Errorf("got %s", got)
	}
}

// What a file makes when it is loaded is shared by all calls, and therefore frozen.
func TestCallsShareNothing(t *testing.T) {
	s := newStage(t, "", "seen = []\ndef a(req): seen.append(1)\ndef b(req, own = {}): own['x'] = 1")
	if got := show(s.ask(t.Context(), `agent("a")`)); got != "retryable agent: a: append: cannot append to frozen list" {
		t.Errorf("got %s", got)
	}
	if got := show(s.ask(t.Context(), `agent("b")`)); got != "retryable agent: b: cannot insert into frozen hash table" {
		t.Errorf("got %s", got)
	}
}

// Agents of one file are asked at once.
func TestConcurrentCalls(t *testing.T) {
	s := newStage(t, "", "table = {'x': [1, 2]}\ndef a(req): return [n * req.input for n in table['x']]")
	r, fault := s.request(`agent("a", input = 3)`)
	if fault != nil {
		t.Fatal(fault)
	}
	replies := make(chan effect.Reply)
	for range 20 {
		a := s.attempt(r)
		go func() { replies <- s.env.Handlers["agent"].Perform(t.Context(), a) }()
	}
	for range 20 {
		if got := show(<-replies); got != "ok output=[3, 6]" {
			t.Errorf("got %s", got)
		}
	}
}

// A main in a file of agents is a function like any other.
func TestAgentCalledMain(t *testing.T) {
	s := newStage(t, "", "def main(req): return req.task")
	if got := show(s.ask(t.Context(), `agent("main", "hi")`)); got != `ok text="hi"` {
		t.Errorf("got %s", got)
	}
}

func TestBundleThatIsNone(t *testing.T) {
	s := newStage(t, "", "x = 1")
	s.settings.Fake = []byte("def a(req): return 1")
	if _, fault := s.request(`agent("a")`); fault == nil || !strings.HasPrefix(fault.Message, "the fake agents.star: ") {
		t.Errorf("got %v", fault)
	}
}

// A fake that was pinned anew under a waiting request may not have its agent any more.
func TestFunctionGone(t *testing.T) {
	s := newStage(t, "", "def a(req): return 1")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	s.settings.Fake = bundle(t, "def b(req): return 1")
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), s.attempt(r))); got != "missing refused: a: the fake has no function for it any more" {
		t.Errorf("got %s", got)
	}
}

// More fakes than are kept: each still answers as itself.
func TestManyFakes(t *testing.T) {
	s := newStage(t, "", "x")
	for i := range 200 {
		s.settings.Fake = bundle(t, fmt.Sprintf("def a(req): return %d", i))
		r := s.ask(t.Context(), `agent("a")`)
		if n, err := intOf(r.Value); err != nil || n != i {
			t.Fatalf("fake %d answers %s", i, show(r))
		}
	}
}
