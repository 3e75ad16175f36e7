package tool

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Text is the text of a result: of all its blocks that have one, or else its structured content as
// JSON.
func Text(r *mcp.CallToolResult) string {
	var parts []string
	for _, block := range r.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			return string(text)
		}
	}
	return strings.Join(parts, "\n")
}

// value is a result as scripts see it: text, structured content, and the blocks that are no text.
func value(r *mcp.CallToolResult) (starlark.Value, error) {
	output, err := structured(r)
	if err != nil {
		return nil, err
	}
	var blocks []starlark.Value
	for _, block := range r.Content {
		if _, text := block.(*mcp.TextContent); text {
			continue
		}
		encoded, err := block.MarshalJSON()
		if err != nil {
			return nil, err
		}
		v, err := contract.FromJSON(encoded)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, v)
	}
	return effect.NewRecord(effect.ToolResultType, starlark.Bool(!r.IsError), output, starlark.String(Text(r)), starlark.NewList(blocks)), nil
}

func structured(r *mcp.CallToolResult) (starlark.Value, error) {
	if r.StructuredContent == nil {
		return starlark.None, nil
	}
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return nil, err
	}
	return contract.FromJSON(text)
}

// describe is the definition of a tool as scripts see it.
func describe(t *mcp.Tool) (starlark.Value, error) {
	text, err := json.Marshal(map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.InputSchema})
	if err != nil {
		return nil, err
	}
	return contract.FromJSON(text)
}

func defines(tools []*mcp.Tool, name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// unknownTool says what there is instead, of what the caller may use.
func unknownTool(g Grant, tool string, all []*mcp.Tool) *Fault {
	var names []string
	for _, t := range all {
		if g.Allows(t.Name) {
			names = append(names, t.Name)
		}
	}
	return NoSuch(g, tool, names)
}

// NoSuch is the fault of a tool, or a pattern of tools, that a server does not have; names are
// those that it has and that may be used.
func NoSuch(g Grant, tool string, names []string) *Fault {
	hint := diagnostic.DidYouMean(tool, names)
	if hint == "" {
		hint = "there are " + orNone(strings.Join(names, ", "))
	}
	return faultf(UnknownTool, g.Name, tool, "the server has no such tool; %s", hint)
}
