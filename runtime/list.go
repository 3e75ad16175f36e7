package runtime

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"
)

// List returns runs or open gates, newest first.
func (r *reader) List(_ context.Context, q Query) (*Listing, error) {
	runs, err := r.runs()
	if err != nil {
		return nil, err
	}
	if q.Gates {
		return r.inbox(q, runs)
	}
	out := &Listing{Schema: Schema, Runs: []Summary{}}
	for _, s := range runs {
		if !q.All && s.Status.Ended() && !slices.Contains(q.Status, s.Status) || len(q.Status) > 0 && !slices.Contains(q.Status, s.Status) {
			continue
		}
		s.Carried = r.carried(s.ID)
		s.Overdue = s.NextDue != nil && !s.Carried && s.NextDue.Before(time.Now())
		out.Runs = append(out.Runs, s)
		if q.Limit > 0 && len(out.Runs) == q.Limit {
			break
		}
	}
	return out, nil
}

// runs reads all rows, the newest run first.
func (r *reader) runs() ([]Summary, error) {
	var out []Summary
	err := scan(r.store, prefixRun, func(run string, row []byte) error {
		s, err := readSummary(run, row)
		out = append(out, s)
		return err
	})
	slices.SortFunc(out, func(a, b Summary) int {
		if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, err
}

// inbox lists open gates, the oldest first, each under the address of the top run.
func (r *reader) inbox(q Query, runs []Summary) (*Listing, error) {
	parents := map[string]string{}
	for _, s := range runs {
		parents[s.ID] = s.Parent
	}
	out := &Listing{Schema: Schema, Gates: []Gate{}}
	err := scan(r.store, prefixInbox, func(key string, v []byte) error {
		run, name, _ := strings.Cut(key, "/")
		records, err := readRecords(bytes.Clone(v), 0)
		if err != nil || len(records) != 1 {
			return err
		}
		for parents[run] != "" {
			parent, step, _ := cutParent(parents[run])
			run, name = parent, step+"/"+name
		}
		g := gateDocument(run, name, records[0].Time, records[0].view())
		if q.Target == "" || g.Target == "" || g.Target == q.Target {
			out.Gates = append(out.Gates, g)
		}
		return nil
	})
	slices.SortStableFunc(out.Gates, func(a, b Gate) int { return a.OpenedAt.Compare(b.OpenedAt) })
	return out, err
}
