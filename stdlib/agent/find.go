package agent

import (
	"context"
	"path"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// finder performs requests of kind "project": it says what of the project calls would find, and
// makes none of them. It starts the tool servers whose tools are named, to see which they have.
type finder struct {
	resolver resolver
	servers  *tool.Servers
}

func (f finder) perform(ctx context.Context, a *effect.Attempt) effect.Reply {
	args := effect.ViewOf(a.Args)
	// A script of others is not told of runs and scripts that it may know nothing of.
	own := a.Settings.Grant == ""
	known, fault := a.Known(effect.Survey{Workflows: args.Texts("workflows"), Names: own, Past: own && args.Has("agents")})
	if fault != nil {
		return effect.Reply{Err: fault}
	}
	open := &shelf{finder: f, attempt: a}
	defer open.close()
	var agents, workflows []starlark.Value
	if list, ok := args.Value("agents").(*starlark.List); ok {
		for ask := range list.Elements() {
			agents = append(agents, f.agent(ctx, open, effect.ViewOf(ask), known.Past))
		}
	}
	for i, name := range args.Texts("workflows") {
		workflows = append(workflows, workflow(name, known.Workflows[i]))
	}
	return effect.Reply{Value: record("agents", starlark.NewList(agents), "workflows", starlark.NewList(workflows))}
}

// agent says what a call of an agent would find, or why there can be none.
func (f finder) agent(ctx context.Context, open *shelf, ask effect.View, past map[string]effect.Spent) starlark.Value {
	name := ask.Text("agent")
	r, candidates, fault := f.resolve(open.attempt.Settings, ask)
	if fault == nil {
		fault = open.check(ctx, name, ask, candidates)
	}
	if fault != nil {
		return record("agent", starlark.String(name), "fault", starlark.String(fault.Message))
	}
	p, _ := projectOf(open.attempt.Settings) // it was read before
	said, _ := p.Agent(name)
	var serves []starlark.Value
	for _, c := range candidates {
		serves = append(serves, starlark.String(c.Serves))
	}
	return record("agent", starlark.String(name), "fault", starlark.None, "backends", starlark.NewList(serves),
		"output", schema(r.Returns), "input", schema(said.Input), "attempts", starlark.MakeInt(1+r.Policy.Retries+r.Policy.Reasks),
		"spent", spent(past, name), "price", candidates[0].price(p).value())
}

// resolve is what a call of the agent would be completed to.
func (f finder) resolve(s *effect.Settings, ask effect.View) (*effect.Request, []Candidate, *effect.Error) {
	var args effect.Object
	args.Text("who", ask.Text("agent")).Raw("backend", ask.Raw("backend")).Raw("tools", ask.Raw("tools"))
	r := &effect.Request{Kind: "agent", Name: ask.Text("agent"), Args: args.Payload()}
	if fault := f.resolver.agent(s, r); fault != nil {
		return nil, nil, fault
	}
	candidates, err := Candidates(r)
	if err != nil || len(candidates) == 0 {
		return nil, nil, effect.Errorf(effect.KindRefused, "agent %q: nobody serves it", r.Name)
	}
	return r, candidates, nil
}

// shelf is the tool servers that were looked at, each once.
type shelf struct {
	finder
	attempt *effect.Attempt
	seen    map[string]look
}

// look is what a server had to show.
type look struct {
	proxy *tool.Proxy
	tools []string
	fault *tool.Fault
}

func (s *shelf) close() {
	for _, l := range s.seen {
		if l.proxy != nil {
			l.proxy.Close()
		}
	}
}

// check finds a tool that a call names and that nobody has.
func (s *shelf) check(ctx context.Context, name string, ask effect.View, candidates []Candidate) *effect.Error {
	f, fault := projectOf(s.attempt.Settings)
	if fault != nil {
		return fault
	}
	for _, c := range candidates {
		grants, others := c.Servers, c.Tools
		if c.Backend == backendScripted || c.Backend == backendCassette {
			if grants, others, fault = tool.FindAll(s.attempt.Settings, f, values(ask.Texts("tools"))); fault != nil {
				return fault
			}
		}
		if len(others) > 0 && !hasNotation(f, c) {
			fault = tool.Unknown(s.attempt.Settings, f, others[0])
			fault.Message = "agent " + name + ": " + fault.Message
			return fault
		}
		for _, g := range grants {
			if fault := s.has(ctx, g); fault != nil {
				return fault.Effect()
			}
		}
	}
	return nil
}

// hasNotation tells whether who serves has names of its own for what it may use: coding agents do,
// also where a function plays one.
func hasNotation(f *project.File, c Candidate) bool {
	a, _ := f.Agent(c.Serves)
	return c.Preset != "" || c.Backend == backendACP || a.Preset != "" || a.Backend == backendACP
}

// has finds a tool, or a pattern of tools, of a grant that its server does not have.
func (s *shelf) has(ctx context.Context, g tool.Grant) *tool.Fault {
	l, seen := s.seen[g.Name]
	if !seen {
		l = s.look(ctx, g)
		if s.seen == nil {
			s.seen = map[string]look{}
		}
		s.seen[g.Name] = l
	}
	if l.fault != nil {
		return l.fault
	}
	for _, pattern := range g.Tools {
		if slices.ContainsFunc(l.tools, func(t string) bool { ok, _ := path.Match(pattern, t); return ok || t == pattern }) {
			continue
		}
		if denied := g.Denies(pattern); denied != nil && diagnostic.DidYouMean(pattern, l.tools) == "" {
			return denied
		}
		return tool.NoSuch(g, pattern, l.tools)
	}
	return nil
}

// look starts a server and lists the tools that the project allows of it.
func (s *shelf) look(ctx context.Context, g tool.Grant) look {
	g.Tools = nil
	p, fault := s.servers.Open(ctx, s.attempt, []tool.Grant{g}, nil)
	if fault != nil {
		return look{fault: fault}
	}
	l := look{proxy: p}
	tools, fault := p.Tools(ctx, g.Name)
	l.fault = fault
	for _, t := range tools {
		l.tools = append(l.tools, t.Name)
	}
	return l
}

func values(texts []string) []starlark.Value {
	list := make([]starlark.Value, len(texts))
	for i, t := range texts {
		list[i] = starlark.String(t)
	}
	return list
}

func workflow(name string, w effect.Workflow) starlark.Value {
	if w.Fault != "" {
		return record("workflow", starlark.String(name), "fault", starlark.String(w.Fault))
	}
	inputs := starlark.Value(starlark.None)
	if w.Inputs != nil {
		inputs = w.Inputs.Schema(contract.Validate).Root
	}
	return record("workflow", starlark.String(name), "fault", starlark.None, "address", starlark.String(w.Address), "inputs", inputs)
}

// schema is the JSON Schema of a contract in canonical text, None for none.
func schema(text string) starlark.Value {
	if text == "" {
		return starlark.None
	}
	c, err := contract.Parse("contract", text)
	if err != nil {
		return starlark.None // it was checked when it was written
	}
	return c.Schema(contract.Validate).Root
}

// spent is what calls of an agent have come to in earlier runs. What no backend tells is None, not
// 0.
func spent(past map[string]effect.Spent, agent string) starlark.Value {
	s, asked := past[agent]
	if !asked || s.Calls == 0 {
		return starlark.None
	}
	usd, tokens := starlark.Value(starlark.None), starlark.Value(starlark.None)
	if s.MicroUSD > 0 {
		usd = starlark.Float(float64(s.MicroUSD) / 1e6)
	}
	if s.InputTokens+s.OutputTokens > 0 {
		tokens = record("input", starlark.MakeInt64(s.InputTokens), "output", starlark.MakeInt64(s.OutputTokens))
	}
	return record("calls", starlark.MakeInt64(s.Calls), "usd", usd, "tokens", tokens)
}

// record makes a dict of pairs of names and values.
func record(pairs ...any) *starlark.Dict {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := d.SetKey(starlark.String(pairs[i].(string)), pairs[i+1].(starlark.Value)); err != nil {
			panic("agent: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}
