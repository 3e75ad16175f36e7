package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
)

// script is a definition that is a tool.
type script struct {
	definition runtime.Definition
	bundle     []byte
}

// toolPrefix begins the names of these tools, so that no definition takes the place of another
// tool.
const toolPrefix = "run_"

// toolName is a definition's name as all harnesses take it: some want no dots.
func toolName(definition string) string { return toolPrefix + strings.ReplaceAll(definition, ".", "_") }

// current keeps the tools of definitions what the store has, whenever a client looks or calls one.
// Who may not see definitions has none of these tools, whoever else has looked.
func (s *Server) current(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, _ := req.GetParams().(*mcp.CallToolParamsRaw)
		if method == "tools/list" || call != nil && strings.HasPrefix(call.Name, toolPrefix) {
			err := s.refresh(ctx)
			switch {
			case denied(err) && call != nil:
				return refusal(err), nil
			case denied(err):
				return withoutScripts(next(ctx, method, req))
			case err != nil:
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

// withoutScripts is a list of tools without those of definitions.
func withoutScripts(r mcp.Result, err error) (mcp.Result, error) {
	list, ok := r.(*mcp.ListToolsResult)
	if !ok || err != nil {
		return r, err
	}
	own := *list
	own.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return strings.HasPrefix(t.Name, toolPrefix) })
	return &own, nil
}

// refresh makes the tools of definitions anew that have changed, and is refused to who may not see
// definitions.
func (s *Server) refresh(ctx context.Context) error {
	kept, err := runtime.Extension[runtime.Definitions](s.desk.Engine)
	if err != nil {
		return err
	}
	found, err := kept.Defined(ctx, "")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, old := range s.scripts {
		if !slices.ContainsFunc(found, func(d runtime.Definition) bool { return toolName(d.Name) == name && d.Name == old.definition.Name }) {
			delete(s.scripts, name)
			s.mcp.RemoveTools(name)
		}
	}
	for _, d := range found {
		if err := s.offer(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// offer makes a tool of a definition. Of two whose names are one tool's the first has it; one that
// this build cannot compile is none.
func (s *Server) offer(ctx context.Context, d runtime.Definition) error {
	name := toolName(d.Name)
	if old := s.scripts[name]; old != nil && (old.definition.Name != d.Name || old.definition.Version == d.Version) {
		return nil
	}
	content, err := s.desk.Engine.Blob(ctx, d.Bundle)
	if err != nil {
		return err
	}
	bundle, err := lang.Decode(content)
	if err != nil {
		return nil
	}
	program, err := lang.Compile(bundle, s.desk.Env)
	if err != nil {
		return nil
	}
	made := &script{d, content}
	s.scripts[name] = made
	s.mcp.AddTool(&mcp.Tool{Name: name, InputSchema: inputSchema(program), OutputSchema: s.outputs()[toolPrefix],
		Description: fmt.Sprintf("Run the script %s. It waits up to half a minute for the end; a run that takes longer goes on, and await follows it.", d.Address())}, s.runner(made))
	return nil
}

func denied(err error) bool {
	r := (*runtime.Refusal)(nil)
	return errors.As(err, &r) && r.Kind == runtime.ErrDenied
}

// inputSchema is what a script says of its inputs: its contract, or the names of main's parameters.
func inputSchema(p *lang.Program) any {
	if p.Inputs != nil {
		return json.RawMessage(p.Inputs.Schema(contract.Validate).JSON())
	}
	properties, required := map[string]any{}, []string{}
	if p.Main != nil {
		for _, param := range p.Main.Params {
			properties[param.Name] = map[string]any{}
			if !param.Optional {
				required = append(required, param.Name)
			}
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": p.Main == nil || p.Main.Kwargs}
}

// begin starts a run of the script with the arguments of a call as its inputs. It is durable when
// begin returns.
func (s *Server) begin(ctx context.Context, made *script, p *mcp.CallToolParamsRaw) (*runtime.Run, error) {
	key, _ := p.GetMeta()[keyMeta].(string)
	labels, err := labelsIn(p.GetMeta()[labelsMeta])
	if err != nil {
		return nil, err
	}
	return s.desk.Start(ctx, runtime.StartRequest{Key: key, Labels: labels, Script: made.definition.Address(), Bundle: made.bundle, Inputs: p.Arguments})
}

// Where a caller of run_NAME may put an idempotency key and labels: its arguments are the script's
// own.
const (
	keyMeta    = "starling/key"
	labelsMeta = "starling/labels"
)

func labelsIn(given any) (effect.Labels, error) {
	if given == nil {
		return nil, nil
	}
	text, _ := json.Marshal(given) // it was read from JSON
	var labels effect.Labels
	if json.Unmarshal(text, &labels) != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "_meta.%s: got %s, want an object of texts", labelsMeta, text)
	}
	return labels, nil
}
