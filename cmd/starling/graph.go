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
	cmd := &cobra.Command{
		Use:     "graph RUN",
		Short:   "Draw a run's steps as a Mermaid flowchart",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.graph(cmd.Context(), args[0]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

// graphDocument is what graph prints.
type graphDocument struct {
	Schema string `json:"schema"`
	tool.Drawn
}

func (c *call) graph(ctx context.Context, address string) error {
	s, err := c.door().Look(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	r, err := s.Get(ctx, address)
	if err != nil {
		return err
	}
	steps, err := runtime.StepsAfter(ctx, s, r.ID, r.Details.Horizon)
	if err != nil {
		return err
	}
	drawn := tool.Drawn{Run: r.ID, Status: r.Status, Mermaid: runtime.Diagram(r, steps)}
	if c.json {
		return c.answerJSON(graphDocument{runtime.Schema, drawn})
	}
	fmt.Fprint(plain{c.stdout}, drawn.Mermaid)
	return nil
}
