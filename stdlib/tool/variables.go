package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/redact"
)

// Variables is the name of a tool server that every project has without a section of its own: the
// variables of the run, which its script has as memory.vars. Where starling.toml has [tools.vars],
// that is meant. It stands in no process: each attempt has one of its own.
const Variables = "vars"

// own tells whether a definition is that of [Variables].
func (d Definition) own() bool { return d.Name == Variables && len(d.Command) == 0 && d.URL == "" }

// variableTools are its tools, in the terms of memory.vars.
func variableTools() []*mcp.Tool {
	key := map[string]any{"type": "string", "minLength": 1, "description": "The variable."}
	object := func(properties map[string]any, required ...string) map[string]any {
		schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 { // clients pass over a whole list of tools for a null in it
			schema["required"] = required
		}
		return schema
	}
	only := map[string]any{"key": key}
	return []*mcp.Tool{
		{Name: "get", InputSchema: object(only, "key"),
			Description: "Read a variable that this run's agents and its script share, as JSON; null when nobody has set it."},
		{Name: "set", InputSchema: object(map[string]any{"key": key,
			"value": map[string]any{"description": "What it is to hold: any JSON value."}}, "key", "value"),
			Description: "Give a variable that this run's agents and its script share a value. It replaces the one before."},
		{Name: "delete", InputSchema: object(only, "key"),
			Description: "Forget a variable that this run's agents and its script share; tells whether there was one."},
		{Name: "all", InputSchema: object(map[string]any{}),
			Description: "Read all variables that this run's agents and its script share: a JSON object."},
	}
}

// variables serves those of the run of an attempt. What is set holds none of what hide hides.
func variables(a *effect.Attempt, hide *redact.Redactor) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: Variables, Version: "1"}, nil)
	for _, t := range variableTools() {
		s.AddTool(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			v, err := share(ctx, a, t.Name, []byte(hide.Redact(string(r.Params.Arguments))))
			if err != nil {
				return &mcp.CallToolResult{IsError: true,
					Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(v)}}}, nil
		})
	}
	return s
}

// share does a function of memory.vars with arguments as JSON, and gives what it gave as JSON.
func share(ctx context.Context, a *effect.Attempt, do string, input []byte) ([]byte, error) {
	if a.Share == nil {
		return nil, fmt.Errorf("%s.%s: there is no run whose variables these could be", Variables, do)
	}
	args, err := shareArguments(do, input)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", Variables, do, err)
	}
	v, fault := a.Share(ctx, args)
	if fault != nil {
		return nil, fault
	}
	text, err := contract.ToJSON(v)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: what it holds is no JSON: %w", Variables, do, err)
	}
	return text, nil
}

// parameters are those of each tool; all are required.
var parameters = map[string][]string{"get": {"key"}, "set": {"key", "value"}, "delete": {"key"}}

// shareArguments makes the arguments of the request.
func shareArguments(do string, input []byte) (effect.Payload, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return nil, err
	}
	want := parameters[do]
	for name := range given {
		if !slices.Contains(want, name) {
			return nil, fmt.Errorf("got an argument %q, want %s", name, orNone(strings.Join(want, " and ")))
		}
	}
	var o effect.Object
	o.Text("do", do)
	for _, name := range want {
		v, err := contract.FromJSON(given[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		encoded, err := effect.Encode(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		key, text := starlark.AsString(v)
		if name == "key" && (!text || key == "" || len(key) > effect.MaxKey) {
			return nil, fmt.Errorf("key: got %.40s, want a text of 1 to %d bytes", given[name], effect.MaxKey)
		}
		o.Raw(name, encoded)
	}
	return o.Payload(), nil
}
