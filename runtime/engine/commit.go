package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"starling/runtime"
	"starling/runtime/journal"
)

// commit makes durable what a turn leaves: its records, the rows that show its result, and a checkpoint
// when a small one is due, in one transaction. A large checkpoint follows in transactions of its own.
func (a *actor) commit(c *commit) error {
	if c.empty() && !a.recovered {
		return nil
	}
	b := &runtime.Batch{Writes: c.rows}
	length := a.journal(b, c.records)
	b.Writes = append(b.Writes, a.e.ledger.rows(a.run, c.spent)...)
	b.Writes = append(b.Writes, a.e.breakers.rows(c.lessons, c.at)...)
	if a.recovered {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixRecovery + a.run), Value: nil})
	}
	point := a.checkpointDue(c, &length)
	if point.small() {
		point.ride(a, b)
	}
	fresh, named := a.e.reference(c.blobs)
	for hash, content := range fresh {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: content})
	}
	if len(c.later) > 0 {
		a.e.lists.cleaning.Add(1)
	}
	err := a.e.commit(context.Background(), b)
	a.e.clean(c.later, err)
	named(err)
	if err != nil {
		return fmt.Errorf("run %s: %w", a.run, err)
	}
	a.e.ledger.learn(a.run, c.spent)
	a.e.breakers.learn(c.lessons, c.at)
	a.recovered, a.row, a.tail = false, c.row, length
	a.trimSoon()
	return a.checkpointed(point)
}

// journal adds records to the batch and tells how long the journal behind the newest checkpoint is then.
func (a *actor) journal(b *runtime.Batch, records []journal.Record) tail {
	length := a.tail
	if len(records) == 0 {
		return length
	}
	first, last := records[0].Seq, records[len(records)-1].Seq
	size := 0
	for i := range records {
		size += len(records[i].Data)
	}
	value := make([]byte, journal.ChecksumSize, size+64*len(records))
	for i := range records {
		value = journal.Append(value, &records[i])
	}
	b.Fences = append(b.Fences, runtime.Fence{Run: a.run, Expect: first - 1, Next: last})
	b.Writes = append(b.Writes, runtime.Write{Key: journal.SeqKey(journal.PrefixJournal, a.run, first), Value: journal.Seal(value)})
	length.records += len(records)
	length.bytes += len(value)
	return length
}

// finish lists the rows by which what a turn has decided is found, and gives what it leaves.
func (t *turn) finish() *commit {
	t.at, t.row = t.now, *t.had
	if len(t.records) > 0 || len(t.keys) > 0 {
		t.index()
	}
	return &t.commit
}

// index adds the rows that answer questions about the run without loading it.
func (t *turn) index() {
	run := t.s.ID
	for i := range t.records {
		r := &t.records[i]
		switch r.Type {
		case journal.GateOpened:
			t.rows = append(t.rows, runtime.Write{Key: inboxKey(run, r.Step), Value: journal.Append(nil, r)}, listed(run, r, r.View()))
		case journal.GateEscalated:
			if g := t.s.Gates[r.Step]; g != nil {
				row := journal.Record{Time: g.OpenedAt, Type: journal.GateOpened, Step: r.Step, Data: g.payload()}
				t.rows = append(t.rows, runtime.Write{Key: inboxKey(run, r.Step), Value: journal.Append(nil, &row)}, listed(run, &row, row.View()))
			}
		case journal.GateDecided, journal.GateWithdrawn:
			t.rows = append(t.rows, runtime.Write{Key: inboxKey(run, r.Step), Value: nil})
			t.rows = append(t.rows, closed(run, r)...)
		}
	}
	t.unlisted()
	t.noticed()
	for step := range t.work {
		t.rows = append(t.rows, runtime.Write{Key: workKey(run, step), Value: t.s.workRow(step)})
	}
	for _, step := range t.effects.orphans {
		t.rows = append(t.rows, runtime.Write{Key: orphanKey(run, step), Value: []byte{}})
	}
	if t.row = t.s.row(); t.row != *t.had {
		t.rows = append(t.rows, runtime.Write{Key: journal.RunKey(run), Value: append(journal.AppendMicros(nil, t.now), t.s.summary()...)})
	}
	t.showStatus()
	for key, k := range t.keys {
		text, _ := json.Marshal(k) // plain data
		t.rows = append(t.rows, runtime.Write{Key: []byte(journal.PrefixKey + run + "/" + key), Value: text})
	}
	t.spent = t.s.spentDaily()
}

// showStatus puts into the receipts of a turn how the run stands at its end; one that repeats another of them says the same.
func (t *turn) showStatus() {
	for _, k := range t.keys {
		k.Receipt.Status = t.s.Status
	}
	for _, r := range t.again {
		r.Status = t.s.Status
	}
}

func inboxKey(run, gate string) []byte { return []byte(journal.PrefixInbox + run + "/" + gate) }
