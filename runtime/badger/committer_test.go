package badger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// held makes batches gather: it stops the committer in its next transaction until release is
// called.
func held(s *Store) (release func()) {
	free, asked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.committer.disk = anywhere{space: func() uint64 {
		once.Do(func() { close(asked); <-free })
		return 1 << 40
	}}
	go s.Commit(context.Background(), batch("first", []byte("v")))
	<-asked
	return func() { close(free) }
}

// waits returns once n batches are in the queue.
func (c *committer) waits(n int) {
	for {
		if c.queue.Len() >= n {
			return
		}
		goruntime.Gosched()
	}
}

func TestWaitingBatchesShareATransaction(t *testing.T) {
	s := filled(t)
	release := held(s)
	before := s.Stats()
	const n = 100
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			run := fmt.Sprintf("run%d", i%50) // two batches want the same step of each run
			errs[i] = s.Commit(t.Context(), &runtime.Batch{
				Fences: []runtime.Fence{{Run: run, Expect: 0, Next: 1}},
				Writes: batch(fmt.Sprintf("shared/%d", i), []byte("v")).Writes,
			})
		})
	}
	s.committer.waits(n)
	release()
	wg.Wait()
	refused := 0
	for i, err := range errs {
		_, found := s.Get([]byte(fmt.Sprintf("shared/%d", i)))
		if errors.Is(err, runtime.ErrFenced) && errors.Is(found, runtime.ErrNoKey) {
			refused++
		} else if err != nil || found != nil {
			t.Errorf("batch %d: got %v, and its key %v", i, err, found)
		}
	}
	after := s.Stats()
	if refused != n/2 || after.Batches != before.Batches+1+n/2 || after.Transactions != before.Transactions+2 {
		t.Errorf("%d were refused, wanted %d; then %+v after %+v, wanted %d batches more in 2 transactions", refused, n/2, after, before, 1+n/2)
	}
}

// Batches of one run that wait together are each compared with what the one before them left.
func TestWaitingBatchesOfOneRun(t *testing.T) {
	s := filled(t)
	release := held(s)
	const n = 20
	var wg sync.WaitGroup
	for i := range uint64(n) {
		wg.Go(func() {
			if err := s.Commit(t.Context(), &runtime.Batch{Fences: []runtime.Fence{{Run: "run", Expect: i, Next: i + 1}}}); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
		s.committer.waits(int(i) + 1)
	}
	release()
	wg.Wait()
	if n := s.Stats().Transactions; n != filledBatches+2 {
		t.Errorf("%d transactions, wanted %d", n, filledBatches+2)
	}
}

func TestMoreThanOneTransactionHolds(t *testing.T) {
	s := filled(t)
	release := held(s)
	value := make([]byte, LargeValue-1)
	var wg sync.WaitGroup
	const n = 3*MaxBatchBytes/LargeValue + 1
	for i := range n {
		wg.Go(func() {
			if err := s.Commit(t.Context(), batch(fmt.Sprintf("much/%d", i), value)); err != nil {
				t.Error(err)
			}
		})
	}
	s.committer.waits(n)
	release()
	wg.Wait()
	if n := s.Stats().Transactions; n != filledBatches+1+4 {
		t.Errorf("%d transactions, wanted %d", n, filledBatches+1+4)
	}
}

func TestLimits(t *testing.T) {
	s := filled(t)
	few := func(n, size int) *runtime.Batch {
		b := new(runtime.Batch)
		for i := range n {
			b.Writes = append(b.Writes, runtime.Write{Key: fmt.Appendf(nil, "limit/%06d", i), Value: make([]byte, size)})
		}
		return b
	}
	const keyAndMore = 12 + 12
	for name, b := range map[string]*runtime.Batch{
		"writes": few(MaxBatchWrites, 1),
		"bytes":  few(MaxBatchBytes/LargeValue, LargeValue-keyAndMore),
		"large":  few(2, MaxBatchLarge/2),
		"one":    few(1, MaxBatchLarge),
	} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
	}
	const wanted = "; it takes 20000 writes with 2097152 bytes, and 33554432"
	const text = "the batch is larger than the store takes in one commit: "
	for want, b := range map[string]*runtime.Batch{
		"20001 writes with 500025 bytes, and 0 in values of 32 KiB and more": few(MaxBatchWrites+1, 1),
		"65 writes with 2129920 bytes, and 0 in values of 32 KiB and more":   few(MaxBatchBytes/LargeValue+1, LargeValue-keyAndMore),
		"1 writes with 36 bytes, and 33554433 in values of 32 KiB and more":  few(1, MaxBatchLarge+1),
		"3 writes with 108 bytes, and 50331648 in values of 32 KiB and more": few(3, MaxBatchLarge/2),
	} {
		before := s.Stats()
		err := s.Commit(t.Context(), b)
		if err == nil || err.Error() != text+want+wanted || !errors.Is(err, runtime.ErrTooLarge) {
			t.Errorf("got    %v\nwanted %s", err, text+want+wanted)
		}
		if s.Stats() != before {
			t.Errorf("%s: something was written", want)
		}
	}
	if _, err := s.Get([]byte("limit/000001")); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

// A key that only Badger refuses fails its batch alone.
func TestBadgersOwnKeys(t *testing.T) {
	s := filled(t)
	err := s.Commit(t.Context(), batch("!badger!txn", []byte("v")))
	if want := `key "!badger!txn" begins with "!badger!"; such keys belong to Badger`; err == nil || err.Error() != want {
		t.Errorf("got %v, wanted %s", err, want)
	}
	must(t, s.Commit(t.Context(), batch("!badge", []byte("v"))))
}

func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	var space atomic.Uint64
	disk := anywhere{space: space.Load}
	if _, err := open(dir, Options{}, disk); !errors.Is(err, runtime.ErrFull) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("opened on a full disk: got %v, wanted %v", err, unix.ENOSPC)
	}
	space.Store(1 << 30)
	s, err := open(dir, Options{}, disk)
	must(t, err)
	must(t, s.Commit(t.Context(), batch("a", []byte("before"))))
	space.Store(reserve + 100)
	want := dir + ": the disk is full: no space left on device: 64 MiB are free, and a commit needs 65; free at least 1 MiB and start again"
	if err := s.Commit(t.Context(), batch("b", make([]byte, 200))); err == nil || err.Error() != want {
		t.Errorf("got    %v\nwanted %s", err, want)
	}
	space.Store(1 << 30)
	for range 2 {
		if err := s.Commit(t.Context(), batch("c", nil)); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("after a failed commit: got %v, wanted the same error", err)
		}
	}
	if v, err := s.Get([]byte("a")); string(v) != "before" || err != nil {
		t.Errorf("reading after a failed commit: got %q, %v", v, err)
	}
	must(t, s.Close())
	s, err = open(dir, Options{}, disk)
	must(t, err)
	defer s.Close()
	if n := s.Info().Sequence; n != 1 {
		t.Errorf("the store has %d batches, wanted 1", n)
	}
}

