package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/query"
)

// interveneVerb is what steer and stop are told.
type interveneVerb struct {
	call *call

	reason string
	as     string
	key    string
}

// steerCommand is the verb steer.
func steerCommand(c *call) *cobra.Command {
	v := &interveneVerb{call: c}
	cmd := &cobra.Command{
		Use:     "steer RUN@STEP MESSAGE",
		Short:   "Tell an agent something while it works",
		GroupID: "decisions",
		Long: `Tell an agent something while it works. It has the message before its next step where its backend can be told, or is ended and goes on with its conversation. A message
that a crash cuts stands first in the input of the next attempt.`,
		Example: "  starling steer @last@researcher 'leave the vendored code alone'",
		Args:    operands(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.reason = args[1]
			return c.intervene(cmd.Context(), runtime.SignalSteer, args[0], v)
		},
	}
	c.interveneFlags(cmd, v)
	return cmd
}

func (c *call) interveneFlags(cmd *cobra.Command, v *interveneVerb) {
	cmd.Flags().StringVar(&v.as, "as", "", "act as `WHO`; both names are recorded")
	cmd.Flags().StringVar(&v.key, "key", "", "idempotency `KEY`")
	c.jsonFlag(cmd)
}

// cutStep takes RUN@STEP apart; the run may be @last.
func cutStep(address string) (run, step string) {
	last := strings.HasPrefix(address, "@")
	run, step, _ = strings.Cut(strings.TrimPrefix(address, "@"), "@")
	if last {
		run = "@" + run
	}
	return run, query.Address(step)
}

func (c *call) intervene(ctx context.Context, kind runtime.SignalKind, address string, v *interveneVerb) error {
	run, step := cutStep(address)
	if run == "" || step == "" {
		return usage("starling steps RUN lists the steps", "got the address %q, want RUN@STEP", address)
	}
	s, err := c.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer c.leave(s)
	r, err := query.DeclaredBy(ctx, s, run)
	if err != nil {
		return err
	}
	receipt, err := s.Signal(ctx, runtime.Signal{Kind: kind, Key: requestKey(v.key), Run: r.Run, Step: step, Reason: v.reason, As: v.as, Env: c.values(r.Env)})
	if err != nil {
		return err
	}
	return c.receipt(receipt)
}
