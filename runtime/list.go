package runtime

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
)

// List returns what a query asks for: runs, the newest first, open gates, work, queues.
func (r *reader) List(ctx context.Context, q Query) (*Listing, error) {
	if err := need(ctx, CanRead, "list runs"); err != nil {
		return nil, err
	}
	return r.list(q, CallerOf(ctx).audience())
}

func (r *reader) list(q Query, to contract.Audience) (*Listing, error) {
	if q.Gates {
		return r.inbox(q, to)
	}
	if q.Work {
		return r.work(q)
	}
	if q.Queues || q.Queue != "" {
		return r.queues(q)
	}
	out := &Listing{Schema: Schema, Runs: []Summary{}}
	take := func(s Summary) error {
		if !q.wants(s.Status) {
			return nil
		}
		s.Carried = r.carried(s.ID)
		s.Overdue = s.NextDue != nil && !s.Carried && s.NextDue.Before(r.clock())
		if out.Runs = append(out.Runs, s); len(out.Runs) == q.Limit {
			return ErrStopScan
		}
		return nil
	}
	if q.Limit > 0 {
		return out, r.newest(take)
	}
	err := scanEach(r.store, prefixRun, func(run string, row []byte, damage error) error { return take(r.summaryFrom(run, row, damage)) })
	slices.SortFunc(out.Runs, newer)
	return out, err
}

// wants tells whether runs in a status are asked for.
func (q *Query) wants(s Status) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, s)
	}
	return q.All || !s.Ended()
}

func newer(a, b Summary) int {
	if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// newest calls fn for the runs in the order of their starts, the newest first.
func (r *reader) newest(fn func(Summary) error) error {
	return scan(r.store, prefixOrder, func(rest string, _ []byte) error {
		run := rest[8:]
		row, err := r.store.Get(runKey(run))
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		return fn(r.summaryFrom(run, row, err))
	})
}

// summaryFrom reads a row. One that is damaged, or tells of a damaged run, is made again from the journal; where that cannot be read the run is listed as damaged.
func (r *reader) summaryFrom(run string, row []byte, damage error) Summary {
	s := Summary{ID: run}
	if damage == nil {
		s, damage = readSummary(run, row)
	}
	if damage == nil && s.Status != Damaged {
		return s
	}
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		s.ID, s.Status, s.Error, s.NextDue = run, Damaged, err.Error(), nil
		return s
	}
	state := sv.fold()
	v, _ := state.summary().View() // just made
	s = summaryOf(run, v)
	s.UpdatedAt = state.Updated
	return s
}

// inbox lists open gates, the oldest first, each under the address of the top run.
func (r *reader) inbox(q Query, to contract.Audience) (*Listing, error) {
	parents := map[string]string{}
	parent := func(run string) string {
		if _, known := parents[run]; !known {
			row, _ := r.summary(run) // of a run that cannot be read nobody is known to have started it
			parents[run] = row.Parent
		}
		return parents[run]
	}
	out := &Listing{Schema: Schema, Gates: []Gate{}}
	err := scanEach(r.store, prefixInbox, func(key string, v []byte, damage error) error {
		run, name, _ := strings.Cut(key, "/")
		opened, data := r.opened(run, name, v, damage)
		if opened.IsZero() {
			return nil // the run cannot be read either: it is listed as damaged
		}
		for parent(run) != "" {
			up, step, _ := cutParent(parent(run))
			run, name = up, step+"/"+name
		}
		g := gateDocument(run, name, opened, data, to)
		if q.Target == "" || g.Target == "" || g.Target == q.Target {
			out.Gates = append(out.Gates, g)
		}
		return nil
	})
	slices.SortStableFunc(out.Gates, func(a, b Gate) int { return a.OpenedAt.Compare(b.OpenedAt) })
	return out, err
}

// opened reads the row of an open gate: when it was opened, and what it is about. One that cannot be read is made again from the journal.
func (r *reader) opened(run, name string, v []byte, damage error) (time.Time, effect.View) {
	if records, err := readRecords(bytes.Clone(v), 0); damage == nil && err == nil && len(records) == 1 {
		return records[0].Time, records[0].view()
	}
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		return time.Time{}, effect.View{}
	}
	g := sv.fold().Gates[name]
	if g == nil {
		return time.Time{}, effect.View{}
	}
	data, _ := g.payload().View() // just made
	return g.OpenedAt, data
}

// work lists what agents come for, the oldest first.
func (r *reader) work(q Query) (*Listing, error) {
	out := &Listing{Schema: Schema, Work: []Work{}}
	err := scanEach(r.store, prefixWork, func(key string, v []byte, damage error) error {
		run, step, _ := strings.Cut(key, "/")
		row, err := effect.Payload(bytes.Clone(v)).View()
		if damage != nil || err != nil {
			row, err = r.offered(run, step)
		}
		if err != nil {
			return nil // the run cannot be read either: it is listed as damaged
		}
		if w := workDocument(run, step, row); q.Target == "" || q.Target == w.Agent {
			out.Work = append(out.Work, w)
		}
		return nil
	})
	slices.SortStableFunc(out.Work, func(a, b Work) int { return a.Since.Compare(b.Since) })
	return out, err
}

// offered makes the row of work again from the journal.
func (r *reader) offered(run, step string) (effect.View, error) {
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		return effect.View{}, err
	}
	return sv.fold().workRow(step).View()
}
