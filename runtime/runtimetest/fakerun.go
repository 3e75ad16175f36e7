package runtimetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"starling/runtime"
)

// fakeRun is a run of a Fake: where its script stands, and all that happened.
type fakeRun struct {
	doc     runtime.Run
	script  *fakeScript
	bundle  []byte
	program string // hash of the bundle
	line    int    // to be executed next, or that waits
	vars    map[string]any
	past    map[string]json.RawMessage // decisions of gates, null for withdrawn ones
	events  []runtime.Event
	by      string
	now     time.Time

	// What is not kept.
	carried bool
	env     map[string]string
	flying  int // line whose agent is at work
}

func newFakeRun(e *entry) (*fakeRun, error) {
	script, err := parseFake(e.Start.Script, e.Start.Bundle)
	if err != nil {
		return nil, err
	}
	vars, err := script.bind(e.Start.Inputs)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(e.Start.Bundle)
	run := &fakeRun{script: script, bundle: e.Start.Bundle, program: hex.EncodeToString(sum[:]), vars: vars, past: map[string]json.RawMessage{},
		by: e.Caller.Name, now: e.Time, flying: -1}
	run.doc = runtime.Run{Schema: runtime.Schema, ID: e.Run, Status: runtime.Running, Script: e.Start.Script, Inputs: []byte(document(vars)),
		Output: []byte("null"), Gates: []runtime.Gate{}}
	run.record("run.started", "", map[string]any{"by": run.by})
	run.run()
	return run, nil
}

func (r *fakeRun) record(typ, step string, data any) uint64 {
	seq := uint64(len(r.events) + 1)
	r.events = append(r.events, runtime.Event{Seq: seq, Time: r.now, Run: r.doc.ID, Step: step, Type: typ, Data: []byte(document(data))})
	return seq
}

// run executes lines up to one that waits or ends.
func (r *fakeRun) run() {
	for r.line < len(r.script.lines) {
		if l := r.script.lines[r.line]; !r.execute(l) {
			return
		}
		r.line++
	}
	r.end(runtime.Completed, "run.completed", nil)
}

// execute reports whether the next line can be executed too.
func (r *fakeRun) execute(l fakeLine) bool {
	switch l.verb {
	case "print":
		var words []string
		for _, x := range l.args {
			words = append(words, fmt.Sprint(value(x, r.vars)))
		}
		r.record("output.print", "", map[string]any{"text": strings.Join(words, " ")})
		return true
	case "gate":
		r.open(l)
		r.doc.Status = runtime.Suspended
		r.record("run.suspended", "", map[string]any{})
	case "agent":
		_, name := r.waitsFor()
		r.record("step.requested", name, map[string]any{"kind": "agent"})
	case "fail":
		message := fmt.Sprint(value(l.args[0], r.vars))
		r.doc.Error = &runtime.RunError{Kind: "script", Message: message}
		r.end(runtime.Failed, "run.failed", r.doc.Error)
	case "return":
		r.doc.Output = []byte(document(value(l.args[0], r.vars)))
		r.end(runtime.Completed, "run.completed", map[string]any{"output": r.doc.Output})
	}
	return false
}

// waitsFor returns the line and the name of the agent that the run waits for, "" for none.
func (r *fakeRun) waitsFor() (line int, agent string) {
	if r.doc.Status != runtime.Running || r.line >= len(r.script.lines) || r.script.lines[r.line].verb != "agent" {
		return -1, ""
	}
	return r.line, fmt.Sprint(value(r.script.lines[r.line].args[0], r.vars))
}

func (r *fakeRun) open(l fakeLine) {
	name := fmt.Sprint(value(l.args[0], r.vars))
	g := runtime.Gate{Address: r.doc.ID + "/" + name, Gate: name, Prompt: l.text("prompt", r.vars), Target: l.text("target", r.vars), OpenedAt: r.now,
		Options: []runtime.Option{}, Data: []byte("null"), Schema: []byte("null"), AnswerWith: "starling signal " + r.doc.ID + "/" + name}
	if options, ok := value(l.named["options"], r.vars).([]any); ok {
		for _, o := range options {
			g.Options = append(g.Options, runtime.Option{Name: fmt.Sprint(o)})
		}
	}
	if data := l.named["data"]; data != nil {
		g.Data = []byte(document(value(data, r.vars)))
	}
	if schema := l.text("schema", r.vars); schema != "" {
		g.Schema = []byte(document(map[string]any{"contract": schema}))
	}
	r.doc.Gates = append(r.doc.Gates, g)
	r.record("gate.opened", name, g)
}

