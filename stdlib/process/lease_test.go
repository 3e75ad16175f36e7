package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"starling/stdlib/process"
)

// A child ends with the lease of its owner, though the owner does nothing about it; as long as the
// lease is held on, it does not.
func TestAChildEndsWithTheLease(t *testing.T) {
	folder := t.TempDir()
	lease, err := process.OpenLease(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	v := newVigil(t)
	spec := sh(watch+"echo begun >&9; trap '' TERM; while :; do sleep 0.01; done", v.path)
	spec.Lock, spec.Attempt = filepath.Join(folder, "locks", "step"), attempt(1)
	lease.Hold(time.Second)
	result := make(chan process.Result, 1)
	begun := time.Now()
	go func() { result <- run(t, spec) }()
	v.expect("begun")
	lease.Hold(2 * time.Second)
	held := time.Now().Add(2 * time.Second)
	if r := within(t, "the end of the child", result); r.Signal != "SIGKILL" || time.Now().Before(held) {
		t.Errorf("after %v it ended with %+v, want SIGKILL once the lease was over", time.Since(begun), r)
	}
}

var refusedToBegin = regexp.MustCompile("the owner's lease is over|told to end before the start")

// Nothing is begun when the lease is over; a folder without a lease is one machine's.
func TestALeaseThatIsOver(t *testing.T) {
	folder := t.TempDir()
	spec := sh("sleep 1000")
	spec.Lock, spec.Attempt = filepath.Join(folder, "locks", "step"), attempt(1)
	lease, err := process.OpenLease(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Close(); err != nil {
		t.Fatal(err)
	}
	for range 20 { // the guard may also have been told to end before it looks
		child, err := process.Start(context.Background(), spec)
		if child != nil || !errors.Is(err, process.ErrGuard) || !refusedToBegin.MatchString(err.Error()) {
			t.Fatalf("got %v, %v; want a refusal", child, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "lease")); err != nil {
		t.Fatal(err)
	}
	spec = sh("exit 3")
	spec.Lock, spec.Attempt = filepath.Join(folder, "locks", "step"), attempt(1)
	if r := run(t, spec); r.ExitCode != 3 {
		t.Errorf("got %+v, want the exit code 3", r)
	}
}
