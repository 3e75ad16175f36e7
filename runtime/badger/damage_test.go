package badger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"starling/runtime"
)

// These tests change the bytes of stores. "Crashed" is a copy of the files of an open store, which
// is what SIGKILL leaves; "closed" is a store that was closed.

func batch(key string, value []byte) *runtime.Batch {
	return &runtime.Batch{Writes: []runtime.Write{{Key: []byte(key), Value: value}}}
}

// large is a value that goes to the value log.
func large(seed byte) []byte { return bytes.Repeat([]byte{seed, 1, 2, 3, 5, 7, 11, 13}, LargeValue/8) }

// filled makes a store with five small batches and two large values, and returns it open.
func filled(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i := range 5 {
		must(t, s.Commit(t.Context(), batch(fmt.Sprintf("small/%d", i), []byte("value"))))
	}
	must(t, s.Commit(t.Context(), batch("large/1", large('a'))))
	must(t, s.Commit(t.Context(), batch("large/2", large('b'))))
	return s
}

const filledBatches = 7

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crashed copies the store's files as they are.
func crashed(t *testing.T, s *Store) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "crashed")
	must(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, strings.TrimPrefix(path, s.dir))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o700))
		}
		return copyWritten(path, to)
	}))
	return dir
}

// copyWritten copies the beginning of a file: Badger maps its logs far beyond what is written to
// them, which is little here.
func copyWritten(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, 1<<20))
	return errors.Join(err, os.WriteFile(to, content, 0o600))
}

func closed(t *testing.T) (dir string) {
	t.Helper()
	s := filled(t)
	must(t, s.Close())
	return s.dir
}

// one finds the only file with this ending, or the last.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, badgerName, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: no %s, %v", dir, pattern, err)
	}
	return found[len(found)-1]
}

// flip changes one byte of a file and returns what puts it back.
func flip(t *testing.T, path string, at int64) (undo func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	must(t, err)
	put := func(c byte) {
		_, err := f.WriteAt([]byte{c}, at)
		must(t, err)
	}
	put(b[0] ^ 1<<(at%8))
	return func() { put(b[0]); f.Close() }
}

// digest is a hash of all files of a directory, with their names.
func digest(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(content))
		h.Write(content)
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// mustBeDamaged opens the store in both ways and wants it refused and left as it is.
func mustBeDamaged(t *testing.T, dir, what string) {
	t.Helper()
	before := digest(t, dir)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		s, err := Open(dir, o)
		if err == nil {
			t.Errorf("%s: opened with %+v and %+v", what, o, s.Info())
			s.Close()
		}
		if !errors.Is(err, runtime.ErrDamaged) {
			t.Errorf("%s: opened with %+v: got %v, wanted %v", what, o, err, runtime.ErrDamaged)
		}
	}
	if digest(t, dir) != before {
		t.Errorf("%s: the refused store was changed", what)
	}
}

// mustOpen opens the store and wants the number of batches that it has, and all that filled put
// into it up to there.
func mustOpen(t *testing.T, dir string, batches uint64) {
	t.Helper()
	s, err := Open(dir, Options{})
	must(t, err)
	defer s.Close()
	if n := s.Info().Sequence; n != batches {
		t.Errorf("the store has %d batches, wanted %d", n, batches)
	}
	keys := []string{"small/0", "small/1", "small/2", "small/3", "small/4", "large/1", "large/2"}
	for i, key := range keys {
		v, err := s.Get([]byte(key))
		switch {
		case uint64(i) >= batches && !errors.Is(err, runtime.ErrNoKey):
			t.Errorf("%s: got %.10q, %v, wanted %v", key, v, err, runtime.ErrNoKey)
		case uint64(i) < batches && i < 5 && string(v) != "value", i == 5 && uint64(i) < batches && !bytes.Equal(v, large('a')):
			t.Errorf("%s: got %.10q, %v", key, v, err)
		}
	}
	must(t, s.Commit(t.Context(), batch("after", nil)))
}

// everyByte flips each byte of [from, to), or every step-th, and wants inspect to refuse each time.
func everyByte(t *testing.T, dir, path string, from, to, step int64) {
	t.Helper()
	for at := from; at < to; at += step {
		undo := flip(t, path, at)
		if _, err := inspect(filepath.Join(dir, badgerName), filledBatches); !errors.Is(err, runtime.ErrDamaged) {
			t.Errorf("%s with byte %d of %d changed: got %v, wanted %v", filepath.Base(path), at, to, err, runtime.ErrDamaged)
		}
		undo()
	}
	if _, err := inspect(filepath.Join(dir, badgerName), filledBatches); err != nil {
		t.Errorf("with all bytes as they were: %v", err)
	}
}

