package effect

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
)

// RecordType is the shape of a record: a name and ordered fields. The types are a closed list
// ([RecordTypes]); their order and fields are part of the wire format, so new fields go at the end
// and nothing is removed.
type RecordType struct {
	Name   string
	Fields []string
	ok     int    // index of the field that is the truth value, -1 for always true
	hint   string // why a record of this type has no truth value, "" if it has
}

// The record types. Result, Outcome, Response, Completed and ToolResult are true when ok; a
// Decision has no truth value.
var (
	ResultType = &RecordType{Name: "Result", Fields: append(slices.Clone(earlyResultType.Fields), "tools")}
	// earlyResultType is a Result as runs up to [BehaviourToollessResult] have it.
	earlyResultType = &RecordType{Name: "Result", Fields: []string{"ok", "status", "output", "text", "error", "note", "agent",
		"backend", "attempts", "degraded", "usage", "step"}}
	DecisionType = &RecordType{Name: "Decision", Fields: []string{"choice", "reason", "payload", "by", "via", "at", "timed_out"}, ok: -1,
		hint: "a Decision has no truth value; use .choice"}
	OutcomeType  = &RecordType{Name: "Outcome", Fields: []string{"ok", "status", "value", "error"}}
	ErrorType    = &RecordType{Name: "error", Fields: []string{"kind", "message", "where", "backtrace", "data"}, ok: -1}
	EventType    = &RecordType{Name: "Event", Fields: []string{"kind", "step", "agent", "data", "text", "url", "at"}, ok: -1}
	ResponseType = &RecordType{Name: "Response", Fields: []string{"ok", "status", "headers", "text", "json"}}
	RoleType     = &RecordType{Name: "role", Fields: []string{"name", "instructions", "backend", "tools", "input", "output", "requires", "timeout",
		"retries", "modifies", "owns", "limit"}, ok: -1}
	VerdictType = &RecordType{Name: "Verdict", Fields: []string{"action", "message"}, ok: -1}
	ReplyType   = &RecordType{Name: "Reply", Fields: []string{"output", "text", "events", "usage", "delay", "status", "note", "files"}, ok: -1}
	MessageType = &RecordType{Name: "Message", Fields: []string{"name", "payload", "by", "at"}, ok: -1}
	HandleType  = &RecordType{Name: "Handle", Fields: []string{"kind", "step"}, ok: -1}
	// QuestionType is what an agent is sent: as JSON on the standard input of a command, as the
	// argument of a scripted one.
	QuestionType = &RecordType{Name: "Request", Fields: append(slices.Clone(earlyQuestionType.Fields), "files"), ok: -1}
	// earlyQuestionType holds the place on the wire of a Request without files, which no run has
	// kept: nobody but an agent is given one.
	earlyQuestionType = &RecordType{Name: "Request", Fields: []string{"schema", "key", "run", "step", "attempt", "agent", "task", "input", "context",
		"instructions", "output_schema", "feedback", "deadline", "handoff", "memory", "messages"}, ok: -1}
	// CompletedType is how a command of sh.run ended.
	CompletedType = &RecordType{Name: "Completed", Fields: []string{"ok", "code", "signal", "text", "stderr", "truncated", "seconds"}}
	// ToolServerType is a server of tools, as mcp.server names it.
	ToolServerType = &RecordType{Name: "ToolServer", Fields: []string{"name", "cmd", "url", "tools", "timeout"}, ok: -1}
	// ToolResultType is what a tool answered.
	ToolResultType = &RecordType{Name: "ToolResult", Fields: []string{"ok", "output", "text", "content"}}
	// ItemType is an item of a queue; its tries is the number of the taking.
	ItemType = &RecordType{Name: "Item", Fields: []string{"queue", "id", "value", "tries", "status", "run", "reason", "by", "at"}, ok: -1}
)

// recordTypes are the types by their number on the wire.
var recordTypes = [...]*RecordType{earlyResultType, DecisionType, OutcomeType, ErrorType, EventType, ResponseType, RoleType, VerdictType, ReplyType,
	MessageType, HandleType, earlyQuestionType, CompletedType, ToolServerType, ToolResultType, ItemType, ResultType, QuestionType}

// RecordTypes lists the types by their number on the wire. Two may have one name; scripts are given
// the later one, but in runs of an earlier behaviour.
func RecordTypes() []*RecordType { return slices.Clone(recordTypes[:]) }

