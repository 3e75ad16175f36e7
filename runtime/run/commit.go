package run

import (
	"encoding/json"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// finish lists the rows by which what a turn has decided is found, and gives what it leaves.
func (t *Turn) finish() *Commit {
	t.At, t.Row = t.Now, *t.Had
	if len(t.Records) > 0 || len(t.keys) > 0 {
		t.index()
	}
	return &t.Commit
}

// index adds the rows that answer questions about the run without loading it.
func (t *Turn) index() {
	run := t.State.ID
	for i := range t.Records {
		r := &t.Records[i]
		switch r.Type {
		case journal.GateOpened:
			t.Rows = append(t.Rows, runtime.Write{Key: journal.InboxKey(run, r.Step), Value: journal.Append(nil, r)}, OpenGateRow(run, r, r.View()))
		case journal.GateEscalated:
			if g := t.State.Gates[r.Step]; g != nil {
				row := journal.Record{Time: g.OpenedAt, Type: journal.GateOpened, Step: r.Step, Data: g.Payload()}
				t.Rows = append(t.Rows, runtime.Write{Key: journal.InboxKey(run, r.Step), Value: journal.Append(nil, &row)}, OpenGateRow(run, &row, row.View()))
			}
		case journal.GateDecided, journal.GateWithdrawn:
			t.Rows = append(t.Rows, runtime.Write{Key: journal.InboxKey(run, r.Step), Value: nil})
			t.Rows = append(t.Rows, journal.DecisionRows(run, r)...)
		}
	}
	t.unlisted()
	t.noticed()
	for step := range t.work {
		t.Rows = append(t.Rows, runtime.Write{Key: journal.WorkKey(run, step), Value: t.State.WorkRow(step)})
	}
	for _, step := range t.Effects.Orphans {
		t.Rows = append(t.Rows, runtime.Write{Key: journal.OrphanKey(run, step), Value: []byte{}})
	}
	if t.Row = t.State.SummaryRow(); t.Row != *t.Had {
		t.Rows = append(t.Rows, runtime.Write{Key: journal.RunKey(run), Value: append(journal.AppendMicros(nil, t.Now), t.State.Summary()...)})
	}
	t.showStatus()
	for key, k := range t.keys {
		text, _ := json.Marshal(k) // plain data
		t.Rows = append(t.Rows, runtime.Write{Key: []byte(journal.PrefixKey + run + "/" + key), Value: text})
	}
	t.Spent = t.State.spentDaily()
}

// showStatus puts into the receipts of a turn how the run stands at its end; one that repeats
// another of them says the same.
func (t *Turn) showStatus() {
	for _, k := range t.keys {
		k.Receipt.Status = t.State.Status
	}
	for _, r := range t.again {
		r.Status = t.State.Status
	}
}

// OpenGateRow is the entry of an open gate in the index, whose record or row has what it asks.
func OpenGateRow(run string, r *journal.Record, v effect.View) runtime.Write {
	now := Gate{Level: int(v.Int("level"))}
	return runtime.Write{Key: journal.OpenKey(r.Time, run, r.Step), Value: []byte(now.target(v.Sub("args")))}
}

// shutGate is a gate that a turn has closed.
type shutGate struct {
	name string
	*Gate
}

// maxShut is how many gates a turn closes with their entries in the index. To close thousands, as a
// cancel may, is one commit, which has no room for these: they are removed behind it.
const maxShut = 1000

// unlisted is what the gates that a turn has closed, and its end, change in the index.
func (t *Turn) unlisted() {
	entries := make([]runtime.Write, 0, len(t.shut))
	for _, g := range t.shut {
		entries = append(entries, runtime.Write{Key: journal.OpenKey(g.OpenedAt, t.State.ID, g.name), Value: nil})
	}
	if len(t.shut) <= maxShut {
		t.Rows = append(t.Rows, entries...)
	} else {
		t.Later = entries
		t.Rows = append(t.Rows, runtime.Write{Key: []byte(journal.KeyIndex), Value: nil}) // a crash has the next owner make it anew
	}
	if t.State.Status.Ended() && !t.Had.status.Ended() {
		t.Rows = append(t.Rows, runtime.Write{Key: journal.LiveKey(t.State.Started, t.State.ID), Value: nil})
	}
}

// Summary is the row of a run: all that a list shows. It is written with the commit that changes
// it.
func (s *State) Summary() effect.Payload {
	var b effect.Object
	b.Text("status", string(s.Status)).Text("script", s.Script).Int("started", journal.Micros(s.Started)).Int("gates", int64(len(s.Gates))).
		Int("next_due", journal.Micros(s.NextDue(false))).Text("parent", s.Parent).Flag("session", s.Session).Flag("awaits", len(s.Asks) > 0).
		Flag("original", s.Settings == s.Original).Text("by", s.By).Text("labels", s.Labels)
	if s.Err != nil {
		b.Text("error", s.Err.Message)
	}
	return b.Payload()
}

// SummaryRow is what of a state its summary follows from, beyond what never changes: a turn after
// which it is the same writes no summary.
type SummaryRow struct {
	status runtime.Status
	script string
	gates  int
	due    int64
	err    *effect.Error
	awaits bool
	pinned bool
}

// SummaryRow is that of the state.
func (s *State) SummaryRow() SummaryRow {
	return SummaryRow{s.Status, s.Script, len(s.Gates), journal.Micros(s.NextDue(false)), s.Err, len(s.Asks) > 0, s.Settings != s.Original}
}

func cutKind(key string) (kind, name string, ok bool) { return strings.Cut(key, ":") }

// Contents are the hashes of the contents that a run in this state goes on to need.
func (s *State) Contents() []string { return []string{s.Bundle, s.Settings, s.Original} }
