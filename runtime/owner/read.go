package owner

import (
	"context"
	"errors"

	"starling/runtime"
)

// Read calls fn with an engine that answers Get, List, Watch and Blob: the owner's, or one that
// reads the store where there is no owner. Nobody else can have the store while fn reads it alone,
// so fn gathers what it wants and prints later. A store that does not exist is runtime.ErrNoStore.
func Read(ctx context.Context, c Config, fn func(runtime.Engine) error) error {
	s, err := Acquire(ctx, c, Reader)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}
