// Package listing has the tables of what a store holds: runs and their steps, gates that are open,
// decisions, and what agents have cost.
package listing

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"starling/cmd/starling/table"
	"starling/runtime"
	"starling/runtime/filter"
	"starling/runtime/query"
)

// Runs is the table of runs.
func Runs(p table.Paper, runs []runtime.Summary) *table.Table {
	t := table.New(p, "RUN", "STATUS", "CARRIED", "STARTED", "SCRIPT", "NOTES")
	for _, r := range runs {
		carried := table.Dim("-")
		if !r.Status.Ended() && (r.Carried || r.Status == runtime.Running || r.NextDue != nil) {
			carried = p.State(map[bool]string{true: "yes", false: "no"}[r.Carried])
		}
		t.Row(r.ID, p.State(string(r.Status)), carried, p.Time(r.StartedAt), r.Script, notes(p, r))
	}
	return t
}

// notes says what a list's reader should know of a run beside its status.
func notes(p table.Paper, r runtime.Summary) string {
	var notes []string
	if r.Gates == 1 {
		notes = append(notes, "1 gate")
	} else if r.Gates > 1 {
		notes = append(notes, fmt.Sprintf("%d gates", r.Gates))
	}
	if r.NextDue != nil && r.Overdue {
		notes = append(notes, "overdue since "+p.Time(*r.NextDue))
	} else if r.NextDue != nil {
		notes = append(notes, "due "+p.Time(*r.NextDue))
	}
	if len(r.Labels) > 0 {
		notes = append(notes, r.Labels.String())
	}
	if waits := r.WaitsFor(); waits != "" {
		notes = append(notes, waits)
	}
	if r.Error != "" {
		notes = append(notes, cut(strings.SplitN(r.Error, "\n", 2)[0]))
	}
	return strings.Join(notes, ", ")
}

func cut(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Gates is the table of open gates.
func Gates(p table.Paper, gates []runtime.Gate) *table.Table {
	t := table.New(p)
	for _, g := range gates {
		until := ""
		if g.Deadline != nil {
			until = "until " + p.Time(*g.Deadline)
		}
		t.Row(query.Name(g.Address), table.Dim(p.Time(g.OpenedAt)), "for "+cmp.Or(g.Target, "anybody"), g.Prompt, until)
	}
	return t
}

// QueryTopic is the page about filters of runs.
func QueryTopic() string {
	var b strings.Builder
	b.WriteString(`A filter is made of conditions with and, or, not and brackets: FIELD OPERATOR VALUE, or a field alone that is yes or no. The operators are

  = !=         the whole value        ~ !~      a part of a text, whatever its case; * is anything in between
  < <= > >=    numbers, durations (90s, 2h, 1d) and times (2026-11-21, 2026-11-21T15:04:05Z)
  in (A, B)    one of several

A value with blanks, brackets or signs is quoted. A condition on a gate holds for a run when it holds for one of its open gates.

`)
	b.WriteString(FieldTable(filter.Fields()))
	return b.String()
}

// FieldTable lists fields with an example of each.
func FieldTable(fields []filter.Field) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, f := range fields {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, f.Example, f.Doc)
	}
	w.Flush()
	return b.String()
}