// Badger reports a value log whose sync failed only in its log, and success to the caller.
func TestFailedSync(t *testing.T) {
	s := filled(t)
	s.faults.Errorf("Error while curlf sync: %v\n", unix.EIO)
	for range 2 {
		err := s.Commit(t.Context(), batch("a", nil))
		if want := s.dir + ": the store has failed: badger: Error while curlf sync: input/output error"; err == nil || err.Error() != want {
			t.Errorf("got    %v\nwanted %s", err, want)
		}
	}
	if _, err := s.Get([]byte("small/1")); err != nil {
		t.Errorf("reading after it: %v", err)
	}
	_, acknowledged, _, err := readMark(s.dir)
	if err != nil || acknowledged != filledBatches {
		t.Errorf("the mark says that %d batches were acknowledged, %v, wanted %d", acknowledged, err, filledBatches)
	}
}

// A second owner that was let past the locks, and a directory that was removed, end the first.
func TestLostStore(t *testing.T) {
	for want, lose := range map[string]func(dir string){
		"the epoch is 2, this owner's is 1":       func(dir string) { write(t, dir, markName, string(encodeMark(2, filledBatches))) },
		"it was removed while the store was open": func(dir string) { must(t, os.RemoveAll(dir)) },
	} {
		s := filled(t)
		lose(s.dir)
		if err := s.Commit(t.Context(), batch("a", nil)); !errors.Is(err, runtime.ErrFenced) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, wanted it to say that %s", err, want)
		}
	}
}

// Badger would try for ever to write into a folder that is not there.
func TestCloseOfARemovedStore(t *testing.T) {
	s := filled(t)
	must(t, os.RemoveAll(s.dir))
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "could not write its last table") {
		t.Errorf("got %v", err)
	}
}

func TestCloseWaitsForCommits(t *testing.T) {
	s := filled(t)
	release := held(s)
	results := make(chan error, 2)
	go func() { results <- s.Commit(t.Context(), batch("waiting", []byte("v"))) }()
	s.committer.waits(1)
	closing := make(chan error)
	go func() { closing <- s.Close() }()
	release()
	if err := errors.Join(<-results, <-closing); err != nil {
		t.Fatal(err)
	}
	s, err := Open(s.dir, Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	if _, err := s.Get([]byte("waiting")); err != nil {
		t.Error(err)
	}
}

// A panic of Badger in a commit ends the process, also where the caller would recover: else every
// later commit would wait for one that is never finished.
func TestAPanicInACommitEndsTheProcess(t *testing.T) {
	const child = "STARLING_TEST_PANIC"
	if os.Getenv(child) != "" {
		defer func() { _ = recover() }()
		s := filled(t)
		s.committer.disk = anywhere{space: func() uint64 { panic("the table is upside down") }}
		err := s.Commit(t.Context(), batch("a", []byte("v")))
		t.Fatalf("the commit came back with %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), child+"=1")
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "panic: the table is upside down") || !strings.Contains(string(said), "in what others wait for:") {
		t.Errorf("%v, and it said\n%s", err, said)
	}
}

// What a reader saw of a run says nothing once it may have been moved and that was forgotten.
func TestSeenBeforeItWasForgotten(t *testing.T) {
	s := filled(t)
	move := func(at uint64) error {
		return s.Commit(t.Context(), &runtime.Batch{Fences: []runtime.Fence{{Run: "run", Expect: at, Next: at + 1}}})
	}
	must(t, move(0))
	if at, _, err := s.Head("run"); at != 1 || err != nil {
		t.Fatalf("it stands at %d, %v", at, err)
	}
	must(t, move(1))
	others := map[string]uint64{}
	for n := range knownFences {
		others[fmt.Sprint(n)] = 1
	}
	s.committer.writing.Lock()
	s.committer.learn(others)
	s.committer.writing.Unlock()
	if err := move(1); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("from where it was seen: got %v, wanted %v", err, runtime.ErrFenced)
	}
	must(t, move(2))
}
