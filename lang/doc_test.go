package lang_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// written is what is written about all names that scripts can use.
func written() map[string]doc.Entry {
	all := map[string]doc.Entry{}
	for _, e := range doc.Of(stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})) {
		all[e.Name] = e
	}
	return all
}

// usable lists all names that an author can write.
func usable(t *testing.T) []string {
	t.Helper()
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})
	names := append(starlark.Universe.Keys(), env.Names.Keys()...)
	values := map[string]starlark.HasAttrs{"string": starlark.String(""), "bytes": starlark.Bytes(""), "list": new(starlark.List),
		"dict": new(starlark.Dict), "set": new(starlark.Set)}
	c, err := contract.Parse("main.star", "int")
	if err != nil {
		t.Fatal(err)
	}
	values["contract"] = c
	for name, v := range env.Names {
		modules(values, name, v)
	}
	for name, v := range values {
		for _, attr := range v.AttrNames() {
			names = append(names, name+"."+attr)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// modules adds a module and those in it.
func modules(values map[string]starlark.HasAttrs, name string, v starlark.Value) {
	module, ok := v.(starlark.HasAttrs)
	if !ok {
		return
	}
	values[name] = module
	for _, attr := range module.AttrNames() {
		if member, err := module.Attr(attr); err == nil {
			modules(values, name+"."+attr, member)
		}
	}
}

var sentence = regexp.MustCompile(`(?s)^\S.*[.:?]$`)

// Every name that can be written is written about: in a sentence, with its signature and its
// parameters. And nothing else is.
func TestEveryNameIsWrittenAbout(t *testing.T) {
	all := written()
	for _, name := range usable(t) {
		e, ok := all[name]
		if !ok {
			t.Errorf("nothing is written about %s", name)
		}
		callable := e.Kind == doc.Function || e.Kind == doc.Effect || e.Kind == doc.Method
		if callable && !strings.HasPrefix(e.Signature, strings.TrimPrefix(name, "time.now")) {
			t.Errorf("%s: its signature is %q", name, e.Signature)
		}
	}
	for _, r := range effect.RecordTypes() {
		if r != effect.TypeNamed(r.Name) {
			continue // of earlier runs
		}
		e := all[r.Name]
		var fields []string
		for _, p := range e.Params {
			fields = append(fields, p.Name)
		}
		if !slices.Equal(fields, r.Fields) {
			t.Errorf("type %s: a %s with %v, want %v", r.Name, e.Kind, fields, r.Fields)
		}
	}
	for name, e := range all {
		if !sentence.MatchString(e.Summary) {
			t.Errorf("%s: its summary is no sentence: %q", name, e.Summary)
		}
		for _, p := range e.Params {
			if !sentence.MatchString(p.Doc) {
				t.Errorf("%s: what is said of %s is no sentence: %q", name, p.Name, p.Doc)
			}
		}
		if e.Kind != doc.Type && !slices.Contains(usable(t), name) && name != "Handle.decision" {
			t.Errorf("%s is written about and is not there", name)
		}
	}
}

// Examples hold: those with values on the machine and on go.starlark.net, the others pass the
// check.
func TestExamples(t *testing.T) {
	n := 0
	for name, e := range written() {
		if e.Example == "" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			b := block{source: e.Example, native: name == "attempt" || name == "parallel"}
			b.check(t, "main.star", files{})
			b.evaluate(t, files{})
		})
	}
	if n < 80 {
		t.Errorf("there are %d examples, which cannot be all", n)
	}
}

// The list of names in spec.md is what is written about them. `go test ./lang -run TestSpecNames
// -rewrite` brings it up to date.
func TestSpecNames(t *testing.T) {
	const begin, end = "<!-- names -->\n", "<!-- end of names -->\n"
	text, err := os.ReadFile("spec.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	listed, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("spec.md has no place for the names")
	}
	want := nameTables(doc.Of(stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})))
	if listed == want {
		return
	}
	if !*rewrite {
		t.Fatalf("spec.md lists\n%s\nwant\n%s", listed, want)
	}
	if err := os.WriteFile("spec.md", []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// nameTables is a table for each kind of names.
func nameTables(entries []doc.Entry) string {
	titles := map[string]string{doc.Effect: "Effects", doc.Function: "Functions", doc.Module: "Modules", doc.Type: "Types", doc.Method: "Methods",
		doc.Constant: "Constants and fields"}
	var s strings.Builder
	for _, kind := range doc.Kinds() {
		fmt.Fprintf(&s, "\n### %s\n\n| name | |\n|---|---|\n", titles[kind])
		for _, e := range entries {
			if e.Kind == kind {
				fmt.Fprintf(&s, "| `%s` | %s |\n", e.Name, strings.ReplaceAll(e.Summary, "|", "\\|"))
			}
		}
	}
	return s.String() + "\n"
}
