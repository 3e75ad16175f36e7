package badger

import (
	"bytes"
	"errors"
	"fmt"

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
		value, err = valueIn(txn, key)
		return err
	})
	return value, err
}

// Scan calls fn for each key in [from, to). It may be called within fn, and so may Get and Commit; Close may not.
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
			if err := itemValue(item, func(v []byte) error { return fn(item.Key(), v) }); err != nil {
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

// commonPrefix is a prefix of every key in [from, to): with it Badger passes over the tables that have none of them.
func commonPrefix(from, to []byte) []byte {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	return from[:n]
}

func valueIn(txn *badgerdb.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badgerdb.ErrKeyNotFound) {
		return nil, runtime.ErrNoKey
	}
	if err != nil {
		return nil, err
	}
	value := []byte{}
	err = itemValue(item, func(v []byte) error {
		value = append(value, v...)
		return nil
	})
	return value, err
}

// itemValue calls fn with the value. Where Badger cannot read a large value it logs that and hands out an empty one.
func itemValue(item *badgerdb.Item, fn func([]byte) error) error {
	return item.Value(func(v []byte) error {
		if len(v) == 0 && item.ValueSize() > 0 {
			return &runtime.DamagedValue{Key: item.KeyCopy(nil), Cause: fmt.Sprintf("the large value of key %q cannot be read from the value log", item.Key())}
		}
		return fn(v)
	})
}
