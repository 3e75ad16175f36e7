package engine

import (
	"context"
	"slices"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
	"starling/runtime/run"
)

var _, _ runtime.Pages = (*Local)(nil), (*readOnly)(nil)

// Declared tells which variables the carrier of a run is to bring. It reads what the run was
// started with, unless its settings were pinned anew since.
func (r *reader) Declared(ctx context.Context, run string) (*runtime.Declared, error) {
	if err := need(ctx, runtime.CanRead, "see runs"); err != nil {
		return nil, err
	}
	id, err := r.resolveRun(run)
	if err != nil {
		return nil, err
	}
	settings, err := r.settingsHash(id)
	if err != nil {
		return nil, err
	}
	set, err := r.settings(settings)
	if err != nil {
		return &runtime.Declared{Run: id}, nil // it is told of where the run is carried
	}
	return &runtime.Declared{Run: id, Env: set.Env}, nil
}

// settingsHash is what the settings of a run are called.
func (r *reader) settingsHash(run string) (string, error) {
	row, err := r.store.Get(journal.RunKey(run))
	if err == nil && len(row) >= 8 {
		if v, err := effect.Payload(row[8:]).View(); err == nil && v.Flag("original") {
			if first, err := firstRecord(r.store, run); err == nil {
				return journal.HashIn(first.View(), "settings"), nil
			}
		}
	}
	sv, err := readRun(r.store, run, 0)
	if err != nil {
		return "", err
	}
	return sv.fold().Settings, nil
}

// StepPage lists some of a run's steps.
func (r *reader) StepPage(ctx context.Context, q runtime.StepQuery) (*runtime.StepPage, error) {
	if err := need(ctx, runtime.CanRead, "see runs"); err != nil {
		return nil, err
	}
	id, err := r.resolveRun(q.Run)
	if err != nil {
		return nil, err
	}
	if q.Limit < 0 {
		return nil, runtime.Refusef(runtime.ErrUsage, "got the limit %d, want 0 or more", q.Limit)
	}
	q.Run = id
	if q.Newest && q.Limit > 0 {
		return r.newestSteps(q)
	}
	return r.stepsBehind(q)
}

// stepsBehind lists the steps that were requested behind a record. It reads on until each of them
// is known as it stands: to the newest record, where one was settled late or has attempts still.
func (r *reader) stepsBehind(q runtime.StepQuery) (*runtime.StepPage, error) {
	sv, err := readRun(r.store, q.Run, 0)
	if err != nil {
		return nil, err
	}
	s := sv.fold()
	page, l, rest := &runtime.StepPage{Run: q.Run}, query.NewStepList(s.Lineage), s.AtRest()
	last, open := uint64(0), 0
	err = r.journal(q.Run, q.After, func(rec *journal.Record) error {
		begins := enters(rec)
		switch {
		case begins && q.Limit > 0 && len(l.Steps)+len(l.Failed) == q.Limit:
			page.Next = last
		case begins || l.Knows(rec.Step):
			was := l.Waits(rec.Step, rest)
			ev := rec.Event(q.Run)
			l.Add(&ev)
			if begins {
				last = rec.Seq
			}
			open += l.Waits(rec.Step, rest) - was
		}
		if page.Next > 0 && open == 0 {
			return runtime.ErrStopWatch
		}
		return nil
	})
	page.Steps, page.Failed = l.Steps, l.Failed
	return page, unlessStopped(err)
}

// enters tells whether a record is the first of a step, or the end of a branch that is listed.
func enters(r *journal.Record) bool {
	return r.Type == journal.StepRequested || r.Type == journal.StepAnswered || r.Type == journal.BranchFailed
}

// windowRecords is how many records a step has, roughly: so far back the newest are looked for
// first.
const windowRecords = 4

// newestSteps lists the newest steps, and older ones that are open.
func (r *reader) newestSteps(q runtime.StepQuery) (*runtime.StepPage, error) {
	sv, err := readRun(r.store, q.Run, 0)
	if err != nil {
		return nil, err
	}
	s := sv.fold()
	begin, back := max(q.After, r.forgotten(q.Run)), uint64(q.Limit*windowRecords)
	for ; ; back *= 4 {
		from := begin
		if s.Seq > begin+back {
			from = s.Seq - back
		}
		l := query.NewStepList(s.Lineage)
		err := r.journal(q.Run, from, func(rec *journal.Record) error {
			if rec.Seq > s.Seq {
				return runtime.ErrStopWatch
			}
			if enters(rec) || l.Knows(rec.Step) {
				ev := rec.Event(q.Run)
				l.Add(&ev)
			}
			return nil
		})
		if err = unlessStopped(err); err != nil {
			return nil, err
		}
		if len(l.Steps) < q.Limit && from > begin {
			continue
		}
		page := &runtime.StepPage{Run: q.Run, Steps: l.Steps[max(0, len(l.Steps)-q.Limit):], Failed: l.Failed[max(0, len(l.Failed)-q.Limit):]}
		page.Earlier = from > begin || len(l.Steps) > q.Limit
		if page.Earlier {
			err = r.openBefore(page, s, q)
		}
		return page, err
	}
}

// openBefore puts before the newest steps those that are open and older, the oldest first. Of their
// attempts it tells how many there were.
func (r *reader) openBefore(page *runtime.StepPage, s *run.State, q runtime.StepQuery) error {
	listed := map[string]bool{}
	for _, st := range page.Steps {
		listed[st.Step] = true
	}
	var older []runtime.Step
	for _, st := range s.InOrder() {
		if st.Seq <= q.After || listed[st.Step] {
			continue
		}
		if len(older) == q.Limit {
			break
		}
		l := query.NewStepList(s.Lineage)
		err := r.journal(q.Run, st.Seq-1, func(rec *journal.Record) error {
			ev := rec.Event(q.Run)
			l.Add(&ev)
			return runtime.ErrStopWatch
		})
		if err = unlessStopped(err); err != nil {
			return err
		}
		for _, one := range l.Steps {
			if one.Attempts = st.Attempt; st.InFlight {
				one.Status = "running"
			}
			older = append(older, one)
		}
	}
	page.Steps = slices.Concat(older, page.Steps)
	return nil
}
