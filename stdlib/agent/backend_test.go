package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"starling/lang/effect"
)

// TestBackends holds for every backend: the same agent, written for each, comes to the same reply.
func TestBackends(t *testing.T) {
	if testing.Short() {
		t.Skip("a table of programs, for long: the gate plays it without the race detector")
	}
	for _, c := range []struct {
		name    string
		command string // what the agent is as a shell script
		fake    string // what it is as a Starlark function's body
		output  string // contract asked for, "" for none
		want    string
	}{
		{"output", `echo '{"output": {"n": 1, "f": 2.0}}'`, `return {"n": 1, "f": 2.0}`, "", `ok output={"n": 1, "f": 2.0}`},
		{"output of null", `echo '{"output": null}'`, `return None`, "", `ok output=None`},
		{"text", `echo 'All is well.'`, `return "All is well."`, "", `ok text="All is well."`},
		{"both", `echo '{"output": [1], "text": "One."}'`, `return reply(output = [1], text = "One.")`, "", `ok output=[1] text="One."`},
		{"everything", `echo '{"output": 1, "note": "n", "usage": {"tokens": 3}, "status": "ok"}'`,
			`return reply(output = 1, note = "n", usage = {"tokens": 3}, status = "ok")`, "", `ok output=1 note="n" usage={"tokens": 3}`},
		{"blocked", `echo '{"text": "need a key", "status": "blocked"}'`, `return reply(text = "need a key", status = "blocked")`, "{n: int}",
			`blocked output="need a key" text="need a key"`},
		{"an error of its own", `echo '{"text": "t", "status": "error", "note": "no quota"}'`,
			`return reply(text = "t", status = "error", note = "no quota")`, "", `final agent: a: no quota`},
		{"an error and nothing else", `echo '{"status": "error", "note": "no quota"}'`, `return reply(status = "error", note = "no quota")`, "", `final agent: a: no quota`},
		{"blocked and nothing else", `echo '{"status": "blocked", "note": "Which one?"}'`, `return reply(status = "blocked", note = "Which one?")`, "{n: int}",
			`blocked note="Which one?"`},
		{"a status that is part of the reply", `echo '{"status": "error", "note": "n", "n": 1}'`, `return '{"status": "error", "note": "n", "n": 1}'`, "{status: string, *: any}",
			`ok output={"status": "error", "note": "n", "n": 1} text="{\"status\": \"error\", \"note\": \"n\", \"n\": 1}"`},
		{"JSON in prose", `printf 'First I thought [1, 2].\nThen:\n{"n": 2}\nDone.'`,
			`return "First I thought [1, 2].\nThen:\n{\"n\": 2}\nDone."`, "{n: int}",
			`ok output={"n": 2} text="First I thought [1, 2].\nThen:\n{\"n\": 2}\nDone."`},
		{"JSON in a fence", "printf 'Here:\\n```json\\n[1, 2]\\n```\\n'", "return 'Here:\\n```json\\n[1, 2]\\n```'", "[int]",
			"ok output=[1, 2] text=\"Here:\\n```json\\n[1, 2]\\n```\""},
		{"a text where a string will do", `printf 'plain'`, `return "plain"`, "string", `ok output="plain" text="plain"`},
		{"a number as text", `echo 42`, `return "42"`, "int", `ok output=42 text="42"`},
		{"nothing that fits", `printf 'I see {"n": "x"} only'`, `return "I see {\"n\": \"x\"} only"`, "{n: int}",
			`ok output={"n": "x"} text="I see {\"n\": \"x\"} only"`},
		{"the last that fits", `printf '{"n": 1} {"n": 2} {"m": 3}'`, `return '{"n": 1} {"n": 2} {"m": 3}'`, "{n: int}",
			`ok output={"n": 2} text="{\"n\": 1} {\"n\": 2} {\"m\": 3}"`},
		{"nothing", `true`, `return ""`, "", `retryable agent: a: EMPTY`},
		{"blanks", `echo; echo '   '`, `return " \n "`, "", `retryable agent: a: EMPTY`},
		{"an empty reply", `echo '{"text": ""}'`, `return reply()`, "", `retryable agent: a: EMPTY`},
		{"an unknown status", `echo '{"output": 1, "status": "fine"}'`, ``, "",
			`retryable invalid: a: the reply has the wrong form: status: got "fine", want one of ok, stopped, blocked, error`},
		{"wrong types", `echo '{"output": 1, "text": 2, "usage": [], "events": {}}'`, ``, "",
			"retryable invalid: a: the reply has the wrong form: text: got int, want string\nusage: got list, want a dict of plain values\nevents: got dict, want list"},
		{"bad events", `echo '{"output": 1, "events": [{"kind": "ok"}, {}, 3]}'`, `return reply(output = 1, events = [{"kind": "ok"}, {}, 3])`, "",
			"retryable invalid: a: the reply has the wrong form: events[1].kind: got \"\", want the name of a kind of event\n" +
				`events[2].kind: got "", want the name of a kind of event`},
		{"what cannot be recorded", ``, `return reply(output = 1, usage = {"f": len}, events = [{"kind": "k", "f": len}])`, "",
			"retryable invalid: a: the reply has the wrong form: usage: got dict, want a dict of plain values\n" +
				"events[0]: got a value that cannot be recorded, want plain values"},
	} {
		call := `agent("a")`
		if c.output != "" {
			call = fmt.Sprintf(`agent("a", output = contract(%q))`, c.output)
		}
		empty := map[string]string{"command": "it exited with 0 and an empty reply", "scripted": "the reply is empty"}
		stages := map[string]*stage{}
		if c.command != "" { // else JSON cannot say it
			stages["command"] = newStage(t, shell("a", c.command), "")
		}
		if c.fake != "" { // else Starlark cannot say it
			stages["scripted"] = newStage(t, "", "def a(req):\n    "+c.fake)
		}
		for backend, s := range stages {
			got := s.ask(t.Context(), call)
			if want := strings.Replace(c.want, "EMPTY", empty[backend], 1); show(got) != want {
				t.Errorf("%s, %s\ngot  %s\nwant %s", c.name, backend, show(got), want)
			}
			if got.Backend != "a" {
				t.Errorf("%s, %s: served by %q, want a", c.name, backend, got.Backend)
			}
		}
	}
}

