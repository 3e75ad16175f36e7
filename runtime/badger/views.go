package badger

import (
	"sync"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// views says what readers see: the store as its newest durable transaction left it. Badger shows a
// transaction as soon as it is in memory and syncs nothing (options.go), so the versions of its
// transactions are given by us: a reader takes that of the newest one that was synced, and waits
// for nobody.
//
// What is older than every view may be dropped when tables are merged.
type views struct {
	mu     sync.Mutex // guards what is below
	newest uint64
	open   map[uint64]int // readers by the version that they see
}

// enter begins a view and returns its version.
func (v *views) enter() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open[v.newest]++
	return v.newest
}

func (v *views) leave(version uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open[version]--; v.open[version] == 0 {
		delete(v.open, version)
	}
}

// advance lets readers see a transaction.
func (v *views) advance(version uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newest = version
}

// oldest is the version that the oldest view sees.
func (v *views) oldest() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	oldest := v.newest
	for version := range v.open {
		oldest = min(oldest, version)
	}
	return oldest
}

// view calls fn with a transaction that sees what is durable now.
func (s *Store) view(fn func(*badgerdb.Txn) error) error {
	version := s.views.enter()
	defer s.views.leave(version)
	txn := s.db.NewTransactionAt(version, false)
	defer txn.Discard()
	return fn(txn)
}
