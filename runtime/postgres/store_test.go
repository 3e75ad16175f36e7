package postgres_test

import (
	"context"
	"testing"

	"starling/runtime"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
)

// opened keeps a nil *Store from becoming a Store that is not nil.
func opened(s *postgres.Store, err error) (runtime.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestConformance(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	runtimetest.TestStore(t, func(t *testing.T) runtimetest.Place {
		address := server.Address()
		return runtimetest.Place{
			Open: func() (runtime.Store, error) {
				return opened(postgres.Open(context.Background(), address, postgres.Options{}))
			},
			Read: func() (runtime.Store, error) {
				return opened(postgres.Open(context.Background(), address, postgres.Options{ReadOnly: true}))
			},
		}
	})
}
