package owner

import (
	"context"

	"starling/lang/effect"
	"starling/runtime"
)

// What engines serve beside runtime.Engine is served by a session in the same way: by whoever owns
// the store.

var (
	_ runtime.Maintenance = (*Session)(nil)
	_ runtime.Definitions = (*Session)(nil)
	_ runtime.Queues      = (*Session)(nil)
	_ runtime.Schedules   = (*Session)(nil)
	_ runtime.Reruns      = (*Session)(nil)
	_ runtime.Tokens      = (*Session)(nil)
	_ runtime.Archive     = (*Session)(nil)
	_ runtime.Pages       = (*Session)(nil)
	_ runtime.Decisions   = (*Session)(nil)
	_ runtime.Spending    = (*Session)(nil)
	_ runtime.Moments     = (*Session)(nil)
)

// callFacet makes a request of a further interface of whoever owns the store.
func callFacet[I, A any](ctx context.Context, s *Session, request func(context.Context, I) (A, error)) (A, error) {
	return call(ctx, s, func(ctx context.Context, e runtime.Engine) (A, error) {
		facet, err := runtime.Extension[I](e)
		if err != nil {
			var none A
			return none, err
		}
		return request(ctx, facet)
	})
}

// Define implements runtime.Definitions.
func (s *Session) Define(ctx context.Context, r runtime.DefineRequest) (*runtime.Definition, error) {
	r.Key = newKey(r.Key)
	return callFacet(ctx, s, func(ctx context.Context, d runtime.Definitions) (*runtime.Definition, error) { return d.Define(ctx, r) })
}

// Defined implements runtime.Definitions.
func (s *Session) Defined(ctx context.Context, address string) ([]runtime.Definition, error) {
	return callFacet(ctx, s, func(ctx context.Context, d runtime.Definitions) ([]runtime.Definition, error) {
		return d.Defined(ctx, address)
	})
}

// StepPage implements runtime.Pages.
func (s *Session) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	return callFacet(ctx, s, func(ctx context.Context, p runtime.Pages) (*runtime.StepPage, error) {
		return p.StepPage(ctx, q)
	})
}

// SpentOn implements runtime.Spending.
func (s *Session) SpentOn(ctx context.Context, day string) (map[string]runtime.Usage, error) {
	return callFacet(ctx, s, func(ctx context.Context, b runtime.Spending) (map[string]runtime.Usage, error) {
		return b.SpentOn(ctx, day)
	})
}

// SpentBy implements runtime.Spending.
func (s *Session) SpentBy(ctx context.Context, q runtime.SpentQuery) (*runtime.Bills, error) {
	return callFacet(ctx, s, func(ctx context.Context, b runtime.Spending) (*runtime.Bills, error) { return b.SpentBy(ctx, q) })
}

// Budgets implements runtime.Spending.
func (s *Session) Budgets(ctx context.Context) ([]effect.Ceiling, error) {
	return callFacet(ctx, s, func(ctx context.Context, b runtime.Spending) ([]effect.Ceiling, error) {
		return b.Budgets(ctx)
	})
}

// Decisions implements runtime.Decisions.
func (s *Session) Decisions(ctx context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	return callFacet(ctx, s, func(ctx context.Context, d runtime.Decisions) (*runtime.DecisionPage, error) {
		return d.Decisions(ctx, q)
	})
}

// Declared implements runtime.Pages.
func (s *Session) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	return callFacet(ctx, s, func(ctx context.Context, p runtime.Pages) (*runtime.Declared, error) {
		return p.Declared(ctx, run)
	})
}

// Push implements runtime.Queues.
func (s *Session) Push(ctx context.Context, r runtime.PushRequest) (*runtime.Pushed, error) {
	r.Key = newKey(r.Key)
	return callFacet(ctx, s, func(ctx context.Context, q runtime.Queues) (*runtime.Pushed, error) { return q.Push(ctx, r) })
}

// Schedule implements runtime.Schedules.
func (s *Session) Schedule(ctx context.Context, r runtime.ScheduleRequest) (*runtime.Schedule, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Schedules) (*runtime.Schedule, error) { return t.Schedule(ctx, r) })
}

