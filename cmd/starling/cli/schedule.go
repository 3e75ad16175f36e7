package cli

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/timetable"
	"starling/lang"
	"starling/lang/check"
	"starling/runtime"
)

// scheduleVerb is a call of the verb schedule.
type scheduleVerb struct{ call *call }

// scheduleCommand is the verb schedule.
func scheduleCommand(c *call) *cobra.Command {
	v := &scheduleVerb{call: c}
	cmd := &cobra.Command{
		Use:     "schedule",
		Short:   "Start scripts at their times",
		GroupID: "scripts",
		Long: `A schedule starts a script at its times, while starling serve owns the store. Each time has one run, also over a crash; what was missed while nobody served,
or the schedule was paused, is made up for as --catch-up says. Runs are started in the name of who made the schedule, under the project of the server as it was trusted last.`,
		Args: unknownVerb,
		RunE: showHelp,
	}
	cmd.AddCommand(v.addCommand(), v.listCommand(), v.showCommand(), v.changeCommand("pause", "Start nothing until it goes on", runtime.SchedulePause),
		v.changeCommand("resume", "Go on; what was missed is as --catch-up said", runtime.ScheduleResume), v.changeCommand("trigger", "Start a run now, beside its times", runtime.ScheduleTrigger),
		v.changeCommand("backfill", "Start runs for the times of a span, one after another", runtime.ScheduleBackfill), v.changeCommand("rm", "Remove it; its runs go on", runtime.ScheduleRemove))
	return cmd
}

// schedulesDocument is what schedule prints.
type schedulesDocument struct {
	Schema    string             `json:"schema"`
	Schedules []runtime.Schedule `json:"schedules"`
}

func (v *scheduleVerb) addCommand() *cobra.Command {
	var flags timetable.Flags
	var inputs []string
	cmd := &cobra.Command{
		Use:     "add NAME SCRIPT (--cron TIMES | --every DURATION)",
		Short:   "Make a schedule, or give it other times",
		Long:    "Start SCRIPT at its times: what is defined under a name, the newest version at each time or NAME@VERSION; a file is defined under the name of the schedule first.",
		Example: "  starling schedule add triage triage.star --cron '30 7 * * 1-5' --zone Europe/Zurich --time-input since",
		Args:    operands(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := flags.Request(args[0])
			if err != nil {
				return err
			}
			return v.with(cmd.Context(), true, func(ctx context.Context, s connect.Session, kept runtime.Schedules) error {
				if err := v.prepare(ctx, s, &r, args[1], inputs); err != nil {
					return err
				}
				return v.shown(kept.Schedule(ctx, r))
			})
		},
	}
	flags.Add(cmd.Flags())
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil, "an input: `name=text`, name:=JSON or name=@file")
	v.call.jsonFlag(cmd)
	return cmd
}

// prepare reads the inputs as the script wants them, and defines a script that is a file.
func (v *scheduleVerb) prepare(ctx context.Context, s connect.Session, r *runtime.ScheduleRequest, script string, inputs []string) error {
	var bundle *lang.Bundle
	var err error
	if r.Script = script; runtime.NamesDefinition(script) {
		_, bundle, err = definition(ctx, s, script)
	} else if bundle, err = v.call.readBundle(script); err == nil {
		r.Script = r.Name
	}
	if err != nil {
		return v.call.orFile(script, err)
	}
	program, err := v.call.compile(bundle, check.Project{})
	if err == nil {
		r.Inputs, err = scheduledInputs(program, inputs, r.TimeInput)
	}
	if err != nil || r.Script == script {
		return err
	}
	kept, err := extension[runtime.Definitions](s)
	if err == nil {
		_, err = kept.Define(ctx, runtime.DefineRequest{Key: requestKey(""), Name: r.Name, Bundle: bundle.Encode()})
	}
	return err
}