func (r *fakeRun) end(status runtime.Status, typ string, data any) {
	for _, g := range r.doc.Gates {
		r.past[g.Gate] = []byte("null")
	}
	r.doc.Status, r.doc.Gates = status, []runtime.Gate{}
	r.record(typ, "", data)
}

// signal takes an answer or a message.
func (r *fakeRun) signal(e *entry) (*runtime.Receipt, error) {
	s := e.Signal
	who, err := inWhoseName(e.Caller, s.As)
	if err != nil {
		return nil, err
	}
	r.now = e.Time
	if s.Kind == runtime.SignalMessage {
		return r.message(s)
	}
	g, err := r.gate(s.Gate)
	if err != nil {
		return nil, err
	}
	if err := mayDecide(e.Caller, who, r.doc.ID, g); err != nil {
		return nil, err
	}
	if err := fits(g, s); err != nil {
		return nil, err
	}
	decision := map[string]any{"choice": s.Choice, "reason": s.Reason, "by": who, "payload": s.Data, "via": "signal"}
	r.past[g.Gate] = []byte(document(decision))
	seq := r.record("signal.accepted", g.Gate, map[string]any{"who": []string{who, e.Caller.Name}})
	r.record("gate.decided", g.Gate, decision)
	receipt := &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: r.doc.ID, Gate: g.Gate, Seq: seq, Decision: r.past[g.Gate]}
	if l := r.script.lines[r.line]; l.assign != "" {
		r.vars[l.assign] = decision
	}
	r.doc.Gates, r.doc.Status = []runtime.Gate{}, runtime.Running
	r.line++
	r.run()
	receipt.Status = r.doc.Status
	return receipt, nil
}

func (r *fakeRun) message(s *runtime.Signal) (*runtime.Receipt, error) {
	if r.doc.Status.Ended() {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s and takes no messages", r.doc.ID, r.doc.Status)
	}
	seq := r.record("signal.accepted", "", map[string]any{"name": s.Name})
	return &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: r.doc.ID, Seq: seq, Status: r.doc.Status}, nil
}

func (r *fakeRun) cancel(e *entry) (*runtime.Receipt, error) {
	switch {
	case !e.Caller.Local:
		return nil, runtime.Refusef(runtime.ErrDenied, "the agent %q may not cancel", e.Caller.Agent)
	case r.doc.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s", r.doc.ID, r.doc.Status)
	}
	r.now = e.Time
	r.doc.Error = &runtime.RunError{Kind: "cancelled", Message: "cancelled by " + e.Caller.Name}
	r.end(runtime.Cancelled, "run.cancelled", r.doc.Error)
	return &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: r.doc.ID, Seq: uint64(len(r.events)), Status: r.doc.Status}, nil
}

func (r *fakeRun) reply(e *entry) {
	line, agent := r.waitsFor()
	if line != e.Reply.Step {
		return
	}
	r.now = e.Time
	r.record("step.settled", agent, e.Reply)
	if e.Reply.Error != "" {
		r.doc.Error = &runtime.RunError{Kind: "agent", Message: e.Reply.Error}
		r.end(runtime.Failed, "run.failed", r.doc.Error)
		return
	}
	if l := r.script.lines[r.line]; l.assign != "" {
		r.vars[l.assign] = map[string]any{"text": e.Reply.Text}
	}
	r.line++
	r.run()
}

func inWhoseName(c runtime.Caller, as string) (string, error) {
	switch {
	case c.Agent != "" && as != "" && as != c.Agent:
		return "", runtime.Refusef(runtime.ErrDenied, "the agent %q may not act as %q", c.Agent, as)
	case c.Agent != "":
		return c.Agent, nil
	case as != "":
		return as, nil
	}
	return c.Name, nil
}

