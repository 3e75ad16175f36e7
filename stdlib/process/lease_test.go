package process_test

import (
	"os"
	"path/filepath"
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

// What is begun when the lease is over ends at once; a folder without a lease is one machine's.
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
	if r := run(t, spec); r.Signal == "" && !r.Stopped && r.Err == nil {
		t.Errorf("got %+v, want an end", r)
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
