package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestMemoryIsGivenBack: what a busy process took is the system's again when nothing needs it, and
// not at once.
func TestMemoryIsGivenBack(t *testing.T) {
	const much = 256 << 20
	hoard := make([]byte, much)
	for i := 0; i < len(hoard); i += 4096 {
		hoard[i] = 1
	}
	before := released()
	w := watchHeap(10 * time.Millisecond)
	defer w.over.Store(true)
	runtime.KeepAlive(hoard)
	hoard = nil
	for began := time.Now(); released() < before+much/2; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("of %d MB, %d were given back", much>>20, (released()-before)>>20)
		}
	}
}

// TestGarbageShare: what may be garbage beside what is alive, and how large a heap is then.
func TestGarbageShare(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		free, live int
		share      int
	}{
		{24, 0, 600},
		{24, 2, 600},
		{24, 6, 200},
		{24, 12, 100},
		{24, 24, 50},
		{24, 100, 20},
		{24, 10_000, 20},
		{96, 0, 2400},
		{96, 24, 200},
		{96, 48, 100},
		{96, 1000, 20},
	} {
		if got := garbageShare(int64(test.free*mb), uint64(test.live*mb)); got != test.share {
			t.Errorf("%d MB, of which %d MB are alive: %d %%, want %d", test.free, test.live, got, test.share)
		}
	}
}

// TestAllowMuch: a process that only reckons looks for garbage a fraction of the times.
func TestAllowMuch(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	collections := func(h *Heap) uint32 {
		defer h.over.Store(true)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 1000 {
			waste = make([]byte, 1<<20)
		}
		runtime.ReadMemStats(&after)
		return after.NumGC - before.NumGC
	}
	long := collections(watchHeap(time.Hour))
	h := watchHeap(time.Hour)
	h.AllowMuch()
	much := collections(h)
	if long < 8 || 3*much > long {
		t.Errorf("%d collections of a process, %d of one that only reckons", long, much)
	}
	(*Heap)(nil).AllowMuch() // whoever started it has set GOGC
}

// waste is where the test puts garbage.
var waste []byte

// released is what the heap has given back to the system, in bytes.
func released() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
