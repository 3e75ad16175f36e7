package filter

import (
	"context"
	"strings"
	"time"

	"starling/runtime"
)

// Runs lists the runs of an engine that the filter means, newest first, as they are at now. Runs that have ended are among them when the query says so, or the filter names
// the status or the error, which only they have. The query's limit counts what is listed.
func (f *Filter) Runs(ctx context.Context, e runtime.Engine, q runtime.Query, now time.Time) ([]runtime.Summary, error) {
	limit := q.Limit
	q.Limit, q.All = 0, q.All || f.fields["status"] || f.fields["error"]
	l, err := e.List(ctx, q)
	if err != nil {
		return nil, err
	}
	gates, err := f.gatesByRun(ctx, e)
	if err != nil {
		return nil, err
	}
	list := []runtime.Summary{}
	for _, r := range l.Runs {
		if len(list) == limit && limit > 0 {
			break
		}
		if f.holds(&subject{run: r, gates: gates[r.ID], began: r.StartedAt, now: now}) {
			list = append(list, r)
		}
	}
	return list, nil
}

// gatesByRun reads the open gates, if the filter speaks of any.
func (f *Filter) gatesByRun(ctx context.Context, e runtime.Engine) (map[string][]runtime.Gate, error) {
	if !f.namesGates() {
		return nil, nil
	}
	l, err := e.List(ctx, runtime.Query{Gates: true})
	if err != nil {
		return nil, err
	}
	gates := map[string][]runtime.Gate{}
	for _, g := range l.Gates {
		gates[runOf(g)] = append(gates[runOf(g)], g)
	}
	return gates, nil
}

func (f *Filter) namesGates() bool {
	for name := range f.fields {
		if fieldNamed(name).gate {
			return true
		}
	}
	return false
}

// Gates lists the open gates of an engine that the filter means, the oldest first.
func (f *Filter) Gates(ctx context.Context, e runtime.Engine, q runtime.Query, now time.Time) ([]runtime.Gate, error) {
	q.Gates = true
	l, err := e.List(ctx, q)
	if err != nil {
		return nil, err
	}
	runs, err := f.runsByID(ctx, e)
	if err != nil {
		return nil, err
	}
	list := []runtime.Gate{}
	for _, g := range l.Gates {
		if f.holds(&subject{run: runs[runOf(g)], gates: []runtime.Gate{g}, began: g.OpenedAt, now: now}) {
			list = append(list, g)
		}
	}
	return list, nil
}

// runsByID reads the unfinished runs, if the filter speaks of more than gates.
func (f *Filter) runsByID(ctx context.Context, e runtime.Engine) (map[string]runtime.Summary, error) {
	runs := map[string]runtime.Summary{}
	if len(f.fields) == 0 {
		return runs, nil
	}
	l, err := e.List(ctx, runtime.Query{})
	if err != nil {
		return nil, err
	}
	for _, r := range l.Runs {
		runs[r.ID] = r
	}
	return runs, nil
}

func runOf(g runtime.Gate) string {
	run, _, _ := strings.Cut(g.Address, "/")
	return run
}
