package process

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A wait that was given up takes no lock later: nobody would release it, or remove its file.
func TestWaitGivenUpTakesNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step")
	take := func(wait time.Duration) (*lock, error) {
		return takeLock(path, wait, nil, func(Attempt) {})
	}
	for range 50 {
		held, err := take(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take(time.Millisecond); !errors.Is(err, ErrLockBusy) {
			t.Fatalf("got %v, want it to be busy", err)
		}
		held.release()
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file is left that nobody holds")
	}
}

// A wait that was given up may be let in all the same: it has opened the file that the next holder
// has just made, and locks it first. It gives the lock back.
func TestWaitGivenUpKeepsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step")
	take := func(wait time.Duration) (*lock, error) {
		return takeLock(path, wait, nil, func(Attempt) {})
	}
	var impatient sync.WaitGroup
	defer impatient.Wait()
	for i := range 5000 {
		if i%4 == 0 {
			impatient.Go(func() {
				l, _ := take(0)
				l.release()
			})
		}
		held, err := take(time.Minute)
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		held.release()
	}
}
