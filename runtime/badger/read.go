package badger

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
)

// Get returns the value of key as the newest durable transaction left it.
func (s *Store) Get(key []byte) ([]byte, error) {
	if !s.enter() {
		return nil, runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	if len(key) == 0 || key[0] == 0 {
		return nil, runtime.ErrNoKey
	}
	var value []byte
	err := s.view(func(txn *badgerdb.Txn) (err error) {
		value, err = valueIn(s.badgerDir, txn, key)
		return err
	})
	return value, err
}

// Head tells where a run stands, and what was left with it there.
func (s *Store) Head(run string) (at uint64, head []byte, err error) {
	if !s.enter() {
		return 0, nil, runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	err = s.view(func(txn *badgerdb.Txn) error {
		v, err := valueIn(s.badgerDir, txn, fenceKey(run))
		at, head = standingOf(v)
		if err == nil && s.committer != nil {
			s.committer.saw(run, at, txn.ReadTs())
		}
		return err
	})
	if errors.Is(err, runtime.ErrNoKey) {
		return 0, nil, nil
	}
	return at, head, err
}

// Scan calls fn for each key in [from, to). It may be called within fn, and so may Get and Commit;
// Close may not.
func (s *Store) Scan(from, to []byte, fn func(key, value []byte) error) error {
	if !s.enter() {
		return runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	if bytes.Compare(from, []byte(firstKey)) < 0 {
		from = []byte(firstKey)
	}
	err := s.view(func(txn *badgerdb.Txn) error {
		it := txn.NewIterator(badgerdb.IteratorOptions{Prefix: commonPrefix(from, to)})
		defer it.Close()
		for it.Seek(from); it.Valid(); it.Next() {
			item := it.Item()
			if to != nil && bytes.Compare(item.Key(), to) >= 0 {
				return nil
			}
			if err := itemValue(s.badgerDir, item, func(v []byte) error { return fn(item.Key(), v) }); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, runtime.ErrStopScan) {
		return nil
	}
	return err
}

// Heads calls fn for every run that the store knows, by name, with where it stands and its head,
// which is valid only during the call.
func (s *Store) Heads(fn func(f runtime.Fence) error) error {
	if !s.enter() {
		return runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	prefix := ownKey(tagRun)
	return s.view(func(txn *badgerdb.Txn) error {
		it := txn.NewIterator(badgerdb.IteratorOptions{Prefix: prefix})
		defer it.Close()
		for it.Seek(prefix); it.Valid(); it.Next() {
			run := string(it.Item().Key()[len(prefix):])
			if err := itemValue(s.badgerDir, it.Item(), func(v []byte) error {
				at, head := standingOf(v)
				return fn(runtime.Fence{Run: run, Next: at, Head: head})
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// commonPrefix is a prefix of every key in [from, to): with it Badger passes over the tables that
// have none of them.
func commonPrefix(from, to []byte) []byte {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	return from[:n]
}

func valueIn(dir string, txn *badgerdb.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badgerdb.ErrKeyNotFound) {
		return nil, runtime.ErrNoKey
	}
	if err != nil {
		return nil, err
	}
	value := []byte{}
	err = itemValue(dir, item, func(v []byte) error {
		value = append(value, v...)
		return nil
	})
	return value, err
}

// itemValue calls fn with the value of an item of the files in dir. Where Badger cannot read a
// large value it logs that and hands out an empty one.
func itemValue(dir string, item *badgerdb.Item, fn func([]byte) error) error {
	return item.Value(func(v []byte) error {
		if len(v) == 0 && item.ValueSize() > 0 {
			place := "the value log"
			if p, ok := pointerTo(dir, item.Key(), item.Version()); ok {
				place = fmt.Sprintf("%s at byte %d", filepath.Join(dir, fmt.Sprintf("%06d%s", p.file, valueLogSuffix)), p.offset)
			}
			return &runtime.DamagedValue{Key: item.KeyCopy(nil), Cause: fmt.Sprintf("the large value of key %q cannot be read from %s", item.Key(), place)}
		}
		return fn(v)
	})
}

// pointerTo finds where a large value is. Badger does not say, so the files are looked at once
// more; while it is merging tables the place may not be found.
func pointerTo(dir string, key []byte, version uint64) (p pointer, ok bool) {
	tables, err := openManifest(dir)
	if err != nil {
		return pointer{}, false
	}
	for id, m := range tables {
		_ = withTable(dir, id, m, func(t *tableFile) error { // one that is gone by now
			if at, found := t.pointerTo(key, version); found {
				p, ok = at, true
			}
			return nil
		})
	}
	logs, _ := numberedFiles(dir, writeAheadSuffix)
	for _, file := range logs {
		if at, found := pointerIn(file.path, key, version); found {
			p, ok = at, true
		}
	}
	return p, ok
}
