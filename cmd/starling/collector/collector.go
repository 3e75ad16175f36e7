// Package collector keeps the garbage of a long-lived process small.
package collector

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"starling/runtime/badger"
)

// What a script may hold is bounded by a count of what is alive; the process has garbage beside it,
// by default as much again. That is time well spent while heaps are small. The larger the heap, the
// more often the collector is told to run, so that a run at its limit takes little more than that.
//
// A process that has been busy keeps for minutes what it took from the system, though an owner may
// do nothing for a month then. So it gives that back once no collection was needed for a while, and
// with it the tables of its store.
const (
	freeGarbage = 24 << 20         // bytes that garbage may take while there is little
	leastShare  = 20               // percent of what is alive that garbage may always take
	usualShare  = 100              // percent, the default of Go
	quiet       = 10 * time.Second // without a collection, until memory is given back
)

// Bound keeps an eye on the heap until the process ends, unless whoever started it has set
// GOGC.
func Bound() {
	if os.Getenv("GOGC") == "" {
		watchHeap(quiet)
	}
}

// heapWatch looks at the heap after each collection.
type heapWatch struct {
	share  int         // of garbage, as it was set last
	idle   *time.Timer // until memory is given back
	giving atomic.Bool // the collection that is due is that of giving it back
	over   atomic.Bool
}

// watchHeap begins a watch, which ends when over is set.
func watchHeap(quiet time.Duration) *heapWatch {
	w := &heapWatch{share: usualShare}
	w.idle = time.AfterFunc(quiet, func() {
		w.giving.Store(true)
		debug.FreeOSMemory()
		badger.Rest()
	})
	w.next(quiet)
	return w
}

// sentinel is found dead by each collection. Its size keeps it from sharing a block with others.
type sentinel struct{ _ [64]byte }

// next waits for a collection, and for each one behind that.
func (w *heapWatch) next(quiet time.Duration) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		if w.over.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		share := usualShare
		if live[0].Value.Kind() == metrics.KindUint64 {
			share = garbageShare(live[0].Value.Uint64())
		}
		if share != w.share {
			debug.SetGCPercent(share)
			w.share = share
		}
		if !w.giving.Swap(false) {
			w.idle.Reset(quiet)
		}
		w.next(quiet)
	})
}

// garbageShare is how much garbage there may be beside what is alive, in percent of it, in steps of
// ten. It is reckoned for twice as much: on a busy machine it is set when the heap has grown
// already.
func garbageShare(live uint64) int {
	return int(min(usualShare, max(leastShare, 10*(10*freeGarbage/max(2*live, 1)))))
}
