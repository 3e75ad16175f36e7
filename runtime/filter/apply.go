package filter

import (
	"context"
	"strings"
	"time"

	"starling/runtime"
)

// Page is a piece of what a filter means.
type Page[T any] struct {
	List []T    // never nil
	Next string // the query's After for what comes behind it, "" where nothing does
}

// Runs lists the runs of an engine that the filter means, newest first, as they are at now. Runs
// that have ended are among them when the query says so, or the filter names the status, or the
// error or the output, which only they have. The query's limit counts what is listed; with 0 it is
// all.
func (f *Filter) Runs(ctx context.Context, e runtime.Engine, q runtime.Query, now time.Time) (*Page[runtime.Summary], error) {
	q.All = q.All || f.fields["status"] || f.fields["error"] || f.output
	q.Terms, q.Facts = f.terms, f.facts
	gates, err := f.gatesByRun(ctx, e)
	if err != nil {
		return nil, err
	}
	return pages(q.Limit, q.After, len(f.fields) > 0, listing(ctx, e, q, runsOf), func(r runtime.Summary) bool {
		return f.holds(&subject{run: r, gates: gates[r.ID], began: r.StartedAt, now: now})
	})
}

// readAhead is how many runs or gates are read at once.
const readAhead = 500

// source gives a piece of a list: at most so many behind a cursor, where the next piece begins, and
// where it is asked for the cursor behind each.
type source[T any] func(limit int, after string, cursors bool) (list []T, next string, each []string, err error)

// listing is what an engine lists by a query.
func listing[T any](ctx context.Context, e runtime.Engine, q runtime.Query, of func(*runtime.Listing) []T) source[T] {
	return func(limit int, after string, cursors bool) ([]T, string, []string, error) {
		q.Limit, q.After, q.Cursors = limit, after, cursors
		l, err := e.List(ctx, q)
		if err != nil {
			return nil, "", nil, err
		}
		return of(l), l.Next, l.Cursors, nil
	}
}

// pages reads a list a piece at a time, until as many hold as are wanted, 0 for all: of those there
// are, or, where the filter sifts them, of as many as it takes. So an owner of very many never has
// them all in one answer.
func pages[T any](limit int, after string, sifts bool, read source[T], holds func(T) bool) (*Page[T], error) {
	out, some := &Page[T]{List: []T{}, Next: after}, limit
	if limit == 0 || sifts { // else a page is what the engine gives
		some = readAhead
	}
	for {
		list, next, each, err := read(some, out.Next, sifts)
		if err != nil {
			return nil, err
		}
		out.Next = next
		for i, one := range list {
			if !holds(one) {
				continue
			}
			if out.List = append(out.List, one); len(out.List) == limit {
				if i+1 < len(list) && i < len(each) {
					out.Next = each[i]
				}
				return out, nil
			}
		}
		if out.Next == "" {
			return out, nil
		}
	}
}

// gatesByRun reads the open gates, if the filter speaks of any.
func (f *Filter) gatesByRun(ctx context.Context, e runtime.Engine) (map[string][]runtime.Gate, error) {
	if !f.namesGates() {
		return nil, nil
	}
	all, err := pages(0, "", false, listing(ctx, e, runtime.Query{Gates: true}, gatesOf), func(runtime.Gate) bool { return true })
	if err != nil {
		return nil, err
	}
	gates := map[string][]runtime.Gate{}
	for _, g := range all.List {
		gates[runOf(g)] = append(gates[runOf(g)], g)
	}
	return gates, nil
}

func gatesOf(l *runtime.Listing) []runtime.Gate { return l.Gates }

func runsOf(l *runtime.Listing) []runtime.Summary { return l.Runs }

func (f *Filter) namesGates() bool {
	for name := range f.fields {
		if f := fieldNamed(fields(), name); f != nil && f.gate {
			return true
		}
	}
	return false
}

// Gates lists the open gates of an engine that the filter means, the oldest first. The query's
// limit counts what is listed; with 0 it is all.
func (f *Filter) Gates(ctx context.Context, e runtime.Engine, q runtime.Query, now time.Time) (*Page[runtime.Gate], error) {
	q.Gates = true
	runs, err := f.runsByID(ctx, e)
	if err != nil {
		return nil, err
	}
	return pages(q.Limit, q.After, len(f.fields) > 0, listing(ctx, e, q, gatesOf), func(g runtime.Gate) bool {
		return f.holds(&subject{run: runs[runOf(g)], gates: []runtime.Gate{g}, began: g.OpenedAt, now: now})
	})
}

// runsByID reads the unfinished runs, if the filter speaks of more than gates.
func (f *Filter) runsByID(ctx context.Context, e runtime.Engine) (map[string]runtime.Summary, error) {
	runs := map[string]runtime.Summary{}
	if len(f.fields) == 0 {
		return runs, nil
	}
	all, err := pages(0, "", false, listing(ctx, e, runtime.Query{Facts: f.facts}, runsOf), func(runtime.Summary) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, r := range all.List {
		runs[r.ID] = r
	}
	return runs, nil
}

func runOf(g runtime.Gate) string {
	run, _, _ := strings.Cut(g.Address, "/")
	return run
}
