package lang_test

import (
	"errors"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/diagnostic"
)

// bind binds arguments as a command line has them; the first may be a JSON object.
func bind(p *lang.Program, given ...string) (string, error) {
	var object []byte
	var args []lang.Arg
	for _, g := range given {
		if object == nil && (strings.HasPrefix(g, "{") || strings.HasPrefix(g, "[")) {
			object = []byte(g)
			continue
		}
		a, err := lang.ParseArg(g)
		if err != nil {
			return "", err
		}
		args = append(args, a)
	}
	d, err := p.BindInputs(object, args)
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

func TestBindInputs(t *testing.T) {
	const typed = `inputs = contract("{url: url, limit: int = 3, tags: [string]?, label: string | int = \"x\", note?: string}")
def main(url, limit, tags, label, **kwargs):
    pass
`
	const untyped = "def main(url, limit = 3):\n    pass\n"
	const open = `inputs = contract("{n: int, *: any}")
def main(n, **more):
    pass
`
	const pipeline = "print(args)\n"
	tests := []struct {
		name   string
		script string
		args   []string
		want   string // the dict, or the error
	}{
		{"defaults are filled in, order is declared", typed, []string{"url=https://example.org"},
			`{"url": "https://example.org", "limit": 3, "tags": None, "label": "x"}`},
		{"text is read by type", typed, []string{"limit=5", "tags=[\"a\"]", "url=https://example.org", "label=7", "note=true"},
			`{"url": "https://example.org", "limit": 5, "tags": ["a"], "label": "7", "note": "true"}`},
		{"JSON is JSON", typed, []string{`url:="https://example.org"`, "label:=7"},
			`{"url": "https://example.org", "limit": 3, "tags": None, "label": 7}`},
		{"an object, and arguments on top of it", typed, []string{`{"url": "https://example.org", "limit": 4, "note": "n"}`, "limit=6"},
			`{"url": "https://example.org", "limit": 6, "tags": None, "label": "x", "note": "n"}`},
		{"everything wrong at once", typed, []string{"limit=many", "tags=a,b", "urll=x", "label:=[]"}, `
limit: got "many", want int; it is read as JSON
tags: got "a,b", want [string]?; it is read as JSON
url: got nothing, want url
label: got a list of length 0, want string | int
urll: got an unknown key, want only url, limit, tags, label, note; did you mean "url"?`},
		{"given twice", typed, []string{"limit=1", "limit=2", "url=https://example.org"}, `
limit: given twice`},
		{"malformed JSON", typed, []string{"url:=https://example.org"}, `
url: got "https://example.org", want JSON; 1:1: this is not JSON: got "https", want a value`},
		{"an object that is none", typed, []string{`[1]`, "url=https://example.org"}, `
inputs: got a list, want a JSON object`},
		{"an object that is no JSON", typed, []string{`{"a": }`, "url=https://example.org"}, `
inputs:1:7: a: this is not JSON: got "}", want a value`},
		{"an open record", open, []string{"n=1", "m=2", "k:=3"}, `{"n": 1, "m": "2", "k": 3}`},

		{"without a contract, text", untyped, []string{"url=x", "limit=5"}, `{"url": "x", "limit": "5"}`},
		{"without a contract, JSON", untyped, []string{"url=x", "limit:=5"}, `{"url": "x", "limit": 5}`},
		{"without a contract, main has the defaults", untyped, []string{"url="}, `{"url": ""}`},
		{"missing", untyped, nil, `
url: got nothing, want a value`},
		{"unknown", untyped, []string{"urll=x", "limit:=nope"}, `
limit: this is not JSON: got "nope", want a value; after := stands JSON; a text is written limit=nope
urll: got an unknown input, want one of url, limit; did you mean "url"?
url: got nothing, want a value`},
		{"no parameters at all", "def main():\n    pass\n", []string{"x=1"}, `
x: got an unknown input, want none: main has no parameters`},
		{"**kwargs takes any", "def main(**kwargs):\n    pass\n", []string{"x=1"}, `{"x": "1"}`},
		{"a script without main takes any", pipeline, []string{"x=1", "y:=[2]"}, `{"x": "1", "y": [2]}`},
		{"and may state what it takes", `inputs = contract("{n: int = 1}")` + "\nprint(args)\n", []string{"m=2"}, `
m: got an unknown key, want only n`},
		{"an argument without a name", untyped, []string{"=x"}, `
input: got "=x", want NAME=TEXT or NAME:=JSON`},
		{"an argument without a value", untyped, []string{"url"}, `
input: got "url", want NAME=TEXT or NAME:=JSON`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := compileScript(t, files{"main.star": test.script})
			got, err := bind(p, test.args...)
			if err != nil {
				got = "\n" + err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestBadInputsAreOfOneKind(t *testing.T) {
	p := compileScript(t, files{"main.star": `inputs = contract("{n: int}")` + "\ndef main(n):\n    pass\n"})
	_, err := p.BindInputs([]byte(`{"n": "x", "m": 1}`), []lang.Arg{{Name: "k", Text: "nope", JSON: true}})
	var list diagnostic.List
	if !errors.As(err, &list) || len(list) < 2 {
		t.Fatalf("got %v", err)
	}
	for _, d := range list {
		if d.Kind != "bad_input" {
			t.Errorf("%v: the kind is %q", d, d.Kind)
		}
	}
}

// The inputs of a child run are values already.
func TestCheckInputs(t *testing.T) {
	p := compileScript(t, files{"main.star": `inputs = contract("{n: int, m: [int] = [1]}")` + "\ndef main(n, m):\n    pass\n"})
	given := starlark.NewDict(1)
	if err := given.SetKey(starlark.String("n"), starlark.Float(2)); err != nil {
		t.Fatal(err)
	}
	checked, err := p.CheckInputs(given)
	if err != nil || checked.String() != `{"n": 2, "m": [1]}` {
		t.Errorf("got %v, %v", checked, err)
	}
	if given.String() != `{"n": 2.0}` {
		t.Errorf("the given dict has become %v", given)
	}
	_, err = p.CheckInputs(new(starlark.Dict))
	if want := "n: got nothing, want int"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
