package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"starling/runtime"
)

func TestGC(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir, Options{})
	must(t, err)
	for i := range 10 {
		must(t, s.Commit(t.Context(), batch(fmt.Sprintf("large/%d", i), large(byte(i)))))
	}
	must(t, s.Close())
	s, err = Open(dir, Options{})
	must(t, err)
	for i := range 9 {
		must(t, s.Commit(t.Context(), batch(fmt.Sprintf("large/%d", i), nil)))
	}
	if files, err := s.GC(t.Context()); files != 0 || err != nil {
		t.Errorf("before Badger has merged its tables: %d files, %v, wanted none", files, err)
	}
	for range levelZeroAtClose { // after so many tables a close merges them
		must(t, s.Close())
		s, err = Open(dir, Options{})
		must(t, err)
	}
	if files, err := s.GC(t.Context()); files != 1 || err != nil {
		t.Errorf("%d files, %v, wanted 1", files, err)
	}
	if _, err := os.Stat(filepath.Join(dir, badgerName, "000001.vlog")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file that was rewritten: %v, wanted it gone", err)
	}
	for range 2 {
		if v, err := s.Get([]byte("large/9")); err != nil || !bytes.Equal(v, large(9)) {
			t.Errorf("what was kept: got %d bytes, %v", len(v), err)
		}
		must(t, s.Close())
		s, err = Open(dir, Options{ReadOnly: true})
		must(t, err)
	}
	if _, err := s.GC(t.Context()); !errors.Is(err, runtime.ErrReadOnly) {
		t.Errorf("in a reader: got %v, wanted %v", err, runtime.ErrReadOnly)
	}
	must(t, s.Close())
	if _, err := s.GC(t.Context()); !errors.Is(err, runtime.ErrStoreClosed) {
		t.Errorf("in a closed store: got %v, wanted %v", err, runtime.ErrStoreClosed)
	}
}

func TestGCIsCancelled(t *testing.T) {
	s := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.GC(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, wanted %v", err, context.Canceled)
	}
}
