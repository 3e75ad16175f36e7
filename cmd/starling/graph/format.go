package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"starling/cmd/starling/table"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// The forms of a graph.
const (
	Tree    = "tree" // that of a terminal
	Mermaid = "mermaid"
	DOT     = "dot"
	SVG     = "svg"
	JSON    = "json" // which is for the caller to write
)

// Formats lists the forms.
func Formats() []string { return []string{Tree, Mermaid, DOT, SVG, JSON} }

// Format is the form that is asked for, "" for what fits the paper.
func Format(asked string, p table.Paper) (string, error) {
	switch {
	case asked == "" && p.Terminal():
		return Tree, nil
	case asked == "":
		return Mermaid, nil
	case slices.Contains(Formats(), asked):
		return asked, nil
	}
	return "", runtime.Refuse(runtime.ErrUsage, diagnostic.Meant(asked, Formats()), "graph: --format: got %q, want %s", asked, strings.Join(Formats(), ", "))
}

// Write writes a graph in a form: a tree to raw, which takes escape sequences as they are, others
// to w. The flowchart is one that was made before.
func (g *Graph) Write(format, flowchart string, p table.Paper, w, raw io.Writer) error {
	switch format {
	case Tree:
		return g.tree(p, raw)
	case DOT:
		return g.dot(w)
	case SVG:
		return g.svg(w)
	}
	_, err := fmt.Fprint(w, flowchart)
	return err
}
