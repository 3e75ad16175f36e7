package engine

import (
	"context"
	"errors"
	"slices"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// claimAny takes the oldest work that the caller may take, of whatever run. A claim whose key is known is the one that was given before.
func (e *Local) claimAny(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	who, refused := run.Identify(runtime.CallerOf(ctx), s.As)
	if refused != nil {
		return nil, refused
	}
	if err := need(ctx, run.NeededFor(&s), "claim work"); err != nil {
		return nil, err
	}
	if run, err := e.store.Get([]byte(journal.PrefixKey + journal.AnyClaim + s.Key)); s.Key != "" && err == nil {
		s.Run, s.Any = string(run), true
		return e.Signal(ctx, s)
	} else if err != nil && !errors.Is(err, runtime.ErrNoKey) {
		return nil, err
	}
	list, err := e.work(runtime.Query{Target: who[0]})
	if err != nil {
		return nil, err
	}
	for _, w := range list.Work {
		if w.By != "" && w.Until.After(e.now()) {
			continue
		}
		next := s
		next.Any = true
		next.Run, next.Step, _ = journal.CutParent(w.Address)
		receipt, err := e.Signal(ctx, next)
		if err == nil || !slices.Contains([]runtime.ErrorKind{runtime.ErrClaimed, runtime.ErrClosed, runtime.ErrNotOpen, runtime.ErrExpired, runtime.ErrDenied}, runtime.AsRefusal(err).Kind) {
			return receipt, err
		}
	}
	return nil, runtime.Refusef(runtime.ErrNotOpen, "there is no work for %q", who[0]).WithHelp("list it with: starling inbox --work").WithCall("there is some when a run asks for it: claim again later")
}
