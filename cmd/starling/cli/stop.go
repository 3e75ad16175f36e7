package cli

import (
	"context"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// stopVerb is a call of the verb stop.
type stopVerb struct{ call *call }

// stopCommand is the verb stop.
func stopCommand(c *call) *cobra.Command {
	verb := &stopVerb{call: c}
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
			return verb.stop(cmd.Context())
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

// stop is good, and says so, when there is nobody to stop. It works on owners of other versions
// too.
func (v *stopVerb) stop(ctx context.Context) error {
	pid, err := v.call.door().Stop(ctx)
	switch {
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(stoppedDocument{runtime.Schema, pid})
	case pid == 0:
		v.call.notice("no process owns %s", v.call.place.Name())
	default:
		v.call.print("stopped process %d", pid)
	}
	return nil
}
