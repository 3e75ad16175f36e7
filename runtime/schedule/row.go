package schedule

import (
	"fmt"
	"slices"
	"time"

	"starling/runtime"
)

// Row is a schedule as the store has it.
type Row struct {
	runtime.Schedule
	Settled time.Time   `json:"settled"`           // what is to become of the times up to this one is known
	Pending []time.Time `json:"pending,omitempty"` // times that wait for their run, in this order
	Running string      `json:"running,omitempty"` // the run that the next one waits for
}

const (
	onTime   = time.Minute // a time that is late by less was not missed
	maxShown = 100         // coming times of a schedule
)

// Times reads the timetable, which was checked when the schedule was made.
func (r *Row) Times() (*Times, error) {
	return Read(r.Name, r.Timetable, r.At)
}

// Shown is the schedule with the times that come.
func (r *Row) Shown(next int) (*runtime.Schedule, error) {
	t, err := r.Times()
	if err != nil {
		return nil, fmt.Errorf("%w: the schedule %s: %v", runtime.ErrDamaged, r.Name, err)
	}
	s := r.Schedule
	s.Waiting = len(r.Pending)
	for at := t.Next(r.Settled); len(s.Next) < min(max(next, 1), maxShown) && !at.IsZero(); at = t.Next(at) {
		s.Next = append(s.Next, at)
	}
	return &s, nil
}

// Backfill adds the times of a span that do not wait already.
func (r *Row) Backfill(from, to time.Time) error {
	t, err := r.Times()
	if err != nil {
		return err
	}
	if from.IsZero() || !from.Before(to) {
		return runtime.Refusef(runtime.ErrUsage, "backfill: got from %s to %s, want a span of time", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	list, passed := t.Between(from.Add(-1), to.Add(-1), runtime.MaxCatchUp)
	if passed > 0 || len(list)+len(r.Pending) > runtime.MaxCatchUp {
		return runtime.Refusef(runtime.ErrUsage, "backfill: that is more than %d times, with those that wait", runtime.MaxCatchUp).WithHelp("take a shorter span, and the next when its runs have ended")
	}
	for _, at := range list {
		if !slices.ContainsFunc(r.Pending, at.Equal) {
			r.Pend(at)
		}
	}
	return nil
}

// Pend has a time wait for its run. Where too many wait the oldest is left out.
func (r *Row) Pend(at time.Time) {
	r.Pending = append(r.Pending, at)
	if len(r.Pending) > runtime.MaxCatchUp {
		r.Pending = r.Pending[1:]
		r.Skipped++
	}
}

// Arrive settles the times that have come by now. What was missed waits for its turn, as far as it
// is made up for; a time that has just come is subject to what is at work.
func (r *Row) Arrive(now time.Time) error {
	t, err := r.Times()
	if err != nil || r.Paused {
		return err
	}
	list, passed := t.Between(r.Settled, now, runtime.MaxCatchUp)
	r.Skipped += passed
	for i, at := range list {
		r.Settled = at
		missed := now.Sub(t.Due(at)) >= onTime
		switch last := i == len(list)-1; {
		case missed && (r.CatchUp == runtime.CatchUpNone || r.CatchUp == runtime.CatchUpLast && !last),
			!missed && r.Overlap == runtime.OverlapSkip && (r.Running != "" || len(r.Pending) > 0):
			r.Skipped++
		case r.Overlap == runtime.OverlapCancel && !missed:
			r.Skipped += uint64(len(r.Pending))
			r.Pending = []time.Time{at}
		default:
			r.Pend(at)
		}
	}
	return nil
}
