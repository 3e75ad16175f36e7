package runtime

import (
	"context"
	"encoding/json"
	"time"

	"starling/lang/effect"
)

// Schedules starts definitions at their times. A time is kept in the store before its run begins
// and has one run, whatever crashes between. They fire while an engine carries all runs
// ([ResumeRequest.Schedules]); what was missed meanwhile is made up for as each schedule says. It
// is served by engine.Local, by a client of its socket and, for looking, by what reads a store.
type Schedules interface {
	// Schedule makes a schedule, or gives one of that name other times and inputs: it goes on from
	// now. Who made it, and admins, may change it. The definition must be there and take the
	// inputs.
	Schedule(ctx context.Context, r ScheduleRequest) (*Schedule, error)

	// Reschedule does something to a schedule. The answer is how it stands then.
	Reschedule(ctx context.Context, c ScheduleChange) (*Schedule, error)

	// Scheduled lists schedules by name, or the one that the query names.
	Scheduled(ctx context.Context, q ScheduleQuery) ([]Schedule, error)
}

// Overlap says what becomes of a time that comes while the run of an earlier one has not ended.
type Overlap string

// What may become of it.
const (
	OverlapSkip   Overlap = "skip"   // it is left out
	OverlapQueue  Overlap = "queue"  // it waits until that run has ended
	OverlapCancel Overlap = "cancel" // that run is cancelled, and this one begins when it has ended
	OverlapAllow  Overlap = "allow"  // both are at work
)

// CatchUp says what becomes of times at which nobody carried the store's runs, or at which the
// schedule was paused.
type CatchUp string

// What may become of them.
const (
	CatchUpLast CatchUp = "last" // the last of them is made up for
	CatchUpAll  CatchUp = "all"  // each is, one after another: at most [MaxCatchUp], the newest
	CatchUpNone CatchUp = "none" // none is
)

// MaxCatchUp is how many times of one schedule wait at most.
const MaxCatchUp = 1000

// Timetable says when. One of Cron and Every is given.
type Timetable struct {
	Cron   string        `json:"cron,omitempty"`   // five fields, or @hourly, @daily, @weekly, @monthly, @yearly
	Every  time.Duration `json:"every,omitempty"`  // an interval, counted from when the schedule was made; a second at least; in JSON nanoseconds
	Zone   string        `json:"zone,omitempty"`   // of Cron, an IANA name; "" is UTC
	Jitter time.Duration `json:"jitter,omitempty"` // a time is put off by less than this: by how much follows from schedule and time
}

// ScheduleRequest asks for a schedule.
type ScheduleRequest struct {
	Name   string `json:"name"`
	Script string `json:"script"` // a definition: NAME, the newest version at each time, or NAME@VERSION
	Timetable
	Inputs    json.RawMessage `json:"inputs,omitempty"`     // an object
	Labels    effect.Labels   `json:"labels,omitempty"`     // of its runs
	TimeInput string          `json:"time_input,omitempty"` // the input that is given the time a run is for, as RFC 3339
	Overlap   Overlap         `json:"overlap,omitempty"`    // "" is OverlapSkip
	CatchUp   CatchUp         `json:"catch_up,omitempty"`   // "" is CatchUpLast
}

// ScheduleAction is what may be done to a schedule.
type ScheduleAction string

// What may be done to it.
const (
	SchedulePause    ScheduleAction = "pause"    // nothing begins until it goes on
	ScheduleResume   ScheduleAction = "resume"   // it goes on; what was missed is as CatchUp says
	ScheduleRemove   ScheduleAction = "remove"   // its runs go on, and it is gone
	ScheduleTrigger  ScheduleAction = "trigger"  // a run for now, beside its times
	ScheduleBackfill ScheduleAction = "backfill" // runs for its times from From on and before To, one after another
)

// ScheduleChange does something to a schedule.
type ScheduleChange struct {
	Name   string         `json:"name"`
	Action ScheduleAction `json:"action"`
	Reason string         `json:"reason,omitempty"` // of a pause
	From   time.Time      `json:"from,omitzero"`    // of a backfill
	To     time.Time      `json:"to,omitzero"`
}

// ScheduleQuery selects schedules.
type ScheduleQuery struct {
	Name string `json:"name,omitempty"` // "" for all
	Next int    `json:"next,omitempty"` // how many coming times each shows, 0 for one; 100 at most
}

// Schedule is a schedule as it stands.
type Schedule struct {
	ScheduleRequest
	By      string       `json:"by"` // who made it: its runs are started in this name
	At      time.Time    `json:"at"`
	Paused  bool         `json:"paused,omitempty"`
	Reason  string       `json:"reason,omitempty"`  // why it is paused
	Next    []time.Time  `json:"next,omitempty"`    // the times that come, jitter left out
	Waiting int          `json:"waiting,omitempty"` // times that have come and wait for their run
	Started uint64       `json:"started"`           // runs
	Skipped uint64       `json:"skipped"`           // times without a run, by Overlap, CatchUp or MaxCatchUp
	Refused uint64       `json:"refused"`           // times whose run was refused
	Last    *ScheduleRun `json:"last,omitempty"`
}

// ScheduleRun is what became of a time.
type ScheduleRun struct {
	For     time.Time `json:"for"`
	At      time.Time `json:"at"`
	Run     string    `json:"run,omitempty"`
	Refused string    `json:"refused,omitempty"` // why there is none
}
