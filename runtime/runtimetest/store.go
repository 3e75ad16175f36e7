package runtimetest

import (
	"errors"
	"slices"
	"testing"

	"starling/runtime"
)

// Place is where one store lies while a test opens and closes it.
type Place struct {
	// Open opens the store as its next owner, and makes it the first time. While another owner has
	// it open, it either fails with runtime.ErrLocked or takes the store from that owner.
	Open func() (runtime.Store, error)
	// Read opens the store for reading; before the first Open it fails with runtime.ErrNoStore.
	Read func() (runtime.Store, error)
}

// TestStore proves that an implementation keeps the promises of runtime.Store. Each subtest gets a
// place of its own, where no store is yet.
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
		{"looking at runs leaves their fences", testLooks},
		{"a head is true of where a run stands or is not there", testHeads},
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

// headed is a batch of one fence that leaves a head, none when it is "".
func headed(run string, expect, next uint64, head string) *runtime.Batch {
	f := runtime.Fence{Run: run, Expect: expect, Next: next}
	if head != "" {
		f.Head = []byte(head)
	}
	return &runtime.Batch{Fences: []runtime.Fence{f}}
}

// stands wants a run to stand somewhere with a head, none when it is "".
func (s *shop) stands(run string, want uint64, wantHead string) {
	s.Helper()
	at, head, err := s.Head(run)
	if err != nil || at != want || string(head) != wantHead || wantHead == "" && head != nil {
		s.Errorf("%s stands at %d with %.20q, %v; wanted %d with %.20q", run, at, head, err, want, wantHead)
	}
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