// Whatever the backend, an agent is sent the same.
func TestWhatAgentsAreSent(t *testing.T) {
	const want = `{"schema":"starling/agent/v1","key":"run1/b/first","run":"run1","step":"b/first","attempt":1,"agent":"a","task":"Look.",` +
		`"input":{"b":"AQ==","a":[1,2.0,null]},"context":["c"],"instructions":"Be brief.","output_schema":{"$schema":` +
		`"https://json-schema.org/draft/2020-12/schema","type":"integer"},"feedback":[],"deadline":null,"handoff":null,"memory":null,"messages":[],"files":[]}`
	call := `agent(role("a", instructions = "Be brief."), "Look.", input = {"b": b"\x01", "a": (1, 2.0, None)}, context = ["c"], output = contract("int"), name = "first")`
	command := newStage(t, shell("a", `printf '{"text": "got it"}'; cat >request`), "")
	if r := command.ask(t.Context(), call); r.Err != nil {
		t.Fatal(r.Err)
	}
	if got := command.read("request"); got != want+"\n" {
		t.Errorf("command\ngot  %s\nwant %s", got, want)
	}
	scripted := newStage(t, "", "def a(req): return json.encode(req)")
	if got := scripted.ask(t.Context(), strings.Replace(call, `output = contract("int")`, `output = contract("int | string")`, 1)); got.Err != nil {
		t.Fatal(got.Err)
	} else if text := strings.Replace(got.Text, `"anyOf":[{"type":"integer"},{"type":"string"}]`, `"type":"integer"`, 1); text != want {
		t.Errorf("scripted\ngot  %s\nwant %s", text, want)
	}
}

// Another attempt is told why the last was not accepted, and until when it has time.
func TestFeedbackAndDeadline(t *testing.T) {
	s := newStage(t, "", `def a(req): return json.encode([req.attempt, req.feedback, req.deadline])`)
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	a.Number, a.Feedback, a.Deadline = 3, someFeedback(), someDeadline()
	const want = `[3,[{"got":"\"x\"","path":"n","want":"int"},{"got":"nothing","hint":"add it","path":"m","want":"int"}],"2026-01-31T09:30:00.000Z"]`
	if got := s.env.Handlers["agent"].Perform(t.Context(), a); got.Text != want {
		t.Errorf("got %s, want %s", show(got), want)
	}
}

func TestEvents(t *testing.T) {
	for backend, s := range map[string]*stage{
		"command":  newStage(t, shell("a", `echo '{"text": "x", "events": [{"kind": "tool", "name": "grep"}, {"kind": "note"}]}'`), ""),
		"scripted": newStage(t, "", `def a(req): return reply(text = "x", events = [{"kind": "tool", "name": "grep"}, {"kind": "note"}])`),
	} {
		if r := s.ask(t.Context(), `agent("a")`); r.Err != nil {
			t.Errorf("%s: %v", backend, r.Err)
		}
		if got := strings.Join(s.events, "; "); got != `tool {"kind": "tool", "name": "grep"}; note {"kind": "note"}` {
			t.Errorf("%s: got %s", backend, got)
		}
	}
}

// ended is a context whose deadline has passed, or that was cancelled.
func ended(t *testing.T, deadline bool) context.Context {
	if !deadline {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	ctx, cancel := context.WithDeadline(t.Context(), someDeadline())
	t.Cleanup(cancel)
	return ctx
}

func TestEndedContext(t *testing.T) {
	for backend, s := range map[string]*stage{
		"command":  newStage(t, shell("a", "sleep 1000"), ""),
		"scripted": newStage(t, "", `def a(req): return reply(text = "late", delay = "1000s")`),
	} {
		if got := show(s.ask(ended(t, true), `agent("a")`)); got != "final timeout: a: no reply before the deadline" {
			t.Errorf("%s: got %s", backend, got)
		}
		if got := show(s.ask(ended(t, false), `agent("a")`)); got != "final cancelled: a: cancelled" {
			t.Errorf("%s: got %s", backend, got)
		}
	}
}

func TestUnknownBackend(t *testing.T) {
	s := newStage(t, "", "def a(req): return 1")
	r, fault := s.request(`agent("a")`)
	if fault != nil {
		t.Fatal(fault)
	}
	var o effect.Object
	r.Resolved = o.Text("agent", "a").Text("backend", "telepathy").Payload() // recorded by a build that has it
	if got := show(s.env.Handlers["agent"].Perform(t.Context(), s.attempt(r))); got != `missing refused: a: this build has no backend "telepathy"` {
		t.Errorf("got %s", got)
	}
}
