package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/process"
)

func attempt(n int) process.Attempt {
	return process.Attempt{Run: "r7f3", Step: "review#2", Attempt: n, Agent: "reviewer"}
}

func TestSecondAttemptWaitsForTheFirst(t *testing.T) {
	v := newVigil(t)
	first := sh(watch+"trap '' TERM; echo first >&9; while :; do sleep 0.01; done", v.path)
	first.Lock = filepath.Join(t.TempDir(), "locks", "step") // the directory is made
	first.Attempt = attempt(1)
	owner := launchOwner(t, first)
	v.expect("first")

	second := sh(`echo second >> "$1"`, filepath.Join(t.TempDir(), "done"))
	second.Lock, second.Attempt = first.Lock, attempt(2)
	second.LockWait = patience
	holders := make(chan process.Attempt, 1)
	second.OnWait = func(a process.Attempt) { holders <- a }
	result := make(chan process.Result, 1)
	go func() { result <- run(t, second) }()

	if got := within(t, "the report of waiting", holders); got != attempt(1) {
		t.Errorf("waiting for %+v, want attempt 1", got)
	}
	if fileExists(second.Argv[4]) {
		t.Error("two attempts at once")
	}
	owner.Process.Kill()
	if r := within(t, "the second attempt", result); r.ExitCode != 0 || r.Err != nil {
		t.Errorf("got %+v", r)
	}
	if v.end() != "" || !fileExists(second.Argv[4]) {
		t.Error("the second attempt did not do its work after the first had gone")
	}
	if fileExists(first.Lock) {
		t.Error("the lock file is left")
	}
}

func TestLockBusy(t *testing.T) {
	spec := sh("sleep 1000")
	spec.Lock, spec.Attempt = filepath.Join(t.TempDir(), "step"), attempt(1)
	start(t, context.Background(), spec)

	spec.Attempt, spec.LockWait = attempt(2), 30*time.Millisecond
	_, err := process.Start(context.Background(), spec)
	var busy *process.LockBusyError
	if !errors.As(err, &busy) || !errors.Is(err, process.ErrLockBusy) || busy.Holder != attempt(1) || busy.Waited < spec.LockWait {
		t.Fatalf("got %#v, want the lock to be busy with attempt 1", err)
	}
	busy.Waited = 10 * time.Second
	wantError(t, busy, "process: processes of attempt 1 of review#2 in run r7f3 have not ended after 10s; end them, then try again; lock "+spec.Lock)
	busy.Holder = process.Attempt{}
	wantError(t, busy, "process: processes of another attempt have not ended after 10s; end them, then try again; lock "+spec.Lock)
}

func TestContextEndsTheWaitForALock(t *testing.T) {
	spec := sh("sleep 1000")
	spec.Lock, spec.Attempt = filepath.Join(t.TempDir(), "step"), attempt(1)
	start(t, context.Background(), spec)

	ctx, cancel := context.WithCancel(context.Background())
	spec.LockWait = patience
	spec.OnWait = func(process.Attempt) { cancel() }
	_, err := process.Start(ctx, spec)
	wantError(t, err, "process: gave up waiting for the processes of attempt 1 of review#2 in run r7f3: context canceled; lock "+spec.Lock)
	if !errors.Is(err, process.ErrLockBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %#v, want both reasons", err)
	}
}

// Guards that waited wake up with a file that was removed, while others come and make a new one:
// only one of these is the lock.
func TestManyWantOneLock(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	results := make(chan error)
	for range 6 {
		go func() {
			for range 5 {
				spec := sh(`echo in >> "$1"; sleep 0.01; echo out >> "$1"`, log)
				spec.Lock, spec.LockWait = filepath.Join(dir, "step"), patience
				r, err := process.Run(context.Background(), spec)
				results <- errors.Join(err, r.Err)
			}
		}()
	}
	for range 30 {
		if err := within(t, "an attempt", results); err != nil {
			t.Error(err)
		}
	}
	content, err := os.ReadFile(log)
	if want := strings.Repeat("in\nout\n", 30); err != nil || string(content) != want {
		t.Errorf("got %q, %v; want no two at once", content, err)
	}
}

func TestLockThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh("echo never")
	spec.Lock = file + "/step"
	_, err := process.Start(context.Background(), spec)
	wantError(t, err, `process: "/bin/sh": guard failed: mkdir `+file+`: not a directory`)
}
