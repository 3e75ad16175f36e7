package badger

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	badgerdb "github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"starling/runtime"
)

// Options say how a store is opened. The zero value opens it as its next owner and makes it where
// there is none.
type Options struct {
	// ReadOnly opens an existing store without becoming its owner: the epoch stays, nothing is
	// created, Commit returns runtime.ErrReadOnly. It still needs the store for itself: after a
	// crash Badger must replay its logs, which writes.
	ReadOnly bool
	// Moved opens a store for writing that was moved, which is taken back with that.
	Moved bool
}

// Store is an open store; see runtime.Store for what its methods promise.
type Store struct {
	dir       string
	badgerDir string
	staged    string            // the folder through which Badger reads instead; "" for none
	info      runtime.StoreInfo // but for Sequence
	lock      *os.File
	db        *badgerdb.DB
	faults    *faults
	views     views
	committer *committer // nil where ReadOnly

	mu      sync.Mutex // guards what is below
	closing bool
	calls   sync.WaitGroup // reads and GC in progress
	close   func() error   // once
}

var _ runtime.Store = (*Store)(nil)

// Open opens the store in dir. Errors, each naming path, found and wanted: runtime.ErrNoStore
// (reading only), ErrNotAStore, ErrNewer, ErrLocked, ErrDamaged, and the disk's own. A store that
// is refused is left as it was.
func Open(dir string, o Options) (*Store, error) { return open(dir, o, localDisk{}) }

func open(dir string, o Options, d disk) (*Store, error) {
	f, err := formatAt(dir, o, d)
	if err != nil {
		return nil, err
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	if err := present(dir, o); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Store{dir: dir, badgerDir: filepath.Join(dir, badgerName), lock: lock, faults: new(faults)}
	s.close = sync.OnceValue(s.shut)
	s.info = runtime.StoreInfo{ID: f.id, Name: dir, Path: dir, Format: f.version, ReadOnly: o.ReadOnly}
	if err := s.start(d); err != nil {
		if s.db != nil {
			s.db.Close()
		}
		return nil, firstError(err, errors.Join(lock.Close(), s.unstage()))
	}
	return s, nil
}

func formatAt(dir string, o Options, d disk) (format, error) {
	if !o.ReadOnly {
		return prepare(dir, d)
	}
	if err := refuseNetwork(dir, d); err != nil {
		return format{}, err
	}
	return readFormat(dir)
}

// start inspects the files, opens Badger and becomes the owner.
func (s *Store) start(d disk) error {
	epoch, acknowledged, marked, err := readMark(s.dir)
	if err != nil {
		return err
	}
	found, err := inspect(s.badgerDir, acknowledged)
	switch {
	case err != nil:
		return err
	case !marked && found.sequence > 0:
		return damaged(filepath.Join(s.dir, markName), "it does not exist, though %d batches do", found.sequence)
	case s.info.ReadOnly && !found.exists:
		return fmt.Errorf("%s: %w: one was begun here, but never opened", s.dir, runtime.ErrNoStore)
	}
	if err := s.openBadger(found, d); err != nil {
		return err
	}
	if err := s.identify(epoch, found.sequence); err != nil {
		return err
	}
	if s.info.ReadOnly {
		s.info.Sequence = found.sequence
		return nil
	}
	return s.own(found.sequence, d)
}

// openBadger opens Badger. A reader of a store that was closed opens it as read-only, which is
// quicker and writes nothing. The logs that a crash leaves are replayed, which writes; where
// nothing can be written they are read from a copy.
func (s *Store) openBadger(found findings, d disk) error {
	o, err := s.prepare(found, d)
	if err != nil {
		return err
	}
	db, err := badgerdb.OpenManaged(o)
	if err != nil {
		return s.refusedBy(err)
	}
	s.db, s.views = db, views{newest: db.MaxVersion(), open: map[uint64]int{}}
	db.SetDiscardTs(s.views.newest)
	if err := s.faults.err(); err != nil {
		return damaged(s.badgerDir, "%v", err)
	}
	return nil
}

// prepare makes the files such that Badger can open them, and says how.
func (s *Store) prepare(found findings, d disk) (o badgerdb.Options, err error) {
	dir := s.badgerDir
	reads := s.info.ReadOnly && found.closed
	if s.info.ReadOnly && !found.closed && unwritable(dir) {
		if s.staged, err = stage(dir, found); err != nil {
			return o, fmt.Errorf("%s: read what its owner left when it was killed: %w", s.dir, err)
		}
		dir, reads = s.staged, true
	}
	if err := descriptors(dir); err != nil {
		return o, err
	}
	o = turnedDown(dir, found, s.faults)
	if o.ReadOnly = reads; reads {
		return o, nil
	}
	if err := room(s.dir, d, 0); err != nil {
		return o, fmt.Errorf("%s: %w", s.dir, err)
	}
	if err := found.mend(); err != nil {
		return o, err
	}
	return o, s.settle(found)
}

// ownDescriptors is how many files Badger has open beside its tables and logs: the folder, the
// manifest, the list of keys, the lock, and those of what it begins.
const ownDescriptors = 12

// descriptors asks for as many descriptors as Badger needs to open dir, and gives them back: where
// Badger gets none it ends the process, with the words of the system alone.
func descriptors(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	need := len(files) + ownDescriptors
	for range need {
		f, err := os.Open(filepath.Dir(dir))
		if err != nil && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) {
			return fmt.Errorf("%s: badger needs %d descriptors: %w", dir, need, errors.Unwrap(err))
		}
		if err != nil {
			return err
		}
		defer f.Close()
	}
	return nil
}

