package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/tool"
)

// graphVerb is a call of the verb graph.
type graphVerb struct{ *call }

// graphCommand is the verb graph.
func graphCommand(c *call) *cobra.Command {
	v := &graphVerb{call: c}
	var p stepPage
	cmd := &cobra.Command{
		Use:     "graph RUN",
		Short:   "Draw a run's steps as a Mermaid flowchart",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.graph(cmd.Context(), args[0], p) },
	}
	p.flags(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// graphDocument is what graph prints.
type graphDocument struct {
	Schema string `json:"schema"`
	*tool.Drawn
}

func (v *graphVerb) graph(ctx context.Context, address string, p stepPage) error {
	if err := p.check(); err != nil {
		return err
	}
	return v.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		drawn, err := tool.Draw(ctx, s, r, p.after, p.limit)
		switch {
		case err != nil:
			return err
		case v.json:
			return v.answerJSON(graphDocument{runtime.Schema, drawn})
		}
		fmt.Fprint(v.stdout, drawn.Mermaid)
		v.moreSteps(drawn.Next)
		return nil
	})
}
