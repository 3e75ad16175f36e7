package listing

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"starling/runtime"
	"starling/runtime/query"
)

// Cost writes what agents have cost, a line for each group and the sum.
func Cost(out io.Writer, d *query.Cost) error {
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", name, usd, tokens(s), s.Calls)
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

// tokens are two columns. No call takes none: where there are none, nobody has told of any.
func tokens(s query.CostSum) string {
	if s.InputTokens == 0 && s.OutputTokens == 0 {
		return "-\t-"
	}
	return fmt.Sprintf("%d\t%d", s.InputTokens, s.OutputTokens)
}

// Budgets lists what is used of each bound of the budgets, if there are any.
func Budgets(out io.Writer, list []query.BudgetUse) error {
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.Name, strings.Join(strings.Fields(b.Per+" "+b.Day+" "+b.Labels.String()), " "), usd, usedOf(b.Tokens), usedOf(b.Calls))
	}
	return w.Flush()
}

func usedOf(s *query.Share) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f of %.0f", s.Used, s.Of)
}
