package contract_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"starling/lang/contract"
)

// validator compiles a schema of ours with an independent implementation.
func validator(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("contract.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("contract.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	return compiled
}

// accepts are the verdicts of the contract and of its schema on a JSON text.
func accepts(t *testing.T, c *contract.Contract, schema *jsonschema.Schema, text string) (check, validate bool) {
	t.Helper()
	v, err := contract.FromJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, bad := c.Check(v)
	return bad.Err() == nil, schema.Validate(doc) == nil
}

// The values that the schema of a contract admits are those that the contract admits.
func TestSchemaAgreesWithCheck(t *testing.T) {
	tests := []struct {
		contract string
		good     []string
		bad      []string
	}{
		{`int`, []string{`3`, `3.0`, `1e3`, `-0`}, []string{`3.5`, `"3"`, `null`, `true`}},
		{`int(-1..5)`, []string{`-1`, `5.0`}, []string{`-2`, `5.1`, `6`}},
		{`number(0..0.5)`, []string{`0.5`, `0`}, []string{`0.51`, `-1`}},
		{`string(2..3)`, []string{`"ab"`, `"😀😀😀"`}, []string{`"a"`, `"abcd"`, `1`}},
		{`bool`, []string{`true`}, []string{`0`, `"true"`}},
		{`any`, []string{`null`, `[{"a":1.5}]`}, nil},
		{`"a" | 1 | true | null`, []string{`"a"`, `1.0`, `true`, `null`}, []string{`"b"`, `2`, `false`, `"1"`}},
		{`[int](1..2)`, []string{`[1]`, `[1,2.0]`}, []string{`[]`, `[1,2,3]`, `["1"]`, `{}`}},
		{`{string: int?}`, []string{`{}`, `{"a":1,"b":null}`}, []string{`{"a":"x"}`, `[]`}},
		{`{a: int, b?: int, c: int?, d: int = 3, e?: int?, "odd key": null}`,
			[]string{`{"a":1,"odd key":null}`, `{"a":1,"b":2,"c":null,"d":4,"e":null,"odd key":null}`},
			[]string{`{"a":1}`, `{"a":1,"odd key":null,"b":null}`, `{"a":1,"odd key":null,"d":null}`, `{"a":1,"odd key":null,"z":1}`}},
		{`{a: int, *: string}`, []string{`{"a":1,"b":"x"}`}, []string{`{"a":1,"b":2}`, `{"a":"1"}`}},
		{`/a|b+/`, []string{`"a"`, `"bbb"`}, []string{`"ab"`, `""`, `"a\n"`}},
		{`/(?i)[a-c]é\s\w./`, []string{`"Aé xy"`, `"cÉ\n_😀"`}, []string{`"dé xy"`, `"aé x\n"`, "\"a\u00e9\u00a0xy\""}},
		{`/[^a-z"]{2,}?x??/`, []string{`"AB"`, `"12x"`, `"漢字"`}, []string{`"A"`, `"ab"`}},
		{`/\pL+\bx?/`, []string{`"abc"`, `"ax"`}, []string{`"é1"`, `"a x"`}},
		{`url`, []string{`"https://a.b/c?d#e"`, `"file://h/x"`}, []string{`"a.b/c"`, `"http://"`, `"http://a b"`, `"mailto:x@y"`}},
		{`path`, []string{`"a"`, `"./a/..b/.c/..."`, `"."`, `"dir/"`}, []string{`""`, `"/a"`, `".."`, `"a/../b"`, `"a//b"`, `"a\\b"`, `"a/.."`}},
		{`duration`, []string{`"90s"`, `"1d2h"`, `"0.5ms"`}, []string{`"90"`, `"1 s"`, `"-1s"`, `""`, `"P1D"`}},
		{`timestamp`, []string{`"2026-01-31T00:00:00Z"`, `"2026-01-31T00:00:00.5+02:00"`},
			[]string{`"2026-01-31"`, `"2026-02-31T00:00:00Z"`, `"2026-01-31T00:00:00"`, `"2026-01-31t00:00:00z"`}},
		{`type T = {v: int, kids: [T] = []} T`, []string{`{"v":1,"kids":[{"v":2}]}`}, []string{`{"v":1,"kids":[{}]}`}},
		{`type A = "x" | B type B = [A] | null [A]`, []string{`["x",null,[["x"]]]`}, []string{`["y"]`, `"x"`}},
		{`{a: ("x" | "y")?, b: (int | [int])?, c: "z"?}`, []string{`{}`, `{"a":null,"b":[1],"c":null}`}, []string{`{"a":"z"}`, `{"b":["1"]}`, `{"c":"x"}`}},
	}
	for _, test := range tests {
		c, err := contract.Parse("", test.contract)
		if err != nil {
			t.Fatal(explain(err))
		}
		schema := validator(t, c.Schema(contract.Validate).JSON())
		for i, text := range append(test.good[:len(test.good):len(test.good)], test.bad...) {
			want := i < len(test.good)
			check, validate := accepts(t, c, schema, text)
			if check != want || validate != want {
				t.Errorf("%s with %s: want %v, Check says %v, the schema %v", c, text, want, check, validate)
			}
		}
	}
}

// The same with contracts and values that nobody thought of, and for answers to the strict profile:
// what its schema admits is admitted, or refused only for what the schema says it has dropped.
func TestSchemaAgreesAtRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	admitted := 0
	for range 300 {
		text, value := g.contract()
		c, err := contract.Parse("", text)
		if err != nil {
			t.Fatalf("%s\n%s", text, explain(err))
		}
		schema := validator(t, c.Schema(contract.Validate).JSON())
		strict := c.Schema(contract.Strict)
		answers := validator(t, strict.JSON())
		for range 20 {
			sample := value()
			check, validate := accepts(t, c, schema, sample)
			if check != validate {
				t.Fatalf("%s\nwith %s: Check says %v, the schema %v\n%s", text, sample, check, validate, c.Schema(contract.Validate).JSON())
			}
			if check {
				admitted++
			}
			if len(strict.Dropped)+len(strict.Unfit) == 0 {
				compareStrict(t, c, answers, sample)
			}
		}
	}
	if admitted < 1000 {
		t.Errorf("only %d of 6000 values were admitted: the test says little", admitted)
	}
}

