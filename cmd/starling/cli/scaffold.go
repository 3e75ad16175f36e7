package cli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/build"
	"starling/cmd/starling/completion"
	"starling/cmd/starling/scaffold"
	"starling/runtime"
	"starling/stdlib/agent"
)

// initCommand is the verb init.
func initCommand(c *call) *cobra.Command { return c.scaffolding(scaffold.Init, operands(0, 1)) }

// newCommand is the verb new.
func newCommand(c *call) *cobra.Command { return c.scaffolding(scaffold.New, operands(0, 1)) }

func (c *call) scaffolding(make func(scaffold.Host, cobra.PositionalArgs) *cobra.Command, args cobra.PositionalArgs) *cobra.Command {
	h := scaffold.Host{Stdout: c.stdout, Command: c.command, Answer: c.wanted}
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

// wanted prints a document if JSON is wanted.
func (c *call) wanted(document any) (bool, error) {
	if !c.json {
		return false, nil
	}
	return true, c.answerJSON(document)
}

// versionCommand is the verb version.
func versionCommand(c *call) *cobra.Command {
	cmd := build.Command(c.stdout, c.wanted, operands(0, 0))
	c.jsonFlag(cmd)
	return cmd
}

// completionCommand is the verb completion.
func completionCommand(c *call) *cobra.Command {
	return completion.Command(c.offered(), operands(1, 1))
}

// completing tells whether a shell asks what the words of a command could be.
func completing(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
}

// offered is where a shell's names are looked up.
func (c *call) offered() completion.Host {
	return completion.Host{
		Stdout: c.stdout.Raw(),
		Open: func(ctx context.Context) (runtime.Engine, func(), error) {
			if err := c.look(ctx); err != nil {
				return nil, nil, err
			}
			s, err := c.door().OpenReader(ctx)
			if err != nil {
				return nil, nil, err
			}
			return s, func() { s.Close() }, nil
		},
		Agents: func() []string {
			if c.look(context.Background()) != nil {
				return nil
			}
			settings, err := c.settings(c.place.Project, "")
			if err != nil {
				return nil
			}
			names, _ := agent.Names(agent.Machines(c.env()), settings)
			return names
		},
	}
}

// look finds the place again, where flags of the command that is completed say which.
func (c *call) look(ctx context.Context) error {
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	return c.enter(cmd)
}
