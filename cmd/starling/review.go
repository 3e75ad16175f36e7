package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/repl"
	"starling/runtime"
)

// reviewCommand is the verb review: the inbox, one gate after another.
func (c *call) reviewCommand() *cobra.Command {
	var target, which string
	cmd := &cobra.Command{
		Use:     "review",
		Short:   "Answer the open gates, one after another",
		GroupID: "decisions",
		Long: `Show each open gate with its options by number and take its answer: a number or the name of an option, and the reason behind it. Words alone are the reason of the option "other", if there is
one. Where there are no options the answer is JSON, or words. An empty line leaves the gate open, the end of the input leaves them all.

Each answer is durable when it is accepted. After the last one the runs are followed until they rest.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.review(cmd.Context(), target, which) },
	}
	cmd.Flags().StringVar(&target, "target", "", "only what `WHO` may answer, in that name")
	cmd.Flags().StringVar(&which, "filter", "", "only those that `FILTER` means; see starling query --help")
	return cmd
}

// review asks about the gates that are open when it begins.
func (c *call) review(ctx context.Context, target, which string) error {
	s, all, err := c.openGates(ctx, c.staying(false), gateQuery{target: target, filter: which})
	if err != nil {
		return err
	}
	defer c.leave(s)
	gates := all.List
	if len(gates) == 0 {
		c.notice("no gate is open")
		return nil
	}
	lines, release := c.lines()
	answered, err := c.askAll(ctx, s, lines, gates, target)
	release()
	if err != nil {
		return err
	}
	return c.tellAll(ctx, s, answered)
}

// askAll gives the receipts of what was answered: the last of each run.
func (c *call) askAll(ctx context.Context, s session, lines repl.Lines, gates []runtime.Gate, as string) ([]*runtime.Receipt, error) {
	var answered []*runtime.Receipt
	for i, g := range gates {
		receipt, err := c.askAbout(ctx, s, lines, g, fmt.Sprintf("%d/%d", i+1, len(gates)), as)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, repl.ErrAborted):
			return answered, nil
		case err != nil:
			return nil, err
		case receipt == nil:
			continue
		}
		c.print("accepted %s", g.Address)
		answered = slices.DeleteFunc(answered, func(earlier *runtime.Receipt) bool { return earlier.Run == receipt.Run })
		answered = append(answered, receipt)
	}
	return answered, nil
}

// askAbout asks until an answer is accepted, or the line is empty: then there is no receipt.
func (c *call) askAbout(ctx context.Context, s session, lines repl.Lines, g runtime.Gate, number, as string) (*runtime.Receipt, error) {
	c.notice("\n%s %s", number, gateLine(g))
	if text := indent(g.Data, "  "); text != "" && text != "null" {
		c.notice("  %s", text)
	}
	for i, o := range g.Options {
		c.notice("  %d) %s", i+1, orElse(o.Description, o.Name))
	}
	for {
		line, err := lines.Line(ctx, "> ")
		if line = strings.TrimSpace(line); err != nil || line == "" {
			return nil, err
		}
		receipt, err := c.sendAnswer(ctx, s, g, line, as)
		if err == nil {
			return receipt, nil
		}
		refused := runtime.AsRefusal(err)
		c.complain(refused, err)
		switch refused.Kind {
		case runtime.ErrBadChoice, runtime.ErrBadPayload: // said otherwise it is accepted
		case runtime.ErrInternal, runtime.ErrOwnerUnreachable:
			return nil, err
		default:
			return nil, nil // such as a gate that somebody else has answered
		}
	}
}

// sendAnswer answers a gate with what somebody has typed.
func (c *call) sendAnswer(ctx context.Context, s session, g runtime.Gate, line, as string) (*runtime.Receipt, error) {
	sig, err := answerOf(g, line)
	if err != nil {
		return nil, err
	}
	r, err := runtime.DeclaredBy(ctx, s, sig.Run)
	if err != nil {
		return nil, err
	}
	sig.Run, sig.Env, sig.As, sig.Key = r.Run, c.values(r.Env), as, requestKey("")
	return s.Signal(ctx, sig)
}

// answerOf reads an answer: the number or name of an option with a reason behind it, a reason alone, or a payload where there are no options.
func answerOf(g runtime.Gate, line string) (runtime.Signal, error) {
	run, gate, _ := strings.Cut(g.Address, "/")
	sig := runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: gate}
	if len(g.Options) == 0 {
		if sig.Data = json.RawMessage(line); !json.Valid(sig.Data) {
			sig.Data, _ = json.Marshal(line) // a text
		}
		return sig, nil
	}
	first, rest, _ := strings.Cut(line, " ")
	named := func(name string) int {
		return slices.IndexFunc(g.Options, func(o runtime.Option) bool { return o.Name == name })
	}
	n, err := strconv.Atoi(first)
	at := n - 1 // by number first: that is what stands on the screen, whatever the options are called
	if err != nil || at < 0 || at >= len(g.Options) {
		at = named(first)
	}
	if at < 0 && err != nil {
		at, rest = named("other"), line
	}
	if at >= 0 {
		sig.Choice, sig.Reason = g.Options[at].Name, strings.TrimSpace(rest)
		return sig, nil
	}
	return sig, runtime.Refuse(runtime.ErrBadChoice, "", "got %q, want a number from 1 to %d", first, len(g.Options))
}

// tellAll follows the runs that were answered, one after another, until they rest. What agents say there is told as in a conversation.
func (c *call) tellAll(ctx context.Context, s session, answered []*runtime.Receipt) error {
	usual := newProgress(c.stderr)
	show := func(ev runtime.Event) {
		if d := detailsOf(ev.Data); ev.Type == "output.emit" && d.text("kind") == "chat" {
			c.notice("%s: %s", d.sub("fields").text("by"), d.sub("fields").text("text"))
			return
		}
		usual.show(ev)
	}
	for _, receipt := range answered {
		f := follower{session: s, run: receipt.Run, after: receipt.Seq, show: show}
		r, err := f.stay(ctx, atRest)
		if err != nil {
			return err
		}
		if r.Error != nil {
			c.tell(r.Error)
		}
		c.notice("%s %s", r.Status, r.ID)
	}
	return nil
}
