package badger_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/badger"
)

// The kill test: a child process commits numbered batches from several writers and says which were
// acknowledged, until it is killed. Each round goes on in the same store where the last one was cut
// off, and in between everything is looked at.

// Set in the child only.
const (
	killStore = "STARLING_TEST_KILL_STORE" // the directory
	killClose = "STARLING_TEST_KILL_CLOSE" // close it after so many batches
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killStore); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const writers = 4

func writerName(w int) string { return fmt.Sprintf("writer%d", w) }

// batchKeys are the two keys of a writer's n-th batch.
func batchKeys(w int, n uint64) (a, b []byte) {
	k := fmt.Sprintf("%s/%08d/", writerName(w), n)
	return []byte(k + "a"), []byte(k + "b")
}

// batchValue is the value of both keys; each eighth is a large one.
func batchValue(w int, n uint64) []byte {
	size := 100
	if n%8 == 7 {
		size = badger.LargeValue + int(n)
	}
	return bytes.Repeat([]byte{byte(w), byte(n)}, size/2)
}

func writeUntilKilled(dir string) error {
	s, err := badger.Open(dir, badger.Options{})
	if err != nil {
		return err
	}
	var end sync.WaitGroup
	limit, closing := closeAfter(), make(chan bool)
	for w := range writers {
		n, err := committed(s, w)
		if err != nil {
			return err
		}
		end.Go(func() {
			for ; err == nil; n++ {
				if err = s.Commit(context.Background(), numbered(w, n)); err == nil {
					fmt.Printf("%d %d\n", w, n)
				}
				if limit.Add(-1) == 0 {
					close(closing)
				}
			}
			if !errors.Is(err, runtime.ErrStoreClosed) {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	<-closing
	fmt.Println("closing")
	err = s.Close()
	end.Wait()
	return err
}

// closeAfter is the number of batches after which the child closes the store.
func closeAfter() *atomic.Int64 {
	n, _ := strconv.ParseInt(os.Getenv(killClose), 10, 64) // without it there is no end
	left := new(atomic.Int64)
	left.Store(n)
	return left
}

func numbered(w int, n uint64) *runtime.Batch {
	a, b := batchKeys(w, n)
	v := batchValue(w, n)
	return &runtime.Batch{
		Fences: []runtime.Fence{{Run: writerName(w), Expect: n, Next: n + 1}},
		Writes: []runtime.Write{{Key: a, Value: v}, {Key: b, Value: v}},
	}
}

// committed counts a writer's batches and checks that they are whole and dense.
func committed(s runtime.Store, w int) (n uint64, err error) {
	var half []byte
	prefix := []byte(writerName(w) + "/")
	err = s.Scan(prefix, append(prefix[:len(prefix)-1:len(prefix)-1], '0'), func(k, v []byte) error {
		a, b := batchKeys(w, n)
		want := a
		if half != nil {
			want = b
		}
		if !bytes.Equal(k, want) || !bytes.Equal(v, batchValue(w, n)) {
			return fmt.Errorf("found %q with %d bytes, wanted %q with %d", k, len(v), want, len(batchValue(w, n)))
		}
		if half == nil {
			half = bytes.Clone(k)
		} else {
			half = nil
			n++
		}
		return nil
	})
	if err == nil && half != nil {
		err = fmt.Errorf("half a batch: %q stands alone", half)
	}
	return n, err
}

func TestKill(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "store")
	var epoch uint64
	acknowledged := make([]uint64, writers)
	for round := range 10 {
		killOnce(t, dir, random, acknowledged)
		epoch = lookAfterKill(t, dir, round, epoch, acknowledged)
		if t.Failed() {
			return
		}
	}
	t.Logf("batches of each writer: %d, last epoch %d", acknowledged, epoch)
}

// killOnce runs a child and notes what it acknowledged. It kills it in its first 30 ms, so that
// opening is hit, after some number of batches, or in the 15 ms after it has begun to close the
// store, which may be too late.
func killOnce(t *testing.T, dir string, random *rand.Rand, acknowledged []uint64) {
	t.Helper()
	moment, batches := random.IntN(3), 1+random.IntN(300)
	within := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), killStore+"="+dir)
	if moment == 2 {
		child.Env = append(child.Env, fmt.Sprint(killClose, "=", batches))
	}
	var complaint bytes.Buffer
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill := func() { child.Process.Kill() } // of one that has ended is no error of ours
	if moment == 0 {
		defer time.AfterFunc(within(30*time.Millisecond), kill).Stop()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "closing" {
			defer time.AfterFunc(within(15*time.Millisecond), kill).Stop()
			continue
		}
		note(t, lines.Text(), acknowledged)
		if batches--; batches == 0 && moment == 1 {
			kill()
		}
	}
	child.Wait() // mostly it was killed
	if complaint.Len() > 0 {
		t.Errorf("the child failed: %s", complaint.String())
	}
}

// note takes in a line of the child's: a writer and the number of its batch that was acknowledged.
func note(t *testing.T, line string, acknowledged []uint64) {
	t.Helper()
	var w int
	var n uint64
	if _, err := fmt.Sscanf(line, "%d %d", &w, &n); err != nil || n != acknowledged[w] {
		t.Errorf("the child said %q, wanted batch %d next: %v", line, acknowledged[w], err)
	}
	acknowledged[w] = n + 1
}

// lookAfterKill opens the store, for reading in every other round, and compares it with what was
// acknowledged. It returns the epoch.
func lookAfterKill(t *testing.T, dir string, round int, epoch uint64, acknowledged []uint64) uint64 {
	t.Helper()
	s, err := badger.Open(dir, badger.Options{ReadOnly: round%2 == 0})
	if epoch == 0 && errors.Is(err, runtime.ErrNoStore) {
		return epoch // killed before it had made one
	}
	if err != nil {
		t.Errorf("round %d: %v", round, err)
		return epoch
	}
	defer s.Close()
	info := s.Info()
	if info.Epoch < epoch {
		t.Errorf("round %d: the epoch went from %d to %d", round, epoch, info.Epoch)
	}
	var sum uint64
	for w := range writers {
		n, err := committed(s, w)
		if err != nil || n < acknowledged[w] || n > acknowledged[w]+1 {
			t.Errorf("round %d: writer %d has %d batches, %v; %d were acknowledged, and one more may be there", round, w, n, err, acknowledged[w])
		}
		acknowledged[w] = n
		sum += n
		if info.ReadOnly {
			continue
		}
		here := &runtime.Batch{Fences: []runtime.Fence{{Run: writerName(w), Expect: n, Next: n}}}
		if err := s.Commit(t.Context(), here); err != nil {
			t.Errorf("round %d: writer %d has %d batches, but %v", round, w, n, err)
		}
	}
	if info.Sequence < sum {
		t.Errorf("round %d: %d batches were counted, and %d are there", round, info.Sequence, sum)
	}
	return info.Epoch
}
