package run

import (
	"encoding/json"

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

// showStatus puts into the receipts of a turn how the run stands at its end; one that repeats another of them says the same.
func (t *Turn) showStatus() {
	for _, k := range t.keys {
		k.Receipt.Status = t.State.Status
	}
	for _, r := range t.again {
		r.Status = t.State.Status
	}
}
