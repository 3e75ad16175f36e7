package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"starling/runtime"
)

// Place is where one store lies while a test opens and closes it.
type Place struct {
	// Open opens the store as its next owner, and makes it the first time. While another owner has it open, it either fails with
	// runtime.ErrLocked or takes the store from that owner.
	Open func() (runtime.Store, error)
	// Read opens the store for reading; before the first Open it fails with runtime.ErrNoStore.
	Read func() (runtime.Store, error)
}

// TestStore proves that an implementation keeps the promises of runtime.Store. Each subtest gets a place of its own, where no store is yet.
func TestStore(t *testing.T, place func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(*shop)
	}{
		{"a new store is empty", testNew},
		{"values are set, replaced and deleted", testValues},
		{"what is returned belongs to the caller", testOwnership},
		{"a scan is ordered and bounded", testScan},
		{"a scan stops when it is told to", testScanStops},
		{"a scan sees one moment", testScanView},
		{"a batch applies whole or not at all", testAtomic},
		{"fences hold runs in their place", testFences},
		{"of two writers of a run one wins", testContest},
		{"concurrent commits are all kept", testConcurrent},
		{"each owner has its epoch", testEpochs},
		{"what was committed is there when the store is opened again", testReopen},
		{"a closed store answers so", testClosed},
		{"large values come back whole", testLarge},
		{"a reader changes nothing", testReader},
		{"a cancelled context commits nothing", testCancelled},
		{"lazy batches come before later durable ones", testLazy},
		{"a batch that makes no sense is refused", testBadBatch},
		{"batches are counted", testSequence},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &shop{T: t, place: place(t)}
			defer s.close()
			test.run(s)
		})
	}
}

// shop is one subtest with its store.
type shop struct {
	*testing.T
	place Place
	runtime.Store
}

// open opens the store, closing the handle before.
func (s *shop) open() runtime.Store {
	s.Helper()
	s.close()
	var err error
	if s.Store, err = s.place.Open(); err != nil {
		s.Fatalf("open: %v", err)
	}
	return s.Store
}

func (s *shop) read() runtime.Store {
	s.Helper()
	s.close()
	var err error
	if s.Store, err = s.place.Read(); err != nil {
		s.Fatalf("open for reading: %v", err)
	}
	return s.Store
}

func (s *shop) close() {
	s.Helper()
	if s.Store == nil {
		return
	}
	if err := s.Store.Close(); err != nil {
		s.Errorf("close: %v", err)
	}
	s.Store = nil
}

// set makes a batch from alternating keys and values.
func set(kv ...string) *runtime.Batch {
	b := new(runtime.Batch)
	for i := 0; i < len(kv); i += 2 {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(kv[i]), Value: []byte(kv[i+1])})
	}
	return b
}

// del makes a batch that deletes keys.
func del(keys ...string) *runtime.Batch {
	b := new(runtime.Batch)
	for _, k := range keys {
		b.Writes = append(b.Writes, runtime.Write{Key: []byte(k)})
	}
	return b
}

// fenced adds a fence to a batch.
func fenced(b *runtime.Batch, run string, expect, next uint64) *runtime.Batch {
	b.Fences = append(b.Fences, runtime.Fence{Run: run, Expect: expect, Next: next})
	return b
}

func (s *shop) commit(b *runtime.Batch) {
	s.Helper()
	if err := s.Commit(s.Context(), b); err != nil {
		s.Fatalf("commit: %v", err)
	}
}

// refused commits and wants the error.
func (s *shop) refused(b *runtime.Batch, want error) {
	s.Helper()
	if err := s.Commit(s.Context(), b); !errors.Is(err, want) {
		s.Errorf("commit: got %v, wanted %v", err, want)
	}
}

// holds wants exactly these keys and values in the store.
func (s *shop) holds(kv ...string) {
	s.Helper()
	if got := s.scan(nil, nil); !slices.Equal(got, kv) {
		s.Errorf("the store holds %q, wanted %q", got, kv)
	}
}

func (s *shop) scan(from, to []byte) []string {
	s.Helper()
	var kv []string
	if err := s.Scan(from, to, func(k, v []byte) error {
		kv = append(kv, string(k), string(v))
		return nil
	}); err != nil {
		s.Fatalf("scan: %v", err)
	}
	return kv
}

