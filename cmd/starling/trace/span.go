package trace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"starling/cmd/starling/otlp"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// ownProvider is who provides an agent without a backend.
const ownProvider = "starling"

// id is so many bytes that follow from a name.
func id(bytes int, name string) string {
	sum := sha256.Sum256([]byte("starling/trace/v1\x00" + name))
	return hex.EncodeToString(sum[:bytes])
}

// The sizes of ids.
const (
	traceBytes = 16
	spanBytes  = 8
)

// traceID is that of the run that people have started, above all others.
func traceID(top string) string { return id(traceBytes, top) }

// spanID is that of a run, of a step of it, or of an attempt of that.
func spanID(run, step string, attempt int) string {
	return id(spanBytes, run+"\x00"+step+"\x00"+strconv.Itoa(attempt))
}

// maker makes the spans of a trace, run by run.
type maker struct {
	trace    string
	list     []otlp.Span
	attempts []Attempt

	run   *runtime.Run // of which they are made now
	ended time.Time
}

// Attempt is one of an agent, for metrics.
type Attempt struct {
	Agent, Provider, Model string
	Failed                 string // the class of how it ended, "" for well
	Input, Output          int64  // tokens, as far as they are told
	Took                   time.Duration
}

// spans makes those of a run that has ended.
func (m *maker) spans(r *runtime.Run, ended time.Time, steps []runtime.Step) {
	m.run, m.ended = r, ended
	m.root()
	for i := range steps {
		m.step(&steps[i])
	}
}

func (m *maker) add(id, parent, name string, kind int, start, end time.Time, bad bool, attributes []otlp.Attribute) {
	s := otlp.Span{TraceID: m.trace, SpanID: id, Parent: parent, Name: name, Kind: kind, Start: otlp.Nanos(start), End: otlp.Nanos(end), Attributes: attributes}
	if bad {
		s.Status.Code = otlp.Failed
	}
	m.list = append(m.list, s)
}

// root is the span of the run.
func (m *maker) root() {
	r, d := m.run, m.run.Details
	attributes := []otlp.Attribute{otlp.Text("starling.run", r.ID), otlp.Text("starling.script", r.Script), otlp.Text("starling.status", string(r.Status)), otlp.Text("starling.program", d.Program)}
	for _, name := range sortedNames(d.Labels) {
		attributes = append(attributes, otlp.Text("starling.label."+name, d.Labels[name]))
	}
	if r.Error != nil {
		attributes = append(attributes, otlp.Text("error.type", r.Error.Kind))
	}
	parent := ""
	if up, step, child := journal.CutParent(d.Parent); child {
		parent = spanID(up, step, 0)
	}
	m.add(spanID(r.ID, "", 0), parent, "run "+r.Script, otlp.Internal, d.StartedAt, m.ended, r.Status != runtime.Completed, attributes)
}

// step is the span of a step, with those of an agent's attempts. One that was still open when the
// run ended, ended with it. What was taken over from another run has its spans there.
func (m *maker) step(st *runtime.Step) {
	if st.Repeats != "" {
		return
	}
	end := m.ended
	if st.EndedAt != nil {
		end = *st.EndedAt
	}
	attributes := []otlp.Attribute{otlp.Text("starling.run", m.run.ID), otlp.Text("starling.step", st.Step), otlp.Text("starling.kind", st.Kind), otlp.Text("starling.status", st.Status)}
	bad := st.Status == "error" || st.Status == query.StatusFailed
	if bad {
		attributes = append(attributes, otlp.Text("error.type", st.Status))
	}
	self := spanID(m.run.ID, st.Step, 0)
	m.add(self, spanID(m.run.ID, "", 0), st.Kind+" "+st.Step, otlp.Internal, st.StartedAt, end, bad, attributes)
	query.EachTry([]runtime.Step{*st}, func(st *runtime.Step, t *runtime.Try, u runtime.Usage) { m.attempt(self, st, t, u, end) })
}

// attempt is the span of an attempt of an agent, as the GenAI conventions have it. They have no
// attribute for money.
func (m *maker) attempt(step string, st *runtime.Step, t *runtime.Try, u runtime.Usage, end time.Time) {
	if t.EndedAt != nil {
		end = *t.EndedAt
	}
	attributes := []otlp.Attribute{otlp.Text("gen_ai.operation.name", "invoke_agent"), otlp.Text("gen_ai.agent.name", st.Agent), otlp.Text("gen_ai.provider.name", cmp.Or(t.Backend, ownProvider)),
		otlp.Text("gen_ai.conversation.id", m.run.ID+"@"+st.Step), otlp.Text("starling.run", m.run.ID), otlp.Text("starling.step", st.Step), otlp.Whole("starling.attempt", int64(t.Number)),
		otlp.Text("starling.class", cmp.Or(t.Class, "interrupted"))}
	if t.Model != "" {
		attributes = append(attributes, otlp.Text("gen_ai.response.model", t.Model))
	}
	if u.InputTokens+u.OutputTokens > 0 {
		attributes = append(attributes, otlp.Whole("gen_ai.usage.input_tokens", u.InputTokens), otlp.Whole("gen_ai.usage.output_tokens", u.OutputTokens))
	}
	if u.MicroUSD > 0 {
		const millionths = 1e6
		attributes = append(attributes, otlp.Amount("starling.cost_usd", float64(u.MicroUSD)/millionths))
	}
	bad := t.Class != "ok"
	if bad {
		attributes = append(attributes, otlp.Text("error.type", cmp.Or(t.Class, "interrupted")))
	}
	made := Attempt{Agent: st.Agent, Provider: cmp.Or(t.Backend, ownProvider), Model: t.Model, Input: u.InputTokens, Output: u.OutputTokens, Took: end.Sub(t.StartedAt)}
	if bad {
		made.Failed = cmp.Or(t.Class, "interrupted")
	}
	m.attempts = append(m.attempts, made)
	m.add(spanID(m.run.ID, st.Step, t.Number), step, "invoke_agent "+st.Agent, otlp.Client, t.StartedAt, end, bad, attributes)
}
