package main

import (
	"context"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// stopCommand is the verb stop.
func (c *call) stopCommand() *cobra.Command {
	var v interveneVerb
	cmd := &cobra.Command{
		Use:     "stop [RUN@STEP]",
		Short:   "Ask the process that owns the store to leave, or end one agent",
		GroupID: "store",
		Long: `Ask the process that owns the store to leave, and wait until it has. Its runs stay as they are.
A token that is brought needs the capability admin.

With RUN@STEP the agent at work there is ended, and nothing else: its Result has the status stopped, and the script goes on.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return c.intervene(cmd.Context(), runtime.SignalStop, args[0], &v)
			}
			return c.stop(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&v.reason, "reason", "m", "", "why the agent is ended, in `WORDS`")
	c.interveneFlags(cmd, &v)
	return cmd
}

// stoppedDocument is what stop prints: the pid of the process that has left, 0 if there was none.
type stoppedDocument struct {
	Schema  string `json:"schema"`
	Stopped int    `json:"stopped"`
}

// stop is good, and says so, when there is nobody to stop. It works on owners of other versions too.
func (c *call) stop(ctx context.Context) error {
	pid, err := c.door().Stop(ctx)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.answerJSON(stoppedDocument{runtime.Schema, pid})
	case pid == 0:
		c.notice("no process owns %s", c.place.store)
	default:
		c.print("stopped process %d", pid)
	}
	return nil
}
