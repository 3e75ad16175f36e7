package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/tool"
)

// graphCommand is the verb graph.
func (c *call) graphCommand() *cobra.Command {
	var p stepPage
	cmd := &cobra.Command{
		Use:     "graph RUN",
		Short:   "Draw a run's steps as a Mermaid flowchart",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.graph(cmd.Context(), args[0], p) },
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

func (c *call) graph(ctx context.Context, address string, p stepPage) error {
	if err := p.check(); err != nil {
		return err
	}
	return c.lookAt(ctx, address, func(s session, r *runtime.Run) error {
		drawn, err := tool.Draw(ctx, s, r, p.after, p.limit)
		switch {
		case err != nil:
			return err
		case c.json:
			return c.answerJSON(graphDocument{runtime.Schema, drawn})
		}
		fmt.Fprint(c.stdout, drawn.Mermaid)
		c.moreSteps(drawn.Next)
		return nil
	})
}
