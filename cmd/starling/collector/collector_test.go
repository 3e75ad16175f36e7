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

// TestAllowMuch: a process that only reckons looks for garbage a fraction of the times, before its
// first collection and behind it. How often it did is not counted: a busy machine decides that.
func TestAllowMuch(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	alive := make([]byte, 24<<20)
	defer runtime.KeepAlive(alive)
	h := watchHeap(time.Hour)
	defer h.over.Store(true)
	first, second := int(h.share.Load()), garbageShare(muchGarbage, 0)
	h.AllowMuch()
	if got := debug.SetGCPercent(first); got != second || second < 3*first {
		t.Errorf("garbage may take %d %%, want %d, and at least three times %d", got, second, first)
	}
	for began := time.Now(); int(h.share.Load()) == second; runtime.GC() {
		if time.Since(began) > time.Minute {
			t.Fatalf("a collection has not looked at what is alive: %d %%", second)
		}
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if got, little := int(h.share.Load()), garbageShare(freeGarbage, live[0].Value.Uint64()); got <= little {
		t.Errorf("behind a collection garbage may take %d %%, want more than %d", got, little)
	}
	(*Heap)(nil).AllowMuch() // whoever started it has set GOGC
}

// released is what the heap has given back to the system, in bytes.
func released() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
