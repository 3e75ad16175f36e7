package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"sync"

	"starling/lang/effect"
	"starling/stdlib/tool"
)

const (
	maxRounds   = 50 // of a model that asks for tools, before it must have replied
	maxToolName = 64 // bytes
)

// modelTool is a tool as models are told of it.
type modelTool struct {
	name, description string
	schema            []byte // an object
	server, tool      string
}

// toolCall is a tool that a model asks for.
type toolCall struct {
	id, name, input string
}

// toolRound is what a model said when it asked for tools, and what these said.
type toolRound struct {
	text    string
	calls   []toolCall
	results []toolResult
}

type toolResult struct {
	text   string
	failed bool
}

// offered lists the tools that the attempt may use.
func offered(ctx context.Context, p *tool.Proxy) ([]modelTool, *tool.Fault) {
	if p == nil {
		return nil, nil
	}
	var all []modelTool
	taken := map[string]bool{}
	for _, server := range p.Names() {
		tools, fault := p.Tools(ctx, server)
		if fault != nil {
			return nil, fault
		}
		for _, t := range tools {
			schema, err := json.Marshal(t.InputSchema)
			if err != nil || t.InputSchema == nil {
				schema = []byte(`{"type":"object"}`)
			}
			name := modelName(server, t.Name, taken)
			taken[name] = true
			all = append(all, modelTool{name, t.Description, schema, server, t.Name})
		}
	}
	return all, nil
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]`) })

// modelName is SERVER__TOOL in the letters that models' APIs take. What would be too long, or the
// name of another tool, ends with a hash.
func modelName(server, tool string, taken map[string]bool) string {
	name := notInName().ReplaceAllString(server+"__"+tool, "_")
	if len(name) <= maxToolName && !taken[name] {
		return name
	}
	sum := fnv.New32a()
	sum.Write([]byte(server + "\x00" + tool))
	return fmt.Sprintf("%s_%08x", name[:min(len(name), maxToolName-9)], sum.Sum32())
}

// use calls the tools that a model asks for, one after the other. What goes wrong is told to the
// model, which may know another way.
func (m model) use(ctx context.Context, q Question, t turn, got said, emit emitter) toolRound {
	r := toolRound{text: got.text, calls: got.calls}
	for _, call := range got.calls {
		emit.say("tool", "name", call.name, "id", call.id, "input", []byte(call.input))
		result := callTool(ctx, q.Tools, t.tools, call)
		emit.say("tool_result", "id", call.id, "ok", !result.failed)
		r.results = append(r.results, result)
	}
	return r
}

func callTool(ctx context.Context, p *tool.Proxy, tools []modelTool, call toolCall) toolResult {
	for _, t := range tools {
		if t.name != call.name {
			continue
		}
		result, fault := p.Call(ctx, t.server, t.tool, json.RawMessage(call.input))
		if fault != nil {
			return toolResult{fault.Message, true}
		}
		return toolResult{tool.Text(result), result.IsError}
	}
	p.Deny(call.name)
	return toolResult{"there is no tool " + call.name, true}
}

// openTools starts the tool servers of an attempt. Nil is none.
func openTools(ctx context.Context, servers *tool.Servers, q Question) (*tool.Proxy, *effect.Reply) {
	if len(q.Definition.Servers) == 0 {
		return nil, nil
	}
	p, fault := servers.Open(ctx, q.Attempt, q.Definition.Servers, q.keys)
	if fault == nil {
		return p, nil
	}
	if ctx.Err() != nil {
		reply := cut(ctx, q.Definition.Agent)
		return nil, &reply
	}
	reply := faulted(q, fault)
	return nil, &reply
}

// faulted is the reply of an attempt that has not got its tools.
func faulted(q Question, f *tool.Fault) effect.Reply {
	e := f.Effect()
	e.Message = q.Definition.Agent + ": " + e.Message
	class := effect.Final
	switch {
	case f.Passing():
		class = effect.Retryable
	case f.Missing && q.Definition.Backend == backendMCP:
		class = effect.Missing
	}
	if q.Definition.Backend == backendMCP && e.Kind == effect.KindEffect {
		e.Kind = effect.KindAgent // the server is the agent
	}
	return failed(e, class)
}
