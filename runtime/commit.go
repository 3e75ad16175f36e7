package runtime

import (
	"context"
	"encoding/json"
	"fmt"
)

// commit makes a turn durable: its records, the rows that show its result, and a checkpoint when a small one is due, in one transaction. A large checkpoint
// follows in transactions of its own.
func (a *actor) commit(t *turn) error {
	if len(t.records) == 0 && len(t.keys) == 0 && !a.recovered {
		return nil
	}
	b := &Batch{Writes: t.writes}
	length := a.journal(b, t)
	row := a.index(b, t)
	b.Writes = append(b.Writes, a.e.breakers.rows(t.lessons, t.now)...)
	for _, step := range t.orphans {
		b.Writes = append(b.Writes, Write{orphanKey(a.run, step), []byte{}})
	}
	t.showStatus()
	for key, k := range t.keys {
		text, _ := json.Marshal(k) // plain data
		b.Writes = append(b.Writes, Write{[]byte(prefixKey + a.run + "/" + key), text})
	}
	if a.recovered {
		b.Writes = append(b.Writes, Write{[]byte(prefixRecovery + a.run), nil})
	}
	c := a.checkpointDue(t, &length)
	if c.small() {
		c.ride(a, b)
	}
	fresh, named := a.e.naming(t.blobs)
	for hash, content := range fresh {
		b.Writes = append(b.Writes, Write{[]byte(prefixBlob + hash), content})
	}
	err := a.e.commit(context.Background(), b)
	a.clean(t, err)
	named(err)
	if err != nil {
		return fmt.Errorf("run %s: %w", a.run, err)
	}
	a.e.ledger.learn(t.s)
	a.e.breakers.learn(t.lessons, t.now)
	a.recovered, a.row, a.tail = false, row, length
	a.trimSoon()
	return a.checkpointed(c)
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

// journal adds the records to the batch and tells how long the journal behind the newest checkpoint is then.
func (a *actor) journal(b *Batch, t *turn) tail {
	length := a.tail
	if len(t.records) == 0 {
		return length
	}
	first, last := t.records[0].Seq, t.records[len(t.records)-1].Seq
	value := make([]byte, checksumSize, t.size+64*len(t.records))
	for i := range t.records {
		value = appendRecord(value, &t.records[i])
	}
	b.Fences = append(b.Fences, Fence{Run: a.run, Expect: first - 1, Next: last})
	b.Writes = append(b.Writes, Write{seqKey(prefixJournal, a.run, first), seal(value)})
	length.records += len(t.records)
	length.bytes += len(value)
	return length
}

// index adds the rows that answer questions about the run without loading it, and returns what the run's own follows from.
func (a *actor) index(b *Batch, t *turn) row {
	for i := range t.records {
		r := &t.records[i]
		switch r.Type {
		case GateOpened:
			b.Writes = append(b.Writes, Write{inboxKey(a.run, r.Step), appendRecord(nil, r)}, listed(a.run, r, r.view()))
		case GateEscalated:
			if g := t.s.Gates[r.Step]; g != nil {
				row := Record{Time: g.OpenedAt, Type: GateOpened, Step: r.Step, Data: g.payload()}
				b.Writes = append(b.Writes, Write{inboxKey(a.run, r.Step), appendRecord(nil, &row)}, listed(a.run, &row, row.view()))
			}
		case GateDecided, GateWithdrawn:
			b.Writes = append(b.Writes, Write{inboxKey(a.run, r.Step), nil})
			b.Writes = append(b.Writes, closed(a.run, r)...)
		}
	}
	a.unlisted(b, t)
	b.Writes = append(b.Writes, a.e.ledger.rows(t.s)...)
	b.Writes = append(b.Writes, a.noticed(t)...)
	for step := range t.work {
		b.Writes = append(b.Writes, Write{workKey(a.run, step), t.s.workRow(step)})
	}
	row := t.s.row()
	if row != a.row {
		b.Writes = append(b.Writes, Write{runKey(a.run), append(appendMicros(nil, t.now), t.s.summary()...)})
	}
	return row
}

func inboxKey(run, gate string) []byte { return []byte(prefixInbox + run + "/" + gate) }
