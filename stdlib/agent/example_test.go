package agent_test

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/effect"
	"starling/stdlib"
)

// An agent call as the runtime serves it: resolved once, then one attempt.
func Example() {
	const fake = `
def reviewer(req):
    return {"approved": len(req.input) < 3}
`
	bundle, err := lang.Read("agents.star", func(string) ([]byte, error) { return []byte(fake), nil }, nil)
	if err != nil {
		panic(err)
	}
	settings := &effect.Settings{FakeFile: "agents.star", Fake: bundle.Encode()}
	env := stdlib.Environment(stdlib.Options{})

	builtin, _ := env.Lookup("agent")
	call, _ := builtin.(*effect.Builtin).Bind(starlark.Tuple{starlark.String("reviewer")}, []effect.Keyword{
		{Name: "input", Value: starlark.NewList([]starlark.Value{starlark.String("a")})}})
	request, _ := builtin.(*effect.Builtin).Request(call)
	if fault := env.Handlers["agent"].Resolve(settings, request); fault != nil {
		panic(fault)
	}
	args, _ := request.Args.Value()
	resolved, _ := request.Resolved.Value()
	fmt.Println(resolved, request.Policy.Timeout)

	reply := env.Handlers["agent"].Perform(context.Background(), &effect.Attempt{Args: args, Resolved: resolved, Settings: settings, Number: 1})
	fmt.Println(reply.Backend, reply.Value)
	// Output:
	// {"agent": "reviewer", "candidates": [{"backend": "scripted", "serves": "reviewer", "function": "reviewer"}]} 5m0s
	// reviewer {"approved": True}
}
