package cli

import (
	"context"
	"io"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/build"
	"starling/runtime"
	"starling/runtime/mcp"
	"starling/runtime/tool"
	"starling/stdlib"
)

// mcpVerb is a call of the verb mcp.
type mcpVerb struct{ call *call }

// mcpCommand is the verb mcp.
func mcpCommand(c *call) *cobra.Command {
	v := &mcpVerb{call: c}
	return &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the store to an agent's harness, over MCP on standard input and output",
		GroupID: "store",
		Long: "Serve the store over the Model Context Protocol on standard input and output, as harnesses start it: the tools\n" + toolNames() + `
and a tool run_NAME for each script that is defined.

This process owns nothing. With no owner it starts one in the background, which stays for a minute after its last client; runs go on whatever becomes of this process. Whoever has a
token in STARLING_TOKEN acts in its name.`,
		Example: "  claude mcp add starling -- starling mcp -C ~/project",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.mcp(cmd.Context()) },
	}
}

// toolNames lists the tools there are, each followed by a comma.
func toolNames() string {
	var names []string
	for _, t := range tool.Tools() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ") + ","
}

// mcp serves one client until it closes standard input.
func (v *mcpVerb) mcp(ctx context.Context) error {
	s, err := v.call.door().Connect(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	d := v.call.desk(s)
	d.Read = v.call.readBundle
	err = mcp.NewServer(d, build.Version()).Run(ctx, io.NopCloser(v.call.stdin), writer{v.call.stdout.Raw()})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// desk is where others call tools: runs are pinned to the project of this call, and it is this
// process that brings their variables.
func (c *call) desk(e runtime.Engine) *tool.Desk {
	return &tool.Desk{
		Engine:  e,
		Env:     c.env(),
		Values:  c.values,
		Library: stdlib.Library,
		Budgets: c.budgets,
		Clock:   c.clock,
		Prepare: func(r *runtime.StartRequest) error {
			settings, err := c.settings(c.place.Project, "")
			if err != nil {
				return err
			}
			r.Settings = *settings
			if r.Env == nil {
				r.Env = map[string]string{}
			}
			maps.Copy(r.Env, c.values(settings.Env))
			return nil
		},
	}
}

// writer is standard output, which nobody closes.
type writer struct{ io.Writer }

func (writer) Close() error { return nil }
