package engine

import (
	"context"
	"errors"
	"fmt"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// commit makes durable what a turn leaves: its records, the rows that show its result, and a
// checkpoint when a small one is due, in one transaction. A large checkpoint follows in
// transactions of its own.
func (a *actor) commit(c *run.Commit) error {
	if c.Empty() && !a.recovered {
		return nil
	}
	b := &runtime.Batch{Writes: c.Rows}
	length := a.journal(b, c.Records)
	found, err := a.find(c.Records)
	if err != nil {
		return fmt.Errorf("run %s: %w", a.run, err)
	}
	b.Writes = append(b.Writes, found...)
	b.Writes = append(b.Writes, a.e.ledger.Rows(a.run, c.Spent)...)
	b.Writes = append(b.Writes, a.e.breakers.rows(c.Lessons, c.At)...)
	if a.recovered {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixRecovery + a.run), Value: nil})
	}
	point := a.checkpointDue(c, &length)
	if point.small() {
		point.ride(a, b)
	}
	fresh, named := a.e.reference(c.Blobs)
	for hash, content := range fresh {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(journal.PrefixBlob + hash), Value: content})
	}
	if len(c.Later) > 0 {
		a.e.lists.cleaning.Add(1)
	}
	err = a.e.commit(context.Background(), b)
	a.e.clean(c.Later, err)
	named(err)
	if err != nil {
		a.facts, a.bill = nil, nil // the store has those of before
		return fmt.Errorf("run %s: %w", a.run, err)
	}
	a.e.ledger.Learn(a.run, c.Spent)
	a.e.Note(c.Records)
	a.e.breakers.learn(c.Lessons, c.At)
	a.recovered, a.row, a.tail = false, c.Row, length
	a.trimSoon()
	return a.checkpointed(point)
}

// journal adds records to the batch and tells how long the journal behind the newest checkpoint is
// then.
func (a *actor) journal(b *runtime.Batch, records []journal.Record) run.Tail {
	length := a.tail
	if len(records) == 0 {
		return length
	}
	first, last := records[0].Seq, records[len(records)-1].Seq
	value := journal.SealAll(records)
	b.Fences = append(b.Fences, runtime.Fence{Run: a.run, Expect: first - 1, Next: last})
	b.Writes = append(b.Writes, runtime.Write{Key: journal.SeqKey(journal.PrefixJournal, a.run, first), Value: value})
	length.Records += len(records)
	length.Bytes += len(value)
	return length
}

// commit applies a batch. Everybody who watches hears of a disk that is full or has failed,
// whoever's commit it was that met it.
func (r *reader) commit(ctx context.Context, b *runtime.Batch) error {
	marked := r.lists.mark(b, r.store.Info().Epoch)
	err := r.store.Commit(ctx, b)
	if err == nil {
		r.census.Note(b.Writes)
	}
	if marked && err != nil {
		r.lists.unmarked.Store(true)
	}
	if errors.Is(err, runtime.ErrFull) || errors.Is(err, runtime.ErrFailed) {
		r.halt(err)
	}
	if errors.Is(err, runtime.ErrLost) {
		r.halt(err)
		r.lose()
	}
	return err
}

// halt ends all watching when the disk is full or has failed, or the store has another owner: no
// run goes on here until somebody has seen to that and started again.
func (r *reader) halt(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halted = err
	r.wakeAll()
}

// wakeAll wakes the watchers of all runs. It is called with mu held.
func (r *reader) wakeAll() {
	for run, c := range r.changed {
		close(c)
		delete(r.changed, run)
	}
}

// stalled is why nothing comes any more, nil while something may.
func (r *reader) stalled() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && !errors.Is(r.halted, runtime.ErrLost) {
		return runtime.ErrShuttingDown
	}
	return r.halted
}
