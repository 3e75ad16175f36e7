package cli

import (
	"context"

	"github.com/spf13/cobra"

	"starling/cmd/starling/config"
	"starling/cmd/starling/place"
)

// configCommand is the verb config.
func configCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Read and write the settings of the project, and say where each comes from",
		GroupID: "scripts",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	here := func(ctx context.Context) (*place.Place, error) {
		if c.place == nil { // a shell completes
			if err := c.look(ctx); err != nil {
				return nil, err
			}
		}
		return c.place, nil
	}
	cmd.AddCommand(config.Commands(config.Host{Place: here, Flags: func() config.Flags { return config.Flags{Store: c.storeFlag, Server: c.serverFlag} },
		Getenv: c.getenv, Out: c.stdout, Paper: c.paper, Answer: c.wanted, JSON: c.jsonFlag, Operands: operands})...)
	return cmd
}
