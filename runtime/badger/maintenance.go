package badger

import (
	"context"
	"io/fs"
	"path/filepath"

	badgerdb "github.com/dgraph-io/badger/v4"

	"starling/runtime"
)

var _ runtime.Keeper = (*Store)(nil)

// Usage measures the files. Logs are counted with what their maps reserve.
func (s *Store) Usage() (runtime.StoreUsage, error) {
	var u runtime.StoreUsage
	sizes := map[string]*int64{".sst": &u.Tables, writeAheadSuffix: &u.Logs, valueLogSuffix: &u.Values}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // Badger has just deleted it
		}
		size := sizes[filepath.Ext(path)]
		if size == nil {
			size = &u.Other
		}
		*size += allocated(info)
		return nil
	})
	return u, err
}

// Verify checks the tables and every value log but the one that is written.
func (s *Store) Verify(ctx context.Context) error {
	if !s.enter() {
		return runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	if err := s.db.VerifyChecksum(); err != nil {
		return damaged(s.badgerDir, "%v", err)
	}
	return firstError(inspectValueLogs(s.badgerDir), ctx.Err())
}

// Damaged reads every value.
func (s *Store) Damaged(ctx context.Context, fn func(key []byte, err error)) (read int, err error) {
	if !s.enter() {
		return 0, runtime.ErrStoreClosed
	}
	defer s.calls.Done()
	err = s.view(func(txn *badgerdb.Txn) error {
		it := txn.NewIterator(badgerdb.IteratorOptions{})
		defer it.Close()
		for it.Seek([]byte(firstKey)); it.Valid() && ctx.Err() == nil; it.Next() {
			read++
			if err := itemValue(s.badgerDir, it.Item(), func([]byte) error { return nil }); err != nil {
				fn(it.Item().KeyCopy(nil), err)
			}
		}
		return ctx.Err()
	})
	return read, err
}
