package process

import (
	"errors"
	"os"
	"path/filepath"
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
