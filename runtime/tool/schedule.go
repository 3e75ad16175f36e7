package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

type scheduleArgs struct {
	Name, Action, Script, Cron, Every, Zone, Jitter, Reason, From, To string

	Inputs    json.RawMessage
	Labels    effect.Labels
	TimeInput string `json:"time_input"`
	Overlap   runtime.Overlap
	CatchUp   runtime.CatchUp `json:"catch_up"`
}

// schedule makes a schedule, or does something to it.
func (d *Desk) schedule(ctx context.Context, a scheduleArgs) (any, error) {
	kept, err := runtime.Extension[runtime.Schedules](d.Engine)
	if err != nil {
		return nil, err
	}
	if a.Action == "set" {
		r, err := a.request()
		if err != nil {
			return nil, err
		}
		return pointed(kept.Schedule(ctx, r))
	}
	c := runtime.ScheduleChange{Name: a.Name, Action: runtime.ScheduleAction(a.Action), Reason: a.Reason}
	for _, t := range []struct {
		text, name string
		into       *time.Time
	}{{a.From, "from", &c.From}, {a.To, "to", &c.To}} {
		if t.text == "" {
			continue
		}
		if *t.into, err = time.Parse(time.RFC3339, t.text); err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "schedule: %s: got %q, want a time such as 2026-11-21T15:04:05Z", t.name, t.text)
		}
	}
	return pointed(kept.Reschedule(ctx, c))
}

// pointed keeps a nil pointer from becoming an answer that is not nil.
func pointed[A any](answer *A, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// request is what the arguments ask for.
func (a *scheduleArgs) request() (r runtime.ScheduleRequest, err error) {
	r = runtime.ScheduleRequest{Name: a.Name, Script: a.Script, Labels: a.Labels, TimeInput: a.TimeInput, Overlap: a.Overlap, CatchUp: a.CatchUp}
	r.Cron, r.Zone = a.Cron, a.Zone
	if string(a.Inputs) != "null" {
		r.Inputs = a.Inputs
	}
	if a.Script == "" {
		return r, runtime.Refuse(runtime.ErrUsage, "define keeps a script under a name", "schedule: got no script, want the name of a defined one")
	}
	if a.Every != "" {
		r.Every, err = lasting("schedule: every", a.Every)
	}
	if a.Jitter != "" && err == nil {
		r.Jitter, err = lasting("schedule: jitter", a.Jitter)
	}
	return r, err
}

// schedules are those of a query.
func (d *Desk) schedules(ctx context.Context, a queryArgs) (any, error) {
	if a.Run != "" || a.Filter != "" || a.After != "" {
		return nil, runtime.Refusef(runtime.ErrUsage, "query: schedules are listed whole: got %s, want no run, filter or after",
			fmt.Sprintf("run %q, filter %q, after %q", a.Run, a.Filter, a.After))
	}
	kept, err := runtime.Extension[runtime.Schedules](d.Engine)
	if err != nil {
		return nil, err
	}
	list, err := kept.Scheduled(ctx, runtime.ScheduleQuery{})
	if err != nil {
		return nil, err
	}
	return Found{Schedules: list}, nil
}