// logEnd is where a log's records end.
func logEnd(t *testing.T, path string) int64 {
	t.Helper()
	log, err := openLog(path)
	must(t, err)
	defer log.close()
	end, err := log.records(false, func(logRecord, int64) {})
	must(t, err)
	return end
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	must(t, err)
	return st.Size()
}

func TestFlippedByteInWriteAheadLog(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	dir := crashed(t, filled(t))
	path := one(t, dir, "*.mem")
	end := logEnd(t, path)
	everyByte(t, dir, path, logHeader, end, 1)

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5 {
		at := logHeader + random.Int64N(end-logHeader)
		undo := flip(t, path, at)
		mustBeDamaged(t, dir, fmt.Sprintf("byte %d of the write-ahead log", at))
		undo()
	}
	mustOpen(t, dir, filledBatches)
}

func TestFlippedByteIsNamed(t *testing.T) {
	s := filled(t)
	dir := crashed(t, s)
	path := one(t, dir, "*.mem")
	var ends []int64
	log, err := openLog(path)
	must(t, err)
	defer log.close()
	end, err := log.records(true, func(r logRecord, end int64) {
		if r.meta&metaEnd != 0 {
			ends = append(ends, end)
		}
	})
	must(t, err)
	flip(t, path, end-1)
	_, err = Open(dir, Options{})
	want := fmt.Sprintf("%s: the store is damaged: 1 acknowledged batch is missing: the newest found is number 6, wanted 7; "+
		"00001.mem cannot be read from byte %d on; restore the store from a backup, or its run from an export",
		filepath.Join(dir, badgerName), ends[len(ends)-2])
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwanted %s", err, want)
	}
}

func TestHoleInWriteAheadLog(t *testing.T) {
	dir := crashed(t, filled(t))
	path := one(t, dir, "*.mem")
	content, err := os.ReadFile(path)
	must(t, err)
	var begins, ends int64 // of the transaction that holds batch 3
	log, err := openLog(path)
	must(t, err)
	defer log.close()
	last, third := int64(logHeader), false
	_, err = log.records(true, func(r logRecord, end int64) {
		s, ok := spanOf(r.value)
		third = third || ok && s.first == 3 && string(r.key) == string(ownKey(tagSequence))
		if r.meta&metaEnd != 0 {
			if third && ends == 0 {
				begins, ends = last, end
			}
			last = end
		}
	})
	must(t, err)
	must(t, os.WriteFile(path, append(content[:begins:begins], content[ends:]...), 0o600))
	_, err = Open(dir, Options{})
	want := filepath.Join(dir, badgerName) + ": the store is damaged: 1 acknowledged batch is missing: the newest found is number 2, wanted 3; " +
		"restore the store from a backup, or its run from an export"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwanted %s", err, want)
	}
}

