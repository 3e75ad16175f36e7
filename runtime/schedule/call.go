package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
)

// Serve does what the request of a function of the module schedule asks for, and gives what the
// call gives. It may be done again: a schedule that is as it is to be stays so, and a time that is
// filled in twice has one run.
func Serve(ctx context.Context, kept runtime.Schedules, args effect.View) (starlark.Value, error) {
	name := args.Text("schedule")
	switch do := args.Text("do"); do {
	case "all":
		return all(ctx, kept)
	case "set":
		r, err := request(name, args)
		if err != nil {
			return nil, err
		}
		return standing(kept.Schedule(ctx, r))
	case "remove":
		_, err := kept.Reschedule(ctx, runtime.ScheduleChange{Name: name, Action: runtime.ScheduleRemove})
		if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUnknownSchedule {
			err = nil // an attempt that a crash has cut may have removed it
		}
		return starlark.None, err
	default:
		c := runtime.ScheduleChange{Name: name, Action: runtime.ScheduleAction(do), Reason: args.Text("reason")}
		for key, into := range map[string]*time.Time{"since": &c.From, "until": &c.To} {
			if args.Has(key) {
				*into, _ = time.Parse(time.RFC3339, args.Text(key)) // checked when the call was made
			}
		}
		return standing(kept.Reschedule(ctx, c))
	}
}

// request is what the arguments of schedule.set ask for.
func request(name string, args effect.View) (r runtime.ScheduleRequest, err error) {
	r = runtime.ScheduleRequest{Name: name, Script: args.Text("script"), TimeInput: args.Text("time_input"),
		Overlap: runtime.Overlap(args.Text("overlap")), CatchUp: runtime.CatchUp(args.Text("catch_up"))}
	r.Cron, r.Zone = args.Text("cron"), args.Text("zone")
	for key, into := range map[string]*time.Duration{"every": &r.Every, "jitter": &r.Jitter} {
		if args.Has(key) {
			*into, _ = contract.ParseDuration(args.Text(key)) // checked when the call was made
		}
	}
	if args.Has("inputs") {
		if r.Inputs, err = contract.ToJSON(args.Value("inputs")); err != nil {
			return r, fmt.Errorf("inputs: %w", err)
		}
	}
	if args.Has("labels") {
		text, err := contract.ToJSON(args.Value("labels"))
		if err == nil {
			err = json.Unmarshal(text, &r.Labels)
		}
		if err != nil {
			return r, fmt.Errorf("labels: want a dict of strings: %w", err)
		}
	}
	return r, nil
}

// all are the schedules that there are.
func all(ctx context.Context, kept runtime.Schedules) (starlark.Value, error) {
	list, err := kept.Scheduled(ctx, runtime.ScheduleQuery{})
	if err != nil {
		return nil, err
	}
	var out []starlark.Value
	for i := range list {
		v, err := standing(&list[i], nil)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return starlark.NewList(out), nil
}

// standing is a schedule as scripts see it: the document of the tool, with durations as text.
func standing(s *runtime.Schedule, err error) (starlark.Value, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	v, err := contract.FromOutside(text)
	if err != nil {
		return nil, err
	}
	d := v.(*starlark.Dict)
	for key, length := range map[string]time.Duration{"every": s.Every, "jitter": s.Jitter} {
		if length > 0 {
			if err := d.SetKey(starlark.String(key), starlark.String(length.String())); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}
