package vm_test

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// A script asks, its machine is written down, another machine is made of the bytes and goes on with
// the answer.
func Example() {
	ask := &effect.Builtin{
		FullName: "ask",
		Class:    effect.Waiting,
		Params:   []effect.Param{{Name: "question", Type: "string"}},
		Request: func(c *effect.Call) (*effect.Request, error) {
			return &effect.Request{Kind: "ask", Name: "ask", Args: effect.MustEncode(c.Get("question"))}, nil
		},
	}
	env := &effect.Environment{Names: starlark.StringDict{"ask": ask}}
	code, err := compile.Compile(compile.Source{
		Name:        "script.star",
		Text:        []byte("def main(who):\n    greeting = 'Dear ' + who\n    return greeting + ': ' + ask('what is it?')\n"),
		Options:     syntax.FileOptions{Recursion: true},
		Predeclared: env.Names.Has,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	image, err := vm.Load([]*compile.Module{code}, env)
	if err != nil {
		fmt.Println(err)
		return
	}
	inputs := starlark.NewDict(1)
	_ = inputs.SetKey(starlark.String("who"), starlark.String("reader"))
	m, err := image.Start(inputs)
	if err != nil {
		fmt.Println(err)
		return
	}

	stop := m.Run(nil)
	fmt.Println(stop.Emissions[0].Step, "at", stop.Emissions[0].Request.Where)

	key := []byte("the store's key")
	bytes, err := m.Snapshot(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err = image.Restore(bytes, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Settle("ask", effect.Outcome{Value: effect.MustEncode(starlark.String("an example"))})
	fmt.Println(m.Run(nil).Value)
	// Output:
	// ask at script.star:3:33
	// "Dear reader: an example"
}