// value wants the value of key.
func (s *shop) value(key, want string) {
	s.Helper()
	if got, err := s.Get([]byte(key)); err != nil || string(got) != want {
		s.Errorf("%s: got %.40q, %v, wanted %.40q", key, got, err, want)
	}
}

func (s *shop) absent(key string) {
	s.Helper()
	if got, err := s.Get([]byte(key)); !errors.Is(err, runtime.ErrNoKey) {
		s.Errorf("%q: got %.40q, %v, wanted %v", key, got, err, runtime.ErrNoKey)
	}
}

func testNew(s *shop) {
	if _, err := s.place.Read(); !errors.Is(err, runtime.ErrNoStore) {
		s.Errorf("reading before there is a store: got %v, wanted %v", err, runtime.ErrNoStore)
	}
	info := s.open().Info()
	if info.ID == "" || info.Format == 0 || info.Epoch != 1 || info.Sequence != 0 || info.ReadOnly {
		s.Errorf("got %+v, wanted an id, a format, epoch 1, no batch, not for reading only", info)
	}
	s.holds()
	s.absent("a")
	s.absent("")
	s.absent("\x00s")
}

func testValues(s *shop) {
	s.open()
	s.commit(set("a", "1", "b", "2", "empty", ""))
	s.holds("a", "1", "b", "2", "empty", "")
	if v, err := s.Get([]byte("empty")); v == nil || len(v) != 0 || err != nil {
		s.Errorf("an empty value: got %#v, %v, wanted one that is not nil", v, err)
	}
	s.commit(set("a", "3"))
	s.commit(del("b", "never there"))
	s.value("a", "3")
	s.absent("b")
	s.holds("a", "3", "empty", "")

	b := set("x", "first", "y", "kept", "x", "last")
	b.Writes = append(b.Writes, del("a").Writes...)
	s.commit(b)
	s.holds("empty", "", "x", "last", "y", "kept")
	s.commit(new(runtime.Batch))
	s.holds("empty", "", "x", "last", "y", "kept")
}

func testOwnership(s *shop) {
	s.open()
	b := set("key", "value")
	s.commit(b)
	copy(b.Writes[0].Key, "XXX")
	copy(b.Writes[0].Value, "XXXXX")
	v, err := s.Get([]byte("key"))
	if err != nil {
		s.Fatal(err)
	}
	copy(v, "YYYYY")
	s.holds("key", "value")
}

func testScan(s *shop) {
	s.open()
	s.commit(set("b/2", "4", "a/1", "1", "b", "2", "b/10", "3", "c", "6", "b\xff", "5", "\x01", "0"))
	for _, test := range []struct {
		from, to string
		want     string // the values found
	}{
		{"", "", "0123456"},
		{"b/", "b0", "34"},
		{"b", "c", "2345"},
		{"b/10", "b/2", "3"},
		{"b/10\x00", "b/2\x00", "4"},
		{"b", "b", ""},
		{"c", "b", ""},
		{"d", "", ""},
		{"\x00", "\x02", "0"},
		{"", "a", "0"},
	} {
		var to []byte
		if test.to != "" {
			to = []byte(test.to)
		}
		var got []string
		for i, kv := range s.scan([]byte(test.from), to) {
			if i%2 == 1 {
				got = append(got, kv)
			}
		}
		if strings.Join(got, "") != test.want {
			s.Errorf("scan from %q to %q: got %q, wanted %q", test.from, test.to, got, test.want)
		}
	}
}

func testScanStops(s *shop) {
	s.open()
	s.commit(set("a", "", "b", "", "c", ""))
	mine := errors.New("mine")
	for _, test := range []struct{ stop, want error }{{runtime.ErrStopScan, nil}, {mine, mine}, {fmt.Errorf("wrapped: %w", mine), mine}} {
		var seen []string
		err := s.Scan(nil, nil, func(k, _ []byte) error {
			if seen = append(seen, string(k)); len(seen) == 2 {
				return test.stop
			}
			return nil
		})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || len(seen) != 2 {
			s.Errorf("stopped with %v at the second key: got %v after %q, wanted %v", test.stop, err, seen, test.want)
		}
	}
}

