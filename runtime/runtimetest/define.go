package runtimetest

import (
	"testing"

	"starling/runtime"
)

// testDefinitions checks that an engine keeps the promises of runtime.Definitions.
func testDefinitions(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject, runtime.Definitions){
		"versions": testVersions,
		"keys":     testDefineKeys,
		"refused":  testDefineRefused,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, s)
			test(e, extension[runtime.Definitions](e, e.Engine))
		})
	}
}

// extension is what an engine serves beside runtime.Engine.
func extension[I any](e *subject, of runtime.Engine) I {
	e.Helper()
	f, err := runtime.Extension[I](of)
	e.ok(err)
	return f
}

func (e *subject) define(d runtime.Definitions, key, name, src string) *runtime.Definition {
	e.Helper()
	got, err := d.Define(e.ctx, runtime.DefineRequest{Key: key, Name: name, Bundle: e.bundle(src)})
	e.ok(err)
	return got
}

func testVersions(e *subject, d runtime.Definitions) {
	all, err := d.Defined(e.ctx, "")
	e.ok(err)
	e.same("nothing is defined", all, []any{})
	first := e.define(d, "", "greet", hello)
	if first.Version != 1 || first.Known || first.By != e.user || first.At.IsZero() || first.Bundle == "" || first.Program == "" {
		e.Fatalf("got %+v, want version 1 with who, when and both hashes", first)
	}
	e.same("the same text again", e.define(d, "", "greet", hello).Known, true)
	second := e.define(d, "", "greet", failing)
	e.same("another text", second.Version, 2)
	e.same("the first text again", e.define(d, "", "greet", hello).Version, 3)
	e.define(d, "", "another", hello)

	for address, want := range map[string][]string{
		"":        {"another@1", "greet@3"},
		"greet":   {"greet@3", "greet@2", "greet@1"},
		"greet@2": {"greet@2"},
	} {
		found, err := d.Defined(e.ctx, address)
		e.ok(err)
		addresses := []string{}
		for _, f := range found {
			addresses = append(addresses, f.Address())
		}
		e.same("defined "+address, addresses, want)
	}
	content, err := e.Blob(e.ctx, first.Bundle)
	e.ok(err)
	e.same("the sources", string(content) == string(e.bundle(hello)), true)
}

func testDefineKeys(e *subject, d runtime.Definitions) {
	first := e.define(d, "once", "greet", hello)
	e.define(d, "", "greet", failing)
	again := e.define(d, "once", "greet", hello)
	e.same("the version under a key", again.Version, first.Version)
	e.same("it was there", again.Known, true)
	_, err := d.Define(e.ctx, runtime.DefineRequest{Key: "once", Name: "greet", Bundle: e.bundle(failing)})
	e.refused(runtime.ErrKeyConflict, err)
}

func testDefineRefused(e *subject, d runtime.Definitions) {
	for _, name := range []string{"", "a/b", "a b", "greet.star", "greet@1"} {
		_, err := d.Define(e.ctx, runtime.DefineRequest{Name: name, Bundle: e.bundle(hello)})
		e.refused(runtime.ErrUsage, err)
	}
	_, err := d.Define(e.ctx, runtime.DefineRequest{Name: "greet", Bundle: []byte("not a bundle")})
	e.refused(runtime.ErrCheckFailed, err)
	for _, address := range []string{"greet", "greet@1"} {
		_, err = d.Defined(e.ctx, address)
		e.refused(runtime.ErrUnknownDefinition, err)
	}
	run := e.start(hello)
	agent := extension[runtime.Definitions](e, e.agent("builder", run.ID))
	_, err = agent.Define(e.ctx, runtime.DefineRequest{Name: "greet", Bundle: e.bundle(hello)})
	e.refused(runtime.ErrDenied, err)
	e.define(d, "", "greet", hello)
	for _, address := range []string{"greet@2", "greet@", "greet@x", "gree"} {
		_, err = d.Defined(e.ctx, address)
		e.refused(runtime.ErrUnknownDefinition, err)
	}
}
