package badger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"starling/runtime"
)

// A committer is where one writes at a time. Whoever does takes all batches that wait, in the order
// in which they came, puts them into one transaction, or several where they are larger than one may
// be, and answers them when it is durable. While it waits for the disk the next ones gather, so
// that the busier a store is the more of them share a sync, and a batch that comes alone goes at
// once.
//
// A caller who finds nobody writing writes one transaction itself: waking a goroutine that has
// slept for longer than a moment costs a tenth of a commit. What has come meanwhile is left to the
// committer's goroutine, so that nobody waits long for the batches of others.
//
// For each transaction:
//
//  1. the store must still be this owner's (mark.check) and the disk have room for what Badger may write;
//  2. each batch's fences are compared with where its runs stand after the batches before it, those of the same transaction included;
//     a batch that is fenced out is left out alone, and answered only with the others: what it lost to must be durable when it hears so;
//  3. Badger writes it, and its logs are synced, once (activelog.go);
//  4. the directory is synced if its entries changed, since Badger begins new logs without doing so;
//  5. the mark is written;
//  6. readers see it (views.go), and all are answered.
//
// After any failure in 1 or 3 to 5 nothing is known of that transaction, and every later commit is
// refused with the same error.
type committer struct {
	dir       string
	badgerDir string
	db        *badgerdb.DB
	faults    *faults
	mark      *mark
	disk      disk
	views     *views
	files     *os.File // Badger's directory

	writing    sync.Mutex // guards what is below: a transaction, or value log GC, which writes too
	writeAhead *activeLog
	values     *activeLog
	version    uint64 // of the newest transaction

	// What only whoever writes touches.
	fences   map[string]uint64 // where runs stand that transactions behind forgot have moved
	entries  time.Time         // when the directory's entries last changed
	sequence uint64

	batches      atomic.Uint64
	transactions atomic.Uint64
	done         chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what is below
	wake    *sync.Cond
	queue   []*waiting
	busy    bool  // somebody writes
	urgent  bool  // somebody waits for what is in the queue, or it has waited long enough
	lazy    int64 // bytes of lazy batches in the queue
	closing bool
	failed  error
	seen    map[string]seen // where runs stood that readers have looked at
	forgot  uint64          // version of a transaction
}

// seen is where a run stood in a version.
type seen struct{ at, version uint64 }

// waiting is a batch in the queue.
type waiting struct {
	batch *runtime.Batch
	cost  cost
	done  chan error // nil for a lazy batch, whose caller has gone
}

const (
	// lazyDelay is the longest that a lazy batch waits for a durable one to go with.
	lazyDelay = 100 * time.Millisecond
	// lazyBytes is how much of them may wait; beyond it the caller waits too.
	lazyBytes = 4 << 20
	// knownFences bounds the memory for where runs stand; beyond it they are read again.
	knownFences = 1 << 14
	// reserve is what must stay free on the disk. Badger writes through memory maps of sparse
	// files, where a full disk is not an error but kills the process; this much it may need to move
	// what is in memory into tables, and to merge them.
	reserve = 64 << 20
)

// newCommitter makes the directory's entries durable and finds the logs.
func newCommitter(s *Store, m *mark, d disk, sequence uint64) (*committer, error) {
	files, err := os.Open(s.badgerDir)
	if err != nil {
		return nil, err
	}
	c := &committer{
		dir: s.dir, badgerDir: s.badgerDir, db: s.db, faults: s.faults, mark: m, disk: d, files: files, views: &s.views, version: s.views.newest,
		fences: make(map[string]uint64), seen: make(map[string]seen), sequence: sequence, done: make(chan struct{}),
	}
	c.batches.Store(sequence)
	c.wake = sync.NewCond(&c.mu)
	err = c.syncEntries()
	if err == nil {
		c.writeAhead, err = openActive(s.badgerDir, writeAheadSuffix, 5, d)
	}
	if err == nil {
		c.values, err = openActive(s.badgerDir, valueLogSuffix, 6, d)
	}
	if err != nil {
		files.Close()
		return nil, err
	}
	return c, nil
}

func (c *committer) stats() Stats {
	return Stats{c.batches.Load(), c.transactions.Load(), c.writeAhead.syncs.Load() + c.values.syncs.Load()}
}

// commit queues the batch and waits for its answer. What no store or Badger would take is refused
// here, so that one bad batch cannot fail a transaction that others share.
func (c *committer) commit(b *runtime.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	for _, w := range b.Writes {
		if bytes.HasPrefix(w.Key, []byte(badgersOwn)) {
			return fmt.Errorf("key %q begins with %q; such keys belong to Badger", w.Key, badgersOwn)
		}
	}
	w := &waiting{batch: b, cost: costOf(b)}
	if err := w.cost.check(); err != nil {
		return err
	}
	leads, err := c.enqueue(w)
	if err != nil || w.done == nil {
		return err
	}
	if leads {
		c.lead()
	}
	return <-w.done
}

// enqueue adds a batch to those that wait. leads tells that nobody writes and the caller is to.
func (c *committer) enqueue(w *waiting) (leads bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false, runtime.ErrStoreClosed
	}
	if c.failed != nil {
		return false, c.failed
	}
	if size := w.cost.bytes + w.cost.large; w.batch.Lazy && c.lazy+size <= lazyBytes {
		w.batch = clone(w.batch)
		if c.lazy == 0 {
			time.AfterFunc(lazyDelay, c.hurry)
		}
		c.lazy += size
	} else {
		w.done = make(chan error, 1)
		leads = !c.busy
		c.busy = true
		c.urgent = true
	}
	c.queue = append(c.queue, w)
	return leads, nil
}