func testScanView(s *shop) {
	s.open()
	s.commit(set("a", "old", "c", "old"))
	var seen []string
	err := s.Scan(nil, nil, func(k, v []byte) error {
		if string(k) == "a" {
			s.commit(set("b", "new", "c", "new"))
			s.value("c", "new")
		}
		seen = append(seen, string(k), string(v))
		return nil
	})
	if want := []string{"a", "old", "c", "old"}; err != nil || !slices.Equal(seen, want) {
		s.Errorf("got %q, %v, wanted %q", seen, err, want)
	}
	s.holds("a", "old", "b", "new", "c", "new")
}

func testAtomic(s *shop) {
	s.open()
	s.commit(fenced(set("a", "1", "gone", "1"), "run", 0, 1))
	bad := fenced(set("a", "2", "b", "2"), "run", 0, 1)
	bad.Writes = append(bad.Writes, del("gone").Writes...)
	s.refused(bad, runtime.ErrFenced)
	s.holds("a", "1", "gone", "1")
}

func testFences(s *shop) {
	s.open()
	s.refused(fenced(set("a", "1"), "r1", 1, 2), runtime.ErrFenced) // never seen: it stands at 0
	s.commit(fenced(set("a", "1"), "r1", 0, 5))
	err := s.Commit(s.Context(), fenced(set("a", "2"), "r1", 0, 6))
	if want := "run r1 stands at 5, the batch expects 0"; err == nil || !strings.Contains(err.Error(), want) {
		s.Errorf("got %v, wanted it to say %q", err, want)
	}
	// A batch of two runs moves both or none.
	s.refused(fenced(fenced(set("b", "2"), "r2", 0, 1), "r1", 4, 6), runtime.ErrFenced)
	s.commit(fenced(fenced(set("b", "3"), "r2", 0, 1), "r1", 5, 6))
	// A run may be moved twice in one batch; a fence that does not move only compares.
	s.refused(fenced(fenced(set("c", "4"), "r1", 6, 7), "r1", 6, 8), runtime.ErrFenced)
	s.commit(fenced(fenced(set("c", "5"), "r1", 6, 7), "r1", 7, 8))
	s.commit(fenced(set("d", "6"), "r1", 8, 8))
	s.commit(fenced(set("e", "7"), "r1", 8, 9))
	s.holds("a", "1", "b", "3", "c", "5", "d", "6", "e", "7")
	// A run whose name begins as another's is another.
	s.commit(fenced(set("f", "8"), "r", 0, 1))
	s.commit(fenced(set("f", "9"), "r11", 0, 1))
}

func testContest(s *shop) {
	s.open()
	const writers, rounds = 8, 20
	for round := range uint64(rounds) {
		results := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				results[i] = s.Commit(context.Background(), fenced(set(fmt.Sprintf("won/%02d/%d", round, i), ""), "run", round, round+1))
			})
		}
		wg.Wait()
		won := 0
		for i, err := range results {
			_, found := s.Get([]byte(fmt.Sprintf("won/%02d/%d", round, i)))
			switch {
			case err == nil && found == nil:
				won++
			case !errors.Is(err, runtime.ErrFenced) || !errors.Is(found, runtime.ErrNoKey):
				s.Errorf("round %d: writer %d got %v, and its key %v", round, i, err, found)
			}
		}
		if won != 1 {
			s.Fatalf("round %d: %d writers won, wanted 1", round, won)
		}
	}
}

func testConcurrent(s *shop) {
	s.open()
	const runs, steps = 32, 10
	var wg sync.WaitGroup
	for r := range runs {
		wg.Go(func() {
			run := fmt.Sprintf("run%02d", r)
			for i := range uint64(steps) {
				b := fenced(set(fmt.Sprintf("%s/%d", run, i), run), run, i, i+1)
				if err := s.Commit(context.Background(), b); err != nil {
					s.Errorf("%s step %d: %v", run, i, err)
				}
			}
		})
	}
	wg.Wait()
	s.open()
	if n := len(s.scan(nil, nil)) / 2; n != runs*steps {
		s.Errorf("%d keys are there, wanted %d", n, runs*steps)
	}
	for r := range runs {
		s.commit(fenced(new(runtime.Batch), fmt.Sprintf("run%02d", r), steps, steps+1))
	}
}

