package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"starling/runtime"
	"starling/runtime/journal"
)

// Watch calls fn for the events of a run in order. It reads some of them, and hands them out when
// it has: whoever is slow to take them holds up nobody.
func (r *reader) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	if err := need(ctx, runtime.CanRead, "watch runs"); err != nil {
		return err
	}
	run, err := r.resolveRun(w.Run)
	if err != nil {
		return err
	}
	for after, over := w.After, false; ; {
		next := r.next(run, w.Follow)
		lent, err := r.lend(ctx, run, after)
		for i := range lent.records {
			rec := &lent.records[i]
			after, over = rec.Seq, over || journal.EndsRun(rec)
			if len(w.Types) > 0 && !slices.Contains(w.Types, rec.Type.String()) {
				continue
			}
			if err := fn(rec.Event(run)); err != nil {
				lent.release()
				return unlessStopped(err)
			}
		}
		lent.release()
		switch {
		case errors.Is(err, runtime.ErrStoreClosed) && r.stalled() != nil:
			return r.stalled() // it was closed under a watcher that was reading, or whose fn was slow
		case err != nil:
			return err
		case len(lent.records) > 0:
		case over || !w.Follow:
			return nil
		case r.stalled() != nil:
			return r.stalled()
		case r.hasEnded(run):
			over = true // whoever comes again after the end is handed what came since, and waits for nothing
		default:
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// hasEnded tells whether a run is over. Its row is written with the record that ends it.
func (r *reader) hasEnded(run string) bool {
	row, err := r.summary(run)
	return err == nil && row.Status.Ended()
}

func unlessStopped(err error) error {
	if errors.Is(err, runtime.ErrStopWatch) {
		return nil
	}
	return err
}

// A watcher is lent some records at a time, whatever the commits are that they are in: one that
// does not read holds no more. A large record is lent alone, and takes room where the watcher's
// face has bounded that; with its text as JSON it is there several times.
const (
	lentBytes   = 32 << 10
	largeRecord = 16 << 10
	lentTimes   = 4
)

// lent are records that are handed out.
type lent struct {
	records []journal.Record
	large   int    // size of the record that comes next, if it needs room
	release func() // gives the room back
}

// lend reads the records behind a sequence number that are handed out next.
func (r *reader) lend(ctx context.Context, run string, after uint64) (*lent, error) {
	room := runtime.RoomOf(ctx)
	out, err := r.some(run, after, room == nil)
	if out.large == 0 || err != nil {
		return out, err
	}
	release, err := room.Take(ctx, int64(lentTimes*out.large))
	if err != nil {
		return out, err
	}
	out, err = r.some(run, after, true)
	out.release = release
	return out, err
}

// some reads some records. A large one that comes first is read if it may be.
func (r *reader) some(run string, after uint64, large bool) (*lent, error) {
	out, size := &lent{release: func() {}}, 0
	err := r.raw(run, after, func(b []byte, seq uint64) error {
		for len(b) > 0 {
			n := journal.Size(b)
			switch {
			case n > largeRecord && len(out.records) > 0, size > 0 && size+n > lentBytes:
				return runtime.ErrStopScan
			case n > largeRecord && !large:
				out.large = n
				return runtime.ErrStopScan
			}
			rec, rest, err := journal.Read(b, seq)
			if err != nil {
				return err
			}
			out.records, b, seq, size = append(out.records, rec), rest, seq+1, size+n
		}
		return nil
	})
	return out, err
}

// journal calls fn for the records of a run behind a sequence number.
func (r *reader) journal(run string, after uint64, fn func(*journal.Record) error) error {
	return r.commits(run, after, func(_ []byte, records []journal.Record) error {
		for i := range records {
			if err := fn(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// kept calls fn for the records of a run that were not trimmed.
func (r *reader) kept(run string, fn func(*journal.Record) error) error {
	begins := uint64(0)
	h, err := readHorizon(r.store, run)
	if err != nil {
		return err
	}
	if h != nil {
		begins = h.seq
	}
	return r.journal(run, begins, fn)
}

// commits calls fn for the commits of a run behind a sequence number, with their records; of one
// that begins before it, with those behind it. A record that was trimmed is refused, and so is one
// that is missing.
func (r *reader) commits(run string, after uint64, fn func(v []byte, records []journal.Record) error) error {
	return r.raw(run, after, func(b []byte, seq uint64) error {
		records, err := journal.ReadAll(b, seq)
		if err != nil {
			return err
		}
		return fn(b, records)
	})
}

// raw is commits with the bytes of the records, and the number of the first of them.
func (r *reader) raw(run string, after uint64, fn func(b []byte, seq uint64) error) error {
	from, err := r.commitOf(run, after+1)
	if err != nil {
		return err
	}
	next := after + 1
	err = r.store.Scan(journal.SeqKey(journal.PrefixJournal, run, from), journal.AfterPrefix([]byte(journal.PrefixJournal+run)), func(k, v []byte) error {
		seq := journal.SeqOf(k)
		b, err := journal.Open(v)
		if err != nil {
			return fmt.Errorf("journal from record %d on: %w", seq, err)
		}
		if seq > next {
			return r.missing(run, next)
		}
		for ; seq < next && len(b) > 0; seq++ { // those before are known
			n := journal.Size(b)
			if n == 0 {
				_, _, err := journal.Read(b, seq)
				return err
			}
			b = b[n:]
		}
		first := next
		for rest := b; len(rest) > 0; next++ {
			n := journal.Size(rest)
			if n == 0 {
				_, _, err := journal.Read(rest, next)
				return err
			}
			rest = rest[n:]
		}
		return fn(b, first)
	})
	return unreadable(run, err)
}

// commitOf is the first number of the commit that holds a record. Whoever follows asks for a
// commit's first; for others it is looked for further and further back.
func (r *reader) commitOf(run string, seq uint64) (uint64, error) {
	for back := uint64(0); back < seq; back = 4*back + 16 {
		found := uint64(0)
		err := r.store.Scan(journal.SeqKey(journal.PrefixJournal, run, seq-back), journal.SeqKey(journal.PrefixJournal, run, seq+1), func(k, _ []byte) error {
			found = journal.SeqOf(k)
			return nil
		})
		if found > 0 || err != nil {
			return found, err
		}
	}
	return 0, nil
}

// notify wakes the watchers of a run.
func (r *reader) notify(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.changed[run]; c != nil {
		close(c)
		delete(r.changed, run)
	}
}

// next is closed when the run commits next. Nobody waits for it who does not follow.
func (r *reader) next(run string, follow bool) <-chan struct{} {
	if !follow {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.changed[run]
	if c == nil {
		c = make(chan struct{})
		if r.closed || r.halted != nil {
			close(c) // nobody else closes it
			return c
		}
		r.changed[run] = c
	}
	return c
}

// close ends all watching.
func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wakeAll()
}