// lead writes one transaction for a caller that found nobody writing, and leaves what has come
// meanwhile to the goroutine.
func (c *committer) lead() {
	defer runtime.EndWithPanic() // Badger's
	c.mu.Lock()
	queue := c.takeAll()
	c.mu.Unlock()
	c.stop(c.transact(queue))
}

// stop ends one's writing. What is left, and what has come meanwhile, is for the goroutine.
func (c *committer) stop(left []*waiting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(left, c.queue...)
	c.urgent = c.urgent || len(left) > 0
	c.busy = false
	if c.urgent || c.closing {
		c.wake.Signal()
	}
}

// hurry commits lazy batches that no durable one has come for.
func (c *committer) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urgent = len(c.queue) > 0
	c.wake.Signal()
}

// clone copies a lazy batch, which its caller may change while it waits.
func clone(b *runtime.Batch) *runtime.Batch {
	writes := make([]runtime.Write, len(b.Writes))
	for i, w := range b.Writes {
		writes[i] = runtime.Write{Key: slices.Clone(w.Key), Value: slices.Clone(w.Value)}
	}
	return &runtime.Batch{Writes: writes, Lazy: true}
}

// take waits until something must be written and returns all that waits; nothing means that the
// store closes.
func (c *committer) take() []*waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.busy || !c.urgent && !c.closing {
		c.wake.Wait()
	}
	c.busy = true
	return c.takeAll()
}

// takeAll empties the queue. It is called with mu held.
func (c *committer) takeAll() []*waiting {
	queue := c.queue
	c.queue, c.urgent, c.lazy = nil, false, 0
	return queue
}

func (c *committer) run() {
	defer close(c.done)
	for queue := c.take(); len(queue) > 0; queue = c.take() {
		for len(queue) > 0 {
			queue = c.transact(queue)
		}
		c.stop(nil)
	}
}

// close commits what waits and returns the failure that ended the committer before, if any.
func (c *committer) close() error {
	c.mu.Lock()
	c.closing = true
	c.wake.Signal()
	c.mu.Unlock()
	<-c.done
	c.files.Close()
	c.writeAhead.close()
	c.values.close()
	return c.failure()
}

func (c *committer) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

func (c *committer) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = full(err); !errors.Is(err, runtime.ErrFull) {
		err = fmt.Errorf("%w: %w", runtime.ErrFailed, err)
	}
	c.failed = fmt.Errorf("%s: %w", c.dir, err)
}

// transact writes as much of the queue as one transaction holds, answers it, and returns the rest.
func (c *committer) transact(queue []*waiting) []*waiting {
	if err := c.failure(); err != nil {
		answer(queue, func(int) error { return err })
		return nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	t := c.begin()
	defer t.txn.Discard()
	n := 0
	for n < len(queue) && t.add(queue[n]) {
		n++
	}
	if err := t.commit(); err != nil {
		c.fail(err)
		return queue // to be answered with the failure
	}
	answer(queue[:n], func(i int) error { return t.refused[i] })
	return queue[n:]
}

func answer(queue []*waiting, err func(int) error) {
	for i, w := range queue {
		if w.done != nil {
			w.done <- err(i)
		}
	}
}

// learn keeps where runs stand now, so that a run in motion is not looked up for each of its steps.
func (c *committer) learn(fences map[string]uint64) {
	if len(c.fences)+len(fences) > knownFences {
		clear(c.fences)
		c.mu.Lock()
		c.forgot = c.version
		c.mu.Unlock()
	}
	for run, at := range fences {
		c.fences[run] = at
	}
}

// saw keeps where a run stood in a version: who looks at a run will often move it next, and is
// spared a second look.
func (c *committer) saw(run string, at, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= knownFences {
		clear(c.seen)
	}
	c.seen[run] = seen{at, version}
}

// seenAt takes what was seen of a run that is not in fences. It stands there still: every
// transaction behind forgot that has moved a run is in fences.
func (c *committer) seenAt(run string) (at uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.seen[run]
	delete(c.seen, run)
	return s.at, ok && s.version >= c.forgot
}

// syncEntries makes files durable that Badger has begun since the last time: it syncs what is in
// them, not that they exist. Journalling file systems make a new file durable with its first sync,
// so that this counts only where one does not.
func (c *committer) syncEntries() error {
	st, err := c.files.Stat()
	if err != nil || st.ModTime().Equal(c.entries) {
		return err
	}
	c.entries = st.ModTime()
	return c.files.Sync()
}

// room refuses to write n bytes where less than the reserve would stay free.
func room(dir string, d disk, n int64) error {
	free, err := d.free(dir)
	if err == nil && free < uint64(reserve+n) {
		const unit = 1 << 20
		needed := (reserve + uint64(n) + unit - 1) / unit
		err = fmt.Errorf("%w: %d MiB are free, and a commit needs %d; free at least %d MiB and start again", unix.ENOSPC, free/unit, needed, needed-free/unit)
	}
	return full(err)
}

// full makes what the system says of a disk without room, of a quota and of a limit to the length
// of files one error.
func full(err error) error {
	for _, no := range []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG} {
		if errors.Is(err, no) && !errors.Is(err, runtime.ErrFull) {
			return fmt.Errorf("%w: %w", runtime.ErrFull, err)
		}
	}
	return err
}