// TypeNamed is the newest type of a name, nil for none.
func TypeNamed(name string) *RecordType {
	for _, t := range slices.Backward(recordTypes[:]) {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// IsResult tells whether a record is what an agent's reply came to, of whatever behaviour.
func (r *Record) IsResult() bool { return r.typ == ResultType || r.typ == earlyResultType }

// ResultAt is a Result as a run of a behaviour has it, and any other value as it is. What an
// earlier one does not tell is an empty list.
func ResultAt(v starlark.Value, behaviour uint32) starlark.Value {
	r, ok := v.(*Record)
	if !ok || !r.IsResult() {
		return v
	}
	early := behaviour > 0 && behaviour <= BehaviourToollessResult
	switch {
	case early && r.typ == ResultType:
		return NewRecord(earlyResultType, slices.Clone(r.fields[:len(earlyResultType.Fields)])...)
	case !early && r.typ == earlyResultType:
		return NewRecord(ResultType, append(slices.Clone(r.fields), starlark.NewList(nil))...)
	}
	return v
}

// Record is an immutable value with named fields, equal by fields and unhashable. Its children are
// ordinary values: .output may be a dict that the script changes.
type Record struct {
	typ    *RecordType
	fields []starlark.Value
}

// NewRecord makes a record; there must be one value per field, of which nil reads as None. It keeps
// the slice.
func NewRecord(t *RecordType, fields ...starlark.Value) *Record {
	if len(fields) != len(t.Fields) {
		panic(fmt.Sprintf("effect: %s has %d fields, got %d", t.Name, len(t.Fields), len(fields)))
	}
	for i, v := range fields {
		if v == nil {
			fields[i] = starlark.None
		}
	}
	return &Record{typ: t, fields: fields}
}

// RecordType returns the record's shape.
func (r *Record) RecordType() *RecordType { return r.typ }

// Values returns the field values in order; they must not be replaced.
func (r *Record) Values() []starlark.Value { return r.fields }

// Field returns a field by name, None when the type has no such field.
func (r *Record) Field(name string) starlark.Value {
	if i := slices.Index(r.typ.Fields, name); i >= 0 {
		return r.fields[i]
	}
	return starlark.None
}

// With returns a copy in which one field has another value.
func (r *Record) With(name string, v starlark.Value) *Record {
	fields := slices.Clone(r.fields)
	fields[slices.Index(r.typ.Fields, name)] = v
	return &Record{typ: r.typ, fields: fields}
}

func (r *Record) String() string {
	var b strings.Builder
	b.WriteString(r.typ.Name)
	b.WriteByte('(')
	for i, v := range r.fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.typ.Fields[i])
		b.WriteString(" = ")
		b.WriteString(v.String())
	}
	b.WriteByte(')')
	return b.String()
}

// Type is the name of the record's type.
func (r *Record) Type() string { return r.typ.Name }

// Freeze freezes the children.
func (r *Record) Freeze() {
	for _, v := range r.fields {
		v.Freeze()
	}
}

// Truth is the ok field, or true for types without one. Machines ask [Record.TruthError] first.
func (r *Record) Truth() starlark.Bool {
	if r.typ.ok < 0 {
		return true
	}
	return r.fields[r.typ.ok].Truth()
}

// TruthError is the error of a condition on a record that has no truth value, or nil.
func (r *Record) TruthError() error {
	if r.typ.hint == "" {
		return nil
	}
	return fmt.Errorf("%s", r.typ.hint)
}

// Hash fails: records are unhashable.
func (r *Record) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", r.typ.Name) }

// Attr returns a field, or the method that the type has.
func (r *Record) Attr(name string) (starlark.Value, error) {
	if i := slices.Index(r.typ.Fields, name); i >= 0 {
		return r.fields[i], nil
	}
	if r.typ == HandleType && name == "decision" {
		return decision.Method(r, name), nil
	}
	return nil, nil // the machine says what was perhaps meant
}

// AttrNames lists the fields, sorted.
func (r *Record) AttrNames() []string {
	names := slices.Clone(r.typ.Fields)
	if r.typ == HandleType {
		names = append(names, "decision")
	}
	slices.Sort(names)
	return names
}

// CompareSameType compares records of one type field by field; only == and != are defined.
func (r *Record) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	s, ok := y.(*Record)
	if !ok {
		return op == syntax.NEQ, nil // another type that goes by the same name
	}
	if op != syntax.EQL && op != syntax.NEQ {
		return false, fmt.Errorf("%s %s %s not implemented", r.Type(), op, y.Type())
	}
	equal := r.typ == s.typ
	for i := 0; equal && i < len(r.fields); i++ {
		same, err := starlark.EqualDepth(r.fields[i], s.fields[i], depth-1)
		if err != nil {
			return false, err
		}
		equal = same
	}
	return equal == (op == syntax.EQL), nil
}

// Plain is the record as JSON and contracts see it: a dict of its fields in their order.
func (r *Record) Plain() starlark.Value {
	d := starlark.NewDict(len(r.fields))
	for i, v := range r.fields {
		if err := d.SetKey(starlark.String(r.typ.Fields[i]), v); err != nil {
			panic("effect: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}

// MarshalJSON renders the record as an object with its fields in order, for the module json and for
// Go.
func (r *Record) MarshalJSON() ([]byte, error) { return contract.ToJSON(r) }

// decision is handle.decision(): it waits for the step that the handle names.
var decision = &Builtin{
	FullName: "Handle.decision",
	Doc:      "Wait for the decision of a gate that was opened with wait = False.",
	Result:   "Decision",
	Class:    Await,
	Request: func(c *Call) (*Request, error) {
		recv, _ := c.Builtin.Receiver()
		step, _ := starlark.AsString(recv.(*Record).Field("step"))
		return &Request{Class: Await, Kind: "await", Await: step}, nil
	},
}
