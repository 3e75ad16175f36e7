package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/infer"
	"starling/lang/way"
)

// Project is what is known of the project that a script belongs to. Without agents and tools
// nothing is known of it, and what a script names is not looked at.
type Project struct {
	Agents []Agent  // all that a run would find
	Tools  []string // its tool servers
}

// Agent is one that a run would find.
type Agent struct {
	Name   string
	Steers []effect.Steering // how each of its backends is told something while it works; nil where that is not known
	Own    bool              // what its tools name need not be a tool server: a backend has tools of its own

	Contracts Contracts // that the project has for it
}

// Contracts are those of an agent.
type Contracts = infer.Agent

// Contracts are those that the project has for an agent.
func (p Project) Contracts(name string) Contracts {
	for _, a := range p.Agents {
		if a.Name == name {
			return a.Contracts
		}
	}
	return Contracts{}
}

func (p Project) known() bool { return len(p.Agents)+len(p.Tools) > 0 }

func (p Project) names() []string {
	names := make([]string, len(p.Agents))
	for i, a := range p.Agents {
		names[i] = a.Name
	}
	return names
}

// played is how a fake calls the function that plays an agent.
var played = strings.NewReplacer("-", "_", ".", "_")

// agent finds an agent. A fake plays my-agent by the function my_agent.
func (p Project) agent(name string) (Agent, bool) {
	i := slices.IndexFunc(p.Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		i = slices.IndexFunc(p.Agents, func(a Agent) bool { return a.Name == played.Replace(name) })
	}
	if i < 0 {
		return Agent{}, false
	}
	return p.Agents[i], true
}

// serving lists the agents whose backends serve a call, if the text shows them and all are known:
// those of the call, of its role, the role itself.
func (c *checker) serving(bound map[string]syntax.Expr) (agents []Agent) {
	for _, name := range c.servingNames(bound) {
		a, known := c.project.agent(name)
		if !known {
			return nil
		}
		agents = append(agents, a)
	}
	return agents
}

func (c *checker) servingNames(bound map[string]syntax.Expr) []string {
	if backend := bound["backend"]; backend != nil {
		return namesOf(backend)
	}
	for _, param := range []string{"who", "to", "name"} {
		who := orNone(bound[param])
		if call := c.roleOf(who); call != nil {
			if sig := c.signature(call.Fn); sig != nil {
				quiet := *c
				role := quiet.bind(call, sig, argumentsOf(call))
				return namesOf(cmp.Or(role["backend"], orNone(role["name"])))
			}
		}
		if bound[param] != nil {
			return namesOf(who)
		}
	}
	return nil
}

// namesOf is a literal name, or a literal list of such; nil for anything else.
func namesOf(e syntax.Expr) []string {
	if name, ok := text(e); ok {
		return []string{name}
	}
	list, _ := textsOf(e)
	return list
}

// steers refuses a callback that steers an agent which takes no messages while it works, and
// warns where only some of its backends can.
func (c *checker) steers(bound map[string]syntax.Expr) {
	listener := bound["on_event"]
	if listener == nil || !c.mentions(listener, "steer") {
		return
	}
	var able, deaf []string
	for _, a := range c.serving(bound) {
		for _, s := range a.Steers {
			if s == effect.SteerNone {
				deaf = append(deaf, a.Name)
			} else {
				able = append(able, a.Name)
			}
		}
	}
	if len(deaf) == 0 {
		return
	}
	d := diagnostic.Diagnostic{Message: fmt.Sprintf("the agent %q takes no messages while it works, and on_event steers it", deaf[0]),
		Hint: "answer stop(reason) instead, or give it a backend that can be steered: a preset, acp, inbox"}
	if len(able) > 0 {
		d.Severity, d.Message = diagnostic.Warning, fmt.Sprintf("the agent %q may be served by a backend that takes no messages while it works, and on_event steers it", deaf[0])
	}
	c.at("unsteerable", listener, d)
}

// mentions tells whether a function that stands in the text calls a builtin.
func (c *checker) mentions(function syntax.Expr, builtin string) (found bool) {
	var body syntax.Node
	switch f := way.Unparen(function).(type) {
	case *syntax.LambdaExpr:
		body = f
	case *syntax.Ident:
		s, ok := c.names.only(f)
		if ok && s.kind == defined {
			body = s.def
		} else if def := c.definition(s); ok && def != nil {
			body = def
		}
	}
	if body == nil {
		return false
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		if e, ok := n.(syntax.Expr); ok && c.calls(e, builtin) {
			found = true
		}
		return !found
	})
	return found
}

// definition is the function that a loaded name stands for, nil for any other.
func (c *checker) definition(s site) *syntax.DefStmt {
	if s.kind != loaded {
		return nil
	}
	return c.exported(s)
}

// tools warns of tools that are of no tool server, where the agent has none of its own.
func (c *checker) tools(bound map[string]syntax.Expr) {
	list, ok := way.Unparen(orNone(bound["tools"])).(*syntax.ListExpr)
	serving := c.serving(bound)
	if !ok || len(serving) == 0 || slices.ContainsFunc(serving, func(a Agent) bool { return a.Own }) {
		return
	}
	for _, e := range list.List {
		c.toolServer(e)
	}
}

// toolServer warns of a literal name of a tool server, or of one of its tools, that the project
// does not have.
func (c *checker) toolServer(e syntax.Expr) {
	name, ok := text(orNone(e))
	server, _, _ := strings.Cut(name, ".")
	if !ok || !c.project.known() || slices.Contains(c.project.Tools, server) {
		return
	}
	d := diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: fmt.Sprintf("no tool server is called %q", server), Want: "one of " + strings.Join(c.project.Tools, ", "),
		Hint: diagnostic.Meant(server, c.project.Tools)}
	if len(c.project.Tools) == 0 {
		d.Want, d.Hint = "", "declare it under [tools."+server+"] in starling.toml"
	}
	c.at("unknown_tool", e, d)
}
