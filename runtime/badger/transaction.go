package badger

import (
	"errors"
	"fmt"
	"slices"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
)

// transaction is one Badger transaction in the making.
type transaction struct {
	c       *committer
	txn     *badgerdb.Txn
	cost    cost
	fences  map[string]uint64 // where runs stand after the batches so far, if these moved them
	count   uint64            // batches that are in it
	refused map[int]error     // by place in the queue: batches that are not
	seen    int
	err     error // a read that failed
}

func (c *committer) begin() *transaction {
	return &transaction{c: c, txn: c.db.NewTransactionAt(c.version, true), fences: make(map[string]uint64), refused: make(map[int]error)}
}

// add puts the batch into the transaction, or notes that it is refused. It returns false where
// there is no room.
func (t *transaction) add(w *waiting) bool {
	sum := t.cost.plus(w.Cost)
	if sum.check() != nil || t.err != nil {
		return false
	}
	err := t.move(w.Batch.Fences)
	if err == nil && t.err == nil {
		t.err = t.write(w.Batch)
	}
	if t.err != nil {
		return false
	}
	if err != nil {
		t.refused[t.seen] = err
	} else {
		t.cost = sum
		t.count++
	}
	t.seen++
	return true
}

// move compares fences with where the runs stand and moves them; it moves all or none.
func (t *transaction) move(fences []runtime.Fence) error {
	for i, f := range fences {
		if at := t.standing(f.Run); at != f.Expect {
			for _, moved := range slices.Backward(fences[:i]) {
				t.fences[moved.Run] = moved.Expect
			}
			return fmt.Errorf("%w: run %s stands at %d, the batch expects %d", runtime.ErrFenced, f.Run, at, f.Expect)
		}
		t.fences[f.Run] = f.Next
	}
	return nil
}

// standing tells where a run stands for the next batch.
func (t *transaction) standing(run string) uint64 {
	if at, ok := t.fences[run]; ok {
		return at
	}
	if at, ok := t.c.fences[run]; ok {
		return at
	}
	if at, ok := t.c.seenAt(run); ok {
		return at
	}
	v, err := valueIn(t.c.badgerDir, t.txn, fenceKey(run))
	if err != nil && !errors.Is(err, runtime.ErrNoKey) {
		t.err = err
	}
	at, _ := standingOf(v)
	return at
}

func (t *transaction) write(b *runtime.Batch) error {
	for _, f := range b.Fences {
		if err := t.put(fenceKey(f.Run), standing(f)); err != nil {
			return err
		}
	}
	for _, w := range b.Writes {
		if err := t.put(w.Key, w.Value); err != nil {
			return err
		}
	}
	return nil
}

// put sets a key, or deletes it where the value is nil.
func (t *transaction) put(key, value []byte) error {
	if value == nil {
		return t.txn.Delete(key)
	}
	return t.txn.Set(key, value)
}

// commit makes the transaction durable and marks it.
func (t *transaction) commit() error {
	if t.err != nil || t.count == 0 {
		return t.err
	}
	c := t.c
	s := span{c.sequence + 1, c.sequence + t.count}
	steps := []func() error{
		c.mark.check,
		func() error { return room(c.dir, c.disk, t.cost.bytes+t.cost.large) },
		func() error { return t.txn.Set(ownKey(tagSequence), s.bytes()) },
		func() error { return c.write(t.txn, t.cost.large > 0) },
		c.syncEntries,
		func() error { return c.mark.write(s.last) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	c.sequence = s.last
	c.batches.Store(s.last)
	c.transactions.Add(1)
	c.learn(t.fences)
	c.show()
	return nil
}

// write hands a transaction to Badger and syncs it. Large values come first: whoever finds the
// transaction finds what it points to.
func (c *committer) write(txn *badgerdb.Txn, large bool) error {
	if err := firstError(txn.CommitAt(c.version+1, nil), c.faults.err()); err != nil {
		return err
	}
	c.version++
	if large {
		if err := c.values.sync(); err != nil {
			return err
		}
	}
	return c.writeAhead.sync()
}

// show lets readers see what is durable, and Badger drop what no reader sees.
func (c *committer) show() {
	c.views.advance(c.version)
	const often = 64 // enough for compaction, and few enough to cost nothing
	if c.version%often == 0 {
		c.db.SetDiscardTs(c.views.oldest())
	}
}

// commitAlone commits what belongs to the store itself.
func (c *committer) commitAlone(fill func(*badgerdb.Txn) error) error {
	txn := c.db.NewTransactionAt(c.version, true)
	defer txn.Discard()
	if err := fill(txn); err != nil {
		return err
	}
	err := c.write(txn, false)
	c.show()
	return err
}

// cost is what a batch takes of a transaction, as Badger reckons.
type cost struct {
	writes int
	bytes  int64
	large  int64 // bytes of values that go to the value log
}

func costOf(b *runtime.Batch) cost {
	const each = 12 // two bytes of meta, ten for the version; as many for a pointer
	c := cost{writes: len(b.Writes) + len(b.Fences)}
	for _, f := range b.Fences {
		c.bytes += int64(len(f.Run)+len(f.Head)) + each + 10
	}
	for _, w := range b.Writes {
		c.bytes += int64(len(w.Key)) + each
		if len(w.Value) >= LargeValue {
			c.bytes += each
			c.large += int64(len(w.Value))
		} else {
			c.bytes += int64(len(w.Value))
		}
	}
	return c
}

func (c cost) plus(d cost) cost {
	return cost{c.writes + d.writes, c.bytes + d.bytes, c.large + d.large}
}

func (c cost) check() error {
	if c.writes <= MaxBatchWrites && c.bytes <= MaxBatchBytes && c.large <= MaxBatchLarge {
		return nil
	}
	return fmt.Errorf("%w: %d writes with %d bytes, and %d in values of %d KiB and more; it takes %d writes with %d bytes, and %d",
		runtime.ErrTooLarge, c.writes, c.bytes, c.large, LargeValue>>10, MaxBatchWrites, MaxBatchBytes, MaxBatchLarge)
}
