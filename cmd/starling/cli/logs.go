package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/progress"
	"starling/runtime"
)

// logsVerb is a call of the verb logs.
type logsVerb struct{ call *call }

// logsCommand is the verb logs. It has --jsonl beside --json, as a log that is followed has no end.
func logsCommand(c *call) *cobra.Command {
	v := &logsVerb{call: c}
	var jsonl, follow bool
	var q progress.Wanted
	cmd := &cobra.Command{
		Use:     "logs RUN",
		Short:   "Print a run's journal",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.logs(cmd.Context(), args[0], q, jsonl, follow)
		},
	}
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "one JSON object a line, of which --jq picks")
	cmd.Flags().Uint64Var(&q.After, "after", 0, "begin behind the record with this `NUMBER`")
	cmd.Flags().StringVar(&q.Step, "step", "", "only of the step with this `ADDRESS`, of those below it, or of that name")
	cmd.Flags().StringSliceVar(&q.Types, "type", nil, "only events of these `TYPES`: agent.event, or gate for all that begin so")
	cmd.Flags().StringVar(&q.Since, "since", "", "only of the last `DURATION`, such as 10m, or since a time such as 2026-11-21T15:04:05Z")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	return cmd
}

// logs prints every event, none summed up: what show tells is made from these.
func (v *logsVerb) logs(ctx context.Context, address string, q progress.Wanted, jsonl, follow bool) error {
	wanted, err := q.Filter(time.Now())
	if err != nil {
		return usage("", "logs: %v", err)
	}
	write := v.eventLine
	if p := v.call.paper(); p.Terminal() {
		write = progress.NewLog(p, v.call.stdout.Raw()).Show
	}
	doc := struct {
		Schema string          `json:"schema"`
		Events []runtime.Event `json:"events"`
	}{runtime.Schema, []runtime.Event{}}
	switch {
	case jsonl:
		write = func(ev runtime.Event) error { return v.call.answerJSON(ev) }
	case v.call.json && follow:
		return usage("--jsonl gives an object for each event; --jq picks from each of them then", "logs: what is followed is no one document")
	case v.call.json:
		write = func(ev runtime.Event) error {
			doc.Events = append(doc.Events, ev)
			return nil
		}
	}
	door := v.call.door().OpenReader
	if follow {
		door = v.call.staying(false)
	}
	err = v.call.withRun(ctx, door, address, func(s connect.Session, r *runtime.Run) error {
		return s.Watch(ctx, runtime.WatchRequest{Run: r.ID, After: q.After, Follow: follow}, func(ev runtime.Event) error {
			if !wanted(&ev) {
				return nil
			}
			return write(ev)
		})
	})
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped
	}
	if err != nil || !v.call.json || jsonl {
		return err
	}
	return v.call.answerJSON(doc)
}

// eventLine writes an event for people.
func (v *logsVerb) eventLine(ev runtime.Event) error {
	line := stamp(ev.Time) + "  " + ev.Type
	if at := cmp.Or(ev.Step, ev.Branch); at != "" {
		line += "  " + at
	}
	if text := string(ev.Data); text != "" && text != "{}" && text != "null" {
		line += "  " + text
	}
	v.call.print("%s", line)
	return nil
}
