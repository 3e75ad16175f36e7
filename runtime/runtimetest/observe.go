package runtimetest

import (
	"context"

	"starling/lang/effect"
	"starling/runtime"
)

// Observe returns an engine that notes in a history what its callers are told.
func Observe(e runtime.Engine, h *History) runtime.Engine { return &observed{e, h} }

type observed struct {
	runtime.Engine
	history *History
}

// Start starts a run.
func (o *observed) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	run, err := o.Engine.Start(ctx, r)
	if err == nil {
		o.history.Started(r.Key, run.ID)
	}
	return run, err
}

// Signal sends a signal.
func (o *observed) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	r, err := o.Engine.Signal(ctx, s)
	o.history.Answered(s, r, err)
	return r, err
}

// Cancel cancels a run.
func (o *observed) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	r, err := o.Engine.Cancel(ctx, c)
	o.history.Cancelled(c, r, err)
	return r, err
}

// Watch watches a run.
func (o *observed) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	if len(w.Types) > 0 { // a history wants each record
		return o.Engine.Watch(ctx, w, fn)
	}
	note := o.history.Watched(w.Run, w.After)
	return o.Engine.Watch(ctx, w, func(ev runtime.Event) error {
		note(ev)
		return fn(ev)
	})
}

// StepPage implements runtime.Pages.
func (o *observed) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return through(ctx, o.Engine, runtime.Pages.StepPage, q)
}

// Decisions implements runtime.Decisions.
func (o *observed) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	return through(ctx, o.Engine, runtime.Decisions.Decisions, q)
}

// SpentOn implements runtime.Spending.
func (o *observed) SpentOn(ctx context.Context, day string) (map[string]runtime.Usage, error) {
	return through(ctx, o.Engine, runtime.Spending.SpentOn, day)
}

// SpentBy implements runtime.Spending.
func (o *observed) SpentBy(ctx context.Context, q runtime.SpentQuery) (*runtime.Bills, error) {
	return through(ctx, o.Engine, runtime.Spending.SpentBy, q)
}

// Budgets implements runtime.Spending.
func (o *observed) Budgets(ctx context.Context) ([]effect.Ceiling, error) {
	return through(ctx, o.Engine, budgets, struct{}{})
}

// budgets is the method as others are called.
func budgets(e runtime.Spending, ctx context.Context, _ struct{}) ([]effect.Ceiling, error) {
	return e.Budgets(ctx)
}

// Declared implements runtime.Pages.
func (o *observed) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	return through(ctx, o.Engine, runtime.Pages.Declared, run)
}

// Replay implements runtime.Reruns.
func (o *observed) Replay(ctx context.Context, r runtime.ReplayRequest) (*runtime.Replayed, error) {
	return through(ctx, o.Engine, runtime.Reruns.Replay, r)
}

// Move implements runtime.Reruns.
func (o *observed) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	return through(ctx, o.Engine, runtime.Reruns.Move, r)
}

// Fork implements runtime.Reruns: a fork is a start.
func (o *observed) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	run, err := through(ctx, o.Engine, runtime.Reruns.Fork, r)
	if err == nil {
		o.history.Started(r.Key, run.ID)
	}
	return run, err
}

// through calls a method of a further interface of an engine.
func through[I, Q, A any](ctx context.Context, e runtime.Engine, method func(I, context.Context, Q) (A, error), q Q) (A, error) {
	f, err := runtime.Extension[I](e)
	if err != nil {
		var none A
		return none, err
	}
	return method(f, ctx, q)
}

// Look implements runtime.Moments. Nothing happens by it.
func (o *observed) Look(ctx context.Context, r runtime.LookRequest) (*runtime.Sight, error) {
	return through(ctx, o.Engine, runtime.Moments.Look, r)
}