func compareStrict(t *testing.T, c *contract.Contract, answers *jsonschema.Schema, sample string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	v, err := contract.FromJSON([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if answers.Validate(doc) == nil {
		if _, bad := c.CheckAs(contract.Strict, v); bad.Err() != nil {
			t.Fatalf("%s\nwith %s: the strict schema admits it, and Check says %v", c, sample, bad)
		}
	}
}

// A generator makes contracts together with makers of values that often fit them.
type generator struct{ *rand.Rand }

func (g *generator) contract() (text string, value func() string) {
	inner, sample := g.typ(3)
	if g.IntN(3) > 0 {
		return inner, sample
	}
	return "type Tree = {kids?: [Tree], is: " + inner + "}\n[Tree | null]", func() string {
		return fmt.Sprintf(`[{"is": %s, "kids": [{"is": %s}]}, %s]`, sample(), sample(), g.scalarValue())
	}
}

// typ gives a type that is no union, and values of it, one in eight of which are of another.
func (g *generator) typ(depth int) (string, func() string) {
	text, value := g.plainTyp(depth)
	return text, func() string {
		if g.IntN(8) == 0 {
			return g.scalarValue()
		}
		return value()
	}
}

func (g *generator) plainTyp(depth int) (string, func() string) {
	kind := g.IntN(9)
	if depth == 0 {
		kind = g.IntN(5)
	}
	switch kind {
	case 0:
		low := g.IntN(4) - 2
		return fmt.Sprintf("int(%d..%d)", low, low+g.IntN(4)), func() string { return fmt.Sprint(g.IntN(7) - 3) }
	case 1:
		return []string{"int", "number", "string", "bool", "any", "null"}[g.IntN(6)], g.scalarValue
	case 2:
		return fmt.Sprintf("string(..%d)", g.IntN(3)), func() string { return []string{`""`, `"a"`, `"😀b"`, `"abc"`}[g.IntN(4)] }
	case 3:
		return []string{`/a+/`, `/[^b]|c/`, `/(?i)é?/`}[g.IntN(3)], func() string { return []string{`""`, `"a"`, `"b"`, `"É"`, `"cc"`}[g.IntN(5)] }
	case 4:
		return `"a" | "b" | 1`, func() string { return []string{`"a"`, `"b"`, `1`, `1.0`, `"c"`}[g.IntN(5)] }
	case 5:
		return g.list(depth)
	case 6:
		elem, value := g.typ(depth - 1)
		return "{string: " + elem + "}", func() string { return fmt.Sprintf(`{"k": %s, "a b": %s}`, value(), value()) }
	case 7:
		a, va := g.typ(depth - 1)
		b, vb := g.typ(depth - 1)
		return fmt.Sprintf("[%s] | {a: %s}", a, b), func() string {
			return []string{"[" + va() + "]", `{"a": ` + vb() + "}"}[g.IntN(2)]
		}
	}
	return g.record(depth)
}

func (g *generator) list(depth int) (string, func() string) {
	elem, value := g.typ(depth - 1)
	return fmt.Sprintf("[%s](..%d)", elem, g.IntN(3)), func() string {
		var elems []string
		for range g.IntN(4) {
			elems = append(elems, value())
		}
		return "[" + strings.Join(elems, ", ") + "]"
	}
}

func (g *generator) record(depth int) (string, func() string) {
	var fields []string
	var makers []func() string
	for i := range g.IntN(4) {
		elem, value := g.typ(depth - 1)
		name := fmt.Sprintf("f%d", i)
		switch g.IntN(4) {
		case 0:
			fields = append(fields, name+"?: "+elem)
		case 1:
			fields = append(fields, name+": ("+elem+")?")
		default:
			fields = append(fields, name+": "+elem)
		}
		makers = append(makers, func() string {
			if g.IntN(6) == 0 {
				return ""
			}
			return fmt.Sprintf("%q: %s", name, value())
		})
	}
	if g.IntN(4) == 0 {
		fields = append(fields, "*: int")
	}
	return "{" + strings.Join(fields, ", ") + "}", func() string {
		var entries []string
		for _, maker := range makers {
			if e := maker(); e != "" {
				entries = append(entries, e)
			}
		}
		if g.IntN(6) == 0 {
			entries = append(entries, `"extra": `+g.scalarValue())
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
}

func (g *generator) scalarValue() string {
	return []string{`null`, `true`, `0`, `1`, `2.0`, `2.5`, `-1`, `""`, `"a"`, `"xyz"`, `[]`, `{}`}[g.IntN(12)]
}
