package engine

import (
	"context"

	"starling/runtime"
)

// need refuses a caller who may not do something; doing is how the refusal calls it.
func need(ctx context.Context, want runtime.Capability, doing string) error {
	if refused := runtime.CallerOf(ctx).Lacks(want, doing); refused != nil {
		return refused
	}
	return nil
}
