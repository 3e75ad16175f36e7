package runtime

import (
	"context"
	"errors"
)

// Store is an ordered map of byte keys to byte values with fenced, durable, atomic commits. It is dumb on purpose: what the keys mean
// is written in layout.go, so that a second store has nothing to copy but this.
//
// A Store has one owner. Each open for writing bumps the epoch durably; a commit of an older epoch is refused. Keys that
// begin with a zero byte belong to the store itself (format, epoch, fences, the dense batch sequence). All methods may be called concurrently.
type Store interface {
	// Info tells what was opened.
	Info() StoreInfo

	// Get returns the value of key, or ErrNoKey. The slice belongs to the caller.
	Get(key []byte) ([]byte, error)

	// Scan calls fn for each key in [from, to) in ascending byte order, on one consistent view; a nil to means no upper bound.
	// The slices are valid only during the call. It stops at the first error of fn and returns it; ErrStopScan ends it with nil.
	Scan(from, to []byte, fn func(key, value []byte) error) error

	// Commit applies the batch as a whole or not at all, and returns when it is durable: after a power cut it is there. Waiting commits of several callers
	// share one transaction and one sync, in which each batch still succeeds or fails alone. Errors: ErrFenced (another epoch, or
	// a run that is not where the batch expects it: nothing was applied), ErrReadOnly, ErrTooLarge, ErrStoreClosed, and the disk's own,
	// after which nothing is known to be applied and the store refuses further commits.
	Commit(ctx context.Context, b *Batch) error

	// Close waits for commits in flight and releases the directory. A second Close is harmless.
	Close() error
}

// StoreInfo describes an open store.
type StoreInfo struct {
	ID       string // random, made with the store; keys snapshot MACs and tells stores apart
	Path     string // the directory, "" for one in memory
	Format   uint32 // layout version found in it
	Epoch    uint64 // generation of the owner, from 1
	Sequence uint64 // number of batches ever committed
	ReadOnly bool
}

// Batch is one atomic change.
type Batch struct {
	Fences []Fence
	Writes []Write
	// Lazy marks telemetry: it may be acknowledged before the disk has it, and lose its last moments in a crash. A lazy batch is never
	// ordered before an earlier batch of the same caller that was durable.
	Lazy bool
}

// Fence moves a run's sequence number: the batch applies only if the run stands at Expect, and leaves it at Next. A run that the store
// has never seen stands at 0.
type Fence struct {
	Run    string
	Expect uint64
	Next   uint64
}

// Write sets Key to Value, or deletes Key where Value is nil. An empty non-nil Value is a value.
type Write struct {
	Key   []byte
	Value []byte
}

// Errors of stores.
var (
	ErrNoKey       = errors.New("no such key")
	ErrStopScan    = errors.New("stop scanning")
	ErrFenced      = errors.New("another owner or another writer of this run was first")
	ErrReadOnly    = errors.New("the store is open for reading only")
	ErrTooLarge    = errors.New("the batch is larger than the store takes in one commit")
	ErrStoreClosed = errors.New("the store is closed")

	// ErrNotAStore: the directory exists and is not empty, yet holds no store.
	ErrNotAStore = errors.New("not a store")
	// ErrNewer: the store was written by a later format.
	ErrNewer = errors.New("the store is of a newer format")
	// ErrDamaged: bytes that were acknowledged are gone or changed. Nothing is served from such a store.
	ErrDamaged = errors.New("the store is damaged")
	// ErrLocked: another process holds the directory.
	ErrLocked = errors.New("the store is in use by another process")
)