// refusedBy says why Badger does not open.
func (s *Store) refusedBy(err error) error {
	no := cause(err)
	switch {
	case strings.Contains(err.Error(), "Cannot acquire directory lock"):
		return fmt.Errorf("%s: %w", s.dir, runtime.ErrLocked)
	case no == unix.EFBIG:
		return fmt.Errorf("%s: %w", s.badgerDir, full(fmt.Errorf(
			"%w: a log takes %d MiB, and the limit to the length of files (ulimit -f) is lower", no, 2*valueLog>>20)))
	case no != nil:
		return fmt.Errorf("%s: open badger: %w", s.badgerDir, full(no))
	case keyed(err):
		return damaged(s.badgerDir, "the key registry or the head of a log is not as it was written: %v", err)
	}
	return fmt.Errorf("%s: open badger: %w", s.badgerDir, err)
}

// cause finds what the system said in an error of Badger's, which wraps no cause; nil where it is
// nothing that is told apart.
func cause(err error) error {
	for _, no := range []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EMFILE, unix.ENFILE, unix.EROFS} {
		if errors.Is(err, no) || strings.Contains(err.Error(), no.Error()) {
			return no
		}
	}
	return nil
}

// keyed tells whether Badger asks for the key of an encryption, or cannot read its list of keys.
// None is used here: what names one was changed.
func keyed(err error) bool {
	return errors.Is(err, badgerdb.ErrEncryptionKeyMismatch) ||
		strings.Contains(err.Error(), "Error for the KEY ID") || strings.Contains(err.Error(), "key registry")
}

