package cli

import (
	"context"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// cancelVerb ends a run.
type cancelVerb struct {
	call *call

	reason string
	as     string
	key    string
}

// cancelCommand is the verb cancel. It names exactly one run: there is no "the only one", which
// would end the wrong run one day.
func cancelCommand(c *call) *cobra.Command {
	v := &cancelVerb{call: c}
	cmd := &cobra.Command{
		Use:     "cancel RUN",
		Short:   "End a run and all it started",
		GroupID: "runs",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.cancel(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&v.reason, "reason", "m", "", "why, in `WORDS`")
	f.StringVar(&v.as, "as", "", "act as `WHO`; both names are recorded")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`")
	c.jsonFlag(cmd)
	return cmd
}

// cancel takes the store even if nobody has it: what a cancel ends (children, gates, timers) is
// written by the owner.
func (v *cancelVerb) cancel(ctx context.Context, run string) error {
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	receipt, err := s.Cancel(ctx, runtime.CancelRequest{Key: requestKey(v.key), Run: run, Reason: v.reason, As: v.as})
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(receipt)
	}
	v.call.print("cancelled %s", receipt.Run)
	return nil
}
