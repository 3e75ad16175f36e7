package cli

import "github.com/spf13/cobra"

// workerCommand is the verb worker, of programs with a further engine.
func workerCommand(c *call) *cobra.Command {
	return &cobra.Command{
		Use:     "worker",
		Short:   "Stay, and carry the runs of the server that [engine] names",
		GroupID: "store",
		Long:    "Stay, and carry the runs of the server that [engine] of starling.toml names. Any number of workers may run, on any machine; each brings the variables of its own environment.",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.further.Work(cmd.Context(), c.place, c.reach()) },
	}
}
