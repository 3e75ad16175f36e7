package engine

import (
	"context"
	"slices"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

var _, _ runtime.Pages = (*Local)(nil), (*readOnly)(nil)

// PageOfSteps is [runtime.Pages.StepPage] of any engine. All steps are read by pages. An engine that does
// not
// serve them, as an owner of an earlier build, is asked for the whole journal.
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
		out.Run, out.Steps = page.Run, append(out.Steps, page.Steps...)
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
	l := newStepList(nil)
	err := e.Watch(ctx, runtime.WatchRequest{Run: q.Run, After: q.After}, func(ev runtime.Event) error {
		l.add(&ev)
		return nil
	})
	return &runtime.StepPage{Run: q.Run, Steps: l.steps}, err
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
// is
// known as it stands: to the newest record, where one was settled late or has attempts still.
func (r *reader) stepsBehind(q runtime.StepQuery) (*runtime.StepPage, error) {
	sv, err := readRun(r.store, q.Run, 0)
	if err != nil {
		return nil, err
	}
	s := sv.fold()
	page, l, rest := &runtime.StepPage{Run: q.Run}, newStepList(s.Lineage), s.atRest()
	last, open := uint64(0), 0
	err = r.journal(q.Run, q.After, func(rec *journal.Record) error {
		begins := beginsStep(rec)
		switch {
		case begins && q.Limit > 0 && len(l.steps) == q.Limit:
			page.Next = last
		case begins || l.knows(rec.Step):
			was := l.waits(rec.Step, rest)
			ev := rec.Event(q.Run)
			l.add(&ev)
			if begins {
				last = rec.Seq
			}
			open += l.waits(rec.Step, rest) - was
		}
		if page.Next > 0 && open == 0 {
			return runtime.ErrStopWatch
		}
		return nil
	})
	page.Steps = l.steps
	return page, unlessStopped(err)
}

// beginsStep tells whether a record is the first of a step.
func beginsStep(r *journal.Record) bool {
	return r.Type == journal.StepRequested || r.Type == journal.StepAnswered
}

// knows tells whether a step is listed.
func (l *stepList) knows(name string) bool {
	_, ok := l.at[name]
	return ok
}

// waits is 1 for a listed step of which there is more to come, but for those at rest.
func (l *stepList) waits(name string, rest map[string]bool) int {
	if i, ok := l.at[name]; ok && l.steps[i].EndedAt == nil && !rest[name] {
		return 1
	}
	return 0
}

// atRest are the open steps of a run of which nothing more is told until they are settled: they wait
// for an answer, a timer, a message or a child run.
func (s *state) atRest() map[string]bool {
	rest := map[string]bool{}
	for name, st := range s.Steps {
		rest[name] = native(st.Kind)
	}
	return rest
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
		l := newStepList(s.Lineage)
		err := r.journal(q.Run, from, func(rec *journal.Record) error {
			if rec.Seq > s.Seq {
				return runtime.ErrStopWatch
			}
			if beginsStep(rec) || l.knows(rec.Step) {
				ev := rec.Event(q.Run)
				l.add(&ev)
			}
			return nil
		})
		if err = unlessStopped(err); err != nil {
			return nil, err
		}
		if len(l.steps) < q.Limit && from > begin {
			continue
		}
		page := &runtime.StepPage{Run: q.Run, Steps: l.steps[max(0, len(l.steps)-q.Limit):]}
		page.Earlier = from > begin || len(l.steps) > q.Limit
		if page.Earlier {
			err = r.openBefore(page, s, q)
		}
		return page, err
	}
}

// openBefore puts before the newest steps those that are open and older, the oldest first. Of their
// attempts it tells how many there were.
func (r *reader) openBefore(page *runtime.StepPage, s *state, q runtime.StepQuery) error {
	listed := map[string]bool{}
	for _, st := range page.Steps {
		listed[st.Step] = true
	}
	var older []runtime.Step
	for _, st := range s.inOrder() {
		if st.Seq <= q.After || listed[st.Step] {
			continue
		}
		if len(older) == q.Limit {
			break
		}
		l := newStepList(s.Lineage)
		err := r.journal(q.Run, st.Seq-1, func(rec *journal.Record) error {
			ev := rec.Event(q.Run)
			l.add(&ev)
			return runtime.ErrStopWatch
		})
		if err = unlessStopped(err); err != nil {
			return err
		}
		for _, one := range l.steps {
			if one.Attempts = st.Attempt; st.InFlight {
				one.Status = "running"
			}
			older = append(older, one)
		}
	}
	page.Steps = slices.Concat(older, page.Steps)
	return nil
}
