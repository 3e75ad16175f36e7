// Package listing has the tables of what a store holds: runs, and gates that are open.
package listing

import (
	"cmp"
	"fmt"
	"strings"

	"starling/cmd/starling/progress"
	"starling/cmd/starling/table"
	"starling/runtime"
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
		t.Row(progress.Name(g.Address), table.Dim(p.Time(g.OpenedAt)), "for "+cmp.Or(g.Target, "anybody"), g.Prompt, until)
	}
	return t
}
