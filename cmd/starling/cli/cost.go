package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/listing"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/query"
)

// costVerb is a call of the verb cost.
type costVerb struct{ call *call }

// costCommand is the verb cost.
func costCommand(c *call) *cobra.Command {
	v := &costVerb{call: c}
	q := query.CostQuery{}
	cmd := &cobra.Command{
		Use:     "cost [RUN]",
		Short:   "Sum up what agents have cost",
		GroupID: "look",
		Long: `Sum up what agents have cost: of one run by agent, or of every run. Attempts that failed, or were stopped, count too, as
far as they told before. What a backend does not tell is not in the sum; each request that was sent is in calls.
A cost is "claimed" where the agent's program says it itself. Else it is that of the tokens, by the prices of the
project as it was when the run began; it is "-" where the project says none. Days are those of UTC.

Behind that stand the budgets of starling.toml, with what is used of each bound: those of a day as they are today,
and of one run those of each run.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.cost(cmd.Context(), args, q) },
	}
	cmd.Flags().StringVar(&q.By, "by", "", "sum up by `WHAT`: agent, backend, model, day, run, or label.NAME (default: run, and agent of one run)")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most `N` of the newest runs or days, or of the others by their names, 0 for all; the total is of all")
	c.jsonFlag(cmd)
	return cmd
}

func (v *costVerb) cost(ctx context.Context, args []string, q query.CostQuery) error {
	if err := query.CheckBy(q.By); err != nil {
		return err
	}
	if err := (&page{limit: q.Limit}).check(); err != nil {
		return err
	}
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	if q.Budgets, err = v.budgetsAt(ctx, s); err != nil {
		v.call.notice("the budgets are not shown: %v", err)
	}
	q.Run, q.Today = append(args, "")[0], v.call.clock()
	doc, err := query.CostOf(ctx, s, q)
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(doc)
	}
	if doc.More > 0 {
		v.call.notice("and %d more, which the total has, too: --limit 0 shows all", doc.More)
	}
	return cmp.Or(listing.Cost(v.call.stdout, doc), listing.Budgets(v.call.stdout, doc.Budgets))
}

// budgetsAt are those of the project: with --server of the one that it has there.
func (v *costVerb) budgetsAt(ctx context.Context, s connect.Session) ([]effect.Ceiling, error) {
	if v.call.serverFlag == "" {
		return v.call.budgets()
	}
	of, err := extension[runtime.Spending](s)
	if err != nil {
		return nil, err
	}
	return of.Budgets(ctx)
}

// budgets are those of the project, none of a store of another machine.
func (c *call) budgets() ([]effect.Ceiling, error) {
	if c.serverFlag != "" || c.place.Project == "" {
		return nil, nil
	}
	p, err := readProject(c.place.Project, &effect.Settings{})
	if err != nil {
		return nil, err
	}
	return p.Ceilings(), nil
}