func testEpochs(s *shop) {
	first := s.open()
	s.commit(fenced(set("a", "1"), "run", 0, 1))
	second, err := s.place.Open()
	wanted := runtime.ErrFenced
	if errors.Is(err, runtime.ErrLocked) { // then an owner must have left before the next one comes
		wanted = runtime.ErrStoreClosed
		second = s.open()
	} else if err != nil {
		s.Fatal(err)
	}
	defer second.Close()
	if err := first.Commit(s.Context(), set("a", "stale")); !errors.Is(err, wanted) {
		s.Errorf("a commit of the first owner: got %v, wanted %v", err, wanted)
	}
	a, b := first.Info(), second.Info()
	if a.ID != b.ID || a.Epoch != 1 || b.Epoch != 2 {
		s.Errorf("the owners saw id %s epoch %d and id %s epoch %d, wanted one id and epochs 1 and 2", a.ID, a.Epoch, b.ID, b.Epoch)
	}
	if err := second.Commit(s.Context(), fenced(set("a", "2"), "run", 1, 2)); err != nil {
		s.Error(err)
	}
	s.Store = second
	s.holds("a", "2")
}

func testReopen(s *shop) {
	s.open()
	var want []string
	for i := range 50 {
		k, v := fmt.Sprintf("key%03d", i), fmt.Sprint(i)
		s.commit(fenced(set(k, v, "gone"+k, v), "run", uint64(i), uint64(i+1)))
		s.commit(del("gone" + k))
		want = append(want, k, v)
	}
	for range 3 {
		before := s.Info()
		s.open()
		if after := s.Info(); after.ID != before.ID || after.Epoch != before.Epoch+1 || after.Sequence != before.Sequence {
			s.Errorf("reopened: got %+v after %+v", after, before)
		}
		s.holds(want...)
		s.refused(fenced(set("x", ""), "run", 49, 50), runtime.ErrFenced)
	}
	s.commit(fenced(set("key999", ""), "run", 50, 51))
}

func testClosed(s *shop) {
	store := s.open()
	s.commit(set("a", "1"))
	for range 2 {
		if err := store.Close(); err != nil {
			s.Errorf("close: %v", err)
		}
	}
	_, err := store.Get([]byte("a"))
	for name, err := range map[string]error{
		"get":    err,
		"scan":   store.Scan(nil, nil, func(_, _ []byte) error { return nil }),
		"commit": store.Commit(s.Context(), set("a", "2")),
		"lazy":   store.Commit(s.Context(), &runtime.Batch{Lazy: true}),
	} {
		if !errors.Is(err, runtime.ErrStoreClosed) {
			s.Errorf("%s: got %v, wanted %v", name, err, runtime.ErrStoreClosed)
		}
	}
	if s.open(); s.Info().Sequence != 1 {
		s.Errorf("the store has %d batches, wanted 1", s.Info().Sequence)
	}
}

func testLarge(s *shop) {
	s.open()
	sizes := []int{0, 1, 4 << 10, 31 << 10, 32 << 10, 100 << 10, 1 << 20, 16 << 20}
	content := func(size int) string { return strings.Repeat(fmt.Sprintf("%08d", size), size/8) }
	for _, size := range sizes {
		s.commit(set(fmt.Sprintf("%08d", size), content(size)))
	}
	for range 2 {
		for _, size := range sizes {
			s.value(fmt.Sprintf("%08d", size), content(size))
		}
		s.open()
	}
	s.commit(set("00000000", content(100<<10)))
	s.commit(del(fmt.Sprintf("%08d", 16<<20)))
	s.value("00000000", content(100<<10))
	s.absent(fmt.Sprintf("%08d", 16<<20))
}

func testReader(s *shop) {
	owner := s.open().Info()
	s.commit(fenced(set("a", "1"), "run", 0, 1))
	for range 2 {
		info := s.read().Info()
		if !info.ReadOnly || info.ID != owner.ID || info.Epoch != owner.Epoch || info.Sequence != 1 {
			s.Errorf("reading: got %+v, the owner was %+v", info, owner)
		}
		s.holds("a", "1")
		s.refused(set("a", "2"), runtime.ErrReadOnly)
		s.refused(&runtime.Batch{Lazy: true}, runtime.ErrReadOnly)
	}
	if s.open(); s.Info().Epoch != owner.Epoch+1 {
		s.Errorf("after readers the epoch is %d, wanted %d", s.Info().Epoch, owner.Epoch+1)
	}
	s.holds("a", "1")
}

