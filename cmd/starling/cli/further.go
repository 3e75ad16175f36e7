package cli

import "github.com/spf13/cobra"

// workerCommand is the verb worker, of programs with a further engine.
func workerCommand(c *call) *cobra.Command {
	var queue string
	cmd := &cobra.Command{
		Use:     "worker",
		Short:   "Stay, and carry the runs of the server that [engine] names",
		GroupID: "store",
		Long:    "Stay, and carry the runs of the server that [engine] of starling.toml names. Any number of workers may run, on any machine; each brings the variables of its own environment. With --queue it does the work of the agents that name the queue, and carries no runs.",
		Args:    operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.further.Work(cmd.Context(), c.place, c.reach(), queue)
		},
	}
	cmd.Flags().StringVar(&queue, "queue", "", "do only the work of agents with this `QUEUE`")
	return cmd
}
