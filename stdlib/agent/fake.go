package agent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// LoadScript loads a bundle of Starlark that defines scripted agents: it runs the top level, which
// must be pure. It and what it returns are used concurrently.
type LoadScript func(bundle []byte) (Script, error)

// Script is a loaded file of scripted agents.
type Script interface {
	// Globals are the file's globals, frozen.
	Globals() starlark.StringDict
	// Call calls one of the functions with the request, on a machine of its own, without effects
	// and with a bound on its steps. An error of the script is an *effect.Error.
	Call(ctx context.Context, function, request starlark.Value) (starlark.Value, error)
}

// maxFakes bounds how many loaded fakes are kept.
const maxFakes = 64

// fakes keeps loaded fakes by the hash of their bundle.
type fakes struct {
	load LoadScript
	cast Cast

	mu     sync.Mutex // protects what is below
	loaded map[[32]byte]*fake
}

// of returns the fake of a run, an empty one when it has none.
func (f *fakes) of(s *effect.Settings) (*fake, *effect.Error) {
	if len(s.Fake) == 0 {
		return &fake{}, nil
	}
	hash := sha256.Sum256(s.Fake)
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.loaded[hash]; ok {
		return known, nil
	}
	script, err := f.load(s.Fake)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "the fake %s: %v", s.FakeFile, err)
	}
	fresh, err := newFake(script)
	if err != nil {
		return nil, effect.Errorf(effect.KindRefused, "the fake %s: %v", s.FakeFile, err)
	}
	if f.loaded == nil || len(f.loaded) >= maxFakes {
		f.loaded = map[[32]byte]*fake{}
	}
	f.loaded[hash] = fresh
	return fresh, nil
}

// part is what plays an agent, from the cast or else from the fake.
func (f *fakes) part(fake *fake, agent string) (func(ctx context.Context, request starlark.Value) (starlark.Value, error), bool) {
	if f.cast != nil {
		if part, ok := f.cast(agent); ok {
			return part, true
		}
	}
	fn, ok := fake.function(agent)
	return func(ctx context.Context, request starlark.Value) (starlark.Value, error) {
		return fake.script.Call(ctx, fn, request)
	}, ok
}

// fake is a loaded file with its agents. It does not change.
type fake struct {
	script Script
	listed map[string]starlark.Value // of the dict agents, by the agent's name
	named  map[string]starlark.Value // of the globals, by the function's name
}

func newFake(script Script) (*fake, error) {
	f := &fake{script: script, listed: map[string]starlark.Value{}, named: map[string]starlark.Value{}}
	for name, v := range script.Globals() {
		if isFunction(v) && !strings.HasPrefix(name, "_") {
			f.named[name] = v
		}
	}
	agents, ok := script.Globals()["agents"].(*starlark.Dict)
	if !ok {
		return f, nil
	}
	for k, v := range agents.Entries() {
		name, _ := starlark.AsString(k)
		if err := effect.CheckName(name); err != nil {
			return nil, fmt.Errorf("agents: %w", err)
		}
		if !isFunction(v) {
			return nil, fmt.Errorf("agents[%q]: got %s, want a function", name, v.Type())
		}
		f.listed[name] = v
	}
	return f, nil
}

func isFunction(v starlark.Value) bool { return v.Type() == "function" }

// functionName is the name of the function that plays an agent which the dict agents does not list.
func functionName(agent string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(agent) }

// function finds what plays an agent.
func (f *fake) function(agent string) (starlark.Value, bool) {
	if fn, ok := f.listed[agent]; ok {
		return fn, true
	}
	fn, ok := f.named[functionName(agent)]
	return fn, ok
}

// ambiguous refuses an agent that is played by a function whose name stands for another one as
// well.
func (f *fake) ambiguous(agent string, others []string) *effect.Error {
	if _, listed := f.listed[agent]; listed {
		return nil
	}
	for _, other := range others {
		if _, listed := f.listed[other]; !listed && other != agent && functionName(other) == functionName(agent) {
			return effect.Errorf(effect.KindRefused, "the agents %q and %q are both played by %s in the fake; list them: agents = {%q: …, %q: …}",
				agent, other, functionName(agent), agent, other)
		}
	}
	return nil
}

// names lists the agents, those of the dict first.
func (f *fake) names() []string {
	var listed, named []string
	for name := range f.listed {
		listed = append(listed, name)
	}
	for name := range f.named {
		named = append(named, name)
	}
	slices.Sort(listed)
	slices.Sort(named)
	return append(listed, named...)
}
