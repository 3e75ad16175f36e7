package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/tool"
)

// toolAgent asks agents that are a tool of a tool server. The request becomes the arguments that
// the tool declares: see [arguments].
type toolAgent struct{}

// Ask calls the tool once, through the proxy of the attempt.
func (toolAgent) Ask(ctx context.Context, q Question) effect.Reply {
	server := q.Definition.Servers[0].Name
	tools, fault := q.Tools.Tools(ctx, server)
	if fault != nil {
		return toolFaulted(ctx, q, fault)
	}
	var input json.RawMessage
	for _, t := range tools {
		if t.Name == q.Definition.Tool {
			var err error
			if input, err = arguments(q, t); err != nil {
				return failed(effect.Errorf(effect.KindRefused, "%s: %v", q.Definition.Agent, err), effect.Final)
			}
		}
	}
	result, fault := q.Tools.Call(ctx, server, q.Definition.Tool, input)
	if fault != nil {
		return toolFaulted(ctx, q, fault)
	}
	return resultReply(q, result)
}

func toolFaulted(ctx context.Context, q Question, f *tool.Fault) effect.Reply {
	if ctx.Err() != nil {
		return cut(ctx, q.Definition.Agent)
	}
	return faulted(q, f)
}

// resultReply judges a result. One that the tool itself calls a failure is read like any failure
// that is told in words.
func resultReply(q Question, r *mcp.CallToolResult) effect.Reply {
	text := q.keys.Redact(tool.Text(r))
	if r.IsError {
		f := toldFault(firstOf(strings.TrimSpace(text), "it reports a failure and does not say which"))
		reply := failed(effect.Errorf(f.kind, "%s: %s", q.Definition.Agent, q.shown(f.message, maxFault)), f.class)
		reply.After = f.after
		return reply
	}
	a := answer{text: strings.TrimSpace(text), status: "ok"}
	if r.StructuredContent != nil {
		a.output = structuredOutput(q, a.text, r.StructuredContent)
	}
	return a.reply(q.Definition.Agent, q.Returns)
}

// structuredOutput is the structured content, unless only the text meets the contract: servers wrap
// what is no object.
func structuredOutput(q Question, text string, content any) starlark.Value {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	v, err := contract.FromJSON(encoded)
	if err != nil {
		return nil
	}
	c, err := contract.Parse("output", q.Returns)
	if q.Returns == "" || err != nil {
		return v
	}
	if _, wrong := c.Check(v); len(wrong) > 0 && text != "" {
		if other := valueIn(text, q.Returns); other != nil {
			if _, wrong := c.Check(other); len(wrong) == 0 {
				return other
			}
		}
	}
	return v
}

// arguments gives a tool what its schema has a name for: a field of the input, else a field of the
// request, such as task, context or feedback, or the whole request in words as prompt. A tool that
// names nothing of this and takes anything gets the whole request.
func arguments(q Question, t *mcp.Tool) (json.RawMessage, error) {
	schema, open, err := schemaOf(t)
	if err != nil {
		return nil, err
	}
	args := new(starlark.Dict)
	input := effect.ViewOf(q.Request.Field("input"))
	known := q.Request.Plain()
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		v := input.Value(name)
		if v == starlark.None {
			v = effect.ViewOf(known).Value(name)
		}
		if name == "prompt" && v == starlark.None {
			text, err := prompt(q, false)
			if err != nil {
				return nil, err
			}
			v = starlark.String(text)
		}
		if v != starlark.None {
			_ = args.SetKey(starlark.String(name), v) // a fresh dict and a string key
		}
	}
	for _, name := range schema.Required {
		if _, given, _ := args.Get(starlark.String(name)); !given {
			return nil, fmt.Errorf("the tool %s wants %q, and the request has nothing of that name; give it in input", t.Name, name)
		}
	}
	if args.Len() == 0 && open {
		return contract.ToJSON(known)
	}
	return contract.ToJSON(args)
}

type toolSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
}

// schemaOf reads what a tool takes. open is whether it takes more than it names.
func schemaOf(t *mcp.Tool) (s toolSchema, open bool, err error) {
	text, err := json.Marshal(t.InputSchema)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, false, fmt.Errorf("the schema of the tool %s cannot be read: %v", t.Name, err)
	}
	return s, string(s.Additional) != "false", nil
}
