package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"starling/cmd/starling/scaffold"
)

// initCommand is the verb init.
func initCommand(c *call) *cobra.Command { return c.scaffolding(scaffold.Init, operands(0, 1)) }

// newCommand is the verb new.
func newCommand(c *call) *cobra.Command { return c.scaffolding(scaffold.New, operands(0, 1)) }

func (c *call) scaffolding(make func(scaffold.Host, cobra.PositionalArgs) *cobra.Command, args cobra.PositionalArgs) *cobra.Command {
	h := scaffold.Host{Stdout: c.stdout, Command: c.command, Answer: func(document any) (bool, error) {
		if !c.json {
			return false, nil
		}
		return true, c.answerJSON(document)
	}}
	if c.stdin == os.Stdin && isTerminal(os.Stdin) && c.draws() && !wantsJSON(c.args) {
		h.Ask = func(ctx context.Context, question string) (string, error) {
			from, release := c.lines("")
			defer release()
			return from.Line(ctx, question)
		}
	}
	cmd := make(h, args)
	c.jsonFlag(cmd)
	return cmd
}
