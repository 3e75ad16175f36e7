package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/langtest"
)

func Example() {
	c, err := contract.Parse("finding", `{severity: "HIGH" | "LOW", file: path, line: int(1..) = 1}`)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{`{"file": "main.go", "severity": "LOW"}`, `{"file": "/etc", "severity": "high"}`} {
		v, err := contract.FromJSON([]byte(text))
		if err != nil {
			panic(err)
		}
		v, bad := c.Check(v)
		if bad != nil {
			fmt.Println(bad)
			continue
		}
		fmt.Println(v)
	}
	// Output:
	// {"severity": "LOW", "file": "main.go", "line": 1}
	// severity: got "high", want one of HIGH, LOW; did you mean "HIGH"?
	// file: got "/etc", want path; such as src/main.go (relative, without ..)
}

func mustParse(t testing.TB, text string) *contract.Contract {
	t.Helper()
	c, err := contract.Parse("", text)
	if err != nil {
		t.Fatal(explain(err))
	}
	return c
}

// The grammar in grammar.md is the one that the parser has.
func TestGrammarIsDocumented(t *testing.T) {
	page, err := os.ReadFile("grammar.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```ebnf\n")
	documented, _, ok := strings.Cut(rest, "```")
	if !ok || documented != contract.Grammar()+"\n" {
		t.Errorf("grammar.md has\n%s\nthe parser\n%s", documented, contract.Grammar())
	}
}

