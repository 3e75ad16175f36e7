package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"starling/cmd/starling/table"
	"starling/runtime"
)

// tokenVariable names the environment variable whose secret says in whose name a command acts.
// Agents find that of their attempt in it.
const tokenVariable = "STARLING_TOKEN"

// tokenVerb is a call of the verb token.
type tokenVerb struct{ call *call }

// tokenCommand is the verb token.
func tokenCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Give others a name and what they may do",
		GroupID: "store",
		Long: `Tokens give others a name of their own and the capabilities that it has. Whoever has the secret of one in STARLING_TOKEN acts in its name: it is recorded
with what is done, gates that are targeted at it take its answers, and what it may not do is refused.

Capabilities: define, run, read, signal, cancel, act-as, override, admin, see-hidden (its bearer is shown what contracts mark @agent), or all.`,
		Args: unknownVerb,
		RunE: showHelp,
	}
	cmd.AddCommand(tokenAddCommand(c), tokenListCommand(c), tokenRemoveCommand(c))
	return cmd
}

// tokensDocument is what token prints.
type tokensDocument struct {
	Schema string          `json:"schema"`
	Tokens []runtime.Token `json:"tokens"`
}

func tokenAddCommand(c *call) *cobra.Command {
	v := &tokenVerb{call: c}
	var can []string
	cmd := &cobra.Command{
		Use:     "add NAME --can CAPABILITY,...",
		Short:   "Make a token; its secret is printed once and kept nowhere",
		Example: "  starling token add reviewer-agent --can read,signal",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.withTokens(cmd.Context(), true, func(ctx context.Context, t runtime.Tokens) error {
				made, err := t.AddToken(ctx, runtime.TokenRequest{Name: args[0], Can: can})
				if err != nil {
					return err
				}
				if err := v.show(ctx, t, made); err != nil || c.json {
					return err
				}
				c.notice("this secret is not kept: whoever has it in %s acts as %s", tokenVariable, made.Name)
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&can, "can", nil, "what its bearer may do: `CAPABILITY`, several with commas between")
	c.jsonFlag(cmd)
	return cmd
}

// show prints a token with its secret. One that nobody has seen is taken back: it would only be in
// the way of the next of its name. A reader that has left must not end the process before that.
func (v *tokenVerb) show(ctx context.Context, t runtime.Tokens, made *runtime.Token) (err error) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if v.call.json {
		err = v.call.answerJSON(tokensDocument{runtime.Schema, []runtime.Token{*made}})
	} else {
		v.call.print("%s", made.Secret)
	}
	lost := v.call.stdout.Lost()
	if lost == nil {
		return err
	}
	if _, err := t.RemoveToken(ctx, made.Name); err != nil {
		return runtime.Refuse(runtime.ErrUnwritten, "starling token rm "+made.Name+" takes it back", "the secret of %s was not written: %s; it could not be taken back: %v", made.Name, runtime.Reason(lost).Error(), err)
	}
	return runtime.Refuse(runtime.ErrUnwritten, "add it again where standard output can be written to", "the secret of %s was not written: %s; the token was taken back", made.Name, runtime.Reason(lost).Error())
}

func tokenListCommand(c *call) *cobra.Command {
	v := &tokenVerb{call: c}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the tokens",
		Args:  operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return v.withTokens(cmd.Context(), false, func(ctx context.Context, t runtime.Tokens) error {
				list, err := t.ListTokens(ctx, runtime.TokenQuery{})
				if err != nil {
					return err
				}
				if c.json {
					return c.answerJSON(tokensDocument{runtime.Schema, list})
				}
				p := c.paper()
				rows := table.New(p, "TOKEN", "MADE", "BY", "CAN")
				for _, t := range list {
					rows.Row(t.Name, p.Time(t.At), t.By, strings.Join(t.Can, ","))
				}
				return rows.Write(c.stdout)
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func tokenRemoveCommand(c *call) *cobra.Command {
	v := &tokenVerb{call: c}
	cmd := &cobra.Command{
		Use:   "rm NAME",
		Short: "Revoke a token, from the next request on",
		Args:  operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.withTokens(cmd.Context(), true, func(ctx context.Context, t runtime.Tokens) error {
				gone, err := t.RemoveToken(ctx, args[0])
				if err != nil {
					return err
				}
				if c.json {
					return c.answerJSON(tokensDocument{runtime.Schema, []runtime.Token{*gone}})
				}
				c.print("revoked %s", gone.Name)
				return nil
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// withTokens opens the store for a command about its tokens.
func (v *tokenVerb) withTokens(ctx context.Context, change bool, do func(context.Context, runtime.Tokens) error) error {
	enter := v.call.door().OpenReader
	if change {
		enter = v.call.staying(true)
	}
	s, tokens, err := openFor[runtime.Tokens](ctx, v.call, enter)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	return do(ctx, tokens)
}
