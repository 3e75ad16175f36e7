package lang

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
)

// Arg is one input as a command line gives it.
type Arg struct {
	Name string
	Text string
	JSON bool // Text is JSON, whatever the declared type
}

// ParseArg reads NAME=TEXT or NAME:=JSON.
func ParseArg(s string) (Arg, error) {
	name, text, ok := strings.Cut(s, "=")
	name, isJSON := strings.CutSuffix(name, ":")
	if !ok || name == "" {
		return Arg{}, diagnostic.Diagnostic{Kind: "usage", Message: "input", Got: strconv.Quote(s), Want: "NAME=TEXT or NAME:=JSON"}
	}
	return Arg{Name: name, Text: text, JSON: isJSON}, nil
}

// BindInputs makes the inputs of a run. object is a JSON object or nil; args come on top of it. The
// text of an argument is taken as it stands where the declared type admits a string, else it is
// read as JSON; without a declared type it is text. The result is what [Program.CheckInputs] gives.
// The error is a diagnostic.List of kind "bad_input" with everything that is missing, unknown,
// given twice or of the wrong type.
func (p *Program) BindInputs(object []byte, args []Arg) (*starlark.Dict, error) {
	b := binding{p: p, given: new(starlark.Dict), wrong: map[string]bool{}}
	if object != nil {
		b.object(object)
	}
	seen := map[string]bool{}
	for _, a := range args {
		if seen[a.Name] {
			b.refuse(diagnostic.Diagnostic{Path: a.Name, Message: "given twice"})
		}
		seen[a.Name] = true
		b.arg(a)
	}
	return b.check()
}

// CheckInputs checks inputs that are values already, such as those of a child run. With a contract
// it gives a new dict: checked, with defaults filled in. Without one, the names must fit the
// parameters of main; a script without main takes any.
func (p *Program) CheckInputs(given *starlark.Dict) (*starlark.Dict, error) {
	b := binding{p: p, given: given}
	return b.check()
}

// binding gathers the inputs of one run.
type binding struct {
	p     *Program
	given *starlark.Dict
	wrong map[string]bool // inputs that could not be read: no use to call them missing
	found diagnostic.List
}

func (b *binding) refuse(d diagnostic.Diagnostic) {
	d.Kind = "bad_input"
	b.found = append(b.found, d)
}

func (b *binding) object(text []byte) {
	v, err := contract.FromOutside(text)
	if err != nil {
		var d diagnostic.Diagnostic
		errors.As(err, &d)
		d.File = "inputs"
		b.refuse(d)
		return
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		b.refuse(diagnostic.Diagnostic{Message: "inputs", Got: "a " + v.Type(), Want: "a JSON object"})
		return
	}
	b.given = d
}

// arg reads one argument. A name that the contract does not know is kept as text, for check to
// refuse it with the others.
func (b *binding) arg(a Arg) {
	v, err := b.p.parseArg(a)
	if err != nil {
		b.wrong[a.Name] = true
		b.refuse(asDiagnostic(a, err))
		return
	}
	_ = b.given.SetKey(starlark.String(a.Name), v) // a fresh dict takes any string
}

func (p *Program) parseArg(a Arg) (starlark.Value, error) {
	switch {
	case p.Inputs != nil && p.declares(a.Name) && a.JSON:
		return p.Inputs.ParseJSONArg(a.Name, a.Text)
	case p.Inputs != nil && p.declares(a.Name):
		return p.Inputs.ParseArg(a.Name, a.Text)
	case a.JSON:
		return contract.FromJSON([]byte(a.Text))
	}
	return starlark.String(a.Text), nil
}

func (p *Program) declares(name string) bool {
	fields, _ := p.Inputs.Fields()
	return p.Inputs.Open() || slices.ContainsFunc(fields, func(f contract.Field) bool { return f.Name == name })
}

func asDiagnostic(a Arg, err error) diagnostic.Diagnostic {
	var bad contract.Violations
	if errors.As(err, &bad) {
		return bad[0].Diagnostic()
	}
	var d diagnostic.Diagnostic
	errors.As(err, &d)
	return diagnostic.Diagnostic{Path: a.Name, Message: d.Message, Got: d.Got, Want: d.Want, Hint: "after := stands JSON; a text is written " + a.Name + "=" + a.Text}
}

func (b *binding) check() (*starlark.Dict, error) {
	inputs := b.given
	switch {
	case b.p.Inputs != nil:
		inputs = b.checkContract()
	case b.p.Main != nil:
		b.checkParams()
	}
	if err := b.found.Err(); err != nil {
		return nil, err
	}
	return inputs, nil
}

func (b *binding) checkContract() *starlark.Dict {
	checked, bad := b.p.Inputs.Check(b.given)
	for _, v := range bad {
		if !b.wrong[v.Path] {
			b.refuse(v.Diagnostic())
		}
	}
	d, _ := checked.(*starlark.Dict)
	return d
}

func (b *binding) checkParams() {
	main := b.p.Main
	var known, missing []string
	for _, param := range main.Params {
		known = append(known, param.Name)
		if _, has, _ := b.given.Get(starlark.String(param.Name)); !has && !param.Optional && !b.wrong[param.Name] {
			missing = append(missing, param.Name)
		}
	}
	for _, key := range b.given.Keys() {
		name, _ := starlark.AsString(key)
		if !main.Kwargs && !slices.Contains(known, name) {
			b.refuse(unknownInput(name, known))
		}
	}
	for _, name := range missing {
		b.refuse(diagnostic.Diagnostic{Path: name, Got: "nothing", Want: "a value"})
	}
}

func unknownInput(name string, known []string) diagnostic.Diagnostic {
	d := diagnostic.Diagnostic{Path: name, Got: "an unknown input", Want: "none: main has no parameters", Hint: diagnostic.DidYouMean(name, known)}
	if len(known) > 0 {
		d.Want = "one of " + strings.Join(known, ", ")
	}
	return d
}
