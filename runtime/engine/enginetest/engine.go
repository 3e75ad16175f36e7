// Package enginetest opens engines for tests of what stands around them: sockets, owners, clients.
// They are the real one, with the names of the standard library and with agents that a test plays.
package enginetest

import (
	"context"
	"io/fs"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/stdlib"
)

// Agent does the work of an attempt of any agent, and returns the text of its reply. It may be
// called concurrently.
type Agent func(ctx context.Context, a *effect.Attempt) (string, error)

// Open makes an engine of a store that is open for writing, which it closes. play may be nil where
// no script asks an agent.
func Open(store runtime.Store, play Agent) (*engine.Local, error) {
	return engine.Open(store, Environment(play), engine.Options{})
}

// Environment has the names of the standard library; agents are played.
func Environment(play Agent) *effect.Environment {
	std := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	perform := func(ctx context.Context, a *effect.Attempt) effect.Reply {
		text, err := play(ctx, a)
		if err != nil {
			return effect.Reply{Err: effect.Errorf(effect.KindEffect, "%v", err)}
		}
		return effect.Reply{Value: starlark.String(text)}
	}
	agent := &effect.Handler{Resolve: resolve, Perform: perform}
	return &effect.Environment{Names: std.Names, Behaviour: std.Behaviour, Handlers: map[string]*effect.Handler{"agent": agent, effect.KindSchedule: std.Handlers[effect.KindSchedule]}}
}

// resolve takes the policy from the call, without a project.
func resolve(_ *effect.Settings, r *effect.Request) *effect.Error {
	args, err := r.Args.View()
	if err != nil {
		return effect.Errorf(effect.KindRefused, "%v", err)
	}
	r.Policy.Retries = int(args.Int("retries"))
	if text := args.Text("timeout"); text != "" {
		r.Policy.Timeout, _ = contract.ParseDuration(text)
	}
	if c, ok := args.Value("output").(*contract.Contract); ok {
		r.Returns = c.String()
	}
	return nil
}

// Bundle is a script without other files as runtime.StartRequest wants it. It panics where the
// script cannot be parsed.
func Bundle(source string) []byte {
	b, err := lang.Read("main.star", func(name string) ([]byte, error) {
		if name != "main.star" {
			return nil, fs.ErrNotExist
		}
		return []byte(source), nil
	}, nil)
	if err != nil {
		panic(err)
	}
	return b.Encode()
}