func TestTornTail(t *testing.T) {
	s := filled(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	overflow := bytes.Repeat([]byte{0xff}, 20) // no number is written so; Badger gives up on it
	for i := range 8 {
		dir := crashed(t, s)
		for _, pattern := range []string{"*.mem", "*.vlog"} {
			path := one(t, dir, pattern)
			tail := make([]byte, 1+random.IntN(200))
			for i := range tail {
				tail[i] = byte(random.UintN(256))
			}
			if i == 0 {
				tail = overflow
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt(tail, logEnd(t, path))
			must(t, errors.Join(err, f.Close()))
		}
		mustOpen(t, dir, filledBatches)
	}
}

// A kill may come between making a log and giving it its length, or before it has a record.
func TestLogWithoutRecords(t *testing.T) {
	s := filled(t)
	for name, content := range map[string][]byte{
		"00002.mem": nil, "000002.vlog": nil, "000000.vlog": nil, "00003.mem": make([]byte, logHeader), "000003.vlog": make([]byte, logHeader),
		"00004.mem": make([]byte, 1000), "000004.vlog": make([]byte, 1000), "00005.mem": bytes.Repeat([]byte{0, 1}, 500),
	} {
		dir := crashed(t, s)
		must(t, os.WriteFile(filepath.Join(dir, badgerName, name), content, 0o600))
		mustOpen(t, dir, filledBatches)
		if t.Failed() {
			t.Fatalf("with a file %s of %d bytes", name, len(content))
		}
	}
}

// A power cut may take the last transaction, and leave a mark from before it.
func TestTornTransactionThatNobodyWasToldOf(t *testing.T) {
	s := filled(t)
	for _, keep := range []uint64{3, 5, 6} {
		dir := crashed(t, s)
		path := one(t, dir, "*.mem")
		log, err := openLog(path)
		must(t, err)
		var at int64
		_, err = log.records(true, func(r logRecord, end int64) {
			if s, ok := spanOf(r.value); ok && s.last == keep+1 && string(r.key) == string(ownKey(tagSequence)) {
				at = end - 1
			}
		})
		must(t, err)
		log.close()
		flip(t, path, at)
		must(t, os.WriteFile(filepath.Join(dir, markName), encodeMark(1, keep), 0o600))
		mustOpen(t, dir, keep)
	}
}

func TestMark(t *testing.T) {
	dir := crashed(t, filled(t))
	path := filepath.Join(dir, markName)
	for at := range int64(markSize) {
		undo := flip(t, path, at)
		mustBeDamaged(t, dir, fmt.Sprintf("byte %d of the mark", at))
		undo()
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	for at := range whole {
		for change := 1; change < 256; change++ {
			word := bytes.Clone(whole)
			word[at] ^= byte(change)
			if n, ok := openWord(binary.LittleEndian.Uint64(word[at/8*8:])); ok {
				t.Errorf("byte %d of the mark changed by %#x: it says %d", at, change, n)
			}
		}
	}
	for what, content := range map[string][]byte{"half a mark": whole[:10], "an empty mark": {}, "one batch too many": encodeMark(1, filledBatches+1)} {
		must(t, os.WriteFile(path, content, 0o600))
		mustBeDamaged(t, dir, what)
	}
	must(t, os.Remove(path))
	mustBeDamaged(t, dir, "no mark")
	must(t, os.WriteFile(path, encodeMark(1, 2), 0o600)) // a lower bound
	mustOpen(t, dir, filledBatches)
}

func TestFlippedByteInNewestValueLog(t *testing.T) {
	for name, dir := range map[string]string{"crashed": crashed(t, filled(t)), "closed": closed(t)} {
		t.Run(name, func(t *testing.T) {
			path := one(t, dir, "*.vlog")
			end := logEnd(t, path)
			everyByte(t, dir, path, logHeader, logHeader+60, 1)
			everyByte(t, dir, path, logHeader+60, end, 997)
			undo := flip(t, path, end-1)
			mustBeDamaged(t, dir, "the last byte of the value log")
			undo()
			mustOpen(t, dir, filledBatches)
		})
	}
}

// The values of a crashed store whose write-ahead log has become a table already: only the table
// tells how long the value log was.
func TestFlippedByteInValueLogWithoutWriteAheadLog(t *testing.T) {
	dir := closed(t)
	path := one(t, dir, "*.vlog")
	end := logEnd(t, path)
	must(t, os.Truncate(path, end+1<<20))
	must(t, os.WriteFile(filepath.Join(dir, badgerName, "00009.mem"), make([]byte, 100), 0o600))
	everyByte(t, dir, path, logHeader, end, 4999)
}

// A kill while Badger closes may come when the write-ahead log is a table already, and the value
// log has not been cut to its length.
func TestKilledWhileClosing(t *testing.T) {
	dir := closed(t)
	path := one(t, dir, "*.vlog")
	must(t, os.Truncate(path, logEnd(t, path)+1<<20))
	s, err := Open(dir, Options{ReadOnly: true})
	must(t, err)
	if v, err := s.Get([]byte("large/2")); err != nil || !bytes.Equal(v, large('b')) {
		t.Errorf("reading: got %d bytes, %v", len(v), err)
	}
	must(t, s.Close())
	mustOpen(t, dir, filledBatches)
}

// A value log that is not the newest is not read at open: its damaged value is, when it is asked
// for, and the others are served.
func TestFlippedByteInOlderValueLog(t *testing.T) {
	dir := closed(t)
	mustOpen(t, dir, filledBatches) // begins another
	undo := flip(t, filepath.Join(dir, badgerName, "000001.vlog"), logHeader+100)
	defer undo()
	s, err := Open(dir, Options{})
	must(t, err)
	defer s.Close()
	if v, err := s.Get([]byte("large/1")); !errors.Is(err, runtime.ErrDamaged) {
		t.Errorf("the changed value: got %d bytes, %v, wanted %v", len(v), err, runtime.ErrDamaged)
	}
	err = s.Scan(nil, nil, func(_, _ []byte) error { return nil })
	want := fmt.Sprintf(`the store is damaged: the large value of key "large/1" cannot be read from %s at byte %d`, filepath.Join(dir, badgerName, "000001.vlog"), logHeader)
	if err == nil || err.Error() != want {
		t.Errorf("a scan over it: got %v, wanted %s", err, want)
	}
	if v, err := s.Get([]byte("large/2")); err != nil || !bytes.Equal(v, large('b')) {
		t.Errorf("the value behind it: got %d bytes, %v", len(v), err)
	}
	must(t, s.Commit(t.Context(), batch("still", []byte("writing"))))
	if _, err := s.GC(t.Context()); !errors.Is(err, runtime.ErrDamaged) {
		t.Errorf("GC over it: got %v, wanted %v", err, runtime.ErrDamaged)
	}
}

func TestFlippedByteInTable(t *testing.T) {
	dir := closed(t)
	path := one(t, dir, "*.sst")
	everyByte(t, dir, path, 0, size(t, path), 1)
	for _, at := range []int64{0, size(t, path) / 2, size(t, path) - 1} {
		undo := flip(t, path, at)
		mustBeDamaged(t, dir, fmt.Sprintf("byte %d of the table", at))
		undo()
	}
	must(t, os.Truncate(path, size(t, path)-1))
	mustBeDamaged(t, dir, "a table that is too short")
	must(t, os.Remove(path))
	mustBeDamaged(t, dir, "a table that is gone")
}

func TestFlippedByteInManifest(t *testing.T) {
	dir := closed(t)
	path := one(t, dir, "MANIFEST")
	everyByte(t, dir, path, 0, size(t, path), 1)
	whole, err := os.ReadFile(path)
	must(t, err)
	// A record that a power cut tore names tables that the write-ahead log still holds.
	must(t, os.WriteFile(path, append(whole[:len(whole):len(whole)], whole[16:len(whole)-3]...), 0o600))
	mustOpen(t, dir, filledBatches)
	must(t, os.Remove(path))
	mustBeDamaged(t, dir, "no manifest")
}

func TestFlippedByteInKeyRegistry(t *testing.T) {
	dir := closed(t)
	path := one(t, dir, "KEYREGISTRY")
	const vector = 16 // bytes of an encryption that is not used
	for at := int64(vector); at < size(t, path); at++ {
		undo := flip(t, path, at)
		if s, err := Open(dir, Options{}); err == nil {
			t.Errorf("opened with byte %d of the key registry changed", at)
			s.Close()
		}
		undo()
	}
	mustOpen(t, dir, filledBatches)
}

func TestFilesOfAnotherStore(t *testing.T) {
	mine, other := closed(t), closed(t)
	must(t, os.RemoveAll(filepath.Join(mine, badgerName)))
	must(t, os.Rename(filepath.Join(other, badgerName), filepath.Join(mine, badgerName)))
	_, err := Open(mine, Options{})
	if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), "it belongs to the store") {
		t.Errorf("got %v, wanted it to tell of another store", err)
	}
	must(t, os.RemoveAll(filepath.Join(mine, badgerName)))
	_, err = Open(mine, Options{})
	if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), "7 acknowledged batches are missing: the newest found is number 0") {
		t.Errorf("without Badger's files: got %v, wanted 7 batches to be missing", err)
	}
}

// An empty list of keys is what a power cut can leave of it.
func TestEmptyKeyRegistry(t *testing.T) {
	dir := closed(t)
	must(t, os.Truncate(one(t, dir, "KEYREGISTRY"), 0))
	for _, o := range []Options{{}, {ReadOnly: true}} {
		s, err := Open(dir, o)
		if !errors.Is(err, runtime.ErrDamaged) || !strings.Contains(err.Error(), "key registry") {
			t.Errorf("%+v: %v, %v", o, s, err)
		}
	}
}
