package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/query"
)

// costGroups are by what cost sums up.
var costGroups = [...]string{query.ByAgent, query.ByBackend, query.ByModel, query.ByDay, query.ByRun}

// costVerb is a call of the verb cost.
type costVerb struct{ *call }

// costCommand is the verb cost.
func costCommand(c *call) *cobra.Command {
	v := &costVerb{call: c}
	var by string
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
		RunE: func(cmd *cobra.Command, args []string) error { return v.cost(cmd.Context(), args, by) },
	}
	cmd.Flags().StringVar(&by, "by", "", "sum up by `WHAT`: agent, backend, model, day or run (default: run, and agent of one run)")
	c.jsonFlag(cmd)
	return cmd
}

func (v *costVerb) cost(ctx context.Context, args []string, by string) error {
	if by != "" && !slices.Contains(costGroups[:], by) {
		return usage(diagnostic.Meant(by, costGroups[:]), "cost: --by: got %q, want agent, backend, model, day or run", by)
	}
	s, err := v.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.leave(s)
	budgets, err := v.budgets()
	if err != nil {
		v.notice("the budgets are not shown: %v", err)
	}
	doc, err := query.CostOf(ctx, s, query.CostQuery{Run: append(args, "")[0], By: by, Budgets: budgets, Today: v.clock()})
	if err != nil {
		return err
	}
	if v.json {
		return v.answerJSON(doc)
	}
	return cmp.Or(printCost(v.stdout, doc), printBudgets(v.stdout, doc.Budgets))
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

func printCost(out io.Writer, d *query.Cost) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(d.By)+"\tUSD\tINPUT\tOUTPUT\tCALLS")
	row := func(name string, s query.CostSum) {
		usd := "-"
		if s.USD != nil {
			usd = runtime.Dollars(int64(*s.USD*1e6 + 0.5))
			switch s.ClaimedUSD {
			case 0:
			case *s.USD:
				usd += " claimed"
			default:
				usd += fmt.Sprintf(" (%s claimed)", runtime.Dollars(int64(s.ClaimedUSD*1e6+0.5)))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", name, usd, s.InputTokens, s.OutputTokens, s.Calls)
	}
	for _, r := range d.Rows {
		name := cmp.Or(r.Name(), "-") // an attempt that was cut does not say which backend served, and some programs not which model
		if r.Since > 0 {
			name += fmt.Sprintf(" from record %d", r.Since)
		}
		row(name, r.CostSum)
	}
	row("total", d.Total)
	if d.By != "run" {
		for _, run := range slices.Sorted(maps.Keys(d.Trimmed)) {
			fmt.Fprintf(w, "%s from record %d\n", run, d.Trimmed[run])
		}
	}
	return w.Flush()
}

// printBudgets lists what is used of each bound of the budgets, if there are any.
func printBudgets(out io.Writer, list []query.BudgetUse) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nBUDGET\tPER\tUSD\tTOKENS\tCALLS")
	for _, b := range list {
		usd := "-"
		if b.USD != nil {
			usd = runtime.Dollars(int64(b.USD.Used*1e6+0.5)) + " of " + runtime.Dollars(int64(b.USD.Of*1e6+0.5))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.Name, strings.TrimSpace(b.Per+" "+b.Day), usd, usedOf(b.Tokens), usedOf(b.Calls))
	}
	return w.Flush()
}

func usedOf(s *query.Share) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f of %.0f", s.Used, s.Of)
}
