package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// sharedRows are the commons of a store.
type sharedRows struct {
	reader *reader
	turn   chan struct{} // holds one: whoever has put it in holds the commons
	heads  heads         // used by whoever holds them
}

// enter is lock, unless the context ends first.
func (x *sharedRows) enter(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *sharedRows) Lock()   { x.turn <- struct{}{} }
func (x *sharedRows) Unlock() { <-x.turn }

func (x *sharedRows) Get(key []byte) ([]byte, error) { return x.reader.store.Get(key) }

func (x *sharedRows) Scan(prefix string, fn func(key string, row []byte) error) error {
	return journal.Scan(x.reader.store, prefix, fn)
}

func (x *sharedRows) Items(queue string, fn func(id uint64, row []byte) error) error {
	return x.heads.scan(x.reader.store, queue, fn)
}

func (x *sharedRows) Returned(queue string, id uint64) { x.heads.lower(queue, id) }

func (x *sharedRows) Ended(run string) bool { return x.reader.ended(run) }

// ended tells whether a run has ended; one that was removed had ended before.
func (r *reader) ended(run string) bool {
	row, err := r.summary(run)
	if refused := (*runtime.Refusal)(nil); errors.As(err, &refused) {
		return true
	}
	return err == nil && row.Status.Ended()
}

// heads knows of queues the number below which they have no item. The store passes over each item
// that was dropped until it merges its files, so that a queue through which 100,000 have gone would
// cost more with each: who looks for the oldest begins here. It is a guess that is never too high,
// kept in memory only, and is used by whoever holds the commons: what is read then is all there is.
type heads struct{ least map[string]uint64 }

// knownHeads bounds the memory that it takes.
const knownHeads = 1000

// scan calls fn with the items of a queue, the oldest first, and learns where they begin.
func (h *heads) scan(s runtime.Store, queue string, fn func(id uint64, row []byte) error) error {
	from := journal.ItemKey(journal.PrefixQueue, queue, h.least[queue])
	begins := uint64(0)
	err := s.Scan(from, journal.AfterPrefix([]byte(journal.PrefixQueue+queue+"/")), func(key, row []byte) error {
		id := binary.BigEndian.Uint64(key[len(key)-8:])
		if begins == 0 {
			begins = id
		}
		return fn(id, row)
	})
	if begins == 0 && err == nil {
		begins, err = journal.NumberAt(s.Get, []byte(journal.PrefixQueue+queue)) // no later one has this number
	}
	if err == nil && begins > 0 {
		h.learn(queue, begins)
	}
	return err
}

func (h *heads) learn(queue string, begins uint64) {
	if h.least == nil || len(h.least) >= knownHeads {
		h.least = map[string]uint64{}
	}
	h.least[queue] = begins
}

// lower tells of an item that comes back into its queue.
func (h *heads) lower(queue string, id uint64) {
	if h.least[queue] > id {
		h.least[queue] = id
	}
}

// retryWaiters lets the runs that wait for an item of a queue look again; "" is any queue.
func (e *Local) retryWaiters(queue string) {
	e.mu.Lock()
	var runs []string
	for run, queues := range e.awaiting {
		if queue == "" || slices.Contains(queues, queue) {
			runs = append(runs, run)
		}
	}
	e.mu.Unlock()
	slices.Sort(runs)
	for _, id := range runs {
		e.post(id, event{in: &run.Offered{Queue: queue}, done: func(err error) {
			if err != nil && e.ctx.Err() == nil {
				e.log("run %s: the items of queue %q: %v", id, queue, err)
			}
		}})
	}
}

// offerAgain tells the runs that wait what a commit has put into a queue or, by ending its run,
// given back; holds says that the turn has the commons still. Whoever was looking when the run
// ended is known to wait before it is told.
func (a *actor) offerAgain(c *run.Commit, holds bool) {
	if c.Effects.Pushed != "" {
		a.e.retryWaiters(c.Effects.Pushed)
	}
	if !a.s.Queues || !a.s.Status.Ended() {
		return
	}
	if !holds {
		a.e.shared.Lock()
		defer a.e.shared.Unlock()
	}
	a.e.retryWaiters("")
}
