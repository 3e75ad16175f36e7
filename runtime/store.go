package runtime

import (
	"context"
	"errors"
	"fmt"
)

// Store is an ordered map of byte keys to byte values with fenced, durable, atomic commits. It is
// dumb on purpose: what the keys mean is written in layout.go, so that a second store has nothing
// to copy but this.
//
// A Store has one owner. Each open for writing bumps the epoch durably; a commit of an older epoch
// is refused. Keys that begin with a zero byte belong to the store itself (format, epoch, fences,
// the dense batch sequence). All methods may be called concurrently.
type Store interface {
	// Info tells what was opened.
	Info() StoreInfo

	// Get returns the value of key, or ErrNoKey. The slice belongs to the caller.
	Get(key []byte) ([]byte, error)

	// Scan calls fn for each key in [from, to) in ascending byte order, on one consistent view; a
	// nil to means no upper bound. A value that cannot be read ends it with a [*DamagedValue]; so
	// does Get of it. The slices are valid only during the call. It stops at the first error of fn
	// and returns it; ErrStopScan ends it with nil.
	Scan(from, to []byte, fn func(key, value []byte) error) error

	// Head tells where a run stands, and what the batch that moved it there, or compared with it
	// last, left with it; nil for nothing. A run that the store has never seen stands at 0. The
	// slice belongs to the caller.
	Head(run string) (at uint64, head []byte, err error)

	// Commit applies the batch as a whole or not at all, and returns when it is durable: after a
	// power cut it is there. Waiting commits of several callers share one transaction and one sync,
	// in which each batch still succeeds or fails alone. Errors: ErrFenced (a run that is not where
	// the batch expects it) and ErrLost (another epoch), with which nothing was applied,
	// ErrReadOnly, ErrTooLarge, ErrStoreClosed, and the disk's own, after which nothing is known to
	// be applied and the store refuses further commits with that error; reads go on. The context is
	// looked at only before the batch is handed over: from then on the answer is the batch's own,
	// however long the disk takes. The batch and its slices must not change until Commit returns.
	Commit(ctx context.Context, b *Batch) error

	// Close waits for commits in flight and releases the directory. A second Close is harmless.
	Close() error
}

// StoreInfo describes an open store.
type StoreInfo struct {
	ID       string // random, made with the store; keys snapshot MACs and tells stores apart
	Name     string // what people call it: its directory or its address, "" for one in memory
	Path     string // the directory where it lies, "" for one that has none on this machine
	Format   uint32 // layout version found in it
	Epoch    uint64 // generation of the owner, from 1
	Sequence uint64 // number of batches ever committed
	ReadOnly bool
}

// Batch is one atomic change.
type Batch struct {
	Fences []Fence
	Writes []Write
	// Lazy marks telemetry: it may be acknowledged before the disk has it, and lose its last
	// moments in a crash. A lazy batch is never ordered before an earlier batch of the same caller
	// that was durable, and never after a later one: once a later durable batch has returned, reads
	// see the lazy ones before it. It has no fences, for nobody waits to hear that one failed.
	Lazy bool
}

// MaxKey is the length of the longest key, and of the longest run name in a fence, in bytes.
const MaxKey = 2048

// Check says what no store accepts in a batch: an empty key, one that is too long or that belongs
// to the store, a fence without a run or one that goes back but not to 0, a lazy batch with fences.
func (b *Batch) Check() error {
	if b.Lazy && len(b.Fences) > 0 {
		return fmt.Errorf("a lazy batch has %d fences; it can have none, for nobody waits to hear that one failed", len(b.Fences))
	}
	for _, f := range b.Fences {
		if err := f.check(); err != nil {
			return err
		}
	}
	for _, w := range b.Writes {
		switch {
		case len(w.Key) == 0:
			return errors.New("a write has an empty key")
		case w.Key[0] == 0:
			return fmt.Errorf("key %q begins with a zero byte; such keys belong to the store", w.Key)
		case len(w.Key) > MaxKey && w.Value != nil: // earlier versions took longer ones, which can go
			return fmt.Errorf("%w: a key of %d bytes begins %q; the longest has %d", ErrTooLarge, len(w.Key), w.Key[:32], MaxKey)
		}
	}
	return nil
}