// Reschedule implements runtime.Schedules.
func (s *Session) Reschedule(ctx context.Context, c runtime.ScheduleChange) (*runtime.Schedule, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Schedules) (*runtime.Schedule, error) { return t.Reschedule(ctx, c) })
}

// Scheduled implements runtime.Schedules.
func (s *Session) Scheduled(ctx context.Context, q runtime.ScheduleQuery) ([]runtime.Schedule, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Schedules) ([]runtime.Schedule, error) { return t.Scheduled(ctx, q) })
}

// Whoami implements runtime.Whoami.
func (s *Session) Whoami(ctx context.Context) (*runtime.Caller, error) {
	return callFacet(ctx, s, func(ctx context.Context, w runtime.Whoami) (*runtime.Caller, error) { return w.Whoami(ctx) })
}

// Attended implements runtime.Queues.
func (s *Session) Attended(ctx context.Context, queue string) (bool, error) {
	return callFacet(ctx, s, func(ctx context.Context, q runtime.Queues) (bool, error) { return q.Attended(ctx, queue) })
}

// Replay implements runtime.Reruns.
func (s *Session) Replay(ctx context.Context, r runtime.ReplayRequest) (*runtime.Replayed, error) {
	return callFacet(ctx, s, func(ctx context.Context, f runtime.Reruns) (*runtime.Replayed, error) { return f.Replay(ctx, r) })
}

// Move implements runtime.Reruns.
func (s *Session) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	r.Key = newKey(r.Key)
	return callFacet(ctx, s, func(ctx context.Context, f runtime.Reruns) (*runtime.Replayed, error) { return f.Move(ctx, r) })
}

// Fork implements runtime.Reruns.
func (s *Session) Fork(ctx context.Context, r runtime.ForkRequest) (*runtime.Run, error) {
	r.Key = newKey(r.Key)
	run, err := callFacet(ctx, s, func(ctx context.Context, f runtime.Reruns) (*runtime.Run, error) { return f.Fork(ctx, r) })
	if err == nil {
		s.carried.add(r.Env, run.ID)
	}
	return run, err
}

// Look implements runtime.Moments.
func (s *Session) Look(ctx context.Context, r runtime.LookRequest) (*runtime.Sight, error) {
	return callFacet(ctx, s, func(ctx context.Context, m runtime.Moments) (*runtime.Sight, error) { return m.Look(ctx, r) })
}

// Trust implements runtime.Trusts.
func (s *Session) Trust(ctx context.Context, r runtime.TrustRequest) (*runtime.Trust, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Trusts) (*runtime.Trust, error) {
		return t.Trust(ctx, r)
	})
}

// AddToken implements runtime.Tokens.
func (s *Session) AddToken(ctx context.Context, r runtime.TokenRequest) (*runtime.Token, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Tokens) (*runtime.Token, error) { return t.AddToken(ctx, r) })
}

// ListTokens implements runtime.Tokens.
func (s *Session) ListTokens(ctx context.Context, q runtime.TokenQuery) ([]runtime.Token, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Tokens) ([]runtime.Token, error) { return t.ListTokens(ctx, q) })
}

// RemoveToken implements runtime.Tokens.
func (s *Session) RemoveToken(ctx context.Context, name string) (*runtime.Token, error) {
	return callFacet(ctx, s, func(ctx context.Context, t runtime.Tokens) (*runtime.Token, error) { return t.RemoveToken(ctx, name) })
}

// Maintain implements runtime.Maintain.
func (s *Session) Maintain(ctx context.Context, r runtime.MaintenanceRequest) (*runtime.MaintenanceReport, error) {
	return callFacet(ctx, s, func(ctx context.Context, f runtime.Maintenance) (*runtime.MaintenanceReport, error) {
		return f.Maintain(ctx, r)
	})
}

// Export implements runtime.Archive.
func (s *Session) Export(ctx context.Context, run string) ([]byte, error) {
	return callFacet(ctx, s, func(ctx context.Context, a runtime.Archive) ([]byte, error) { return a.Export(ctx, run) })
}

// Import implements runtime.Archive.
func (s *Session) Import(ctx context.Context, r runtime.ImportRequest) (*runtime.Imported, error) {
	return callFacet(ctx, s, func(ctx context.Context, a runtime.Archive) (*runtime.Imported, error) { return a.Import(ctx, r) })
}
