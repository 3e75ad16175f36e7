package runtime

import (
	"context"
	"errors"
)

// Watch calls fn for the events of a run in order.
func (r *reader) Watch(ctx context.Context, w WatchRequest, fn func(Event) error) error {
	run, err := r.resolveRun(w.Run)
	if err != nil {
		return err
	}
	after, over := w.After, false
	for {
		next := r.next(run)
		err := r.journal(run, after, func(rec *Record) error {
			after = rec.Seq
			over = over || rec.Type == RunCompleted || rec.Type == RunFailed || rec.Type == RunCancelled
			return fn(rec.event(run))
		})
		if errors.Is(err, ErrStopWatch) {
			return nil
		}
		if err != nil || over || !w.Follow {
			return err
		}
		if r.isClosed() {
			return refuse(ErrOwnerUnreachable, "the engine is leaving")
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// journal calls fn for the records of a run behind a sequence number.
func (r *reader) journal(run string, after uint64, fn func(*Record) error) error {
	from := seqKey(prefixJournal, run, 0)
	if start := r.groupOf(run, after+1); start > 0 {
		from = seqKey(prefixJournal, run, start)
	}
	return r.store.Scan(from, afterPrefix([]byte(prefixJournal+run)), func(k, v []byte) error {
		records, err := unseal(v, seqOf(k))
		if err != nil {
			return err
		}
		for i := range records {
			if records[i].Seq <= after {
				continue
			}
			if err := fn(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// groupOf is the first number of the commit that holds a record, 0 when it is not worth looking for. Watchers ask for what comes next, which begins
// a commit of its own.
func (r *reader) groupOf(run string, seq uint64) uint64 {
	if _, err := r.store.Get(seqKey(prefixJournal, run, seq)); err == nil {
		return seq
	}
	return 0
}

// notify wakes the watchers of a run.
func (r *reader) notify(run string, _ uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.changed[run]; c != nil {
		close(c)
		delete(r.changed, run)
	}
}

// next is closed when the run commits next.
func (r *reader) next(run string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.changed[run]
	if c == nil {
		c = make(chan struct{})
		r.changed[run] = c
		if r.closed {
			close(c)
		}
	}
	return c
}

// close ends all watching.
func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for run, c := range r.changed {
		close(c)
		delete(r.changed, run)
	}
}

func (r *reader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
