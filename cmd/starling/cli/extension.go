package cli

import (
	"context"

	"starling/runtime"
)

// extension gives what an engine serves beside runtime.Engine. Where there is no store nothing is
// served.
func extension[I any](s session) (I, error) {
	if n, ok := s.(nowhere); ok {
		var none I
		return none, noRun(n.dir)
	}
	return runtime.Extension[I](s)
}

// openFor opens the store one way for what its engine serves beside runtime.Engine. Whoever gets a
// session leaves it.
func openFor[I any](ctx context.Context, c *call, door func(context.Context) (session, error)) (session, I, error) {
	s, err := door(ctx)
	if err != nil {
		var none I
		return nil, none, err
	}
	f, err := extension[I](s)
	if err != nil {
		c.leave(s)
	}
	return s, f, err
}

// staying is the way of commands that change something.
func (c *call) staying(create bool) func(context.Context) (session, error) {
	return func(ctx context.Context) (session, error) { return c.door().OpenOwner(ctx, create) }
}
