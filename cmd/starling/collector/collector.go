// Package collector keeps the garbage of a process small that stays and does little, and looks
// seldom for that of one that reckons.
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
// The smaller it is, the less often: Go would look through a heap of four megabytes, of eight and
// of sixteen before a command has begun with its work.
//
// A process that has been busy keeps for minutes what it took from the system, though an owner may
// do nothing for a month then. So it gives that back once no collection was needed for a while, and
// with it the tables of its store.
const (
	freeGarbage = 24 << 20         // bytes that garbage may take while there is little
	muchGarbage = 96 << 20         // the same of a process that only reckons
	leastHeap   = 4 << 20          // bytes that Go's share is of, if less is alive
	leastShare  = 20               // percent of what is alive that garbage may always take
	quiet       = 10 * time.Second // without a collection, until memory is given back
)

// Bound keeps an eye on the heap until the process ends, unless whoever started it has set GOGC:
// then it gives nil.
func Bound() *Heap {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return watchHeap(quiet)
}

// Heap is that of this process, which is looked at after each collection.
type Heap struct {
	free   atomic.Int64 // bytes that garbage may take while there is little
	share  atomic.Int64 // of garbage, as it was set last, percent
	idle   *time.Timer  // until memory is given back
	giving atomic.Bool  // the collection that is due is that of giving it back
	over   atomic.Bool
}

// watchHeap begins a watch, which ends when over is set.
func watchHeap(quiet time.Duration) *Heap {
	h := &Heap{}
	h.idle = time.AfterFunc(quiet, func() {
		h.giving.Store(true)
		debug.FreeOSMemory()
		badger.Rest()
	})
	h.allow(freeGarbage)
	h.next(quiet)
	return h
}

// AllowMuch tells that this process only reckons: it makes much more than it keeps, and the memory
// saves a third of its time. A nil Heap is let be.
func (h *Heap) AllowMuch() {
	if h != nil {
		h.allow(muchGarbage)
	}
}

// allow says what garbage may take, from now on.
func (h *Heap) allow(free int64) {
	h.free.Store(free)
	h.set(garbageShare(free, 0))
}

func (h *Heap) set(share int) {
	if h.share.Swap(int64(share)) != int64(share) {
		debug.SetGCPercent(share)
	}
}

// sentinel is found dead by each collection. Its size keeps it from sharing a block with others.
type sentinel struct{ _ [64]byte }

// next waits for a collection, and for each one behind that.
func (h *Heap) next(quiet time.Duration) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		if h.over.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			h.set(garbageShare(h.free.Load(), live[0].Value.Uint64()))
		}
		if !h.giving.Swap(false) {
			h.idle.Reset(quiet)
		}
		h.next(quiet)
	})
}

// garbageShare is how much garbage there may be beside what is alive, in percent of it, in steps of
// ten. It is reckoned for twice as much: on a busy machine it is set when the heap has grown
// already.
func garbageShare(free int64, live uint64) int {
	return int(max(leastShare, 10*(10*free/max(2*int64(live), leastHeap))))
}
