package run

import (
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

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
