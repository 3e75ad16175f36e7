package trace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// The documents of OTLP, as its JSON encoding has them.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     status      `json:"status"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string  `json:"stringValue,omitempty"`
		Int    string   `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
)

// Kinds of spans, and the code of one that has failed.
const (
	internal = 1
	client   = 3

	failed = 2
)

func text(key, v string) attribute { return attribute{key, value{Text: &v}} }
func whole(key string, n int64) attribute {
	return attribute{key, value{Int: strconv.FormatInt(n, 10)}}
}
func amount(key string, x float64) attribute { return attribute{key, value{Double: &x}} }

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

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// spans are those of a run that has ended, below the run top.
func spans(r *runtime.Run, ended time.Time, top string, steps []runtime.Step) []span {
	m := maker{run: r, ended: ended, trace: traceID(top)}
	m.root()
	for i := range steps {
		m.step(&steps[i])
	}
	return m.list
}

// maker makes the spans of a run.
type maker struct {
	run   *runtime.Run
	ended time.Time
	trace string
	list  []span
}

func (m *maker) add(id, parent, name string, kind int, start, end time.Time, bad bool, attributes []attribute) {
	s := span{TraceID: m.trace, SpanID: id, Parent: parent, Name: name, Kind: kind, Start: nanos(start), End: nanos(end), Attributes: attributes}
	if bad {
		s.Status.Code = failed
	}
	m.list = append(m.list, s)
}

// root is the span of the run.
func (m *maker) root() {
	r, d := m.run, m.run.Details
	attributes := []attribute{text("starling.run", r.ID), text("starling.script", r.Script), text("starling.status", string(r.Status)), text("starling.program", d.Program)}
	for _, name := range sortedNames(d.Labels) {
		attributes = append(attributes, text("starling.label."+name, d.Labels[name]))
	}
	if r.Error != nil {
		attributes = append(attributes, text("error.type", r.Error.Kind))
	}
	parent := ""
	if up, step, child := journal.CutParent(d.Parent); child {
		parent = spanID(up, step, 0)
	}
	m.add(spanID(r.ID, "", 0), parent, "run "+r.Script, internal, d.StartedAt, m.ended, r.Status != runtime.Completed, attributes)
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
	attributes := []attribute{text("starling.run", m.run.ID), text("starling.step", st.Step), text("starling.kind", st.Kind), text("starling.status", st.Status)}
	bad := st.Status == "error" || st.Status == query.StatusFailed
	if bad {
		attributes = append(attributes, text("error.type", st.Status))
	}
	self := spanID(m.run.ID, st.Step, 0)
	m.add(self, spanID(m.run.ID, "", 0), st.Kind+" "+st.Step, internal, st.StartedAt, end, bad, attributes)
	query.EachTry([]runtime.Step{*st}, func(st *runtime.Step, t *runtime.Try, u runtime.Usage) { m.attempt(self, st, t, u, end) })
}

// attempt is the span of an attempt of an agent, as the GenAI conventions have it. They have no
// attribute for money.
func (m *maker) attempt(step string, st *runtime.Step, t *runtime.Try, u runtime.Usage, end time.Time) {
	if t.EndedAt != nil {
		end = *t.EndedAt
	}
	attributes := []attribute{text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", st.Agent), text("gen_ai.provider.name", cmp.Or(t.Backend, "starling")),
		text("gen_ai.conversation.id", m.run.ID+"@"+st.Step), text("starling.run", m.run.ID), text("starling.step", st.Step), whole("starling.attempt", int64(t.Number)),
		text("starling.class", cmp.Or(t.Class, "interrupted"))}
	if t.Model != "" {
		attributes = append(attributes, text("gen_ai.response.model", t.Model))
	}
	if u.InputTokens+u.OutputTokens > 0 {
		attributes = append(attributes, whole("gen_ai.usage.input_tokens", u.InputTokens), whole("gen_ai.usage.output_tokens", u.OutputTokens))
	}
	if u.MicroUSD > 0 {
		const millionths = 1e6
		attributes = append(attributes, amount("starling.cost_usd", float64(u.MicroUSD)/millionths))
	}
	bad := t.Class != "ok"
	if bad {
		attributes = append(attributes, text("error.type", cmp.Or(t.Class, "interrupted")))
	}
	m.add(spanID(m.run.ID, st.Step, t.Number), step, "invoke_agent "+st.Agent, client, t.StartedAt, end, bad, attributes)
}
