package cli

import (
	"context"

	"github.com/spf13/cobra"

	"starling/cmd/starling/webhook"
	"starling/lang/effect"
	"starling/runtime/tool"
)

// webhooksCommand is the verb webhooks.
func webhooksCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "webhooks",
		Short:   "Look at what others may post to the project's server, and try it",
		GroupID: "look",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(webhook.Commands(webhook.Terminal{Receiver: c.receiver(nil), In: c.stdin, Out: c.stdout, Paper: c.paper,
		Answer: c.wanted, Flags: c.jsonFlag, Operands: operands, Open: func(ctx context.Context) (*tool.Desk, func(), error) {
			s, err := c.door().Detach(ctx)
			if err != nil {
				return nil, nil, err
			}
			return c.desk(s), func() { c.leave(s) }, nil
		}})...)
	return cmd
}

// receiver takes what is posted to the webhooks of the project, for an engine.
func (c *call) receiver(desk *tool.Desk) webhook.Receiver {
	settings := func() (*effect.Settings, error) { return c.settings(c.place.Project, "") }
	folder := func() string { return c.place.Store }
	return webhook.Receiver{Desk: desk, Settings: settings, Getenv: c.getenv, Clock: c.clock, Refusals: webhook.NewRefusals(folder), Shelf: webhook.NewShelf(folder)}
}