func testCancelled(s *shop) {
	s.open()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, b := range []*runtime.Batch{fenced(set("a", "1"), "run", 0, 1), {Lazy: true, Writes: set("a", "2").Writes}} {
		if err := s.Commit(ctx, b); !errors.Is(err, context.Canceled) {
			s.Errorf("got %v, wanted %v", err, context.Canceled)
		}
	}
	s.commit(fenced(set("b", "3"), "run", 0, 1))
	s.holds("b", "3")
}

func testLazy(s *shop) {
	lazy := func(kv ...string) *runtime.Batch {
		b := set(kv...)
		b.Lazy = true
		return b
	}
	s.open()
	s.commit(set("a", "durable"))
	s.commit(lazy("a", "lazy", "b", "lazy"))
	s.commit(lazy("b", "lazier"))
	b := lazy("d", "as given")
	s.commit(b)
	copy(b.Writes[0].Value, "XXXXXXXX")
	s.commit(set("c", "durable"))
	s.holds("a", "lazy", "b", "lazier", "c", "durable", "d", "as given")
	if n := s.Info().Sequence; n != 5 {
		s.Errorf("%d batches were counted, wanted 5", n)
	}
	s.commit(lazy("e", "at close"))
	s.open()
	s.value("e", "at close")
	// So many that the store cannot hold them all back.
	big := strings.Repeat("x", 16<<10)
	for i := range 400 {
		s.commit(lazy(fmt.Sprintf("many/%03d", i), big))
	}
	s.commit(new(runtime.Batch))
	if n := len(s.scan([]byte("many/"), []byte("many0"))) / 2; n != 400 {
		s.Errorf("%d lazy batches are there, wanted 400", n)
	}
}

func testBadBatch(s *shop) {
	s.open()
	long := strings.Repeat("k", runtime.MaxKey+1)
	for _, test := range []struct {
		batch *runtime.Batch
		want  string
	}{
		{set("", "1"), "a write has an empty key"},
		{set("a", "1", "\x00s", "1"), `key "\x00s" begins with a zero byte; such keys belong to the store`},
		{set(long, "1"), `the batch is larger than the store takes in one commit: a key of 4097 bytes begins "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"; the longest has 4096`},
		{fenced(set("a", "1"), "", 0, 1), "a fence names no run"},
		{fenced(set("a", "1"), long, 0, 1), "the batch is larger than the store takes in one commit: a fence names a run of 4097 bytes; the longest has 4096"},
		{fenced(set("a", "1"), "run", 3, 2), "the fence of run run goes from 3 to 2; it cannot go back"},
		{&runtime.Batch{Lazy: true, Fences: []runtime.Fence{{Run: "run", Next: 1}}}, "a lazy batch has 1 fences; it can have none, for nobody waits to hear that one failed"},
	} {
		if err := s.Commit(s.Context(), test.batch); err == nil || err.Error() != test.want {
			s.Errorf("got  %v\nwanted %s", err, test.want)
		}
	}
	if err := s.Commit(s.Context(), set(long, "")); !errors.Is(err, runtime.ErrTooLarge) {
		s.Errorf("a key of %d bytes: got %v, wanted %v", len(long), err, runtime.ErrTooLarge)
	}
	longest := string(bytes.Repeat([]byte("k"), runtime.MaxKey))
	s.commit(fenced(set(longest, "1"), longest, 0, 1))
	s.holds(longest, "1")
}

func testSequence(s *shop) {
	s.open()
	for i := range uint64(10) {
		if n := s.Info().Sequence; n != i {
			s.Errorf("%d batches were counted, wanted %d", n, i)
		}
		s.commit(fenced(set("a", "1"), "run", i, i+1))
		s.refused(fenced(set("a", "1"), "run", i, i+1), runtime.ErrFenced)
	}
	if s.open(); s.Info().Sequence != 10 {
		s.Errorf("after opening again %d batches were counted, wanted 10", s.Info().Sequence)
	}
}
