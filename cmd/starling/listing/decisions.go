package listing

import (
	"cmp"
	"strings"

	"starling/cmd/starling/table"
	"starling/runtime"
	"starling/runtime/query"
)

// Decisions is the table of who has decided what.
func Decisions(p table.Paper, list []runtime.Decision) *table.Table {
	t := table.New(p, "DECIDED", "GATE", "CHOICE", "BY", "NOTES", "REASON").NamedBy(1)
	for _, d := range list {
		reason := cut(strings.Join(strings.Fields(d.Reason), " "))
		t.Row(p.Time(d.At), query.Name(d.Address), cmp.Or(d.Choice, "-"), inWhoseName(d.Decided), cmp.Or(noted(d), "-"), reason)
	}
	return t
}

// inWhoseName is who has decided, all of them where it took several, and who behind the last name.
func inWhoseName(d runtime.Decided) string {
	if len(d.Voters) > 0 {
		d.By = strings.Join(d.Voters, ", ")
	}
	if d.Through != "" {
		return d.By + " (" + d.Through + ")"
	}
	return d.By
}

// noted is what is out of the ordinary with a decision.
func noted(d runtime.Decision) string {
	var notes []string
	if d.Via != "signal" {
		notes = append(notes, d.Via)
	}
	if d.Imported {
		notes = append(notes, "imported")
	}
	if d.Copied {
		notes = append(notes, "copied")
	}
	return strings.Join(notes, ", ")
}
