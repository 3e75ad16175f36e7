package stdlib

import (
	"context"
	"fmt"
	"time"

	"starling/lang/effect"
)

// scheduleModule makes schedules of scripts that are defined. There is no way to start a run at
// once: that is run, which waits for it, or a person's trigger.
func scheduleModule() []*effect.Builtin {
	name := effect.Param{Name: "schedule", Type: "string", Doc: "The name of the schedule."}
	word := func(name, doc string) effect.Param {
		return effect.Param{Name: name, Type: "string", Default: "None", KeywordOnly: true, Doc: doc}
	}
	length := func(name, doc string) effect.Param {
		return effect.Param{Name: name, Type: "duration", Default: "None", KeywordOnly: true, Doc: doc}
	}
	return []*effect.Builtin{
		scheduleBuiltin("set", "dict", "Have a script start at its times, while starling serve owns the store, and give how the schedule stands. One that is as it is asked for stays as it is, "+
			"so that a run may make sure of it again and again; another one of that name takes other times and inputs from now on. A pause holds. Its runs are those of whoever started this run.",
			name, effect.Param{Name: "script", Type: "string", Doc: "A script that is defined: NAME, the newest version at each time, or NAME@VERSION."},
			word("cron", `Minute, hour, day of month, month and day of week, such as "30 7 * * 1-5", or @hourly, @daily, @weekly, @monthly, @yearly.`),
			length("every", "An interval in place of cron, a second at least, counted from when the schedule was made."),
			word("zone", "The time zone of cron, such as Europe/Zurich; UTC by default."),
			length("jitter", "Each time is put off by less than this, the same time always by as much."),
			effect.Param{Name: "inputs", Type: "dict", Default: "{}", KeywordOnly: true, Doc: "The inputs of its runs."},
			effect.Param{Name: "labels", Type: "dict", Default: "{}", KeywordOnly: true, Doc: "Their labels, names and values."},
			word("time_input", "The input that is given the time a run is for."),
			effect.Param{Name: "overlap", Type: "string", Default: `"skip"`, OneOf: []string{"skip", "queue", "cancel", "allow"}, KeywordOnly: true,
				Doc: "What becomes of a time that comes while the run before is at work: it is skipped, it waits, that run is cancelled, or both are at work."},
			effect.Param{Name: "catch_up", Type: "string", Default: `"last"`, OneOf: []string{"last", "all", "none"}, KeywordOnly: true,
				Doc: "Which times are made up for that were missed by a minute or more."}),
		scheduleBuiltin("pause", "dict", "Start nothing for a schedule until it is resumed, and give how it stands.", name,
			effect.Param{Name: "reason", Type: "string", Default: `""`, Doc: "Why, for people."}),
		scheduleBuiltin("resume", "dict", "Let a schedule go on, and give how it stands; what was missed is as its catch_up says.", name),
		scheduleBuiltin("backfill", "dict", "Start runs for the times of a schedule in a span that has passed, one after another, and give how it stands. A time that had its run has no other.", name,
			effect.Param{Name: "since", Type: "string", Doc: "The begin of the span, as now() writes it."},
			effect.Param{Name: "until", Type: "string", Doc: "Its end; a time at it is not in the span."}),
		scheduleBuiltin("remove", "None", "Forget a schedule, if there is one. The runs that it has started go on.", name),
		scheduleBuiltin("all", "list", "List the schedules as dicts of name, script, cron or every, next, paused, by, started, skipped, refused and more."),
	}
}

func scheduleBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{FullName: "schedule." + name, Doc: doc, Params: params, Result: result, Class: effect.Waiting, Request: scheduleRequest}
}

func scheduleRequest(c *effect.Call) (*effect.Request, error) {
	var o effect.Object
	o.Text("do", function(c))
	var rest []effect.Param
	for _, p := range c.Builtin.Params {
		switch given := c.Get(p.Name) != nil; {
		case p.Name == "schedule":
			if err := effect.CheckName(c.Text(p.Name, "")); err != nil {
				return nil, wrong(c, p.Name, "%w", err)
			}
		case p.Name == "since", p.Name == "until":
			if _, err := time.Parse(time.RFC3339, c.Text(p.Name, "")); err != nil {
				return nil, wrong(c, p.Name, "got %s, want a time such as \"2026-11-21T15:04:05Z\"", c.Get(p.Name))
			}
		case p.Type == "duration" && given:
			if err := positive(c, p.Name); err != nil {
				return nil, err
			}
			o.Text(p.Name, c.Duration(p.Name, 0).String())
			continue
		case p.Name == "cron" && given == (c.Get("every") != nil):
			return nil, fmt.Errorf("%s: want cron, such as \"30 7 * * 1-5\", or every, such as \"6h\", and one of them", c.Builtin.FullName)
		}
		rest = append(rest, p)
	}
	if err := addArguments(c, &o, rest); err != nil {
		return nil, err
	}
	return &effect.Request{Class: c.Builtin.Class, Kind: effect.KindSchedule, Name: c.Builtin.FullName, Args: o.Payload(),
		Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}, nil
}

// scheduleHandler has the engine serve it, which has the schedules. A script of somebody else makes
// none: it would go on in the name of whoever has tried it once.
func scheduleHandler() *effect.Handler {
	return &effect.Handler{
		Resolve: func(s *effect.Settings, r *effect.Request) *effect.Error {
			if s.Grant != "" {
				return effect.Errorf(effect.KindDenied, "%s: the script is not the project's own, and makes no schedules; make them with starling schedule, or the tool of that name", r.Name)
			}
			return nil
		},
		Perform: func(ctx context.Context, a *effect.Attempt) effect.Reply {
			if a.Schedule == nil {
				return effect.Reply{Err: effect.Errorf(effect.KindRefused, "%s: there are no schedules here", a.Step)}
			}
			v, err := a.Schedule(ctx, effect.ViewOf(a.Args))
			return effect.Reply{Value: v, Err: err, Class: effect.Final}
		},
	}
}
