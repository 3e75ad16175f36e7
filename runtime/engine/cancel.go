package engine

import (
	"context"

	"starling/runtime"
	"starling/runtime/run"
)

// Cancel ends a run and all it started. It needs no machine: a run that is busy, is quarantined or
// cannot be served by this build is cancelled like any other.
func (e *Local) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	if err := need(ctx, runtime.CanCancel, "cancel runs"); err != nil {
		return nil, err
	}
	id, err := e.resolveRun(c.Run)
	if err != nil {
		return nil, err
	}
	who, refused := run.Identify(runtime.CallerOf(ctx), c.As)
	if refused != nil {
		return nil, refused
	}
	return e.cancel(ctx, id, who, c)
}

func (e *Local) cancel(ctx context.Context, id string, who []string, c runtime.CancelRequest) (*runtime.Receipt, error) {
	in := &run.Cancelled{Who: who, Request: c}
	if err := e.send(ctx, id, event{in: in, urgent: true}); err != nil {
		return nil, err
	}
	return in.Receipt, nil
}
