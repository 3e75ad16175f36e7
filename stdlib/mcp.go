package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// mcpModule is what scripts do with tool servers.
func mcpModule() []*effect.Builtin {
	return []*effect.Builtin{mcpServer(), mcpCall(), mcpTools()}
}

func serverParam() effect.Param {
	return effect.Param{Name: "server", Type: "string|ToolServer", Doc: "The name of a server under [tools], or what mcp.server gives."}
}

func mcpServer() *effect.Builtin {
	return &effect.Builtin{
		FullName: "mcp.server",
		Doc: "Name a server of tools, for agent(tools = [...]), role and mcp.call. It registers and starts nothing: a server runs while somebody uses it. Without cmd and url it is the " +
			"one of starling.toml; cmd must be a program that [sh] allows, and works in the sandbox of sh.run.",
		Params: []effect.Param{
			{Name: "name", Type: "string", Doc: "The server's name."},
			{Name: "cmd", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "The program and its arguments; it speaks the Model Context Protocol on its standard input and output."},
			{Name: "url", Type: "string", Default: "None", KeywordOnly: true, Doc: "The address of one that speaks it over HTTP."},
			{Name: "tools", Type: "list|tuple", Default: "None", KeywordOnly: true, Doc: "The tools of it that may be used, names or patterns such as \"get_*\"; all that the project allows by default."},
			timeoutParam("Of one call of a tool, \"1m\" by default."),
		},
		Result: "ToolServer",
		Pure:   newToolServer,
	}
}

// newToolServer checks the form and starts nothing: whether the project allows the server is known
// only where it is used.
func newToolServer(c *effect.Call) (starlark.Value, error) {
	if err := project.CheckToolName(c.Text("name", "")); err != nil {
		return nil, wrong(c, "name", "%w", err)
	}
	for _, p := range []string{"cmd", "tools"} {
		if _, err := texts(c, p); err != nil {
			return nil, err
		}
	}
	cmd, _ := c.Get("cmd").(starlark.Iterable)
	if cmd != nil {
		if err := checkProgram(c, "cmd"); err != nil {
			return nil, err
		}
	}
	if c.Get("url") != nil {
		if cmd != nil {
			return nil, wrong(c, "url", "got cmd as well, want one of the two")
		}
		if err := checkURL(c); err != nil {
			return nil, err
		}
	}
	if err := positive(c, "timeout"); err != nil {
		return nil, err
	}
	var fields []starlark.Value
	for _, name := range effect.ToolServerType.Fields {
		v := c.Get(name)
		if list, ok := v.(starlark.Iterable); ok {
			v = tupleOf(list)
		}
		fields = append(fields, v)
	}
	return effect.NewRecord(effect.ToolServerType, fields...), nil
}

// mcpCall asks people about a call that was cut, as sh.run does: what a tool does in the world is
// known to its server alone.
func mcpCall() *effect.Builtin {
	return &effect.Builtin{
		FullName: "mcp.call",
		Doc: "Call a tool of a server and wait for its result. A failure that the tool reports is a ToolResult that is not ok; what was denied, or could not be called, raises, and " +
			"its data has the reason.",
		Params: []effect.Param{
			serverParam(),
			{Name: "tool", Type: "string", Doc: "The tool's name."},
			{Name: "arguments", Type: "dict", Default: "{}", Doc: "What it is given."},
			timeoutParam("Of one attempt with all that starting the server takes, \"5m\" by default; one call may take what the server's timeout says."),
			{Name: "retries", Type: "int", Most: maxFurther, Default: "None", KeywordOnly: true, Doc: "Further attempts after a server could not be started, or, of an idempotent call, died; 1 by default."},
			onUncertainParam(`"ask"`),
			{Name: "idempotent", Type: "bool", Default: "False", KeywordOnly: true, Doc: "That a repetition does no harm: what a crash or a dying server has cut is called again."},
			nameParam("SERVER.TOOL"),
		},
		Result:  "ToolResult",
		Class:   effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) { return callRequest(c) },
	}
}

// mcpTools may be repeated at will: a list changes nothing.
func mcpTools() *effect.Builtin {
	return &effect.Builtin{
		FullName: "mcp.tools",
		Doc:      "List the tools of a server that may be used: dicts of name, description and input_schema.",
		Params: []effect.Param{serverParam(),
			timeoutParam("Of one attempt, \"5m\" by default."),
			nameParam("the function's name")},
		Result: "list[{name: string, description: any, input_schema: any}]",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			return toolRequest(c, c.Builtin.FullName, true, 1, "server")
		},
	}
}

// callRequest names the step by server and tool, so that a journal reads as what was done; a tool
// with a name that no step may have takes the function's.
func callRequest(c *effect.Call) (*effect.Request, error) {
	tool := c.Text("tool", "")
	if tool == "" {
		return nil, wrong(c, "tool", "got an empty name")
	}
	title := nameOf(c.Get("server")) + "." + tool
	if effect.CheckName(title) != nil {
		title = c.Builtin.FullName
	}
	retries, err := c.Count("retries", 1)
	if err != nil {
		return nil, err
	}
	return toolRequest(c, title, c.Flag("idempotent", false), retries, "server", "tool", "arguments", "idempotent")
}

func toolRequest(c *effect.Call, title string, idempotent bool, retries int, fields ...string) (*effect.Request, error) {
	if err := project.CheckToolName(nameOf(c.Get("server"))); err != nil {
		return nil, wrong(c, "server", "%w", err)
	}
	name, err := stepName(c, title)
	if err != nil {
		return nil, err
	}
	if err := positive(c, "timeout"); err != nil {
		return nil, err
	}
	r, err := request(c, "tool", name, fields...)
	if err != nil {
		return nil, err
	}
	r.Policy = effect.Policy{Timeout: c.Duration("timeout", shTimeout), Retries: retries, OnUncertain: effect.Retry, Idempotent: idempotent}
	if !idempotent {
		r.Policy.OnUncertain = onUncertain(c, effect.Ask)
	} else if len(fields) > 1 {
		r.Policy.OnUncertain = onUncertain(c, effect.Retry)
	}
	return r, nil
}