func mayDecide(c runtime.Caller, who, run string, g *runtime.Gate) error {
	switch {
	case c.Agent != "" && c.Run == run:
		return runtime.Refusef(runtime.ErrDenied, "gate %q belongs to the run that started the agent %q", g.Gate, c.Agent)
	case g.Target != "" && g.Target != who, c.Agent != "" && g.Target == "":
		return runtime.Refusef(runtime.ErrWrongTarget, "gate %q is for %q, not for %q", g.Gate, g.Target, who)
	}
	return nil
}

// gate finds the open gate that is meant.
func (r *fakeRun) gate(name string) (*runtime.Gate, error) {
	for i := range r.doc.Gates {
		if r.doc.Gates[i].Gate == name {
			return &r.doc.Gates[i], nil
		}
	}
	decision, known := r.past[name]
	switch {
	case known && string(decision) != "null":
		refusal := runtime.Refusef(runtime.ErrDecided, "gate %q of run %s is decided already", name, r.doc.ID)
		refusal.Data = decision
		return nil, refusal
	case known, r.doc.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s: no gate is open", r.doc.ID, r.doc.Status)
	case r.mentions(name):
		return nil, runtime.Refusef(runtime.ErrNotOpen, "gate %q of run %s has not opened yet", name, r.doc.ID)
	}
	return nil, runtime.Refusef(runtime.ErrUnknownGate, "run %s has no gate %q", r.doc.ID, name)
}

func (r *fakeRun) mentions(gate string) bool {
	return slices.ContainsFunc(r.script.lines, func(l fakeLine) bool {
		return l.verb == "gate" && value(l.args[0], r.vars) == gate
	})
}

// fits holds an answer against its gate.
func fits(g *runtime.Gate, s *runtime.Signal) error {
	offered := func(o runtime.Option) bool { return o.Name == s.Choice }
	if len(g.Options) > 0 && !slices.ContainsFunc(g.Options, offered) || len(g.Options) == 0 && s.Choice != "" {
		return runtime.Refusef(runtime.ErrBadChoice, "gate %q: got choice %q", g.Gate, s.Choice)
	}
	if len(s.Data) > 0 && !json.Valid(s.Data) {
		return runtime.Refusef(runtime.ErrBadPayload, "gate %q: the payload is not JSON", g.Gate)
	}
	var schema struct{ Contract string }
	var fields map[string]any
	json.Unmarshal(g.Schema, &schema)
	json.Unmarshal(s.Data, &fields)
	name, _, _ := strings.Cut(strings.TrimPrefix(schema.Contract, "{"), ":") // of a contract with one field, which is text
	if _, ok := fields[name].(string); schema.Contract != "" && !ok {
		return runtime.Refusef(runtime.ErrBadPayload, "gate %q: the payload breaks its contract: %s", g.Gate, name)
	}
	return nil
}

func (r *fakeRun) selected(q runtime.Query) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, r.doc.Status)
	}
	return q.All || !r.doc.Status.Ended()
}

func (r *fakeRun) gatesFor(target string) []runtime.Gate {
	return slices.DeleteFunc(slices.Clone(r.doc.Gates), func(g runtime.Gate) bool {
		return target != "" && g.Target != "" && g.Target != target
	})
}

func (r *fakeRun) summary() runtime.Summary {
	s := runtime.Summary{ID: r.doc.ID, Status: r.doc.Status, Script: r.doc.Script, StartedAt: r.events[0].Time, UpdatedAt: r.now, Gates: len(r.doc.Gates),
		Carried: r.carried && !r.doc.Status.Ended()}
	if r.doc.Error != nil {
		s.Error = r.doc.Error.Message
	}
	return s
}

// document is a copy that stays as it is.
func (r *fakeRun) document() *runtime.Run {
	doc := r.doc
	doc.Gates = slices.Clone(r.doc.Gates)
	s := r.summary()
	doc.Details = &runtime.Details{Program: r.program, StartedBy: r.by, StartedAt: s.StartedAt, UpdatedAt: s.UpdatedAt,
		Seq: uint64(len(r.events)), Carried: s.Carried}
	return &doc
}
