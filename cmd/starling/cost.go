package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// costCommand is the verb cost.
func (c *call) costCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cost [RUN]",
		Short:   "Sum up what agents have cost",
		GroupID: "look",
		Long: `Sum up what agents have cost, as their backends say: of one run by agent, or of every run. Attempts that failed, or
were stopped, count too, as far as they told before. What a backend does not tell is not in the sum; each request that was sent is in calls.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.cost(cmd.Context(), args) },
	}
	c.jsonFlag(cmd)
	return cmd
}

// costDocument is what cost prints.
type costDocument struct {
	Schema string    `json:"schema"`
	Run    string    `json:"run,omitempty"`
	Rows   []costRow `json:"rows"`
	Total  costSum   `json:"total"`
}

// costRow is the sum of one agent, or of one run.
type costRow struct {
	Agent string `json:"agent,omitempty"`
	Run   string `json:"run,omitempty"`
	Since uint64 `json:"since,omitempty"` // of a run whose journal was trimmed: from which record on it is counted
	costSum
}

// costSum is a sum in the units that people know.
type costSum struct {
	USD          float64 `json:"usd"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Calls        int64   `json:"calls"`
}

func sumOf(u runtime.Usage) costSum {
	return costSum{float64(u.MicroUSD) / 1e6, u.InputTokens, u.OutputTokens, u.Calls}
}

func (c *call) cost(ctx context.Context, args []string) error {
	s, err := c.door().Look(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	d := costDocument{Schema: runtime.Schema, Rows: []costRow{}}
	var total runtime.Usage
	if len(args) == 0 {
		total, err = costOfRuns(ctx, s, &d)
	} else {
		total, err = costOfRun(ctx, s, args[0], &d)
	}
	if err != nil {
		return err
	}
	d.Total = sumOf(total)
	if c.json {
		return c.answerJSON(d)
	}
	return printCost(c.stdout, d, total)
}

func costOfRun(ctx context.Context, e runtime.Engine, address string, d *costDocument) (total runtime.Usage, err error) {
	r, err := e.Get(ctx, address)
	if err != nil {
		return total, err
	}
	steps, err := runtime.Steps(ctx, e, r.ID)
	d.Run = r.ID
	sums := runtime.Cost(steps)
	for _, agent := range slices.Sorted(maps.Keys(sums)) {
		d.Rows = append(d.Rows, costRow{Agent: agent, costSum: sumOf(sums[agent])})
		total = total.Plus(sums[agent])
	}
	return total, err
}

func costOfRuns(ctx context.Context, e runtime.Engine, d *costDocument) (total runtime.Usage, err error) {
	runs, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return total, err
	}
	for _, r := range runs.Runs {
		steps, since, err := stepsLeft(ctx, e, r.ID)
		if err != nil {
			return total, err
		}
		var sum runtime.Usage
		for _, u := range runtime.Cost(steps) {
			sum = sum.Plus(u)
		}
		d.Rows = append(d.Rows, costRow{Run: r.ID, Since: since, costSum: sumOf(sum)})
		total = total.Plus(sum)
	}
	return total, nil
}

// stepsLeft are the steps of a run or, where its journal was trimmed, those that it still tells of, and since which record.
func stepsLeft(ctx context.Context, e runtime.Engine, run string) (steps []runtime.Step, since uint64, err error) {
	steps, err = runtime.Steps(ctx, e, run)
	if err == nil || runtime.AsRefusal(err).Kind != runtime.ErrTrimmed {
		return steps, 0, err
	}
	r, err := e.Get(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	steps, err = runtime.StepsAfter(ctx, e, run, r.Details.Horizon)
	return steps, r.Details.Horizon + 1, err
}

func printCost(out io.Writer, d costDocument, total runtime.Usage) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, map[bool]string{true: "AGENT", false: "RUN"}[d.Run != ""]+"\tUSD\tINPUT\tOUTPUT\tCALLS")
	row := func(name string, s costSum) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\n", name, runtime.Dollars(int64(s.USD*1e6+0.5)), s.InputTokens, s.OutputTokens, s.Calls)
	}
	for _, r := range d.Rows {
		name := r.Agent + r.Run
		if r.Since > 0 {
			name += fmt.Sprintf(" from record %d", r.Since)
		}
		row(name, r.costSum)
	}
	row("total", sumOf(total))
	return w.Flush()
}
