package runtimetest

import (
	"context"

	"starling/lang/effect"
	"starling/runtime"
)

// As returns an engine as a caller in this process sees it.
func As(e runtime.Engine, c runtime.Caller) runtime.Engine { return called{e, c} }

// called puts a caller into every context.
type called struct {
	runtime.Engine
	by runtime.Caller
}

func (c called) Start(ctx context.Context, r runtime.StartRequest) (*runtime.Run, error) {
	return c.Engine.Start(runtime.WithCaller(ctx, c.by), r)
}

func (c called) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	return c.Engine.Signal(runtime.WithCaller(ctx, c.by), s)
}

func (c called) Cancel(ctx context.Context, r runtime.CancelRequest) (*runtime.Receipt, error) {
	return c.Engine.Cancel(runtime.WithCaller(ctx, c.by), r)
}

func (c called) Resume(ctx context.Context, r runtime.ResumeRequest) ([]string, error) {
	return c.Engine.Resume(runtime.WithCaller(ctx, c.by), r)
}

func (c called) Get(ctx context.Context, run string) (*runtime.Run, error) {
	return c.Engine.Get(runtime.WithCaller(ctx, c.by), run)
}

func (c called) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	return c.Engine.List(runtime.WithCaller(ctx, c.by), q)
}

func (c called) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	return c.Engine.Watch(runtime.WithCaller(ctx, c.by), w, fn)
}

func (c called) Blob(ctx context.Context, hash string) ([]byte, error) {
	return c.Engine.Blob(runtime.WithCaller(ctx, c.by), hash)
}

// by asks a further interface of an engine in the name of a caller.
func by[I, Q, A any](ctx context.Context, c called, method func(I, context.Context, Q) (A, error), q Q) (A, error) {
	return through(runtime.WithCaller(ctx, c.by), c.Engine, method, q)
}

func (c called) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return by(ctx, c, runtime.Pages.StepPage, q)
}

func (c called) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	return by(ctx, c, runtime.Decisions.Decisions, q)
}

func (c called) SpentOn(ctx context.Context, day string) (map[string]runtime.Usage, error) {
	return by(ctx, c, runtime.Spending.SpentOn, day)
}

func (c called) SpentBy(ctx context.Context, q runtime.SpentQuery) (*runtime.Bills, error) {
	return by(ctx, c, runtime.Spending.SpentBy, q)
}

func (c called) Budgets(ctx context.Context) ([]effect.Ceiling, error) {
	return by(ctx, c, budgets, struct{}{})
}

func (c called) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	return by(ctx, c, runtime.Pages.Declared, run)
}

func (c called) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	return by(ctx, c, runtime.Definitions.Define, r)
}

func (c called) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	return by(ctx, c, runtime.Definitions.Defined, address)
}

func (c called) Schedule(ctx context.Context, r runtime.ScheduleRequest) (*runtime.Schedule, error) {
	return by(ctx, c, runtime.Schedules.Schedule, r)
}

func (c called) Reschedule(ctx context.Context, r runtime.ScheduleChange) (*runtime.Schedule, error) {
	return by(ctx, c, runtime.Schedules.Reschedule, r)
}

func (c called) Scheduled(ctx context.Context, q runtime.ScheduleQuery) ([]runtime.Schedule, error) {
	return by(ctx, c, runtime.Schedules.Scheduled, q)
}

func (c called) Push(ctx context.Context, r runtime.PushRequest) (*runtime.Pushed, error) {
	return by(ctx, c, runtime.Queues.Push, r)
}

func (c called) Attended(ctx context.Context, queue string) (bool, error) {
	return by(ctx, c, runtime.Queues.Attended, queue)
}

func (c called) Replay(ctx context.Context, r runtime.ReplayRequest) (*runtime.Replayed, error) {
	return by(ctx, c, runtime.Reruns.Replay, r)
}

func (c called) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	return by(ctx, c, runtime.Reruns.Move, r)
}

func (c called) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	return by(ctx, c, runtime.Reruns.Fork, r)
}

func (c called) Trust(ctx context.Context, r runtime.TrustRequest) (*runtime.Trust, error) {
	return by(ctx, c, runtime.Trusts.Trust, r)
}

func (c called) AddToken(ctx context.Context, r runtime.TokenRequest) (*runtime.Token, error) {
	return by(ctx, c, runtime.Tokens.AddToken, r)
}

func (c called) ListTokens(ctx context.Context, q runtime.TokenQuery) ([]runtime.Token, error) {
	return by(ctx, c, runtime.Tokens.ListTokens, q)
}

func (c called) RemoveToken(ctx context.Context, name string) (*runtime.Token, error) {
	return by(ctx, c, runtime.Tokens.RemoveToken, name)
}

func (c called) Export(ctx context.Context, run string) ([]byte, error) {
	return by(ctx, c, runtime.Archive.Export, run)
}

func (c called) Import(ctx context.Context, r runtime.ImportRequest) (*runtime.Imported, error) {
	return by(ctx, c, runtime.Archive.Import, r)
}
