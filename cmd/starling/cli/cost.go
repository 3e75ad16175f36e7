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
	"time"

	"github.com/spf13/cobra"

	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/query"
)

// costGroups are by what cost sums up.
var costGroups = [...]string{"agent", "backend", "model", "day", "run"}

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
project as it was when the run began; it is "-" where the project says none. Days are those of UTC.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.cost(cmd.Context(), args, by) },
	}
	cmd.Flags().StringVar(&by, "by", "", "sum up by `WHAT`: agent, backend, model, day or run (default: run, and agent of one run)")
	c.jsonFlag(cmd)
	return cmd
}

// costDocument is what cost prints.
type costDocument struct {
	Schema string    `json:"schema"`
	Run    string    `json:"run,omitempty"`
	By     string    `json:"by"`
	Rows   []costRow `json:"rows"`
	Total  costSum   `json:"total"`

	// Trimmed are the runs of which the journal's beginning is gone, and from which record on each
	// is counted.
	Trimmed map[string]uint64 `json:"trimmed,omitempty"`
}

// costRow is the sum of one agent, backend, model, day or run.
type costRow struct {
	Agent   string `json:"agent,omitempty"`
	Backend string `json:"backend,omitempty"`
	Model   string `json:"model,omitempty"`
	Day     string `json:"day,omitempty"` // YYYY-MM-DD, UTC, of the requests
	Run     string `json:"run,omitempty"`
	Since   uint64 `json:"since,omitempty"` // of a run whose journal was trimmed: from which record on it is counted
	costSum
}

func (r *costRow) name() string { return r.Agent + r.Backend + r.Model + r.Day + r.Run }

// costSum is a sum in the units that people know.
type costSum struct {
	USD          *float64 `json:"usd"`                   // nil where nobody has told any
	ClaimedUSD   float64  `json:"claimed_usd,omitempty"` // the part of it that is the word of agents' programs
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	Calls        int64    `json:"calls"`
}

// spending is what was spent, and which part of its cost is claimed.
type spending struct {
	runtime.Usage
	claimed int64 // millionths of a dollar
}

func (u spending) plus(v spending) spending {
	return spending{u.Plus(v.Usage), u.claimed + v.claimed}
}

func (u spending) sum() costSum {
	s := costSum{nil, float64(u.claimed) / 1e6, u.InputTokens, u.OutputTokens, u.Calls}
	if u.MicroUSD > 0 {
		usd := float64(u.MicroUSD) / 1e6
		s.USD = &usd
	}
	return s
}

// costs collects sums.
type costs struct {
	doc   costDocument
	sums  map[string]spending
	order []string // of the keys of sums, as they came
	total spending
}

func (v *costVerb) cost(ctx context.Context, args []string, by string) error {
	if by != "" && !slices.Contains(costGroups[:], by) {
		return usage(diagnostic.DidYouMean(by, costGroups[:]), "cost: --by: got %q, want agent, backend, model, day or run", by)
	}
	s, err := v.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.leave(s)
	all := costs{doc: costDocument{Schema: runtime.Schema, By: by, Rows: []costRow{}}, sums: map[string]spending{}}
	runs, err := all.runs(ctx, s, args)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := all.add(ctx, s, run); err != nil {
			return err
		}
	}
	doc := all.document()
	if v.json {
		return v.answerJSON(doc)
	}
	return printCost(v.stdout, doc)
}

// runs are those that were asked for, and by what they are summed up where nothing else was.
func (all *costs) runs(ctx context.Context, e runtime.Engine, args []string) (ids []string, err error) {
	d := &all.doc
	if len(args) == 1 {
		r, err := e.Get(ctx, args[0])
		if err != nil {
			return nil, err
		}
		d.Run = r.ID
		d.By = cmp.Or(d.By, "agent")
		return []string{r.ID}, nil
	}
	d.By = cmp.Or(d.By, "run")
	l, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return nil, err
	}
	for _, r := range l.Runs {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// add counts the attempts of a run's agents.
func (all *costs) add(ctx context.Context, e runtime.Engine, run string) error {
	steps, since, err := stepsLeft(ctx, e, run)
	if err != nil {
		return err
	}
	if since > 0 {
		if all.doc.Trimmed == nil {
			all.doc.Trimmed = map[string]uint64{}
		}
		all.doc.Trimmed[run] = since
	}
	if all.doc.By == "run" {
		all.count(run, spending{})
	}
	query.EachTry(steps, func(st *runtime.Step, t *runtime.Try, u runtime.Usage) {
		spent := spending{Usage: u}
		if t.Claimed {
			spent.claimed = u.MicroUSD
		}
		all.count(all.doc.keyOf(run, st, t), spent)
	})
	return nil
}

// keyOf is the key of the sum that an attempt counts in.
func (d *costDocument) keyOf(run string, st *runtime.Step, t *runtime.Try) string {
	switch d.By {
	case "agent":
		return st.Agent
	case "backend":
		return t.Backend
	case "model":
		return t.Model
	case "day":
		return t.StartedAt.UTC().Format(time.DateOnly)
	}
	return run
}

func (all *costs) count(key string, u spending) {
	if _, known := all.sums[key]; !known {
		all.order = append(all.order, key)
	}
	all.sums[key] = all.sums[key].plus(u)
	all.total = all.total.plus(u)
}

// document is all sums, runs in the order of their list.
func (all *costs) document() costDocument {
	d := all.doc
	if d.By != "run" {
		slices.Sort(all.order)
	}
	for _, key := range all.order {
		row := costRow{costSum: all.sums[key].sum()}
		switch d.By {
		case "agent":
			row.Agent = key
		case "backend":
			row.Backend = key
		case "model":
			row.Model = key
		case "day":
			row.Day = key
		default:
			row.Run, row.Since = key, d.Trimmed[key]
		}
		d.Rows = append(d.Rows, row)
	}
	d.Total = all.total.sum()
	return d
}

// stepsLeft are the steps of a run or, where its journal was trimmed, those that it still tells of,
// and since which record.
func stepsLeft(ctx context.Context, e runtime.Engine, run string) (steps []runtime.Step, since uint64, err error) {
	steps, err = query.Steps(ctx, e, run)
	if err == nil || runtime.AsRefusal(err).Kind != runtime.ErrTrimmed {
		return steps, 0, err
	}
	r, err := e.Get(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	steps, err = query.StepsAfter(ctx, e, run, r.Details.Horizon)
	return steps, r.Details.Horizon + 1, err
}

func printCost(out io.Writer, d costDocument) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(d.By)+"\tUSD\tINPUT\tOUTPUT\tCALLS")
	row := func(name string, s costSum) {
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
		name := cmp.Or(r.name(), "-") // an attempt that was cut does not say which backend served, and some programs not which model
		if r.Since > 0 {
			name += fmt.Sprintf(" from record %d", r.Since)
		}
		row(name, r.costSum)
	}
	row("total", d.Total)
	if d.By != "run" {
		for _, run := range slices.Sorted(maps.Keys(d.Trimmed)) {
			fmt.Fprintf(w, "%s from record %d\n", run, d.Trimmed[run])
		}
	}
	return w.Flush()
}
