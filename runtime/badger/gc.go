package badger

import (
	"context"
	"errors"
	"fmt"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
)

// GC gives back the disk space of large values that were overwritten or deleted, and returns how
// many files it rewrote. What can be given back is known only once Badger has merged the tables
// that name the values, so a GC soon after deleting finds little. It reads all large values first:
// rewriting a file that is damaged would drop what follows the damage. Commits wait while a file is
// rewritten, at most 64 MiB. The context is looked at between files.
func (s *Store) GC(ctx context.Context) (files int, err error) {
	if !s.enter() {
		return 0, runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	if s.committer == nil {
		return 0, fmt.Errorf("%s: %w", s.dir, runtime.ErrReadOnly)
	}
	if err := inspectValueLogs(s.badgerDir); err != nil {
		return 0, err
	}
	for ; ctx.Err() == nil; files++ {
		const half = 0.5 // of a file must be to give back: what is copied is then at most what was written
		if err := s.committer.rewrite(half); errors.Is(err, badgerdb.ErrNoRewrite) {
			return files, nil
		} else if err != nil {
			return files, fmt.Errorf("%s: value log GC: %w", s.badgerDir, err)
		}
	}
	return files, ctx.Err()
}

// rewrite copies what is alive of one value log and deletes it. Badger deletes at once, synced or
// not, but not while an iterator is open: so one is, until what was copied is durable. No
// transaction comes in between, whose sync would make durable where a value was moved and not the
// value.
func (c *committer) rewrite(discard float64) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	txn := c.db.NewTransactionAt(c.version, false)
	defer txn.Discard()
	it := txn.NewIterator(badgerdb.IteratorOptions{})
	defer it.Close()
	if err := firstError(c.queue.Failure(), c.db.RunValueLogGC(discard)); err != nil {
		return err
	}
	err := firstError(c.values.sync(), c.writeAhead.sync())
	if err != nil {
		c.queue.Fail(c.failure(err))
	}
	return err
}
