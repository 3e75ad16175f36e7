package badger_test

import (
	"path/filepath"
	"testing"

	"starling/runtime"
	"starling/runtime/badger"
	"starling/runtime/runtimetest"
)

func TestConformance(t *testing.T) {
	runtimetest.TestStore(t, func(t *testing.T) runtimetest.Place {
		dir := filepath.Join(t.TempDir(), "store")
		return runtimetest.Place{
			Open: func() (runtime.Store, error) { return opened(badger.Open(dir, badger.Options{})) },
			Read: func() (runtime.Store, error) { return opened(badger.Open(dir, badger.Options{ReadOnly: true})) },
		}
	})
}

// opened keeps a nil *Store from becoming a Store that is not nil.
func opened(s *badger.Store, err error) (runtime.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
