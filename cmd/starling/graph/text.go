package graph

import (
	"fmt"
	"io"
	"strings"

	"starling/cmd/starling/table"
)

// tree writes a graph as lines for a terminal or a file.
func (g *Graph) tree(p table.Paper, w io.Writer) error {
	lines := []string{p.Line(table.Bold(g.Title), p.State(g.State))}
	below(g.Nodes, false, p, "", &lines)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func below(nodes []*Node, fans bool, p table.Paper, indent string, lines *[]string) {
	for i, n := range nodes {
		edge, next := "├─ ", "│  "
		if fans {
			edge = "╞═ "
		}
		if i == len(nodes)-1 {
			edge, next = "└─ ", "   "
			if fans {
				edge = "╘═ "
			}
		}
		name := table.Cell{Text: indent + edge + n.Name}
		if n.box() {
			name = table.Bold(name.Text)
		}
		cells := []table.Cell{name, table.Dim(kinds(n)), {Text: n.Note}, table.Dim(n.Took)}
		if n.State != "" {
			cells = append(cells[:3], p.State(n.State), table.Dim(n.Took))
		}
		*lines = append(*lines, p.Line(cells...))
		below(n.Nodes, n.Fans, p, indent+next, lines)
	}
}

// kinds says what a node is, where its name does not.
func kinds(n *Node) string {
	if n.Kind == n.Name || n.Kind == n.Note || n.box() && n.Kind != "call" {
		return ""
	}
	return n.Kind
}

// Flowchart is a graph in Mermaid's language.
func (g *Graph) Flowchart() string {
	m := &drawing{}
	m.line("flowchart TD")
	m.line("  start([%s])", mermaidText(g.Title))
	last := m.sequence(g.Nodes, false, "  ", "start", m.mermaidNode, func(a, b string) { m.line("  %s --> %s", a, b) })
	m.line("  stop([end])")
	m.line("  %s --> stop", last)
	return m.String()
}

// drawing is text that numbers its nodes.
type drawing struct {
	strings.Builder
	n int
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) next() string {
	d.n++
	return fmt.Sprintf("n%d", d.n-1)
}

// sequence draws nodes after one another, or side by side where they fan, and gives the last.
func (d *drawing) sequence(nodes []*Node, fans bool, indent, before string, draw func(*Node, string) string, arrow func(a, b string)) string {
	for _, n := range nodes {
		id := draw(n, indent)
		if before != "" && !fans {
			arrow(before, id)
		}
		before = id
	}
	return before
}

func (d *drawing) mermaidNode(n *Node, indent string) string {
	id := d.next()
	if n.box() {
		d.line("%ssubgraph %s[%s]", indent, id, mermaidText(n.words()...))
		d.sequence(n.Nodes, n.Fans, indent+"  ", "", d.mermaidNode, func(a, b string) { d.line("%s  %s --> %s", indent, a, b) })
		d.line("%send", indent)
		return id
	}
	open, end := "[", "]"
	switch n.Kind {
	case "gate":
		open, end = "{{", "}}"
	case "run":
		open, end = "[[", "]]"
	}
	d.line("%s%s%s%s%s", indent, id, open, mermaidText(n.words()...), end)
	return id
}

// mermaidText quotes lines: what Mermaid or HTML would read in them are Mermaid's entities.
func mermaidText(lines ...string) string {
	r := strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\n", " ")
	quoted := make([]string, len(lines))
	for i, l := range lines {
		quoted[i] = r.Replace(l)
	}
	return `"` + strings.Join(quoted, "<br/>") + `"`
}

// dot writes a graph for Graphviz.
func (g *Graph) dot(w io.Writer) error {
	d := &drawing{}
	d.line("digraph {")
	d.line("  compound = true; node [shape = box, style = rounded, fontname = \"sans-serif\"]; label = %s", dotText(g.Title))
	d.dotSequence(g.Nodes, false, "  ")
	d.line("}")
	_, err := io.WriteString(w, d.String())
	return err
}

// dotSequence draws nodes with their arrows, and gives a step at each end: arrows of DOT go from
// step to step, cut at the box around them.
func (d *drawing) dotSequence(nodes []*Node, fans bool, indent string) (first, last dotEnd) {
	for _, n := range nodes {
		from, to := d.dotNode(n, indent)
		if first.step == "" {
			first = from
		}
		if last.step != "" && !fans {
			d.line("%s%s -> %s [ltail = %q, lhead = %q]", indent, last.step, from.step, last.box, from.box)
		}
		last = to
	}
	return first, last
}

// dotEnd is a step, and the box around it, "" for none.
type dotEnd struct{ step, box string }

func (d *drawing) dotNode(n *Node, indent string) (first, last dotEnd) {
	id := d.next()
	if !n.box() {
		shape := ""
		switch n.Kind {
		case "gate":
			shape = ", shape = hexagon"
		case "run":
			shape = ", peripheries = 2"
		}
		d.line("%s%s [label = %s, color = %q%s]", indent, id, dotText(n.words()...), stroke(class(n.State)), shape)
		return dotEnd{step: id}, dotEnd{step: id}
	}
	box := "cluster_" + id
	d.line("%ssubgraph %s {", indent, box)
	d.line("%s  label = %s; color = %q", indent, dotText(n.words()...), stroke(class(n.State)))
	first, last = d.dotSequence(n.Nodes, n.Fans, indent+"  ")
	d.line("%s}", indent)
	first.box, last.box = box, box
	return first, last
}

func dotText(lines ...string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ")
	quoted := make([]string, len(lines))
	for i, l := range lines {
		quoted[i] = r.Replace(l)
	}
	return `"` + strings.Join(quoted, `\n`) + `"`
}
