package main

import (
	"context"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// inboxCommand is the verb inbox: a plain list, the oldest gate first.
func (c *call) inboxCommand() *cobra.Command {
	var target string
	cmd := &cobra.Command{
		Use:     "inbox",
		Short:   "List the open gates",
		GroupID: "decisions",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.inbox(cmd.Context(), target) },
	}
	cmd.Flags().StringVar(&target, "target", "", "only what `WHO` may answer")
	c.jsonFlag(cmd)
	return cmd
}

// gatesDocument is what inbox prints: unlike the engine's listing it has its list even when that is empty.
type gatesDocument struct {
	Schema string         `json:"schema"`
	Gates  []runtime.Gate `json:"gates"`
}

// inbox lists open gates with what each is about and the commands that answer it.
func (c *call) inbox(ctx context.Context, target string) error {
	s, err := c.door().Look(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	l, err := s.List(ctx, runtime.Query{Gates: true, Target: target})
	if err != nil {
		return err
	}
	c.withAnswers(l.Gates)
	if c.json {
		return c.answerJSON(gatesDocument{runtime.Schema, append([]runtime.Gate{}, l.Gates...)})
	}
	if len(l.Gates) == 0 {
		c.notice("no gate is open")
	}
	for _, g := range l.Gates {
		c.printGate(g)
	}
	return nil
}

// printGate shows a gate with what is to be decided and how.
func (c *call) printGate(g runtime.Gate) {
	whole := g
	whole.Gate = g.Address
	c.print("%s", gateLine(whole))
	if text := indent(g.Data, "  "); text != "" && text != "null" {
		c.print("  %s", text)
	}
	for _, o := range g.Options {
		if o.Description != "" {
			c.print("  %s: %s", o.Name, o.Description)
		}
	}
	for _, line := range c.answers(g) {
		c.print("    %s", line)
	}
}
