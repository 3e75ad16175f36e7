package contract_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
)

// The files in testdata are transcripts: blocks separated by blank lines, each a command, its
// input, a line of four dashes, and what came of it. Lines that begin with // before a command are
// prose. With -update the outcomes are written anew.
//
//	parse          read the contract, print its canonical text or the errors as they are rendered
//	contract       the same, and keep it for the commands that follow
//	check          check a JSON value, print what it becomes or what is wrong
//	strict         the same, as an answer to the schema of the profile Strict
//	placeholders   check a JSON value, print where placeholders stand in for what was asked
//	redact         print what people may see of a JSON value
//	schema         print the schema of a profile, and what was left out
//	fields         print the fields of the top record
//	arg, json-arg  read an argument NAME=TEXT
//	eval           evaluate a Starlark expression; c is the contract
//	json           read JSON and write it again
var update = flag.Bool("update", false, "write the outcomes of testdata/*.txt anew")

func TestTranscripts(t *testing.T) {
	for _, name := range []string{"parse", "errors", "check", "unions", "schema", "inputs", "script", "json", "placeholders"} {
		t.Run(name, func(t *testing.T) { runTranscript(t, "testdata/"+name+".txt") })
	}
}

func runTranscript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s session
	var out []string
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		n := 0
		for n < len(lines) && strings.HasPrefix(lines[n], "//") {
			n++
		}
		if n == len(lines) {
			out = append(out, block)
			continue
		}
		body, want, ok := strings.Cut(strings.Join(lines[n:], "\n")+"\n", "\n----\n")
		if !ok {
			t.Fatalf("%s: no outcome in\n%s", file, block)
		}
		command, input, _ := strings.Cut(body, "\n")
		got := strings.TrimRight(s.run(command, input), "\n")
		if got != strings.TrimRight(want, "\n") && !*update {
			t.Errorf("%s: %s\n%s\n---- got\n%s\n---- want\n%s", file, command, input, got, want)
		}
		head := append(lines[:n:n], body, "----")
		out = append(out, strings.TrimRight(strings.Join(append(head, got), "\n"), "\n"))
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// session is what the commands of one transcript share.
type session struct{ c *contract.Contract }

func (s *session) run(command, input string) string {
	switch command {
	case "parse", "contract":
		c, err := contract.Parse("", input)
		if err != nil {
			return explain(err)
		}
		if command == "contract" {
			s.c = c
		}
		return c.String()
	case "check", "strict", "redact", "placeholders":
		return s.checked(command, input)
	case "schema":
		return s.schema(input)
	case "fields":
		return s.fields()
	case "arg", "json-arg":
		return s.arg(command, input)
	case "eval":
		return s.eval(input)
	case "json":
		return valueText(contract.FromJSON([]byte(input)))
	}
	return "unknown command " + command
}

func explain(err error) string {
	var list diagnostic.List
	var one diagnostic.Diagnostic
	switch {
	case errors.As(err, &list):
		return list.Render()
	case errors.As(err, &one):
		return one.Render()
	}
	return err.Error()
}

func valueText(v starlark.Value, err error) string {
	if err != nil {
		return explain(err)
	}
	text, err := contract.ToJSON(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *session) checked(command, input string) string {
	v, err := contract.FromJSON([]byte(input))
	if err != nil {
		return explain(err)
	}
	var bad contract.Violations
	switch command {
	case "check":
		v, bad = s.c.Check(v)
	case "strict":
		v, bad = s.c.CheckAs(contract.Strict, v)
	case "placeholders":
		if v, bad = s.c.Check(v); len(bad) == 0 {
			bad = s.c.Placeholders(v)
		}
	case "redact":
		v, bad = s.c.Redact(v, contract.People)
	}
	return valueText(v, bad.Err())
}

func (s *session) schema(profile string) string {
	if profile != "strict" {
		return string(s.c.Schema(contract.Validate).JSON())
	}
	schema := s.c.Schema(contract.Strict)
	lines := []string{string(schema.JSON())}
	for _, d := range schema.Dropped {
		lines = append(lines, "dropped "+d)
	}
	for _, u := range schema.Unfit {
		lines = append(lines, "unfit "+u)
	}
	return strings.Join(lines, "\n")
}

func (s *session) fields() string {
	fields, ok := s.c.Fields()
	if !ok {
		return "no record"
	}
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s", f.Name, f.Type)
		for _, is := range []struct {
			it   bool
			word string
		}{{f.Required, "required"}, {f.Optional, "optional"}, {f.AdmitsString, "text"}, {f.AgentOnly, "agent"}} {
			if is.it {
				b.WriteString(" " + is.word)
			}
		}
		if f.Default != nil {
			b.WriteString(" default " + f.Default.String())
		}
		b.WriteString("\n")
	}
	if s.c.Open() {
		b.WriteString("open\n")
	}
	return b.String()
}

func (s *session) arg(command, input string) string {
	name, text, _ := strings.Cut(input, "=")
	if command == "json-arg" {
		return valueText(s.c.ParseJSONArg(name, text))
	}
	return valueText(s.c.ParseArg(name, text))
}

func (s *session) eval(expr string) string {
	env := starlark.StringDict{
		"contract": starlark.NewBuiltin("contract", parseBuiltin),
		"ring":     ring(),
		"deep":     starlark.NewBuiltin("deep", deep),
		"nan":      starlark.Float(nan()),
	}
	if s.c != nil {
		env["c"] = s.c
	}
	thread := &starlark.Thread{Name: "test"}
	v, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, thread, "eval", expr, env)
	if err != nil {
		return explain(err)
	}
	return v.String()
}

// parseBuiltin is contract(text) as a standard library would define it.
func parseBuiltin(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackArgs(fn.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	return contract.Parse(fn.Name(), text)
}

// ring is a list that holds itself, a few steps away.
func ring() starlark.Value {
	list := starlark.NewList(nil)
	d := new(starlark.Dict)
	if err := errors.Join(d.SetKey(starlark.String("k"), starlark.Tuple{list}), list.Append(d)); err != nil {
		panic(err)
	}
	return list
}

// deep(n) is n lists in each other.
func deep(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n, err := starlark.AsInt32(args[0])
	v := starlark.NewList(nil)
	for range n - 1 {
		v = starlark.NewList([]starlark.Value{v})
	}
	return v, err
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}
