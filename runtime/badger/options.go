package badger

import (
	"fmt"
	"strings"
	"sync/atomic"

	badgerdb "github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// What a batch may hold. A batch is one Badger transaction and cannot be split, so one that is
// larger is refused.
const (
	// MaxBatchBytes bounds a batch's keys and those of its values that are smaller than LargeValue,
	// with 12 bytes for each write. A larger value counts 12 bytes here.
	MaxBatchBytes = 2 << 20
	// MaxBatchWrites bounds a batch's writes and fences together.
	MaxBatchWrites = 20_000
	// MaxBatchLarge bounds the sum of a batch's values of LargeValue bytes and more, and so the
	// largest value.
	MaxBatchLarge = 32 << 20
	// LargeValue is the size from which values are kept apart from their keys.
	LargeValue = 32 << 10
)

// memTable is the size at which recent writes are moved from memory and log into a table. It bounds
// the memory, the replay after a crash (twice this much log at most) and, at 15 %, a transaction.
const memTable = 16 << 20

// valueLog is the size at which a new value log is begun. Badger maps twice as much and must never
// need more, hence MaxBatchLarge.
const valueLog = 64 << 20

// What is deleted takes room until it is merged into the last level. Up to baseLevel bytes, tables
// of level zero are merged straight into that one, from levelZero of them on; by Badger's defaults
// (10 MiB, five) they would go one level above it, where deletions lie until there are 10 MiB of
// them. design.md has what it gains.
const (
	levelZero = 3
	baseLevel = 128 << 20
)

// Tables at level zero are merged at close from this many on: a command is over before Badger's own
// schedule gets to them, and at fifteen every flush would wait for that schedule.
const levelZeroAtClose = 8

// turnedDown are Badger's options for one small process on one local disk. Each departure from the
// defaults has its reason here; what is not named stays.
func turnedDown(dir string, f findings, log *faults) badgerdb.Options {
	o := badgerdb.DefaultOptions(dir)
	o.Logger = log
	o.SyncWrites = false      // the committer syncs, once a transaction and the right file (activelog.go)
	o.DetectConflicts = false // there is one writer
	o.MetricsEnabled = false  // they are global to the process

	// Values that gain from compression are compressed above. Tables can then be read in place,
	// without a cache and its goroutines.
	o.Compression = options.None
	o.BlockCacheSize = 0

	o.MemTableSize = memTable
	o.NumMemtables = 2  // that wait to become tables
	o.NumCompactors = 2 // the fewest that Badger accepts
	o.CompactL0OnClose = f.levelZero >= levelZeroAtClose
	o.NumLevelZeroTables = levelZero
	o.BaseLevelSize = baseLevel

	o.ValueThreshold = LargeValue
	o.ValueLogFileSize = valueLog
	o.VerifyValueChecksum = true // else a changed value log is served as it is
	return o
}

// faults is Badger's logger. Nothing is printed: it is there because Badger tells of some failures
// nowhere else, such as a value log whose sync failed or a table that it leaves out, and reports
// success.
type faults struct{ first atomic.Pointer[string] }

// Errorf keeps the first failure. A value that cannot be read is not one of the store: its reader
// is told (Get).
func (f *faults) Errorf(format string, args ...any) {
	for _, reading := range []string{"Unable to read", "Key: ", "Invalid read"} {
		if strings.HasPrefix(format, reading) {
			return
		}
	}
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	f.first.CompareAndSwap(nil, &text)
}

func (f *faults) err() error {
	if text := f.first.Load(); text != nil {
		return fmt.Errorf("badger: %s", *text)
	}
	return nil
}

func (f *faults) Warningf(string, ...any) {}
func (f *faults) Infof(string, ...any)    {}
func (f *faults) Debugf(string, ...any)   {}
