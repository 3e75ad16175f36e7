package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"starling/runtime"
)

// New is the row of a schedule that is made, or made anew, by somebody now. old is the one of its
// name, nil for none: what came of its times stays, and a pause holds until somebody ends it. One
// that asks for what the old one asked for is the old one, so that who makes sure of a schedule,
// again and again, moves none of its times.
func New(r runtime.ScheduleRequest, by string, now time.Time, old *Row) *Row {
	row := &Row{Schedule: runtime.Schedule{ScheduleRequest: r, By: by, At: now}, Settled: now}
	switch {
	case old == nil:
		return row
	case old.By == by && asText(old.ScheduleRequest) == asText(r):
		return old
	}
	row.Running, row.Last, row.Started, row.Skipped, row.Refused = old.Running, old.Last, old.Started, old.Skipped, old.Refused
	row.Paused, row.Reason = old.Paused, old.Reason
	return row
}

// asText is a request as it is kept, by which two are told apart.
func asText(r runtime.ScheduleRequest) string {
	text, _ := json.Marshal(r) // plain data
	return string(text)
}

// Check refuses what is no schedule, but for its name, its script and their inputs.
func (r *Row) Check() error {
	if _, err := r.Times(); err != nil {
		return err
	}
	overlaps := []runtime.Overlap{runtime.OverlapSkip, runtime.OverlapQueue, runtime.OverlapCancel, runtime.OverlapAllow}
	if !slices.Contains(overlaps, r.Overlap) {
		return fmt.Errorf("got overlap %q, want one of %q", r.Overlap, overlaps)
	}
	catches := []runtime.CatchUp{runtime.CatchUpLast, runtime.CatchUpAll, runtime.CatchUpNone}
	if !slices.Contains(catches, r.CatchUp) {
		return fmt.Errorf("got catch_up %q, want one of %q", r.CatchUp, catches)
	}
	return nil
}

// ErrRemoved is what Change says of a schedule that is not to be there any more.
var ErrRemoved = errors.New("it is removed")

// Change does something to a schedule now.
func (r *Row) Change(c runtime.ScheduleChange, now time.Time) error {
	if r.Paused && (c.Action == runtime.ScheduleTrigger || c.Action == runtime.ScheduleBackfill) {
		return runtime.Refusef(runtime.ErrUsage, "the schedule %s is paused", r.Name).WithHelp("starling schedule resume %s, first", r.Name).WithCall("resume it first")
	}
	switch c.Action {
	case runtime.SchedulePause:
		if err := r.Arrive(now); err != nil { // what has come meanwhile was not missed for the pause
			return err
		}
		r.Paused, r.Reason = true, c.Reason
	case runtime.ScheduleResume:
		r.Paused, r.Reason = false, ""
	case runtime.ScheduleRemove:
		return ErrRemoved
	case runtime.ScheduleTrigger:
		r.Pend(now)
	case runtime.ScheduleBackfill:
		return r.Backfill(c.From, c.To)
	default:
		return runtime.Refusef(runtime.ErrUsage, "got the action %q, want pause, resume, remove, trigger or backfill", c.Action)
	}
	return nil
}
