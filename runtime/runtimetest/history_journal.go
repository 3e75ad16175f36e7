package runtimetest

import (
	"bytes"
	"encoding/json"
	"strings"

	"starling/runtime"
)

// runJournal is a journal to be checked.
type runJournal struct {
	run     string
	entries []*record
}

// record is an event with its data cut into fields.
type record struct {
	runtime.Event
	fields map[string]json.RawMessage
}

func newJournal(run string, events []runtime.Event) *runJournal {
	j := &runJournal{run: run}
	for _, ev := range events {
		e := &record{Event: ev}
		_ = json.Unmarshal(ev.Data, &e.fields) // data that is no object has no fields
		j.entries = append(j.entries, e)
	}
	return j
}

// field reads a field of data into T; one that is not there, or of another type, is the zero T.
func field[T any](fields map[string]json.RawMessage, name string) (v T) {
	_ = json.Unmarshal(fields[name], &v)
	return v
}

func (e *record) text(name string) string { return field[string](e.fields, name) }

func (e *record) number(name string) int64 { return field[int64](e.fields, name) }

func (e *record) flag(name string) bool { return field[bool](e.fields, name) }

func (e *record) object(name string) map[string]json.RawMessage {
	return field[map[string]json.RawMessage](e.fields, name)
}

func (e *record) has(name string) bool { return e.fields[name] != nil }

// is tells whether an entry has one of some types.
func (e *record) is(types ...string) bool {
	for _, t := range types {
		if e.Type == t {
			return true
		}
	}
	return false
}

// ends tells whether the entry is the end of its run.
func (e *record) ends() bool { return e.is("run.completed", "run.failed", "run.cancelled") }

// same tells whether two events are the same.
func same(a, b *runtime.Event) bool {
	return a.Seq == b.Seq && a.Type == b.Type && a.Step == b.Step && a.Run == b.Run && a.Time.Equal(b.Time) && bytes.Equal(a.Data, b.Data)
}

// at is the entry with a sequence number, nil when there is none.
func (j *runJournal) at(seq uint64) *record {
	if j == nil || seq == 0 || seq > uint64(len(j.entries)) {
		return nil
	}
	return j.entries[seq-1]
}

// end is how a run ended, nil while it has not.
func (j *runJournal) end() *record {
	for _, e := range j.entries {
		if e.ends() {
			return e
		}
	}
	return nil
}

// parent is the run and the step that started a child run.
func (j *runJournal) parent() (run, step string) {
	if len(j.entries) > 0 {
		run, step, _ = strings.Cut(j.entries[0].text("parent"), "@")
	}
	return run, step
}

// byParent finds the runs that the steps of others started, by RUN@STEP.
func (h *History) byParent() map[string][]*runJournal {
	out := map[string][]*runJournal{}
	for _, j := range h.journals {
		if run, step := j.parent(); run != "" {
			out[run+"@"+step] = append(out[run+"@"+step], j)
		}
	}
	return out
}

// innermost finds the run to which a gate's address leads: the steps that it begins with may have
// started child runs.
func (h *History) innermost(run, gate string) (string, string) {
	for i := 0; i < len(gate); i++ {
		if gate[i] == '/' && h.children[run+"@"+gate[:i]] != nil {
			run, gate, i = h.children[run+"@"+gate[:i]][0].run, gate[i+1:], -1
		}
	}
	return run, gate
}
