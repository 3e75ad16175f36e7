package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"starling/runtime"
	"starling/runtime/groupcommit"
)

// MaxBatch is how many bytes of keys, values and heads a batch may have: as many as a store on disk
// takes, so that a store can be copied there and back.
const MaxBatch = 32 << 20

// most is how many bytes of batches one transaction takes.
const most = 2 * MaxBatch

// knownHeads bounds the memory for heads, in bytes; beyond it they are read again.
const knownHeads = 16 << 20

// knownRuns bounds the memory for where runs stand; beyond it they are compared in the database.
const knownRuns = 1 << 14

// A committer writes the transactions of the queue of batches. Its fields are touched by whoever
// writes, who is one at a time.
type committer struct {
	s        *Store
	sequence uint64
	fences   map[string]uint64 // where runs stand that were moved or compared
	batches  atomic.Uint64

	mu    sync.Mutex               // guards what is below
	heads map[string]runtime.Fence // where runs stand that were moved, with what was left there
	held  int                      // bytes of them
}

// change is what a transaction does, of however many batches.
type change struct {
	fences  map[string]uint64 // where runs stand after the batches so far, if these moved them
	heads   map[string][]byte
	assumed map[string]uint64 // where runs must stand before, which the database compares
	writes  map[string][]byte // nil deletes
	count   uint64            // batches that are in it
	refused map[int]error     // by place in the queue: batches that are not
}

// commitStatement is one transaction. $1 and $2 are the owner's epoch and sequence, $3 the number
// of batches, then come arrays: runs and where they must stand, keys to delete, keys and values to
// write, runs to forget, runs that move with where to and their heads.
const commitStatement = `
with store as (
	update starling_store set sequence = sequence + $3, beat = beat + 1
	where epoch = $1 and sequence = $2 and not exists (
		select from unnest($4::bytea[], $5::bigint[]) as expected(run, at)
		left join starling_runs r on r.run = expected.run
		where coalesce(r.at, 0) <> expected.at)
	returning row
), deleted as (
	delete from starling_keys using store where k = any($6::bytea[])
), written as (
	insert into starling_keys (k, v)
	select w.k, w.v from store, unnest($7::bytea[], $8::bytea[]) as w(k, v)
	on conflict (k) do update set v = excluded.v
), forgotten as (
	delete from starling_runs using store where run = any($9::bytea[])
), moved as (
	insert into starling_runs (run, at, head)
	select m.run, m.at, m.head from store, unnest($10::bytea[], $11::bigint[], $12::bytea[]) as m(run, at, head)
	on conflict (run) do update set at = excluded.at, head = excluded.head
)
select count(*) from store`

// transact writes as much of the queue as one transaction takes. What a run's fence expects is
// taken for true where it is not known, and compared in the database: only where that finds it
// wrong is it looked up, and the transaction made anew.
func (c *committer) transact(queue []*groupcommit.Waiting[int64]) (n int, refused map[int]error, err error) {
	size := int64(0)
	for n < len(queue) && (n == 0 || size+queue[n].Cost <= most) {
		size += queue[n].Cost
		n++
	}
	for {
		t := c.gather(queue[:n])
		if t.count == 0 && len(t.assumed) == 0 {
			return n, t.refused, nil
		}
		applied := false
		if t.count > 0 {
			applied, err = c.apply(t)
		}
		if err == nil && !applied {
			err = c.lookUp(t.assumed)
		}
		if err != nil {
			return 0, nil, err
		}
		if applied {
			c.learn(t)
			return n, t.refused, nil
		}
	}
}

// gather puts batches together.
func (c *committer) gather(queue []*groupcommit.Waiting[int64]) *change {
	t := &change{map[string]uint64{}, map[string][]byte{}, map[string]uint64{}, map[string][]byte{}, 0, map[int]error{}}
	for i, w := range queue {
		if err := c.move(t, w.Batch.Fences); err != nil {
			t.refused[i] = err
			continue
		}
		for _, f := range w.Batch.Fences {
			t.heads[f.Run] = f.Head
		}
		for _, w := range w.Batch.Writes {
			t.writes[string(w.Key)] = w.Value
		}
		t.count++
	}
	return t
}

