package tool

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/stdlib/project"
)

// Handler performs requests of kind "tool": a script's own calls. Their arguments are server, tool,
// arguments and idempotent; without a tool they list.
func (s *Servers) Handler() *effect.Handler {
	return &effect.Handler{Resolve: resolve, Perform: s.perform, Workspace: true}
}

func resolve(s *effect.Settings, r *effect.Request) *effect.Error {
	args, err := r.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "mcp: %v", err)
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil {
		return effect.Errorf(effect.KindRefused, "%v", err)
	}
	g, known, fault := Find(s, f, args.Value("server"))
	if fault == nil && !known {
		fault = Unknown(s, f, args.Text("server"))
	}
	if fault != nil {
		return fault
	}
	if tool := args.Text("tool"); tool != "" && !g.Allows(tool) {
		return faultf(NotAllowed, g.Name, tool, "denied: %s", mayUse(g, true)).Effect()
	}
	r.Resolved = g.Payload()
	return nil
}

// perform performs one attempt. A call that may have reached the server is only tried again where
// the script says that a repetition does no harm.
func (s *Servers) perform(ctx context.Context, a *effect.Attempt) effect.Reply {
	args, g := effect.ViewOf(a.Args), GrantOf(a.Resolved)
	p, fault := s.Open(ctx, a, []Grant{g}, nil)
	if fault != nil {
		return failed(fault, true)
	}
	defer p.Close()
	if args.Text("tool") == "" {
		return list(ctx, p, g.Name)
	}
	input, err := contract.ToJSON(args.Value("arguments"))
	if err != nil {
		return failed(faultf(BadInput, g.Name, args.Text("tool"), "%v", err), false)
	}
	result, fault := p.Call(ctx, g.Name, args.Text("tool"), json.RawMessage(input))
	if fault != nil {
		return failed(fault, fault.Code == NotStarted || args.Flag("idempotent"))
	}
	v, err := value(result)
	if err != nil {
		return failed(faultf(Failed, g.Name, args.Text("tool"), "its result cannot be read: %v", err), false)
	}
	return effect.Reply{Value: v}
}

func list(ctx context.Context, p *Proxy, server string) effect.Reply {
	tools, fault := p.Tools(ctx, server)
	if fault != nil {
		return failed(fault, true)
	}
	described, err := describeAll(tools)
	if err != nil {
		return failed(faultf(Failed, server, "", "its definitions cannot be read: %v", err), false)
	}
	return effect.Reply{Value: starlark.NewList(described)}
}

func describeAll(tools []*mcp.Tool) ([]starlark.Value, error) {
	out := make([]starlark.Value, len(tools))
	for i, t := range tools {
		v, err := describe(t)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// failed is the reply for a fault; harmless says that a repetition does no harm.
func failed(f *Fault, harmless bool) effect.Reply {
	r := effect.Reply{Err: f.Effect()}
	if harmless && f.Passing() {
		r.Class = effect.Retryable
	}
	return r
}
