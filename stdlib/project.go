package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// findModule lets a script see what it would find before it asks for it.
func findModule() []*effect.Builtin {
	return []*effect.Builtin{{
		FullName: "project.find",
		Doc: "Say what of the project calls would find, and make none of them. " +
			"It gives a dict of agents and workflows, in the order of the question. Each has fault, which is None, or why it cannot be " +
			"asked. An agent has its backends, the schemas of its output and input, how many attempts one call may take, what its calls in the newest runs have spent, and its price per million tokens; " +
			"a workflow its address and the schema of its inputs. What nobody tells is None. Tool servers that are named are started, to see which tools they have.",
		Params: []effect.Param{
			{Name: "agents", Type: "list", Default: "[]", KeywordOnly: true, Doc: "Names, or dicts of agent and what a call of it says: backend, tools."},
			{Name: "workflows", Type: "list", Default: "[]", KeywordOnly: true, Doc: "Names of scripts that are defined, as run takes them."},
			nameParam("project.find"),
		},
		Result: "dict", Class: effect.Waiting, Request: findRequest,
	}}
}

// findRequest asks of each agent in one form.
func findRequest(c *effect.Call) (*effect.Request, error) {
	step, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	workflows, err := texts(c, "workflows")
	if err != nil {
		return nil, err
	}
	var o effect.Object
	list, _ := c.Get("agents").(starlark.Iterable)
	if list != nil {
		asks, err := agentAsks(c, list)
		if err != nil {
			return nil, err
		}
		o.Raw("agents", asks)
	}
	args := o.Texts("workflows", workflows).Payload()
	return &effect.Request{Class: effect.Waiting, Kind: "project", Name: step, Args: args}, nil
}

// agentAsks reads names and dicts as dicts that have agent.
func agentAsks(c *effect.Call, list starlark.Iterable) (effect.Payload, error) {
	var asks []starlark.Value
	for v := range starlark.Elements(list) {
		ask, isDict := v.(*starlark.Dict)
		if !isDict {
			ask = starlark.NewDict(1)
			_ = ask.SetKey(starlark.String("agent"), v) // a fresh dict and a string key
		}
		name, _, _ := ask.Get(starlark.String("agent")) // a string is hashable
		text, isText := starlark.AsString(orNone(name))
		if !isText {
			return nil, wrong(c, "agents", "[%d]: got %s, want a name, or a dict with agent", len(asks), v.Type())
		}
		if err := effect.CheckName(text); err != nil {
			return nil, wrong(c, "agents", "[%d]: %w", len(asks), err)
		}
		asks = append(asks, ask)
	}
	encoded, err := effect.Encode(starlark.NewList(asks))
	if err != nil {
		return nil, wrong(c, "agents", "%w", err)
	}
	return encoded, nil
}

func orNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}