// move compares fences with where the runs stand and moves them; it moves all or none.
func (c *committer) move(t *change, fences []runtime.Fence) error {
	for i, f := range fences {
		if at := c.standing(t, f); at != f.Expect {
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
func (c *committer) standing(t *change, f runtime.Fence) uint64 {
	if at, ok := t.fences[f.Run]; ok {
		return at
	}
	if at, ok := c.fences[f.Run]; ok {
		return at
	}
	t.assumed[f.Run] = f.Expect
	return f.Expect
}

// apply makes a change durable. It is false where a run does not stand where it was assumed to.
// Where it is not known whether the change was applied it is sent again, for as long as the lease
// lasts: the sequence tells.
func (c *committer) apply(t *change) (applied bool, err error) {
	args := t.arguments(c.s.info.Epoch, c.sequence)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		if err := c.s.lease.err(); err != nil {
			return false, err
		}
		sent := time.Now()
		moved, err := c.send(args)
		if err == nil && moved == 0 {
			moved, err = c.afterwards(t.count)
			if err == nil && moved == 0 && len(t.assumed) > 0 {
				return false, nil
			}
		}
		switch {
		case err == nil && moved > 0:
			c.sequence += t.count
			c.batches.Store(c.sequence)
			c.s.lease.renewed(sent)
			c.s.known.write(c.s.info, c.sequence)
			return true, nil
		case errors.Is(err, runtime.ErrLost):
			return false, c.s.lease.lose(err)
		case err != nil && !passing(err):
			return false, c.failure(err)
		}
		sleep(c.s.life, pause)
	}
}

// send sends a change once.
func (c *committer) send(args []any) (moved int64, err error) {
	ctx, cancel := context.WithTimeout(c.s.life, max(c.s.lease.length/2, time.Second))
	defer cancel()
	err = c.s.writes.row(ctx, commitStatement, args, &moved)
	return moved, err
}

// afterwards tells why a change found no row: an earlier copy of it was applied, which counts, or
// it was not and a run stood elsewhere. What is neither is an error.
func (c *committer) afterwards(count uint64) (moved int64, err error) {
	ctx, cancel := context.WithTimeout(c.s.life, max(c.s.lease.length/2, time.Second))
	defer cancel()
	r, err := readRow(ctx, c.s.writes)
	switch {
	case err != nil:
		return 0, err
	case r.id != c.s.info.ID || r.epoch != c.s.info.Epoch && r.sequence >= c.sequence:
		return 0, fmt.Errorf("%w: the epoch is %d, this owner's is %d", runtime.ErrLost, r.epoch, c.s.info.Epoch)
	case r.sequence == c.sequence+count:
		return 1, nil
	case r.sequence < c.sequence:
		return 0, missing(r.sequence, c.sequence, "")
	case r.sequence > c.sequence:
		return 0, fmt.Errorf("%w: the database has %d batches of this owner, which has committed %d", runtime.ErrFailed, r.sequence, c.sequence)
	}
	return 0, nil
}

// failure is the error that every commit gets after one that failed.
func (c *committer) failure(err error) error {
	if errors.Is(err, runtime.ErrDamaged) || errors.Is(err, runtime.ErrFailed) {
		return fmt.Errorf("%s: %w", c.s.Name(), err)
	}
	kind, _, said := reason(err)
	if kind == runtime.ErrKindFull {
		return fmt.Errorf("%s: %w: %s", c.s.Name(), runtime.ErrFull, said)
	}
	return fmt.Errorf("%s: %w: %s", c.s.Name(), runtime.ErrFailed, said)
}

// lookUp finds where runs stand.
func (c *committer) lookUp(runs map[string]uint64) error {
	names := make([][]byte, 0, len(runs))
	for run := range runs {
		names = append(names, []byte(run))
		c.fences[run] = 0
	}
	err := c.s.patiently(func(ctx context.Context) error {
		return c.s.writes.do(ctx, func(db *conn) error {
			r, err := db.query(ctx, "select run, at from starling_runs where run = any($1)", names)
			if err != nil {
				return err
			}
			defer r.Close()
			for r.NextRow() {
				var run []byte
				var at uint64
				if err := r.scan(&run, &at); err != nil {
					return err
				}
				c.fences[string(run)] = at
			}
			_, err = r.Close()
			return err
		})
	})
	if err != nil {
		return c.failure(err)
	}
	return nil
}

// learn keeps where runs stand now: nobody else moves them, and who moved one is asked for it next.
func (c *committer) learn(t *change) {
	if len(c.fences)+len(t.fences) > knownRuns {
		clear(c.fences)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for run, at := range t.fences {
		c.fences[run] = at
		c.held -= sizeOfHead(c.heads[run])
		c.heads[run] = runtime.Fence{Run: run, Next: at, Head: bytes.Clone(t.heads[run])}
		c.held += sizeOfHead(c.heads[run])
	}
	if c.held > knownHeads {
		clear(c.heads)
		c.held = 0
	}
}

// sizeOfHead is what a head takes of the memory, 0 for none.
func sizeOfHead(f runtime.Fence) int {
	const entry = 150 // of the map
	if f.Run == "" {
		return 0
	}
	return entry + len(f.Run) + len(f.Head)
}

// head is what is known of a run.
func (c *committer) head(run string) (f runtime.Fence, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok = c.heads[run]
	return f, ok
}

// arguments are those of commitStatement.
func (t *change) arguments(epoch, sequence uint64) []any {
	var expected, deleted, keys, values, forgotten, runs, heads [][]byte
	var from, to []int64
	for run, at := range t.assumed {
		expected, from = append(expected, []byte(run)), append(from, int64(at))
	}
	for key, value := range t.writes {
		if value == nil {
			deleted = append(deleted, []byte(key))
			continue
		}
		keys, values = append(keys, []byte(key)), append(values, value)
	}
	for run, at := range t.fences {
		if at == 0 {
			forgotten = append(forgotten, []byte(run))
			continue
		}
		runs, to, heads = append(runs, []byte(run)), append(to, int64(at)), append(heads, t.heads[run])
	}
	return []any{epoch, sequence, t.count, expected, from, deleted, keys, values, forgotten, runs, to, heads}
}

// sizeOf is how many bytes of keys, values and heads a batch has.
func sizeOf(b *runtime.Batch) int64 {
	n := 0
	for _, f := range b.Fences {
		n += len(f.Run) + len(f.Head)
	}
	for _, w := range b.Writes {
		n += len(w.Key) + len(w.Value)
	}
	return int64(n)
}
