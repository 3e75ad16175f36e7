package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"go.starlark.net/starlark"

	"starling/cmd/starling/table"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// toolsVerb is a call of the verb tools.
type toolsVerb struct{ call *call }

// toolsCommand is the verb tools.
func toolsCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "Look at the tool servers of the project, and call their tools",
		GroupID: "look",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(toolsListCommand(c), toolsCallCommand(c))
	return cmd
}

func toolsListCommand(c *call) *cobra.Command {
	v := &toolsVerb{call: c}
	cmd := &cobra.Command{
		Use:   "ls [SERVER]",
		Short: "List the servers, or the tools of one",
		Long: `List the tool servers of the project. With a SERVER, start it, list the tools that may be used, and end it; the hash is what definitions = "…" in its section
holds it to.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.listTools(cmd.Context(), args) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func toolsCallCommand(c *call) *cobra.Command {
	v := &toolsVerb{call: c}
	cmd := &cobra.Command{
		Use:   "call SERVER.TOOL [ARGUMENTS]",
		Short: "Call a tool; ARGUMENTS are a JSON object",
		Long:  "Start the server, call one of its tools, print what it says, and end the server. Nothing is recorded. The exit code is 1 when the tool fails, and 9 when it is not allowed.",
		Args:  operands(1, 2),
		RunE:  func(cmd *cobra.Command, args []string) error { return v.callTool(cmd.Context(), args) },
	}
	c.jsonFlag(cmd)
	return cmd
}

// toolsDocument is what tools ls prints.
type toolsDocument struct {
	Schema      string       `json:"schema"`
	Servers     []serverView `json:"servers,omitempty"`
	Server      string       `json:"server,omitempty"`
	Definitions string       `json:"definitions,omitempty"` // hash
	Tools       []*mcp.Tool  `json:"tools,omitempty"`
}

// serverView is a tool server of the project.
type serverView struct {
	Name  string   `json:"name"`
	Is    string   `json:"is"`
	Allow []string `json:"allow,omitempty"`
	Lacks string   `json:"lacks,omitempty"`
	Mend  string   `json:"mend,omitempty"`
}

// toolServers reads the servers of the project.
func (v *toolsVerb) toolServers() (*effect.Settings, *project.File, error) {
	s, err := v.call.settings(v.call.place.Project, "")
	if err != nil {
		return nil, nil, err
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	return s, f, err
}

// viewServers says what there is, and what is missing for it to be started.
func (c *call) viewServers(s *effect.Settings, f *project.File) []serverView {
	views := []serverView{}
	for _, t := range f.Tools {
		v := serverView{Name: t.Name, Is: t.URL, Allow: t.Allow}
		if t.URL == "" {
			v.Is = "command " + strings.Join(t.Command, " ")
		}
		v.Lacks, v.Mend = tool.Lacks(t, s, c.getenv)
		views = append(views, v)
	}
	return views
}

func (v *toolsVerb) listTools(ctx context.Context, args []string) error {
	s, f, err := v.toolServers()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return v.printServers(v.call.viewServers(s, f))
	}
	p, err := v.call.openTool(ctx, s, f, args[0])
	if err != nil {
		return err
	}
	defer p.Close()
	tools, hash, fault := p.Definitions(ctx, args[0])
	if fault != nil {
		return toolRefusal(fault)
	}
	if v.call.json {
		return v.call.answerJSON(toolsDocument{Schema: runtime.Schema, Server: args[0], Definitions: hash, Tools: tools})
	}
	rows := table.New(v.call.paper(), "TOOL", "DOES")
	for _, t := range tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		rows.Row(args[0]+"."+t.Name, first)
	}
	if err := rows.Write(v.call.stdout); err != nil || v.call.quiet {
		return err
	}
	v.call.print("definitions = %q", hash)
	return nil
}

func (c *toolsVerb) printServers(views []serverView) error {
	if c.call.json {
		return c.call.answerJSON(toolsDocument{Schema: runtime.Schema, Servers: views})
	}
	rows := table.New(c.call.paper(), "SERVER", "IS", "STATE")
	for _, v := range views {
		rows.Row(v.Name, v.Is, cmp.Or(v.Lacks, "ready"))
	}
	return rows.Write(c.call.stdout)
}

// openTool starts a server for an attempt that belongs to no run.
func (c *call) openTool(ctx context.Context, s *effect.Settings, f *project.File, use string) (*tool.Proxy, error) {
	g, known, fault := tool.Find(s, f, starlark.String(use))
	if fault == nil && !known {
		fault = tool.Unknown(s, f, use)
	}
	if fault != nil {
		return nil, runtime.Refusef(runtime.ErrUnknownName, "%s", fault.Message)
	}
	a := &effect.Attempt{Run: "probe", Step: use, Number: 1, Settings: s, Env: c.getenv, Emit: func(string, starlark.Value) {}}
	p, failed := tool.NewServers().Open(ctx, a, []tool.Grant{g}, nil)
	if failed != nil {
		return nil, toolRefusal(failed)
	}
	return p, nil
}

// toolRefusal gives a fault its exit code.
func toolRefusal(f *tool.Fault) error {
	switch {
	case f.Denied():
		return runtime.Refusef(runtime.ErrDenied, "%s", f.Message)
	case f.Code == tool.UnknownTool:
		return runtime.Refusef(runtime.ErrUnknownName, "%s", f.Message)
	case f.Code == tool.BadInput:
		return runtime.Refusef(runtime.ErrBadInput, "%s", f.Message)
	}
	return f
}

func (v *toolsVerb) callTool(ctx context.Context, args []string) error {
	server, name, ok := strings.Cut(args[0], ".")
	if !ok || name == "" {
		return usage("starling tools ls SERVER lists them", "got %q, want SERVER.TOOL", args[0])
	}
	s, f, err := v.toolServers()
	if err != nil {
		return err
	}
	p, err := v.call.openTool(ctx, s, f, server)
	if err != nil {
		return err
	}
	defer p.Close()
	var input json.RawMessage
	if len(args) == 2 {
		input = json.RawMessage(args[1])
	}
	result, fault := p.Call(ctx, server, name, input)
	if fault != nil {
		return toolRefusal(fault)
	}
	if result.IsError {
		v.call.code = 1
	}
	if v.call.json {
		return v.call.answerJSON(struct {
			Schema string              `json:"schema"`
			Result *mcp.CallToolResult `json:"result"`
		}{runtime.Schema, result})
	}
	v.call.print("%s", tool.Text(result))
	return nil
}
