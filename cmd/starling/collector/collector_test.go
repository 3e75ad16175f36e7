package collector

import (
	"runtime"
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

// released is what the heap has given back to the system, in bytes.
func released() int {
	s := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
