package agent_test

import (
	"bytes"
	"strings"
	"testing"

	"starling/lang/effect"
)

func replaceDir(text, dir string) string { return strings.ReplaceAll(text, dir, "DIR") }

const builder = `
[agents.builder]
command = ["builder"]
input = "{findings: [string](1..), urgent: bool = false}"
output = "{done: int}"
`

func TestEnvelope(t *testing.T) {
	for _, c := range []struct{ call, want string }{
		{`handoff("builder", {"findings": ["a"]})`,
			`{"to": "builder", "context": {}, "constraints": [], "payload": {"findings": ["a"], "urgent": False}, "expected_output": "{done: int}"}`},
		{`handoff(role("builder", requires = ["files"]), {"n": 1}, sender = role("judge"), accepts = contract("{n: int}"), returns = contract("string"),
			context = {"files": ["x.go"], "constraints": ["no new dependencies"]}, cycle = 0)`,
			`{"from": "judge", "to": "builder", "cycle": 0, "context": {"files": ["x.go"]}, "constraints": ["no new dependencies"], ` +
				`"payload": {"n": 1}, "expected_output": "string"}`},
		{`handoff("builder", {"findings": ["line 3 is AKIAIOSFODNN7EXAMPLE"]}, context = {"history": [1], "goal": "-----BEGIN RSA PRIVATE KEY-----\nMIIE"}, budget = 200)`,
			`{"to": "builder", "context": {"goal": "[redacted]"}, "constraints": [], "payload": {"findings": ["line 3 is [redacted]"], "urgent": False}, ` +
				`"expected_output": "{done: int}", "left_out": ["history"]}`},
	} {
		var before []byte
		for range 2 { // the same call makes the same bytes
			r, fault := newStage(t, builder, "").request(c.call)
			if fault != nil {
				t.Fatalf("%s: %v", c.call, fault)
			}
			v, err := r.Resolved.View()
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Value("handoff").String(); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
			}
			now := v.Raw("handoff")
			if before != nil && !bytes.Equal(before, now) {
				t.Errorf("%s: two envelopes of the same call differ", c.call)
			}
			before = now
		}
	}
}

// What is wrong with a handoff is found before anything is sent, and every problem is told.
func TestHandoffRefuses(t *testing.T) {
	for _, c := range []struct{ call, want, data string }{
		{`handoff("builder", {"findings": [1], "urgnt": True})`,
			"invalid: handoff to builder: the payload is not what it accepts: findings[0]: got 1, want string\n" +
				`urgnt: got an unknown key, want only findings, urgent; did you mean "urgent"?`,
			`[{"path": "findings[0]", "got": "1", "want": "string"}, {"path": "urgnt", "got": "an unknown key", "want": "only findings, urgent", ` +
				`"hint": "did you mean \"urgent\"?"}]`},
		{`handoff("builder", 1, accepts = contract("string"))`, `invalid: handoff to builder: the payload is not what it accepts: got 1, want string`,
			`[{"path": "", "got": "1", "want": "string"}]`},
		{`handoff(role("builder", input = contract("int"), requires = ["files", "goal"]), 1, context = {"goal": None})`,
			"invalid: handoff to builder: the context lacks what its role requires: context.files: got nothing, want what the role requires\n" +
				"context.goal: got nothing, want what the role requires",
			`[{"path": "context.files", "got": "nothing", "want": "what the role requires"}, ` +
				`{"path": "context.goal", "got": "nothing", "want": "what the role requires"}]`},
		{`handoff("builder", {"findings": ["a" * 4000]}, budget = 1000, context = {"history": ["h" * 9000]})`,
			"budget: handoff to builder: payload and context take about 1010 tokens, and the budget is 1000; pass less, for example what context.trim makes of it",
			`{"reason": "context", "tokens": 1010, "budget": 1000}`},
	} {
		_, fault := newStage(t, builder, "").request(c.call)
		if fault == nil {
			t.Errorf("%s: it was resolved", c.call)
			continue
		}
		if got := string(fault.Kind) + ": " + fault.Message; got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
		if data, err := fault.Data.Value(); err != nil || data.String() != c.data {
			t.Errorf("%s\ngot data  %v (%v)\nwant data %s", c.call, data, err, c.data)
		}
	}
}

// A contract may fill in defaults without end: what comes of a payload is bounded like the payload.
func TestHandoffThatGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	call := `handoff("a", [{}] * 200000, accepts = contract("[{text: string = \"` + strings.Repeat("x", 20) + `\"}]"))`
	_, fault := newStage(t, "", "def a(req): pass").request(call)
	if want := "handoff to a: the value is larger than 1048576 bytes"; fault == nil || fault.Kind != effect.KindInvalid || fault.Message != want {
		t.Errorf("got %v, want %s", fault, want)
	}
}

// The receiver gets the payload as its input, like any other work, and the rest of the envelope
// beside it.
func TestWhatTheReceiverGets(t *testing.T) {
	s := newStage(t, "", `
def builder(req):
    return {"input": req.input, "context": req.context, "handoff": req.handoff, "task": req.task, "schema": req.output_schema}
`)
	r := s.ask(t.Context(), `handoff("builder", {"n": 1}, task = "Fix.", sender = "judge", returns = contract("int"), context = {"k": 1, "constraints": ["c"]})`)
	const want = `ok output={"input": {"n": 1}, "context": {"k": 1}, "handoff": {"from": "judge", "to": "builder", "cycle": None, "constraints": ["c"]}, ` +
		`"task": "Fix.", "schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer"}}`
	if got := show(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A19, S4-33: the envelope is an artifact in both forms, what was left out is told, and a key by
// its form is neither there nor with the receiver.
func TestEnvelopeIsKept(t *testing.T) {
	s := newStage(t, "", "def builder(req):\n    return req.input\n")
	r := s.ask(t.Context(), `handoff("builder", {"found": "token ghp_0123456789abcdefghij0123456789abcdefghij"}, sender = "judge", context = {"history": [1]}, cycle = 1)`)
	const want = `{"from":"judge","to":"builder","cycle":1,"context":{},"constraints":[],"payload":{"found":"token [redacted]"},"left_out":["history"]}` + "\n"
	if got := string(r.Blobs["handoff.json"]); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	const inYAML = "from: judge\nto: builder\ncycle: 1\n"
	if got := string(r.Blobs["handoff.yaml"]); !strings.HasPrefix(got, inYAML) {
		t.Errorf("got %s", got)
	}
	if got := show(r); got != `ok output={"found": "token [redacted]"}` {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(s.events, "\n"); !strings.Contains(got, "history of the context is not passed on") {
		t.Errorf("got the events %s", got)
	}
}
