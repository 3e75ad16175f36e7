package engine

import (
	"context"
	"fmt"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Move lets a run go on with another program, as far as that says what the journal says.
func (e *Local) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	if err := need(ctx, runtime.CanRun|runtime.CanAdmin, "move runs to another script"); err != nil {
		return nil, err
	}
	id, err := e.resolveRun(r.Run)
	if err != nil {
		return nil, err
	}
	in := &run.Moved{Request: r, Hash: journal.HashOf(r.Bundle), By: runtime.CallerOf(ctx).Name}
	if in.Program, err = e.programs.of(in.Hash, func() ([]byte, error) { return r.Bundle, nil }); err != nil {
		return nil, run.CheckFailed(err)
	}
	for {
		if err := e.send(ctx, id, event{in: in}); err != nil {
			return nil, err
		}
		if in.Wants == nil {
			return in.Replayed, nil
		}
		if in.Past, err = e.pastFor(id, in); err != nil {
			return nil, err
		}
	}
}

// pastFor reads what a move is held against.
func (e *Local) pastFor(id string, in *run.Moved) (*run.Past, error) {
	p, err := e.programs.at(in.Wants.Behaviour, in.Hash, func() ([]byte, error) { return in.Request.Bundle, nil })
	if err != nil {
		return nil, run.CheckFailed(err)
	}
	settings, err := e.settings(in.Wants.Settings)
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", id, err)
	}
	records, err := e.whole(id)
	if err != nil {
		return nil, err
	}
	return &run.Past{Wanted: *in.Wants, Journal: records, Host: e.hosted(&run.Host{Run: id, Program: p, Settings: settings})}, nil
}
