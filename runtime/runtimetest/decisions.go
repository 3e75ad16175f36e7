package runtimetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

// DecisionsAgree wants the record of decisions to be what the journals of all runs say: all of
// them, each once, the newest first, whole and by pages, and of each run those of it and its
// children.
func DecisionsAgree(ctx context.Context, e runtime.Engine) error {
	record, err := runtime.Extension[runtime.Decisions](e)
	if err != nil {
		return err
	}
	l, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return err
	}
	want, wantOf := []string{}, map[string][]string{}
	for _, r := range l.Runs {
		made, err := madeIn(ctx, e, r.ID)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
		want = append(want, made...)
		for up := r; ; {
			wantOf[up.ID] = append(wantOf[up.ID], made...)
			parent, _, child := strings.Cut(up.Parent, "@")
			i := slices.IndexFunc(l.Runs, func(s runtime.Summary) bool { return s.ID == parent })
			if !child || i < 0 {
				break
			}
			up = l.Runs[i]
		}
	}
	for _, limit := range []int{0, 3} {
		if err := agree(ctx, record, runtime.DecisionQuery{Limit: limit}, want); err != nil {
			return fmt.Errorf("all, by pages of %d: %w", limit, err)
		}
	}
	if len(l.Runs) > manyRuns {
		return nil
	}
	for run, want := range wantOf {
		if err := agree(ctx, record, runtime.DecisionQuery{Run: run}, want); err != nil {
			return fmt.Errorf("of run %s: %w", run, err)
		}
	}
	return nil
}

// manyRuns is how many runs are asked for one by one at most.
const manyRuns = 50

// agree compares what is listed with what journals say, and wants it to be in order.
func agree(ctx context.Context, record runtime.Decisions, q runtime.DecisionQuery, want []string) error {
	list, err := allDecisions(ctx, record, q)
	if err != nil {
		return err
	}
	got := []string{}
	for i, d := range list {
		if i > 0 && d.At.After(list[i-1].At) {
			return fmt.Errorf("%s of %s stands behind %s of %s", d.Address, d.At, list[i-1].Address, list[i-1].At)
		}
		if !strings.HasPrefix(d.Address, d.Run+"/") || d.Address != d.Run+"/"+d.Gate {
			return fmt.Errorf("the address %q of gate %q in run %s", d.Address, d.Gate, d.Run)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", stampOf(d.At), d.Choice, d.By, d.Via))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the record has\n%s\nthe journals have\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

// allDecisions reads the pages of a query.
func allDecisions(ctx context.Context, record runtime.Decisions, q runtime.DecisionQuery) (all []runtime.Decision, err error) {
	for q.Cursors = true; ; {
		page, err := record.Decisions(ctx, q)
		if err != nil {
			return nil, err
		}
		if n := len(page.Decisions); len(page.Cursors) != n || n > 0 && page.Next != "" && page.Next != page.Cursors[n-1] {
			return nil, fmt.Errorf("%d decisions, the cursors %q, next %q", n, page.Cursors, page.Next)
		}
		all = append(all, page.Decisions...)
		if q.After = page.Next; q.After == "" {
			return all, nil
		}
	}
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// madeIn are the decisions that a run's journal has.
func madeIn(ctx context.Context, e runtime.Engine, run string) (made []string, err error) {
	r, err := e.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	after := runtime.WatchRequest{Run: run, After: r.Details.Horizon, Types: []string{journal.GateDecided.String()}}
	err = e.Watch(ctx, after, func(ev runtime.Event) error {
		var data struct {
			Decision struct{ Choice, By, Via string }
		}
		if err := json.Unmarshal(ev.Data, &data); err != nil {
			return err
		}
		d := data.Decision
		made = append(made, fmt.Sprintf("%s %s %s %s", stampOf(ev.Time), d.Choice, d.By, d.Via))
		return nil
	})
	return made, err
}

// testDecisions checks that an engine keeps the promises of runtime.Decisions.
func testDecisions(t *testing.T, s Subject) {
	e := newEngine(t, s)
	record := extension[runtime.Decisions](e, e.Engine)
	all, err := record.Decisions(e.ctx, runtime.DecisionQuery{})
	e.ok(err)
	e.same("nothing is decided", all.Decisions, []any{})
	before := time.Now()
	for range 3 {
		run := e.opened(review, "review")
		_, err := e.Signal(e.ctx, approve(run.ID))
		e.ok(err)
	}
	e.ok(DecisionsAgree(e.ctx, e.Engine))
	first, err := record.Decisions(e.ctx, runtime.DecisionQuery{Limit: 2})
	e.ok(err)
	rest, err := record.Decisions(e.ctx, runtime.DecisionQuery{Limit: 2, After: first.Next})
	e.ok(err)
	e.same("pages", []any{len(first.Decisions), first.Next != "", len(rest.Decisions), rest.Next}, []any{2, true, 1, ""})
	newest := first.Decisions[0]
	for what, c := range map[string]struct {
		q    runtime.DecisionQuery
		want int
	}{
		"since the newest": {runtime.DecisionQuery{Since: newest.At}, 1},
		"until the newest": {runtime.DecisionQuery{Until: newest.At}, 3},
		"before all":       {runtime.DecisionQuery{Until: before.Add(-time.Hour)}, 0},
		"before 1970":      {runtime.DecisionQuery{Until: time.Unix(-1, 0)}, 0},
		"after all":        {runtime.DecisionQuery{Since: newest.At.Add(time.Hour)}, 0},
		"since for ever":   {runtime.DecisionQuery{Since: time.Unix(-1, 0)}, 3},
		"of a run":         {runtime.DecisionQuery{Run: newest.Run[:11]}, 1},
		"of a run, since":  {runtime.DecisionQuery{Run: newest.Run, Since: newest.At.Add(time.Hour)}, 0},
	} {
		page, err := record.Decisions(e.ctx, c.q)
		e.ok(err)
		e.same(what, len(page.Decisions), c.want)
	}
	_, err = record.Decisions(e.ctx, runtime.DecisionQuery{Run: "nosuchrun"})
	e.refused(runtime.ErrUnknownRun, err)
	_, err = record.Decisions(e.ctx, runtime.DecisionQuery{Limit: -1})
	e.refused(runtime.ErrUsage, err)
	_, err = record.Decisions(e.ctx, runtime.DecisionQuery{After: "!"})
	e.refused(runtime.ErrUsage, err)
	_, err = extension[runtime.Decisions](e, e.as(runtime.Caller{})).Decisions(e.ctx, runtime.DecisionQuery{})
	e.refused(runtime.ErrDenied, err)
}
