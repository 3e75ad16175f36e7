package badger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	badgerdb "github.com/dgraph-io/badger/v4"
)

// recorder is a disk that notes what is synced: how often, and what was in it then.
type recorder struct {
	localDisk
	synced [][]byte
}

func (r *recorder) sync(mem []byte) error {
	r.synced = append(r.synced, slices.Clone(mem[:min(len(mem), 200<<10)]))
	return r.localDisk.sync(mem)
}

func TestOneSyncATransaction(t *testing.T) {
	var disk recorder
	s, err := open(filepath.Join(t.TempDir(), "store"), Options{}, &disk)
	must(t, err)
	defer s.Close()
	for i, c := range []struct {
		value []byte
		want  int
	}{{[]byte("small"), 1}, {[]byte("other"), 1}, {large(1), 2}, {[]byte("third"), 1}} {
		before := s.Stats().Syncs
		disk.synced = nil
		must(t, s.Commit(t.Context(), batch(fmt.Sprintf("k%d", i), c.value)))
		if n := s.Stats().Syncs - before; int(n) != c.want || len(disk.synced) != c.want {
			t.Fatalf("batch %d: %d syncs, the disk saw %d, wanted %d", i, n, len(disk.synced), c.want)
		}
		if !bytes.Contains(disk.synced[0], c.value) {
			t.Errorf("batch %d: its value was not in what was synced first", i)
		}
		if !bytes.Contains(disk.synced[len(disk.synced)-1], fmt.Appendf(nil, "k%d", i)) {
			t.Errorf("batch %d: its key was not in what was synced last", i)
		}
	}
}

// When a memory table is full Badger begins another log, which must be found.
func TestSyncFollowsBadgerToTheNextLog(t *testing.T) {
	s := filled(t)
	first := s.committer.writeAhead.number
	for i := range 3 * memTable / (1 << 20) {
		must(t, s.Commit(t.Context(), batch(fmt.Sprintf("fill/%d", i), bytes.Repeat([]byte("filling"), LargeValue/8))))
		for range 32 {
			must(t, s.Commit(t.Context(), batch(fmt.Sprintf("fill/%d", i), make([]byte, LargeValue-1))))
		}
	}
	logs, err := numberedFiles(s.badgerDir, writeAheadSuffix)
	must(t, err)
	newest := logs[len(logs)-1].number
	if at := s.committer.writeAhead.number; at != newest || at < first+2 {
		t.Errorf("log %d is synced; the newest is %d, the first was %d", at, newest, first)
	}
}

// What Badger has in memory and nobody has synced is not shown.
func TestReadersSeeWhatIsDurable(t *testing.T) {
	s := filled(t)
	txn := s.db.NewTransactionAt(s.committer.version, true)
	must(t, txn.Set([]byte("not synced"), []byte("v")))
	must(t, txn.CommitAt(s.committer.version+1, nil))
	if v, err := s.Get([]byte("not synced")); err == nil {
		t.Errorf("before it is synced a reader sees %q", v)
	}
	must(t, s.Scan(nil, nil, func(k, _ []byte) error {
		if string(k) == "not synced" {
			t.Error("before it is synced a scan sees it")
		}
		return nil
	}))
}

// A power cut may leave a transaction without the large values it points to. Nobody was told of it.
func TestTransactionWithoutItsValues(t *testing.T) {
	s := filled(t)
	must(t, s.Commit(t.Context(), batch("large/last", large(9))))
	must(t, s.Commit(t.Context(), batch("after", []byte("v"))))
	dir := crashed(t, s)
	path := one(t, dir, "*.vlog")
	end := logEnd(t, path)
	zeros := make([]byte, len(large(9))/2)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(zeros, end-int64(len(zeros)))
	must(t, err)
	must(t, f.Close())
	for acknowledged := filledBatches + 2; acknowledged > filledBatches; acknowledged-- {
		must(t, os.WriteFile(filepath.Join(dir, markName), encodeMark(1, uint64(acknowledged)), 0o600))
		mustBeDamaged(t, dir, "a value log without values that were acknowledged")
	}
	must(t, os.WriteFile(filepath.Join(dir, markName), encodeMark(1, filledBatches), 0o600))
	mustOpen(t, dir, filledBatches)
}

// Readers of an old moment keep what they see, whatever is merged meanwhile.
func TestOldViewKeepsItsVersions(t *testing.T) {
	s := filled(t)
	must(t, s.Commit(t.Context(), batch("k", []byte("old"))))
	must(t, s.view(func(txn *badgerdb.Txn) error {
		for range 200 {
			must(t, s.Commit(t.Context(), batch("k", []byte("new"))))
		}
		must(t, s.db.Flatten(1))
		if v, err := valueIn(s.badgerDir, txn, []byte("k")); string(v) != "old" {
			t.Errorf("got %q, %v", v, err)
		}
		return nil
	}))
	if n := len(s.views.open); n != 0 {
		t.Errorf("%d views are open", n)
	}
}
