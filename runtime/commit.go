package runtime

import (
	"context"
	"encoding/json"
	"fmt"
)

// commit makes a turn durable: its records, the rows that show its result, and a checkpoint when one is due, in one transaction.
func (a *actor) commit(t *turn) error {
	if len(t.records) == 0 && len(t.keys) == 0 {
		return nil
	}
	b := &Batch{Writes: t.writes}
	if len(t.records) > 0 {
		a.journal(b, t)
	}
	a.index(b, t)
	for key, k := range t.keys {
		k.Receipt.Status = t.s.Status
		text, _ := json.Marshal(k) // plain data
		b.Writes = append(b.Writes, Write{[]byte(prefixKey + a.run + "/" + key), text})
	}
	if a.recovered {
		b.Writes = append(b.Writes, Write{[]byte(prefixRecovery + a.run), nil})
	}
	if want, small := a.wantsCheckpoint(); want {
		if err := a.addCheckpoint(b, small); err != nil {
			return err
		}
	}
	if err := a.e.store.Commit(context.Background(), b); err != nil {
		return fmt.Errorf("run %s: %w", a.run, err)
	}
	a.recovered = false
	a.s.timerOps = nil
	return nil
}

func (a *actor) journal(b *Batch, t *turn) {
	first, last := t.records[0].Seq, t.records[len(t.records)-1].Seq
	bytes := make([]byte, checksumSize)
	for i := range t.records {
		bytes = appendRecord(bytes, &t.records[i])
	}
	b.Fences = append(b.Fences, Fence{Run: a.run, Expect: first - 1, Next: last})
	b.Writes = append(b.Writes, Write{seqKey(prefixJournal, a.run, first), seal(bytes)})
	a.tail.records += len(t.records)
	a.tail.bytes += len(bytes)
}

// index writes the rows that answer questions about the run without loading it.
func (a *actor) index(b *Batch, t *turn) {
	for i := range t.records {
		r := &t.records[i]
		inbox := []byte(prefixInbox + a.run + "/" + r.Step)
		switch r.Type {
		case GateOpened:
			b.Writes = append(b.Writes, Write{inbox, appendRecord(nil, r)})
		case GateEscalated:
			if g := t.s.Gates[r.Step]; g != nil {
				b.Writes = append(b.Writes, Write{inbox, appendRecord(nil, &Record{Time: g.OpenedAt, Type: GateOpened, Step: r.Step, Data: g.payload()})})
			}
		case GateDecided, GateWithdrawn:
			b.Writes = append(b.Writes, Write{inbox, nil}, Write{[]byte(prefixGate + a.run + "/" + r.Step), appendRecord(nil, r)})
		}
	}
	for _, op := range t.s.timerOps {
		w := Write{Key: timerKey(op.Due, a.run, op.ID)}
		if !op.gone {
			w.Value = []byte{}
		}
		b.Writes = append(b.Writes, w)
	}
	if row := string(t.s.summary()); row != a.row {
		a.row = row
		b.Writes = append(b.Writes, Write{runKey(a.run), append(appendMicros(nil, t.now), row...)})
	}
}

// addCheckpoint adds a checkpoint to the batch, unless only a small one is wanted and it is not.
func (a *actor) addCheckpoint(b *Batch, onlySmall bool) error {
	c, err := a.checkpoint()
	if err != nil {
		return err
	}
	if onlySmall && len(c) > smallCheckpoint {
		return nil
	}
	b.Writes = append(b.Writes, Write{seqKey(prefixCheckpoint, a.run, a.s.Seq), c})
	a.checkpoints = append(a.checkpoints, a.s.Seq)
	for len(a.checkpoints) > 2 {
		b.Writes = append(b.Writes, Write{seqKey(prefixCheckpoint, a.run, a.checkpoints[0]), nil})
		a.checkpoints = a.checkpoints[1:]
	}
	a.tail = tail{steps: a.m.Steps()}
	return nil
}