// Every contract in grammar.md is one.
func TestDocumentedContracts(t *testing.T) {
	page, err := os.ReadFile("grammar.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range strings.Split(string(page), "```contract\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		mustParse(t, text)
		n++
	}
	if n == 0 {
		t.Error("there are none")
	}
}

func TestTextLimits(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"length", "int" + strings.Repeat(" ", contract.MaxText), "f:1:1: the contract is too long: got 65539 bytes, want at most 65536"},
		{"depth", strings.Repeat("[", 65) + "int" + strings.Repeat("]", 65), "f:1:65: brackets are nested more than 64 deep"},
		{"depth of all brackets", strings.Repeat("({a:[", 22) + "int", "f:1:107: brackets are nested more than 64 deep"},
		{"encoding", "{a: \"x\xff\"}", "f:1:7: the contract is not UTF-8 here"},
	}
	for _, test := range tests {
		_, err := contract.Parse("f", test.text)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	for _, text := range []string{
		"int" + strings.Repeat(" ", contract.MaxText-3),
		strings.Repeat("[", 64) + "int" + strings.Repeat("]", 64),
	} {
		mustParse(t, text)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	_, err := contract.Parse("f", "{"+strings.Repeat("a: x,", 100)+"}")
	var list diagnostic.List
	if !errors.As(err, &list) || len(list) != 21 {
		t.Fatalf("got %d errors, want 20 and a note", len(list))
	}
	if got, want := list[20].Error(), "note: and 179 more errors"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := list[0]; got.Kind != "contract" || got.Line != 1 || got.Col != 5 || got.EndCol != 6 {
		t.Errorf("the first is %+v", got)
	}
}

// Texts that take some parsers an age: these end, and with the right outcome.
func TestHostileTexts(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"names that branch", numbered(300, func(i int) string {
			return fmt.Sprintf("type T%d = T%d | T%d\n", i, i+1, i+2)
		}) + "type T300 = int type T301 = null T0", "got \"no\", want int"},
		{"a long chain", numbered(3000, func(i int) string {
			return fmt.Sprintf("type T%d = [T%d]\n", i, i+1)
		}) + "type T3000 = int T0", "got \"no\", want [T1]"},
		{"many branches", strings.Repeat("[", 60) + `"a"` + numbered(4000, func(i int) string {
			return fmt.Sprintf(` | "%d"`, i)
		}) + strings.Repeat("]", 60), `got "no", want ` + strings.Repeat("[", 59) + "…"},
		{"many unclosed", strings.Repeat("{a:", 20000), "1:193: brackets are nested more than 64 deep"},
		{"one long word", strings.Repeat("a", 60000), "1:1: unknown type " + strings.Repeat("a", 39) + "…; a text is written"},
	}
	for _, test := range tests {
		c, err := contract.Parse("", test.text)
		if err == nil {
			if n := len(c.Schema(contract.Strict).JSON()); n == 0 {
				t.Errorf("%s: no schema", test.name)
			}
			_, bad := c.Check(starlark.String("no"))
			err = bad.Err()
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %.100v, want %s", test.name, err, test.want)
		}
	}
}

func numbered(n int, text func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

// Values that would take for ever if each branch of a union looked into them anew, or if sharing
// were not counted.
func TestHostileValues(t *testing.T) {
	ambiguous := mustParse(t, `type T = {a: T?} | {a: T?, b: int?} | {a: T?, c: int?} T`)
	chain := starlark.Value(starlark.String("wrong"))
	for range 60 {
		d := new(starlark.Dict)
		if err := d.SetKey(starlark.String("a"), chain); err != nil {
			t.Fatal(err)
		}
		chain = d
	}
	if _, bad := ambiguous.Check(chain); len(bad) != 1 {
		t.Errorf("got %v", bad)
	}

	shared := starlark.Value(starlark.NewList(nil))
	for range 60 {
		shared = starlark.NewList([]starlark.Value{shared, shared})
	}
	for _, text := range []string{"any", "type T = [T] T"} {
		_, bad := mustParse(t, text).Check(shared)
		if len(bad) == 0 || bad[0].Want != "at most 1048576 elements" {
			t.Errorf("%s: got %v", text, bad)
		}
	}
	megabyte := starlark.String(strings.Repeat("x", 1<<20))
	large := starlark.NewList(nil)
	for range 40 {
		if err := large.Append(megabyte); err != nil {
			t.Fatal(err)
		}
	}
	_, err := contract.ToJSON(large)
	if want := "[32]: got a larger value, want at most 33554432 bytes of JSON"; err == nil || err.Error() != want {
		t.Errorf("got %v, want a refusal", err)
	}
}

// The checked value shares nothing mutable with the one that was given, nor with the contract's
// defaults.
func TestCheckCopies(t *testing.T) {
	c := mustParse(t, `{a: any, b: [int] = [1], c: [{x: int}] | null = null}`)
	inner := starlark.NewList([]starlark.Value{starlark.MakeInt(1)})
	given := new(starlark.Dict)
	if err := given.SetKey(starlark.String("a"), inner); err != nil {
		t.Fatal(err)
	}
	given.Freeze()
	for range 2 {
		v, bad := c.Check(given)
		if bad != nil {
			t.Fatal(bad)
		}
		for _, key := range []string{"a", "b"} {
			list, _, err := v.(*starlark.Dict).Get(starlark.String(key))
			if err != nil {
				t.Fatal(err)
			}
			if err := list.(*starlark.List).Append(starlark.None); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if got, want := v.String(), `{"a": [1, None], "b": [1, None], "c": None}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	c := mustParse(t, `type Note = {text: string, agent_notes: string @agent}
		{notes: [Note | {kind: "plain", text: string}], hidden: int = 3 @agent, by: {string: Note}?}`)
	v, err := contract.FromJSON([]byte(`{"notes": [{"text": "a", "agent_notes": "b"}, {"kind": "plain", "text": "c"}], "by": {"k": {"text": "d", "agent_notes": "e"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for audience, want := range map[contract.Audience]string{
		contract.People: `{"notes": [{"text": "a"}, {"kind": "plain", "text": "c"}], "by": {"k": {"text": "d"}}}`,
		contract.Agents: `{"notes": [{"text": "a", "agent_notes": "b"}, {"kind": "plain", "text": "c"}], "hidden": 3, "by": {"k": {"text": "d", "agent_notes": "e"}}}`,
	} {
		got, bad := c.Redact(v, audience)
		if bad != nil || got.String() != want {
			t.Errorf("%s: got %v, %v, want %s", audience, got, bad, want)
		}
	}
}

func TestViolations(t *testing.T) {
	_, bad := mustParse(t, `{"a b": [int]}`).Check(starlark.None)
	if err := bad.Err(); err == nil || err.Error() != `got null, want {"a b": [int]}` {
		t.Errorf("got %v", err)
	}
	text, err := json.Marshal(contract.Violations{{Path: "a.b", Got: "1", Want: "string"}})
	if want := `[{"path":"a.b","got":"1","want":"string"}]`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	if contract.Violations(nil).Err() != nil {
		t.Error("no violations are an error")
	}
}

func TestEqual(t *testing.T) {
	a, b := mustParse(t, "{a:int}"), mustParse(t, "{ a : int } # the same")
	if !a.Equal(b) || a.Equal(mustParse(t, "{a: number}")) {
		t.Error("contracts are equal by canonical text")
	}
}

// A contract is shared by goroutines; the race detector watches.
func TestConcurrentUse(t *testing.T) {
	c := mustParse(t, `type T = {kids: [T] = [], at: duration = "1d"} | "leaf" {a: T, b: [int] = [1]}`)
	v, err := contract.FromJSON([]byte(`{"a": {"kids": ["leaf", {}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	v.Freeze()
	results := make(chan string)
	for range 8 {
		go func() {
			checked, bad := c.Check(v)
			results <- fmt.Sprint(checked, bad, string(c.Schema(contract.Strict).JSON()))
		}()
	}
	first := <-results
	for range 7 {
		if other := <-results; other != first {
			t.Errorf("got %s, and then %s", first, other)
		}
	}
}

func TestParseDuration(t *testing.T) {
	good := map[string]time.Duration{
		"90s": 90 * time.Second, "2h": 2 * time.Hour, "1d": 24 * time.Hour, "1.5d": 36 * time.Hour,
		"1h30m": 90 * time.Minute, "1d12h": 36 * time.Hour, "0s": 0, "250ms": 250 * time.Millisecond, "3µs": 3000, "3us": 3000, "7ns": 7,
		"106751d": 106751 * 24 * time.Hour,
	}
	for text, want := range good {
		if got, err := contract.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "90", "-1s", "+1s", "1 s", "s", "1.s", "1w", "1s ", "1D"} {
		want := fmt.Sprintf(`duration: got %q, want a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"`, text)
		if got, err := contract.ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"106752d", "9999999999h", "106751d106751d"} {
		want := fmt.Sprintf("duration: got %q, want at most 292 years", text)
		if got, err := contract.ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}

// An error in a contract that stands in a Starlark file is shown in that file, whatever the quotes.
func TestParseLiteral(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"plain", "x = 1\ninputs = contract(\"{a: itn}\")\n", `
review.star:2:24: unknown type itn
  | inputs = contract("{a: itn}")
  |                        ^^^
`},
		{"escapes", `inputs = contract("{\"a b\": \"\\n\" | \x69t\u006e, é: int}")`, `
review.star:1:53: this is not a contract: got "é", want "," or "}"
  | inputs = contract("{\"a b\": \"\\n\" | \x69t\u006e, é: int}")
  |                                                     ^
`},
		{"a range over escapes", `inputs = contract("{a: \x69t\U0000006e}")`, `
review.star:1:24: unknown type itn
  | inputs = contract("{a: \x69t\U0000006e}")
  |                        ^^^^^^^^^^^^^^^
`},
		{"octal", `inputs = contract("{\141: \151tn, \60: int}")`, `
review.star:1:35: this is not a contract: got 0, want "," or "}"
  | inputs = contract("{\141: \151tn, \60: int}")
  |                                   ^^^
`},
		{"three quotes", "inputs = contract('''\n  type A = int\n\t{a: A,\n\tb: B}\n''')\n", `
review.star:4:5: unknown type B
  |     b: B}
  |        ^
`},
		{"three quotes, CRLF and a joined line", "inputs = contract(\"\"\"\r\n  {a: \\\n  itn}\r\n\"\"\")\r\n", `
review.star:3:3: unknown type itn
  |   itn}
  |   ^^^
`},
		{"raw", `inputs = contract(r'{a: /\d/, b: itn}')`, `
review.star:1:34: unknown type itn
  | inputs = contract(r'{a: /\d/, b: itn}')
  |                                  ^^^
`},
		{"raw, with quotes", `inputs = contract(r"{a: \"x\", b: itn}")`, `
review.star:1:25: this is not a contract: got "\\", want a type
  | inputs = contract(r"{a: \"x\", b: itn}")
  |                         ^
`},
		{"raw, past quotes", `inputs = contract(r'{a: "it\'s", b: itn}')`, `
review.star:1:25: the text is not written as in JSON
  | inputs = contract(r'{a: "it\'s", b: itn}')
  |                         ^^^^^^^
`},
		{"the end", `inputs = contract("{a: int")`, `
review.star:1:20: the { that begins here has no closing }
  | inputs = contract("{a: int")
  |                    ^
`},
		{"empty", `inputs = contract("")`, `
review.star:1:20: the contract is empty
  | inputs = contract("")
  |                    ^
`},
		{"no text", `inputs = contract(3)`, `
review.star:1:19: a contract is text: got 3
  | inputs = contract(3)
  |                   ^
`},
	}
	for _, test := range tests {
		_, err := contract.ParseLiteral("review.star", test.source, literalIn(t, test.source))
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		first := err.(diagnostic.List)[0]
		first.Hint = ""
		if got := "\n" + first.Render(); got != test.want {
			t.Errorf("%s: got%swant%s", test.name, got, test.want)
		}
	}
	source := `inputs = contract("{a: int}")`
	if c, err := contract.ParseLiteral("f", source, literalIn(t, source)); err != nil || c.String() != "{a: int}" {
		t.Errorf("got %v, %v", c, err)
	}
}

// literalIn finds the argument of the one call in a file.
func literalIn(t *testing.T, source string) *syntax.Literal {
	t.Helper()
	file, err := (&syntax.FileOptions{}).Parse("review.star", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file.Stmts[len(file.Stmts)-1].(*syntax.AssignStmt).RHS.(*syntax.CallExpr).Args[0].(*syntax.Literal)
}

func TestToJSONRefuses(t *testing.T) {
	cyclic := ring()
	odd := new(starlark.Dict)
	if err := odd.SetKey(starlark.MakeInt(3), starlark.None); err != nil {
		t.Fatal(err)
	}
	in := func(v starlark.Value) starlark.Value {
		d := new(starlark.Dict)
		if err := d.SetKey(starlark.String("a b"), starlark.Tuple{starlark.None, v}); err != nil {
			t.Fatal(err)
		}
		return d
	}
	tests := []struct {
		v    starlark.Value
		want string
	}{
		{starlark.Float(nan()), `["a b"][1]: got nan, want a finite number`},
		{starlark.String("\xff"), `["a b"][1]: got a string that is not UTF-8, want text; bytes hold what is not text`},
		{starlark.Universe["len"], `["a b"][1]: got builtin_function_or_method, want plain data`},
		{odd, `["a b"][1]: got the key 3, want keys that are strings`},
		{cyclic, `["a b"][1][0].k[0]: got a list that contains itself, want a value without cycles`},
		{loop{}, ""},
	}
	for _, test := range tests {
		_, err := contract.ToJSON(in(test.v))
		if err == nil || test.want != "" && err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if shown, err := contract.Readable(in(starlark.String("caf\xe9"))); err != nil || string(shown) != "{\"a b\":[null,\"caf\uFFFD\"]}" {
		t.Errorf("for who only looks: got %s, %v", shown, err)
	}
	_, err := contract.ToJSON(loop{})
	if want := "got a value nested deeper, want at most 512 levels"; err == nil || err.Error() != want {
		t.Errorf("got %v, want a refusal", err)
	}
}

// loop is a Plainer without an end.
type loop struct{ starlark.NoneType }

func (loop) Plain() starlark.Value { return loop{} }

// record is a Plainer as the packages above have them.
type record struct {
	starlark.NoneType
	fields *starlark.Dict
}

func (r record) Plain() starlark.Value { return r.fields }

func TestPlainer(t *testing.T) {
	fields := new(starlark.Dict)
	if err := fields.SetKey(starlark.String("ok"), starlark.True); err != nil {
		t.Fatal(err)
	}
	v := starlark.NewList([]starlark.Value{record{fields: fields}, mustParse(t, "{a:int}"), starlark.Bytes("\x00\xff")})
	text, err := contract.ToJSON(v)
	if want := `[{"ok":true},"{a: int}","AP8="]`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	checked, bad := mustParse(t, "[any]").Check(v)
	if bad != nil || checked.(*starlark.List).Index(0) != v.Index(0) {
		t.Errorf("under any a Plainer stays what it is: got %v, %v", checked, bad)
	}
	if _, bad := mustParse(t, "[{ok: bool}]").Check(v); bad == nil {
		t.Error("a Plainer is no dict")
	}
}

func TestFromJSONDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := contract.FromJSON(nested(512)); err != nil {
		t.Error(err)
	}
	_, err := contract.FromJSON(nested(513))
	if want := "1:513: nested more than 512 deep"; err == nil || err.Error() != want {
		t.Errorf("got %v, want a refusal", err)
	}
	_, err = contract.FromJSON([]byte("[\"a\",\n \"\xff\"]"))
	if want := "2:3: this is not UTF-8"; err == nil || err.Error() != want {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestCollidingKeysAreNotRead: each of them would be looked for among all the others.
func TestCollidingKeysAreNotRead(t *testing.T) {
	text := `{"` + strings.Join(langtest.Colliding(10_000), `":1,"`) + `":1}`
	_, err := contract.FromJSON([]byte(text))
	if err == nil || !strings.Contains(err.Error(), "keys of one dict were chosen") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestLayout(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{a:int(1 .. 9),b : string ?  ,c:[ T ](1..)  =  [], d : (int|string)?,*:any @ agent}`,
			`{a: int(1..9), b: string?, c: [T](1..) = [], d: (int | string)?, *: any @agent}`},
		{"\n  type F={\n  id:/J-[0-9]{3}/ ,# the name\n      sev : \"A  B\"|\n\"LOW\"\n | \"NONE\",\n\n\n\n where:{file:path},\n  }\n   # what comes\n     {f:[F]}\n  ",
			"\n  type F = {\n      id: /J-[0-9]{3}/,  # the name\n      sev: \"A  B\" |\n          \"LOW\"\n          | \"NONE\",\n\n      where: {file: path},\n  }\n  # what comes\n  {f: [F]}\n  "},
		{"{\n}", "{\n  }"},
		{`  {a: -1 | 0.5 | 1e3, "odd key"?: bool}`, `{a: -1 | 0.5 | 1e3, "odd key"?: bool}`},
		{`{a:int`, `{a:int`},
		{"", ""},
	} {
		if got := contract.Layout(test.text, "  "); got != test.want {
			t.Errorf("%q is laid out as\n%q, want\n%q", test.text, got, test.want)
		}
	}
}

// A layout has the same tokens and comments, and stays as it is when it is laid out again.
func FuzzLayout(f *testing.F) {
	f.Add("{a:int(1 .. 9),b : string ?,# x\n c:[ T ](1..)= [] @agent}")
	f.Add("type A = \"x\"|\n3 | /a b/\n\n\n[A]\n")
	f.Fuzz(func(t *testing.T, text string) {
		laid := contract.Layout(text, "  ")
		if got, want := contract.Tokens(laid), contract.Tokens(text); !slices.Equal(got, want) {
			t.Errorf("%q is laid out as %q", text, laid)
		}
		if again := contract.Layout(laid, "  "); again != laid {
			t.Errorf("%q is laid out as %q, and that as %q", text, laid, again)
		}
	})
}
