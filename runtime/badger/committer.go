package badger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"starling/runtime"
	"starling/runtime/groupcommit"
)

// A committer writes the transactions of a queue of batches (runtime/groupcommit).
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
	queue        *groupcommit.Queue[cost]

	mu     sync.Mutex      // guards what is below
	seen   map[string]seen // where runs stood that readers have looked at
	forgot uint64          // version of a transaction
}

// seen is where a run stood in a version.
type seen struct{ at, version uint64 }

// waiting is a batch in the queue.
type waiting = groupcommit.Waiting[cost]

const (
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
		fences: make(map[string]uint64), seen: make(map[string]seen), sequence: sequence,
	}
	c.batches.Store(sequence)
	c.queue = groupcommit.New(c.transact)
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
	w := costOf(b)
	if err := w.check(); err != nil {
		return err
	}
	return c.queue.Commit(b, w, w.bytes+w.large)
}

// close commits what waits and returns the failure that ended the committer before, if any.
func (c *committer) close() error {
	err := c.queue.Close()
	c.files.Close()
	c.writeAhead.close()
	c.values.close()
	return err
}

// failure is the error that every commit gets after one that failed.
func (c *committer) failure(err error) error {
	if err = full(err); !errors.Is(err, runtime.ErrFull) {
		err = fmt.Errorf("%w: %w", runtime.ErrFailed, err)
	}
	return fmt.Errorf("%s: %w", c.dir, err)
}

// transact writes as much of the queue as one transaction holds.
func (c *committer) transact(queue []*waiting) (n int, refused map[int]error, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	t := c.begin()
	defer t.txn.Discard()
	for n < len(queue) && t.add(queue[n]) {
		n++
	}
	if err := t.commit(); err != nil {
		return 0, nil, c.failure(err)
	}
	return n, t.refused, nil
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
