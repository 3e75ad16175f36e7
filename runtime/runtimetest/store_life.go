package runtimetest

import (
	"errors"
	"fmt"

	"starling/runtime"
)

// Opening, closing, and opening again.

func testEpochs(s *shop) {
	first := s.open()
	s.commit(fenced(set("a", "1"), "run", 0, 1))
	second, err := s.place.Open()
	wanted := runtime.ErrLost
	if errors.Is(err, runtime.ErrLocked) { // then an owner must have left before the next one comes
		wanted = runtime.ErrStoreClosed
		second = s.open()
	} else if err != nil {
		s.Fatal(err)
	}
	defer second.Close()
	err = first.Commit(s.Context(), set("a", "stale"))
	if !errors.Is(err, wanted) || errors.Is(wanted, runtime.ErrLost) && !errors.Is(err, runtime.ErrFenced) {
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
