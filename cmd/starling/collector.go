package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What a script may hold is bounded by a count of what is alive; the process has garbage beside it, by
// default as much again. That is time well spent while heaps are small. The larger the heap, the more
// often the collector is told to run, so that a run at its limit takes little more than that.
const (
	freeGarbage = 32 << 20 // bytes that garbage may always take
	leastShare  = 20       // percent of what is alive that garbage may always take
	usualShare  = 100      // percent, the default of Go
)

// boundGarbage keeps an eye on the heap until the process ends, unless whoever started it has set GOGC.
func boundGarbage() {
	if os.Getenv("GOGC") == "" {
		watchHeap(usualShare)
	}
}

// sentinel is found dead by each collection. Its size keeps it from sharing a block with others.
type sentinel struct{ _ [64]byte }

// watchHeap looks at the heap after the next collection, and after each one behind that.
func watchHeap(share int) {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		next := usualShare
		if live[0].Value.Kind() == metrics.KindUint64 {
			next = garbageShare(live[0].Value.Uint64())
		}
		if next != share {
			debug.SetGCPercent(next)
		}
		watchHeap(next)
	})
}

// garbageShare is how much garbage there may be beside what is alive, in percent of it, in steps of ten.
func garbageShare(live uint64) int {
	return int(min(usualShare, max(leastShare, 10*(10*freeGarbage/max(live, 1)))))
}
