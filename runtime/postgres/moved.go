package postgres

import (
	"context"
	"fmt"

	"starling/runtime"
)

// MovedTo tells where the store of an address was moved to, "" for nowhere. It fails with
// runtime.ErrNoStore where there is none.
func MovedTo(ctx context.Context, address string) (to string, err error) {
	err = lookAt(ctx, address, func(s *Store) error {
		r, err := readRow(ctx, s.reads)
		to = r.moved
		return err
	})
	return to, err
}

// Owner tells who owns the store of an address; one without a name is nobody. It fails with
// runtime.ErrNoStore where there is none.
func Owner(ctx context.Context, address string) (h Holder, err error) {
	err = lookAt(ctx, address, func(s *Store) error {
		r, err := readRow(ctx, s.reads)
		h = r.owner()
		return err
	})
	return h, err
}

// Retire marks the store of an address, which nobody owns, as moved to another place: it is not
// opened any more, but with Options.Moved. It fails with runtime.ErrFenced where it has another
// number of batches.
func Retire(ctx context.Context, address string, sequence uint64, to string) error {
	return lookAt(ctx, address, func(s *Store) error {
		marked, err := s.reads.exec(ctx, "update starling_store set moved = $2 where sequence = $1 and holder = ''", sequence, to)
		if err == nil && marked == 0 {
			err = fmt.Errorf("%w: it has an owner again, or other batches than the %d that were copied; repeat the move", runtime.ErrFenced, sequence)
		}
		return err
	})
}

// lookAt connects for a moment.
func lookAt(ctx context.Context, address string, do func(s *Store) error) error {
	s, err := connect(ctx, address, Options{ReadOnly: true})
	if err == nil {
		defer s.disconnect()
		err = do(s)
	}
	return explained(address, err)
}
