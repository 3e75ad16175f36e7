package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/graph"
	"starling/runtime"
	"starling/runtime/query"
)

// graphVerb is a call of the verb graph.
type graphVerb struct {
	call *call

	format string
}

// graphCommand is the verb graph.
func graphCommand(c *call) *cobra.Command {
	v := &graphVerb{call: c}
	var p stepPage
	cmd := &cobra.Command{
		Use:     "graph RUN|SCRIPT",
		Short:   "Draw what a run has done, or what a script may do",
		GroupID: "look",
		Long: `Draw the steps of a run, with how they stand and how long they took; or, of the file SCRIPT, whose name ends with .star or has a slash, what it may do:
its steps, gates and child runs, its branches, loops and choices. A script is read, and not run.

On a terminal it is drawn as a tree, elsewhere as a Mermaid flowchart.`,
		Example: "  starling graph review.star --format svg > review.svg",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.graph(cmd.Context(), args[0], p) },
	}
	cmd.Flags().StringVar(&v.format, "format", "", "the `FORM`: "+strings.Join(graph.Formats(), ", "))
	p.flags(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// graphDocument is what graph prints.
type graphDocument struct {
	Schema  string         `json:"schema"`
	Run     string         `json:"run,omitempty"`
	Status  runtime.Status `json:"status,omitempty"`
	Mermaid string         `json:"mermaid"`
	Next    uint64         `json:"next,omitempty"`
	*graph.Graph
}

func (v *graphVerb) graph(ctx context.Context, what string, p stepPage) error {
	form, err := graph.Format(v.format, v.call.paper())
	if err = cmp.Or(err, p.check()); err != nil {
		return err
	}
	v.format, v.call.json = form, v.call.json || form == graph.JSON
	if strings.HasSuffix(what, ".star") || strings.Contains(what, "/") {
		return v.graphScript(what)
	}
	return v.call.lookAt(ctx, what, func(s connect.Session, r *runtime.Run) error {
		page, err := query.PageOfSteps(ctx, s, runtime.StepQuery{Run: r.ID, After: max(p.after, r.Details.Horizon), Limit: p.limit})
		if err != nil {
			return err
		}
		page.Earlier = p.after > 0
		if !v.call.json {
			defer v.call.moreSteps(page.Next)
		}
		return v.draw(graphDocument{runtime.Schema, r.ID, r.Status, query.Diagram(r, page), page.Next, graph.OfRun(r, page)})
	})
}

// graphScript draws a script.
func (v *graphVerb) graphScript(path string) error {
	bundle, err := v.call.readBundle(path)
	if err != nil {
		return err
	}
	g, err := graph.OfScript(bundle, v.call.env())
	if err != nil {
		return err
	}
	return v.draw(graphDocument{Schema: runtime.Schema, Mermaid: g.Flowchart(), Graph: g})
}

func (v *graphVerb) draw(d graphDocument) error {
	if v.call.json {
		return v.call.answerJSON(d)
	}
	return d.Write(v.format, d.Mermaid, v.call.paper(), v.call.stdout, v.call.stdout.Raw())
}
