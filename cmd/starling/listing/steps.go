package listing

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"starling/runtime"
	"starling/runtime/query"
)

// Steps writes a line for each step, and for each branch that has failed.
func Steps(out io.Writer, page *runtime.StepPage) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, s := range page.Steps {
		took := ""
		if s.EndedAt != nil {
			took = s.EndedAt.Sub(s.StartedAt).Round(time.Millisecond).String()
		}
		line := fmt.Sprintf("  %s\t%s\t%s\t%s\t%s", query.Name(s.Step), s.Kind, s.Stands(), worked(&s), took)
		fmt.Fprintln(w, strings.TrimRight(line, "\t"))
	}
	for _, f := range page.Failed {
		fmt.Fprintf(w, "  %s\tbranch\terror\t%s\n", query.Name(f.Branch), f.Why())
	}
	return w.Flush()
}

// worked is what a run did for a step: attempts, or nothing where it has the outcome of another
// run.
func worked(s *runtime.Step) string {
	if s.Repeats != "" {
		return "as in " + s.Repeats
	}
	return attempts(s.Attempts)
}

func attempts(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// Tracks writes how far what has several stages is.
func Tracks(out io.Writer, tracks []runtime.Track) error {
	for _, t := range tracks {
		fmt.Fprintf(out, "%s  %d/%d  %s\n", t.Track, t.Done, len(t.Stages), t.Status)
		for _, stage := range t.Stages {
			if _, err := fmt.Fprintf(out, "  %-9s %s\n", stage.Status, stage.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// StepTree writes a run's steps by branches, each with the attempts of those that took several.
func StepTree(out io.Writer, r *runtime.Run, page *runtime.StepPage) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	t := treeWriter{w}
	t.line("", r.ID+"  "+r.Script, string(r.Status), "", r.Details.UpdatedAt.Sub(r.Details.StartedAt))
	t.branch(query.Tree(page), "")
	return w.Flush()
}

// treeWriter lays the tree out in columns.
type treeWriter struct{ w *tabwriter.Writer }

func (t treeWriter) line(indent, name, status, tries string, took time.Duration) {
	duration := ""
	if took >= 0 {
		duration = took.Round(time.Millisecond).String()
	}
	columns := strings.TrimRight(strings.Join([]string{indent + name, status, tries, duration}, "\t"), "\t")
	t.w.Write([]byte(columns + "\n"))
}

func (t treeWriter) branch(b *query.Branch, indent string) {
	for i, n := range b.Nodes {
		edge, below := "├─ ", "│  "
		if i == len(b.Nodes)-1 {
			edge, below = "└─ ", "   "
		}
		if n.Branch != nil {
			status, why := "", ""
			if f := n.Branch.Failed; f != nil {
				status, why = "error", f.Why()
			}
			t.line(indent+edge, query.Name(n.Branch.Name), status, why, -1)
			t.branch(n.Branch, indent+below)
			continue
		}
		t.step(n.Step, indent+edge, indent+below)
	}
}

// step writes a step, and the attempts of one that took several.
func (t treeWriter) step(s *runtime.Step, edge, below string) {
	name := s.Step[strings.LastIndexByte(s.Step, '/')+1:]
	if s.Kind != name {
		name += " (" + s.Kind + ")"
	}
	t.line(edge, name, s.Stands(), worked(s), between(s.StartedAt, s.EndedAt))
	if len(s.Tries) < 2 {
		return
	}
	for _, a := range s.Tries {
		t.line(below+"  ", "attempt "+strconv.Itoa(a.Number), cmp.Or(a.Class, "running"), a.Backend, between(a.StartedAt, a.EndedAt))
	}
}

// between is how long something took, negative while it goes on.
func between(from time.Time, to *time.Time) time.Duration {
	if to == nil {
		return -1
	}
	return to.Sub(from)
}
