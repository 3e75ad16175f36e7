package query

import (
	"context"

	"starling/runtime"
)

// PageOfSteps is [runtime.Pages.StepPage] of any engine. All steps are read by pages. An engine
// that does not serve them, as an owner of an earlier build, is asked for the whole journal.
func PageOfSteps(ctx context.Context, e runtime.Engine, q runtime.StepQuery) (*runtime.StepPage, error) {
	f, ok := any(e).(runtime.Pages)
	if !ok {
		return stepsByEvents(ctx, e, q)
	}
	all := q.Limit == 0
	if all {
		q.Limit, q.Newest = manySteps, false
	}
	out := &runtime.StepPage{Run: q.Run, Steps: []runtime.Step{}}
	for {
		page, err := f.StepPage(ctx, q)
		switch {
		case err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUsage:
			return stepsByEvents(ctx, e, q)
		case err != nil || !all:
			return page, err
		}
		out.Run, out.Steps, out.Failed = page.Run, append(out.Steps, page.Steps...), append(out.Failed, page.Failed...)
		if page.Next == 0 {
			return out, nil
		}
		q.Run, q.After = page.Run, page.Next
	}
}

// manySteps is how many steps are asked for at once where all are wanted.
const manySteps = 2000

// stepsByEvents folds the events of a run into its steps.
func stepsByEvents(ctx context.Context, e runtime.Engine, q runtime.StepQuery) (*runtime.StepPage, error) {
	l := NewStepList(nil)
	err := e.Watch(ctx, runtime.WatchRequest{Run: q.Run, After: q.After}, func(ev runtime.Event) error {
		l.Add(&ev)
		return nil
	})
	return &runtime.StepPage{Run: q.Run, Steps: l.Steps, Failed: l.Failed}, err
}

// DeclaredBy is [runtime.Pages.Declared] of any engine.
func DeclaredBy(ctx context.Context, e runtime.Engine, run string) (*runtime.Declared, error) {
	if f, ok := any(e).(runtime.Pages); ok {
		d, err := f.Declared(ctx, run)
		if err == nil || runtime.AsRefusal(err).Kind != runtime.ErrUsage {
			return d, err
		}
	}
	r, err := e.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	return &runtime.Declared{Run: r.ID, Env: r.Details.Env}, nil
}

// Knows tells whether a step is listed.
func (l *StepList) Knows(name string) bool {
	_, ok := l.at[name]
	return ok
}

// Waits is 1 for a listed step of which there is more to come, but for those at rest.
func (l *StepList) Waits(name string, rest map[string]bool) int {
	if i, ok := l.at[name]; ok && l.Steps[i].EndedAt == nil && !rest[name] {
		return 1
	}
	return 0
}
