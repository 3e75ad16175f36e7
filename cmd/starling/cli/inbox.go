package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/inbox"
	"starling/cmd/starling/listing"
	"starling/runtime"
	"starling/runtime/filter"
)

// inboxVerb is a call of the verb inbox.
type inboxVerb struct{ call *call }

// inboxCommand is the verb inbox: the open gates, the oldest first, as a view of its own on a
// terminal and as a plain list elsewhere.
func inboxCommand(c *call) *cobra.Command {
	v := &inboxVerb{call: c}
	var q gateQuery
	var work, full, noTUI bool
	var takeBack time.Duration
	cmd := &cobra.Command{
		Use:     "inbox",
		Short:   "List the open gates, and answer them",
		GroupID: "decisions",
		Long: `List the open gates, the oldest first: a line each, or on a terminal as a view of its own in which they are answered.
Its keys are shown at the bottom, ? lists them all. The sections are all gates, and the filters of [inbox] in starling.toml.

An answer is sent after five seconds (--take-back), in which it can be taken back; leaving sends at once what is on its way.
What was typed is kept as a draft until it was accepted, after a crash too; fields that are called password, secret, token or
key are not. Each answer is shown as the command that gives it.

Plain lines are written with --no-tui, --full, --limit or --after, to what is no terminal, and where the environment has CI or TERM=dumb.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if work {
				return v.workInbox(cmd.Context(), q.target)
			}
			if takeBack < 0 {
				return usage("", "--take-back: got %s, want 0s or more", takeBack)
			}
			if !full && !noTUI && !cmd.Flags().Changed("limit") && !cmd.Flags().Changed("after") {
				if done, err := v.viewed(cmd.Context(), q, takeBack); done || err != nil {
					return err
				}
			}
			return v.inbox(cmd.Context(), q, full)
		},
	}
	cmd.Flags().StringVar(&q.target, "target", "", "only what `WHO` may answer")
	cmd.Flags().StringVar(&q.filter, "filter", "", "only those that `FILTER` means; see starling query --help")
	q.page.flags(cmd)
	cmd.Flags().BoolVar(&work, "work", false, "list work that agents come for instead; starling claim takes it")
	cmd.Flags().BoolVar(&full, "full", false, "show what each is about, and the commands that answer it")
	cmd.Flags().BoolVar(&noTUI, "no-tui", false, "write plain lines on a terminal too")
	cmd.Flags().DurationVar(&takeBack, "take-back", inbox.TakeBack, "how long an answer can be taken back on a terminal, before it is sent")
	c.jsonFlag(cmd)
	return cmd
}

// gatesDocument is what inbox prints: unlike the engine's listing it has its list even when that is
// empty.
type gatesDocument struct {
	Schema string         `json:"schema"`
	Gates  []runtime.Gate `json:"gates"`
	Next   string         `json:"next,omitempty"` // the --after of the next page
}

// gateQuery says which gates are wanted.
type gateQuery struct {
	target, filter string
	page           page
}

// inbox lists open gates, a line each, or with what each is about and the commands that answer it.
func (v *inboxVerb) inbox(ctx context.Context, q gateQuery, full bool) error {
	s, gates, err := v.openGates(ctx, v.call.door().OpenReader, q)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	v.call.withAnswers(gates.List)
	if v.call.json {
		return v.call.answerJSON(gatesDocument{runtime.Schema, gates.List, gates.Next})
	}
	if len(gates.List) == 0 {
		v.call.notice("no gate is open")
	}
	defer v.call.more(gates.Next)
	if !full {
		return v.listGates(gates.List)
	}
	for _, g := range gates.List {
		v.call.printGate(g)
	}
	return nil
}

// listGates writes a line for each gate: on a terminal since when it is open, and in columns.
func (v *inboxVerb) listGates(gates []runtime.Gate) error {
	p := v.call.paper()
	if !p.Terminal() && !p.Quiet {
		for _, g := range gates {
			g.Gate = g.Address
			v.call.print("%s", strings.Join(strings.Fields(gateLine(g)), " "))
		}
		return nil
	}
	defer v.call.notice("%s asks about them one after another; inbox --full shows what they are about", v.call.command("review"))
	return listing.Gates(p, gates).Write(v.call.stdout)
}

// openGates opens the store one way and lists the open gates that a filter means. Whoever gets a
// session leaves it.
func (v *inboxVerb) openGates(ctx context.Context, door func(context.Context) (connect.Session, error), q gateQuery) (connect.Session, *filter.Page[runtime.Gate], error) {
	f, err := filter.Parse(q.filter)
	if err == nil {
		err = q.page.check()
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := door(ctx)
	if err != nil {
		return nil, nil, err
	}
	gates, err := f.Gates(ctx, s, runtime.Query{Target: q.target, Limit: q.page.limit, After: q.page.after}, time.Now())
	if err != nil {
		v.call.leave(s)
		return nil, nil, err
	}
	return s, gates, nil
}

// workDocument is what inbox --work prints.
type workDocument struct {
	Schema string         `json:"schema"`
	Work   []runtime.Work `json:"work"`
}

// workInbox lists work that agents come for.
func (v *inboxVerb) workInbox(ctx context.Context, target string) error {
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	list, err := s.List(ctx, runtime.Query{Work: true, Target: target})
	switch {
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(workDocument{runtime.Schema, append([]runtime.Work{}, list.Work...)})
	case len(list.Work) == 0:
		v.call.notice("there is no work")
	}
	v.call.printWork(list.Work)
	return nil
}

// printGate shows a gate with what is to be decided and how.
func (c *call) printGate(g runtime.Gate) {
	whole := g
	whole.Gate = g.Address
	c.print("%s", gateLine(whole))
	if text := indent(g.Data, "  "); text != "" && text != "null" {
		c.print("  %s", text)
	}
	for _, o := range g.Options {
		if o.Description != "" {
			c.print("  %s: %s", o.Name, o.Description)
		}
	}
	for _, line := range c.answers(g) {
		c.print("    %s", line)
	}
}