// settle makes durable what a process that died had written and not synced: what is read from now
// on, and may become a table, is then on the disk. The values first, since the write-ahead logs
// point to them.
func (s *Store) settle(f findings) error {
	if f.closed {
		return nil
	}
	for _, suffix := range []string{valueLogSuffix, writeAheadSuffix} {
		logs, err := numberedFiles(s.badgerDir, suffix)
		if err != nil {
			return err
		}
		for _, file := range logs {
			if err := syncFile(file.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify checks that Badger's files are those of this directory, or holds nothing yet: a crash
// may come between making the directory and the first transaction, but not between that and the
// first batch. The epoch is the latest that anything tells of.
func (s *Store) identify(marked, sequence uint64) error {
	return s.view(func(txn *badgerdb.Txn) error {
		s.info.Epoch = marked
		id, err := valueIn(s.badgerDir, txn, ownKey(tagID))
		switch {
		case errors.Is(err, runtime.ErrNoKey) && sequence == 0:
			return nil
		case err != nil:
			return damaged(s.badgerDir, "it holds no store id, though %d batches: %v", sequence, err)
		case hex.EncodeToString(id) != s.info.ID:
			return damaged(s.badgerDir, "it belongs to the store %x, wanted %s as in the file %q", id, s.info.ID, formatName)
		}
		epoch, err := valueIn(s.badgerDir, txn, ownKey(tagEpoch))
		s.info.Epoch = max(marked, numberOf(epoch))
		return err
	})
}

// own makes this handle the owner: the next epoch is durable before anything else is written with
// it. The mark comes first, so that where there are batches there is a mark.
func (s *Store) own(sequence uint64, d disk) error {
	s.info.Epoch++
	m, err := openMark(s.dir, s.info.Epoch, sequence)
	if err != nil {
		return err
	}
	if s.committer, err = newCommitter(s, m, d, sequence); err == nil {
		err = s.committer.commitAlone(s.sign)
	}
	if err != nil {
		m.close()
		return err
	}
	go s.committer.queue.Run()
	return nil
}

// sign writes whose store this is and in which epoch.
func (s *Store) sign(txn *badgerdb.Txn) error {
	id, err := hex.DecodeString(s.info.ID)
	return firstError(err,
		txn.Set(ownKey(tagID), id),
		txn.Set(ownKey(tagFormat), number(uint64(s.info.Format))[4:]),
		txn.Set(ownKey(tagEpoch), number(s.info.Epoch)))
}

// Info tells what was opened; its Sequence is that of now.
func (s *Store) Info() runtime.StoreInfo {
	info := s.info
	if s.committer != nil {
		info.Sequence = s.committer.stats().Batches
	}
	return info
}

// Commit hands the batch to the committer and waits for its answer; for a lazy batch it does not
// wait, unless several megabytes of them do.
func (s *Store) Commit(ctx context.Context, b *runtime.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.committer == nil {
		if !s.enter() {
			return runtime.ErrStoreClosed
		}
		defer s.calls.Done()
		return fmt.Errorf("%s: %w", s.dir, runtime.ErrReadOnly)
	}
	return s.committer.commit(b)
}

// Stats counts what was written through this handle.
type Stats struct {
	Batches      uint64 // number of the newest batch of the store, earlier owners' included
	Transactions uint64 // transactions of this handle
	Syncs        uint64 // of logs by this handle: one a transaction, and one more where it has large values or begins a log
}

// Stats tells how many transactions the batches took; it is zero in a reader.
func (s *Store) Stats() Stats {
	if s.committer == nil {
		return Stats{}
	}
	return s.committer.stats()
}

// enter notes a call that Close must wait for.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.calls.Add(1)
	}
	return !s.closing
}

// Close waits for commits and reads in progress, writes recent changes into a table and gives the
// directory back. A second Close waits for the first and returns what it returned.
func (s *Store) Close() error { return s.close() }

func (s *Store) shut() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	var failed error
	if s.committer != nil {
		failed = cmp.Or(s.committer.close(), s.committer.mark.check())
	}
	s.calls.Wait()
	s.db.SetDiscardTs(s.views.oldest())
	err := s.closeBadger(failed != nil)
	if s.committer != nil {
		err = errors.Join(err, s.committer.mark.close())
	}
	return errors.Join(err, s.lock.Close(), s.unstage())
}

// unstage removes the folder through which Badger has read.
func (s *Store) unstage() error {
	if s.staged == "" {
		return nil
	}
	return os.RemoveAll(s.staged)
}

// closeBadger closes Badger. On a disk that fails or is full, and in a folder that was removed,
// Badger tries to write its memory table until it can, for ever; its log is left for the next open
// to replay, which loses nothing.
func (s *Store) closeBadger(failed bool) error {
	patience := time.Minute
	if failed {
		patience = time.Second
	}
	done := make(chan error, 1)
	go func() { done <- s.db.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("%s: badger could not write its last table within %v; its log has all of it", s.badgerDir, patience)
	}
}
