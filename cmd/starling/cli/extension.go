package cli

import (
	"context"

	"starling/cmd/starling/connect"
	"starling/runtime"
)

// extension gives what an engine serves beside runtime.Engine. Where there is no store nothing is
// served.
func extension[I any](s connect.Session) (I, error) {
	if err := connect.Missing(s); err != nil {
		var none I
		return none, err
	}
	return runtime.Extension[I](s)
}

// openFor opens the store one way for what its engine serves beside runtime.Engine. Whoever gets a
// session leaves it.
func openFor[I any](ctx context.Context, c *call, door func(context.Context) (connect.Session, error)) (connect.Session, I, error) {
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
func (c *call) staying(create bool) func(context.Context) (connect.Session, error) {
	return func(ctx context.Context) (connect.Session, error) { return c.door().OpenOwner(ctx, create) }
}