// MaxHead is the longest head of a run, in bytes.
const MaxHead = 24 << 10

// Fence moves a run's sequence number: the batch applies only if the run stands at Expect, and
// leaves it at Next. A run that the store has never seen stands at 0; a Next of 0 has it forget the
// run. Head is kept with the number, in place of what was there, and so is true of where the run
// stands or is not there; nil keeps nothing.
type Fence struct {
	Run    string
	Expect uint64
	Next   uint64
	Head   []byte `json:",omitempty"`
}

func (f Fence) check() error {
	switch {
	case f.Run == "":
		return errors.New("a fence names no run")
	case len(f.Run) > MaxKey:
		return fmt.Errorf("%w: a fence names a run of %d bytes; the longest has %d", ErrTooLarge, len(f.Run), MaxKey)
	case len(f.Head) > MaxHead:
		return fmt.Errorf("%w: the head of run %s has %d bytes; the longest has %d", ErrTooLarge, f.Run, len(f.Head), MaxHead)
	case f.Next == 0 && f.Head != nil:
		return fmt.Errorf("the fence of run %s goes to 0 with a head; a run that is forgotten has none", f.Run)
	case f.Next < f.Expect && f.Next > 0:
		return fmt.Errorf("the fence of run %s goes from %d to %d; it cannot go back", f.Run, f.Expect, f.Next)
	}
	return nil
}

// Write sets Key to Value, or deletes Key where Value is nil. An empty non-nil Value is a value.
type Write struct {
	Key   []byte
	Value []byte
}

// DamagedValue is the error of a value that cannot be read, while others can. It is an ErrDamaged.
type DamagedValue struct {
	Key   []byte
	Cause string // which it is, and what is wrong with it
}

func (d *DamagedValue) Error() string { return ErrDamaged.Error() + ": " + d.Cause }

// Unwrap makes it an ErrDamaged.
func (d *DamagedValue) Unwrap() error { return ErrDamaged }

// lost is the error of an owner that is one no more.
type lost struct{}

func (lost) Error() string {
	return "this process does not own the store any more: another does, or it was removed"
}

func (lost) Is(target error) bool { return target == ErrFenced }

// Errors of stores.
var (
	ErrNoKey             = errors.New("no such key")
	ErrStopScan          = errors.New("stop scanning")
	ErrFenced            = errors.New("another owner or another writer of this run was first")
	ErrLost        error = lost{} // another process owns the store from now on; an ErrFenced
	ErrReadOnly          = errors.New("the store is open for reading only")
	ErrTooLarge          = errors.New("the batch is larger than the store takes in one commit")
	ErrStoreClosed       = errors.New("the store is closed")

	// ErrNoStore: there is no store at the path, and opening for reading makes none.
	ErrNoStore = errors.New("there is no store")
	// ErrNotAStore: the directory exists and is not empty, yet holds no store; or it lies where no
	// store can be.
	ErrNotAStore = errors.New("not a store")
	// ErrNewer: the store was written by a later format.
	ErrNewer = errors.New("the store is of a newer format")
	// ErrDamaged: bytes that were acknowledged are gone or changed. Nothing is served from such a
	// store.
	ErrDamaged = errors.New("the store is damaged")
	// ErrFull: the disk has too little room. The commit was not applied; what was acknowledged
	// before is there.
	ErrFull = errors.New("the disk is full")
	// ErrFailed: a commit failed in a way that leaves unknown whether it was applied. Every later
	// commit of the same handle fails with it; a new owner finds out.
	ErrFailed = errors.New("the store has failed")
	// ErrLocked: another process holds the directory.
	ErrLocked = errors.New("the store is in use by another process")
)
