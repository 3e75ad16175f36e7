package memory_test

import (
	"errors"
	"testing"

	"starling/runtime"
	"starling/runtime/memory"
	"starling/runtime/runtimetest"
)

func TestMemory(t *testing.T) {
	runtimetest.TestStore(t, func(t *testing.T) runtimetest.Place {
		var s *memory.Store
		return runtimetest.Place{
			Open: func() (runtime.Store, error) {
				if s == nil {
					s = memory.New()
				} else {
					s = s.Reopen()
				}
				return s, nil
			},
			Read: func() (runtime.Store, error) {
				if s == nil {
					return nil, runtime.ErrNoStore
				}
				return s.Reader(), nil
			},
		}
	})
}

func put(key string) *runtime.Batch {
	return &runtime.Batch{Writes: []runtime.Write{{Key: []byte(key), Value: []byte("v")}}}
}

func lazily(key string) *runtime.Batch {
	b := put(key)
	b.Lazy = true
	return b
}

// keys lists a store's keys, one letter each.
func keys(t *testing.T, s runtime.Store) (all string) {
	t.Helper()
	if err := s.Scan(nil, nil, func(k, _ []byte) error { all += string(k); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCrashLosesWhatWasNotDurable(t *testing.T) {
	s := memory.New()
	for _, b := range []*runtime.Batch{put("a"), lazily("b"), put("c"), lazily("d"), lazily("e")} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	left := s.Crash()
	if got := keys(t, left); got != "abc" {
		t.Errorf("after the crash %q is left, wanted %q: b came before a durable batch, d and e did not", got, "abc")
	}
	if n := left.Info().Sequence; n != 3 {
		t.Errorf("%d batches are left, wanted 3", n)
	}
	if err := s.Commit(t.Context(), put("f")); !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("a commit of the owner that crashed: got %v, wanted %v", err, runtime.ErrFenced)
	}
	if err := s.Close(); err != nil || keys(t, left) != "abc" {
		t.Errorf("closing the owner that crashed: %v, and %q is left", err, keys(t, left))
	}
}

func TestFailedCommit(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, test := range []struct {
		moment memory.Moment
		left   string
	}{
		{memory.BeforeApply, "a"},
		{memory.AfterApply, "ab"},
	} {
		s := memory.New()
		s.FailCommit(2, broken, test.moment)
		for i, want := range []error{nil, broken, broken} {
			if err := s.Commit(t.Context(), put("abc"[i:i+1])); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("moment %d, commit %d: got %v, wanted %v", test.moment, i+1, err, want)
			}
		}
		if got := keys(t, s); got != test.left {
			t.Errorf("moment %d: reads see %q, wanted %q", test.moment, got, test.left)
		}
		after := s.Crash()
		if err := after.Commit(t.Context(), put("d")); err != nil || keys(t, after) != test.left+"d" {
			t.Errorf("moment %d: the next owner got %v and sees %q, wanted %q", test.moment, err, keys(t, after), test.left+"d")
		}
	}
}