// scheduledInputs reads those inputs that are given: others have the defaults of the version that
// is started.
func scheduledInputs(p *lang.Program, flags []string, timeInput string) (json.RawMessage, error) {
	given := map[string]json.RawMessage{}
	for _, f := range flags {
		if a, err := lang.ParseArg(f); err == nil { // else bindInputs says so
			given[a.Name] = nil
		}
	}
	if timeInput != "" {
		flags = append(slices.Clone(flags), timeInput+"="+time.Now().UTC().Format(time.RFC3339))
	}
	bound, err := bindInputs(p, flags)
	all := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(bound, &all)
	}
	if err != nil {
		return nil, err
	}
	for name := range given {
		given[name] = all[name]
	}
	return json.Marshal(given)
}

func (v *scheduleVerb) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the schedules",
		Args:  operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return v.look(cmd.Context(), runtime.ScheduleQuery{}, func(list []runtime.Schedule) error { return timetable.List(v.call.stdout, v.call.paper(), list) })
		},
	}
	v.call.jsonFlag(cmd)
	return cmd
}

func (v *scheduleVerb) showCommand() *cobra.Command {
	var next int
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a schedule and the times that come",
		Args:  operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.look(cmd.Context(), runtime.ScheduleQuery{Name: args[0], Next: next}, func(list []runtime.Schedule) error { return timetable.Show(v.call.stdout, v.call.paper(), &list[0]) })
		},
	}
	cmd.Flags().IntVar(&next, "next", 5, "the `N` next times, 100 at most")
	v.call.jsonFlag(cmd)
	return cmd
}

// changeCommand is a verb that does something to a schedule.
func (v *scheduleVerb) changeCommand(verb, short string, action runtime.ScheduleAction) *cobra.Command {
	var reason, from, to string
	cmd := &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c := runtime.ScheduleChange{Name: args[0], Action: action, Reason: reason}
			if action == runtime.ScheduleBackfill {
				if c.From, err = timetable.ParseTime("--from", from); err != nil {
					return err
				}
				if c.To, err = timetable.ParseTime("--to", to); err != nil {
					return err
				}
			}
			return v.with(cmd.Context(), false, func(ctx context.Context, _ connect.Session, kept runtime.Schedules) error {
				s, err := kept.Reschedule(ctx, c)
				if err == nil && action == runtime.ScheduleRemove && !v.call.json {
					v.call.print("removed %s", s.Name)
					return nil
				}
				return v.shown(s, err)
			})
		},
	}
	switch action {
	case runtime.SchedulePause:
		cmd.Flags().StringVarP(&reason, "message", "m", "", "why, in words")
	case runtime.ScheduleBackfill:
		cmd.Flags().StringVar(&from, "from", "", "the begin of the span: `WHEN`, 2026-11-21 or 2026-11-21T15:04:05Z")
		cmd.Flags().StringVar(&to, "to", "", "its end: `WHEN`")
	}
	v.call.jsonFlag(cmd)
	return cmd
}

// with opens the store for a command that changes schedules.
func (v *scheduleVerb) with(ctx context.Context, create bool, do func(context.Context, connect.Session, runtime.Schedules) error) error {
	s, kept, err := openFor[runtime.Schedules](ctx, v.call, v.call.staying(create))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	return do(ctx, s, kept)
}

// look prints schedules. A store that is not there has none.
func (v *scheduleVerb) look(ctx context.Context, q runtime.ScheduleQuery, print func([]runtime.Schedule) error) error {
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	list := []runtime.Schedule{}
	if connect.Missing(s) == nil || q.Name != "" {
		kept, err := extension[runtime.Schedules](s)
		if err != nil {
			return err
		}
		if list, err = kept.Scheduled(ctx, q); err != nil {
			return err
		}
	}
	switch {
	case v.call.json:
		return v.call.answerJSON(schedulesDocument{runtime.Schema, list})
	case len(list) == 0:
		v.call.notice("nothing is scheduled")
		return nil
	}
	return print(list)
}

// shown prints a schedule as it stands now.
func (v *scheduleVerb) shown(s *runtime.Schedule, err error) error {
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(schedulesDocument{runtime.Schema, []runtime.Schedule{*s}})
	}
	return timetable.List(v.call.stdout, v.call.paper(), []runtime.Schedule{*s})
}
