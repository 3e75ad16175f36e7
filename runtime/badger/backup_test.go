package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"starling/runtime"
)

func backup(t *testing.T, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "backup")
	if _, _, err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents is all that a store holds.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, s.Scan(nil, nil, func(k, v []byte) error {
		all[string(k)] = string(v)
		return nil
	}))
	return all
}

func TestBackup(t *testing.T) {
	s := filled(t)
	must(t, s.Commit(t.Context(), &runtime.Batch{Fences: []runtime.Fence{{Run: "run", Expect: 0, Next: 9}}, Writes: batch("big", bytes.Repeat(large(7), 70)).Writes}))
	want := contents(t, s)
	path := backup(t, s)
	must(t, s.Commit(t.Context(), batch("later", []byte("v"))))
	dir := filepath.Join(t.TempDir(), "restored")
	if keys, err := Restore(t.Context(), path, dir); err != nil || keys != len(want) {
		t.Fatalf("%d keys, %v, wanted %d", keys, err, len(want))
	}
	r, err := Open(dir, Options{})
	must(t, err)
	defer r.Close()
	got := contents(t, r)
	if len(got) != len(want) {
		t.Errorf("%d keys, wanted %d", len(got), len(want))
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%q: got %d bytes, wanted %d", k, len(got[k]), len(v))
		}
	}
	err = r.Commit(t.Context(), &runtime.Batch{Fences: []runtime.Fence{{Run: "run", Expect: 0, Next: 1}}})
	if !errors.Is(err, runtime.ErrFenced) {
		t.Errorf("a run stands where it stood: got %v, wanted %v", err, runtime.ErrFenced)
	}
	if r.Info().ID == s.Info().ID {
		t.Error("a restored store is another store")
	}
}

// What a backup holds is one moment: of two keys that are always written together it has the same.
func TestBackupWhileCommitting(t *testing.T) {
	s := filled(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			v := fmt.Append(nil, n)
			b := &runtime.Batch{Writes: append(batch("aa", v).Writes, batch("zz", v).Writes...)}
			if err := s.Commit(context.Background(), b); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 10 {
		dir := filepath.Join(t.TempDir(), "restored")
		_, err := Restore(t.Context(), backup(t, s), dir)
		must(t, err)
		r, err := Open(dir, Options{ReadOnly: true})
		must(t, err)
		a, _ := r.Get([]byte("aa"))
		z, _ := r.Get([]byte("zz"))
		if string(a) != string(z) {
			t.Errorf("the backup has %s and %s", a, z)
		}
		must(t, r.Close())
	}
	stop()
	must(t, <-done)
}

func TestDamagedBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	path := backup(t, filled(t))
	whole, err := os.ReadFile(path)
	must(t, err)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "restored")
	refused := func(what string, content []byte) {
		t.Helper()
		must(t, os.WriteFile(path, content, 0o600))
		if _, err := Restore(t.Context(), path, dir); err == nil {
			t.Fatalf("%s was restored (seed %d)", what, seed)
		}
		if left, err := filepath.Glob(filepath.Dir(dir) + "/*"); len(left) > 0 || err != nil {
			t.Fatalf("%s left %v, %v", what, left, err)
		}
	}
	for range 60 {
		at := random.IntN(len(whole))
		changed := bytes.Clone(whole)
		changed[at] ^= 1 << random.IntN(8)
		refused(fmt.Sprintf("a backup whose byte %d was changed", at), changed)
		refused(fmt.Sprintf("a backup of which %d bytes are left", at), whole[:at])
	}
	for at := range len(backupMagic) + 8 {
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		refused(fmt.Sprintf("a backup whose byte %d was changed", at), changed)
	}
}

func TestRestoreTakesNothingAway(t *testing.T) {
	s := filled(t)
	path := backup(t, s)
	before := digest(t, filepath.Dir(path))
	if _, _, err := s.Backup(t.Context(), path); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a backup: got %v, wanted %v", err, os.ErrExist)
	}
	if _, err := Restore(t.Context(), path, filepath.Dir(path)); !errors.Is(err, os.ErrExist) {
		t.Errorf("into a directory that is not empty: got %v, wanted %v", err, os.ErrExist)
	}
	if digest(t, filepath.Dir(path)) != before {
		t.Error("something was changed")
	}
	if _, err := Restore(t.Context(), path, t.TempDir()); err != nil {
		t.Errorf("into an empty directory: %v", err)
	}
}

func TestDamagedValues(t *testing.T) {
	dir := closed(t)
	mustOpen(t, dir, filledBatches) // begins another value log
	undo := flip(t, filepath.Join(dir, badgerName, "000001.vlog"), logHeader+100)
	defer undo()
	s, err := Open(dir, Options{})
	must(t, err)
	defer s.Close()
	var found []string
	read, err := s.Damaged(t.Context(), func(key []byte, err error) { found = append(found, string(key)) })
	if err != nil || read < filledBatches || len(found) != 1 || found[0] != "large/1" {
		t.Errorf("read %d, damaged %q, %v, wanted large/1", read, found, err)
	}
	if err := s.Verify(t.Context()); !errors.Is(err, runtime.ErrDamaged) {
		t.Errorf("the files: got %v, wanted %v", err, runtime.ErrDamaged)
	}
	if _, _, err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "b")); !errors.Is(err, runtime.ErrDamaged) {
		t.Errorf("a backup of it: got %v, wanted %v", err, runtime.ErrDamaged)
	}
}
