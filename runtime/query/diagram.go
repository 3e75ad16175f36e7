package query

import (
	"fmt"
	"strings"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

// Diagram draws a run as it stands: a Mermaid flowchart (mermaid.js.org/syntax/flowchart.html) of
// its steps, those of one branch below each other and branches side by side, coloured by how they
// stand. The steps are a page of them: what is before and behind it is a box that says so.
func Diagram(r *runtime.Run, page *runtime.StepPage) string {
	d := diagram{}
	d.line("flowchart TD")
	d.line("  start([%s])", label(r.Script))
	last := "start"
	if page.Earlier {
		last = d.rest(last, "earlier steps")
	}
	last = d.branch(Tree(page), "  ", last)
	if page.Next > 0 {
		last = d.rest(last, "later steps")
	}
	d.line("  stop([%s]):::%s", label(string(r.Status)), Colour(string(r.Status)))
	d.line("  %s --> stop", last)
	for _, c := range colours {
		d.line("  classDef %s fill:%s,stroke:%s,color:#111", c.name, c.fill, c.stroke)
	}
	return d.text.String()
}

// rest draws the steps that are not on the page.
func (d *diagram) rest(before, what string) string {
	id := fmt.Sprintf("n%d", d.n)
	d.n++
	d.line("  %s(%s):::gone", id, label("… "+what))
	d.line("  %s --> %s", before, id)
	return id
}

// colours are the classes of nodes.
var colours = [...]struct{ name, fill, stroke string }{
	{"done", "#d8f5d8", "#2e7d32"}, {"open", "#fff3c4", "#b7791f"}, {"busy", "#d6e9ff", "#1f5fa8"}, {"bad", "#ffd9d6", "#b3261e"}, {"gone", "#eeeeee", "#777777"},
}

// Colour is the class of a status, of a step or a run: done, open, busy, bad or gone.
func Colour(status string) string {
	switch status {
	case "ok", string(runtime.Completed):
		return "done"
	case "waiting", string(runtime.Suspended):
		return "open"
	case "running":
		return "busy"
	case "withdrawn", "stopped", string(runtime.Cancelled):
		return "gone"
	}
	return "bad"
}

type diagram struct {
	text strings.Builder
	n    int // nodes and groups so far
}

func (d *diagram) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// branch draws what is in a branch, each after the one before it, and returns what is last. Nothing
// comes before the first where before is "".
func (d *diagram) branch(b *Branch, indent, before string) (last string) {
	for _, n := range b.Nodes {
		next := d.node(n, indent)
		if before != "" && !b.Fans {
			d.line("%s%s --> %s", indent, before, next)
		}
		before = next
	}
	return before
}

// node draws a step, or a branch as a box of what is in it.
func (d *diagram) node(n Node, indent string) (id string) {
	id = fmt.Sprintf("n%d", d.n)
	d.n++
	if n.Branch == nil {
		d.line("%s%s%s:::%s", indent, id, shape(n.Step), Colour(n.Step.Status))
		return id
	}
	words := []string{Name(n.Branch.Name)}
	if n.Branch.Failed != nil {
		words = append(words, n.Branch.Why())
	}
	if len(n.Branch.Nodes) == 0 {
		d.line("%s%s[%s]", indent, id, label(words...))
	} else {
		d.line("%ssubgraph %s[%s]", indent, id, label(words...))
		d.branch(n.Branch, indent+"  ", "")
		d.line("%send", indent)
	}
	if n.Branch.Failed != nil {
		d.line("%sclass %s bad", indent, id)
	}
	return id
}

// shape is a step in brackets that tell what it is: gates are hexagons, child runs have double
// sides.
func shape(s *runtime.Step) string {
	words := []string{Name(s.Step[strings.LastIndexByte(s.Step, '/')+1:])}
	if name, _, _ := strings.Cut(words[0], "#"); s.Agent != "" && s.Agent != name {
		words = append(words, s.Agent)
	}
	status := s.Stands()
	if s.Attempts > 1 {
		status += fmt.Sprintf(", %d attempts", s.Attempts)
	}
	if s.EndedAt != nil && s.Status != "withdrawn" {
		status += ", " + s.EndedAt.Sub(s.StartedAt).Round(time.Millisecond).String()
	}
	open, end := "[", "]"
	switch s.Kind {
	case journal.KindGate:
		open, end = "{{", "}}"
	case journal.KindRun:
		open, end = "[[", "]]"
	}
	return open + label(append(words, status)...) + end
}

// label quotes lines of text. What Mermaid or HTML would read in them is written as Mermaid's
// entities.
func label(lines ...string) string {
	r := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\n", " ")
	for i, l := range lines {
		lines[i] = r.Replace(l)
	}
	return `"` + strings.Join(lines, "<br/>") + `"`
}
