package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/progress"
	"starling/cmd/starling/stay"
	"starling/runtime"
	"starling/runtime/query"
)

// signalVerb answers a gate, or leaves a message for a run.
type signalVerb struct {
	call *call

	choice  string
	reason  string
	data    string
	message string
	as      string
	key     string
	noWait  bool

	override bool
}

// signalCommand is the verb signal, the one door through which anything is brought to a run.
func signalCommand(c *call) *cobra.Command {
	v := &signalVerb{call: c}
	cmd := &cobra.Command{
		Use:     "signal RUN/GATE",
		Short:   "Answer a gate",
		GroupID: "decisions",
		Long: `Answer a gate, and follow the run until it rests. The exit code says whether the answer was accepted, not how the run ends.

With --message NAME the operand is a RUN, and the data goes into its mailbox.`,
		Example: "  starling signal @last/review-gate --choice approve -m 'looks right' --as reviewer-agent",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.signal(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&v.choice, "choice", "", "the `OPTION` chosen")
	cmd.Flags().StringVar(&v.message, "message", "", "leave a message of this `NAME` in the run's mailbox")
	v.answerFlags(cmd)
	return cmd
}

// approveCommand is the verb approve.
func approveCommand(c *call) *cobra.Command {
	return decideCommand(c, "approve", "Approve at a gate")
}

// rejectCommand is the verb reject.
func rejectCommand(c *call) *cobra.Command { return decideCommand(c, "reject", "Reject at a gate") }

// decideCommand is signal with a choice that has a verb of its own.
func decideCommand(c *call, choice, short string) *cobra.Command {
	v := &signalVerb{call: c, choice: choice}
	cmd := &cobra.Command{
		Use:     choice + " RUN/GATE",
		Short:   short,
		GroupID: "decisions",
		Args:    operands(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.signal(cmd.Context(), args[0]) },
	}
	v.answerFlags(cmd)
	return cmd
}

// answerFlags are those that signal, approve and reject have in common.
func (v *signalVerb) answerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&v.reason, "reason", "m", "", "why, in `WORDS`")
	f.StringVar(&v.data, "data", "", "the payload: `JSON`, @FILE, or - for standard input")
	f.StringVar(&v.as, "as", "", "act as `WHO`; both names are recorded")
	f.BoolVar(&v.override, "override", false, "answer a gate that is for somebody else, in your own name; it is recorded as an override")
	f.StringVar(&v.key, "key", "", "idempotency `KEY`: sending again with it gives the same receipt")
	f.BoolVar(&v.noWait, "no-wait", false, "do not follow the run; the owner of the store stays while it is in motion")
	v.call.jsonFlag(cmd)
}

// signal sends and follows. The address is resolved to a run first, for the variables that the run
// declares travel with the signal: it carries the run.
func (v *signalVerb) signal(ctx context.Context, address string) error {
	request, err := v.signalRequest(address)
	if err != nil {
		return err
	}
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	r, err := query.DeclaredBy(ctx, s, request.Run)
	if err != nil {
		return err
	}
	request.Run, request.Env = r.Run, v.call.values(r.Env)
	receipt, err := s.Signal(ctx, request)
	if err != nil {
		return err
	}
	if err := v.call.receipt(receipt); err != nil || v.noWait {
		return err
	}
	return v.call.afterSignal(ctx, s, receipt)
}

// signalRequest reads the operand and the flags.
func (v *signalVerb) signalRequest(address string) (runtime.Signal, error) {
	sig := runtime.Signal{Key: requestKey(v.key), Kind: runtime.SignalAnswer, Choice: v.choice, Reason: v.reason, As: v.as, Override: v.override, Name: v.message}
	var found bool
	sig.Run, sig.Gate, found = strings.Cut(address, "/")
	sig.Gate = query.Address(sig.Gate)
	if v.message != "" {
		sig.Kind = runtime.SignalMessage
		found = !found
	}
	if !found || sig.Run == "" {
		return sig, usage("starling inbox lists the open gates", "got the address %q, want %s", address, addressWanted(v))
	}
	data, err := v.call.payload(v.data)
	if err != nil {
		return sig, err
	}
	if !json.Valid(data) {
		sig.Text = string(data) // "" stays ""
		return sig, nil
	}
	sig.Data = data
	return sig, nil
}

func addressWanted(v *signalVerb) string {
	if v.message != "" {
		return "a RUN, because of --message"
	}
	return "RUN/GATE"
}

// receipt tells that the signal was accepted: the result of the command.
func (c *call) receipt(r *runtime.Receipt) error {
	if c.json {
		return c.answerJSON(r)
	}
	address := r.Run
	if r.Gate != "" {
		address += "/" + r.Gate
	}
	more := ""
	switch {
	case r.Repeated:
		more = " (this key was known; nothing is done twice)"
	case r.Gate != "" && len(r.Decision) == 0:
		more = ": it is decided when more have chosen the same"
	}
	c.print("accepted %s%s", address, more)
	return nil
}

// afterSignal follows the run on standard error. The command's exit code is the receipt's, which
// was good: how the run ends is told and no more.
func (c *call) afterSignal(ctx context.Context, s connect.Session, receipt *runtime.Receipt) error {
	f := stay.Follower{Session: s, Run: receipt.Run, After: receipt.Seq, Show: progress.New(c.stderr).Show}
	r, err := f.Stay(ctx, stay.AtRest)
	switch {
	case context.Cause(ctx) != nil:
		c.left(r, s)
		return err
	case err != nil:
		c.notice("warning: cannot follow the run: %v", err)
	case r.Error != nil:
		c.notice("%s %s", r.Status, r.ID)
		c.tell(r.Error)
	case r.Status == runtime.Completed:
		c.completed(r)
	default:
		c.suspended(r)
	}
	return nil
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
