package temporal

import (
	"bytes"
	"testing"

	"starling/runtime"
)

// FuzzTurned holds what a history may have against the reader of it: it refuses, or gives what is
// written down again as the same bytes.
func FuzzTurned(f *testing.F) {
	full := &turned{more: true, ended: true, seq: 7, due: 12, status: runtime.Running, writes: []runtime.Write{{Key: []byte("r/a"), Value: []byte("x")}, {Key: []byte("i/a")}},
		orders: []order{{orderAttempt, "a", 3, "gpu", []byte("task")}}, answers: []answer{{4, []byte("{}")}, {5, nil}}}
	f.Add(full.encode())
	f.Add((&turned{}).encode())
	f.Add([]byte{version, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		turn, err := decodeTurned(b)
		if err != nil {
			return
		}
		once := turn.encode()
		again, err := decodeTurned(once)
		if err != nil || !bytes.Equal(again.encode(), once) {
			t.Fatalf("%x is read as %+v, and that as %+v, %v", b, turn, again, err)
		}
	})
}
