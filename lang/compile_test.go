package lang_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/compile"
	"starling/lang/diagnostic"
)

func compileScript(t *testing.T, f files) *lang.Program {
	t.Helper()
	p, err := lang.Compile(read(t, "main.star", f), environment())
	if err != nil {
		t.Fatalf("Compile:\n%v", err)
	}
	return p
}

func TestCompile(t *testing.T) {
	p := compileScript(t, files{
		"main.star": `
load("lib/a.star", "a")
load("@std/text.star", "join")
inputs = contract("{url: url, limit: int = 3, note?: string}")
def main(url, *, limit, **kwargs):
    return a(join(url), limit, kwargs)
`,
		"lib/a.star": "load('b.star', 'b')\ndef a(*args): return b(args)\n",
		"lib/b.star": "def b(x): return x\n",
	})
	var modules []string
	for _, m := range p.Modules {
		modules = append(modules, m.Name)
	}
	if got, want := strings.Join(modules, " "), "lib/b.star lib/a.star @std/text.star main.star"; got != want {
		t.Errorf("modules: got %s, want %s", got, want)
	}
	entry := p.Modules[len(p.Modules)-1]
	if got := entry.Loads[0].Module; got != "lib/a.star" {
		t.Errorf("the first load leads to %q, want lib/a.star", got)
	}
	if got := p.Modules[1].Loads[0].Module; got != "lib/b.star" {
		t.Errorf("the load in lib/a.star leads to %q, want lib/b.star", got)
	}
	if p.Main == nil || !p.Main.Kwargs || !slices.Equal(p.Main.Params, []lang.Param{{Name: "url"}, {Name: "limit"}}) {
		t.Errorf("main: got %+v", p.Main)
	}
	if p.Inputs == nil || p.Hash != p.Bundle.Hash() {
		t.Errorf("got inputs %v and hash %x", p.Inputs, p.Hash)
	}
}

func TestMainParameters(t *testing.T) {
	p := compileScript(t, files{"main.star": "def main(a, b = 1, *, c, d = 2):\n    return a, b, c, d\n"})
	want := []lang.Param{{Name: "a"}, {Name: "b", Optional: true}, {Name: "c"}, {Name: "d", Optional: true}}
	if p.Main == nil || p.Main.Kwargs || !slices.Equal(p.Main.Params, want) {
		t.Errorf("got %+v, want %+v", p.Main, want)
	}
	if p := compileScript(t, files{"main.star": "x = args\n"}); p.Main != nil || p.Inputs != nil {
		t.Errorf("a script without main has main %+v and inputs %v", p.Main, p.Inputs)
	}
}

// A decoded bundle is the same program.
func TestCompileFromTheEncodedBundle(t *testing.T) {
	b := read(t, "scripts/review.star", project)
	again, err := lang.Decode(b.Encode())
	if err != nil {
		t.Fatal(err)
	}
	p, err := lang.Compile(again, environment())
	if err != nil {
		t.Fatal(err)
	}
	if p.Hash != b.Hash() {
		t.Error("another hash")
	}
}

// A bundle says itself what its modules load. One that says something else than their text does was
// tampered with.
func TestCompileRefusesABundleThatLacksALoad(t *testing.T) {
	bundle, err := lang.Decode(seal("STB1\x00\x01\x01a\x13" + "load('b.star', 'x')" + "\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lang.Compile(bundle, environment())
	if want := `a:1:6: cannot load "b.star": the bundle does not hold it`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCompileReportsEverything(t *testing.T) {
	b := read(t, "main.star", files{
		"main.star": "load('lib.star', 'x')\ndef main(*rest):\n    return y + z\n",
		"lib.star":  "x = w\n",
	})
	_, err := lang.Compile(b, environment())
	want := `
lib.star:1:5: undefined: w
main.star:3:12: undefined: y
main.star:3:16: undefined: z
main.star:2:10: main cannot have *args: inputs have names`
	if err == nil || err.Error() != want[1:] {
		t.Errorf("got\n%v\nwant%s", err, want)
	}
	var list diagnostic.List
	if !errors.As(err, &list) || len(list) != 4 {
		t.Errorf("got %T", err)
	}
}

func TestCompileChunk(t *testing.T) {
	globals := func(name string) bool { return name == "x" }
	b := read(t, "main.star", files{"main.star": "load('lib.star', 'y')\ndef main(): return x + y\nx = main()\ninputs = 1\n", "lib.star": "y = 1\n"})
	p, err := lang.CompileChunk(b, globals, environment())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Modules) != 2 || p.Main != nil || p.Inputs != nil {
		t.Errorf("got %d modules, main %v, inputs %v", len(p.Modules), p.Main, p.Inputs)
	}
	if names := p.Modules[1].Globals; !slices.ContainsFunc(names, func(g compile.Binding) bool { return g.Name == "y" }) {
		t.Errorf("what is loaded is no global: %v", names)
	}
	b = read(t, "main.star", files{"main.star": "load('lib.star', 'y')\nx = y\n", "lib.star": "y = x\n"})
	_, err = lang.CompileChunk(b, globals, environment())
	if want := "lib.star:1:5: undefined: x"; err == nil || err.Error() != want {
		t.Errorf("the session's globals reach a module: got %v, want %s", err, want)
	}
}

// TestChunkRefersForward: what only functions of a chunk use may come with a later chunk; what the
// chunk itself uses may not, nor what a file uses.
func TestChunkRefersForward(t *testing.T) {
	globals := func(name string) bool { return name == "even" }
	for text, want := range map[string]string{
		"def odd(n): return n != 0 and evn(n - 1)\nf = lambda: xyzzy + evn(1)\n": "",
		"def f(x = xyzzy): return x\n":                                           "main.star:1:11: undefined: xyzzy",
		"def f(): return xyzzy\nf() + xyzzy\n":                                   "main.star:1:17: undefined: xyzzy\nmain.star:2:7: undefined: xyzzy",
		"def f(): return xyzzy\n[nothing for x in [1]]\n":                        "main.star:1:17: undefined: xyzzy\nmain.star:2:2: undefined: nothing",
	} {
		_, err := lang.CompileChunk(read(t, "main.star", files{"main.star": text}), globals, environment())
		if got := fmt.Sprint(err); got != want && !(want == "" && err == nil) {
			t.Errorf("%s\ngot %s\nwant %s", text, got, want)
		}
	}
	b := read(t, "main.star", files{"main.star": "def odd(n): return evn(n - 1) or evn(n)\nodd, len\n"})
	want := "main.star:1:20: warning: evn is not defined yet"
	if got := lang.Missing(b, globals, environment()); len(got) != 1 || got.Error() != want {
		t.Errorf("got %q, want %q", got.Error(), want)
	}
}

func TestCompileKeepsTheCompilersLimits(t *testing.T) {
	var source strings.Builder
	source.WriteString("def main():\n")
	for i := range 33_000 {
		source.WriteString("    v" + strconv.Itoa(i) + " = 1\n")
	}
	_, err := lang.Compile(read(t, "main.star", files{"main.star": source.String()}), environment())
	if err == nil || !strings.HasPrefix(err.Error(), "main.star:") {
		t.Errorf("got %v, want a refusal with a place", err)
	}
}

// kindAtEnd is the end of a line of the golden files that begins a diagnostic.
var kindAtEnd = regexp.MustCompile(`^#= .*star:[0-9].* \[([a-z_]+)\]\n$`)

// Every kind of diagnostic has a rule, and every rule a case in testdata/check.
func TestEveryKindIsDocumentedAndShown(t *testing.T) {
	shown := map[string]bool{"limit": true} // TestCompileKeepsTheCompilersLimits
	paths, _ := filepath.Glob("../testdata/check/*.star")
	for _, path := range paths {
		if filepath.Base(path) == runCases {
			continue // its kinds are those of effect
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if m := kindAtEnd.FindStringSubmatch(line); m != nil {
				shown[m[1]] = true
			}
		}
	}
	sentence := regexp.MustCompile(`^[A-Z].*\.$`)
	for _, r := range check.Rules() {
		if !shown[r.Kind] {
			t.Errorf("no case in testdata/check shows %s", r.Kind)
		}
		if !sentence.MatchString(r.Doc) {
			t.Errorf("%s: its documentation is no sentence: %q", r.Kind, r.Doc)
		}
		delete(shown, r.Kind)
	}
	for kind := range shown {
		t.Errorf("%s has no rule", kind)
	}
}

// Code that is kept is that of the same text under the same names. Whatever else is wrong with a
// program is found as without it.
func TestCompileKeepsCode(t *testing.T) {
	text := files{
		"main.star":  "load('a.star', 'a')\ndef main(): return a()\n",
		"a.star":     "load('b.star', 'b')\ndef a(): return b()\n",
		"b.star":     "def b(): return 1\n",
		"other.star": "load('b.star', 'b')\ndef main(): return b()\n",
	}
	env := environment()
	env.Compiled = new(sync.Map)
	compiled := func(entry string) *lang.Program {
		t.Helper()
		p, err := lang.Compile(read(t, entry, text), env)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := compiled("main.star")
	if compiled("main.star") != first {
		t.Error("the same program was compiled again")
	}
	if other := compiled("other.star"); other.Modules[0] != first.Modules[0] {
		t.Error("the same module was compiled again")
	}
	text["b.star"] = "def b(): return 2\n"
	second := compiled("main.star")
	if second.Modules[0] == first.Modules[0] || second.Modules[1] != first.Modules[1] || second.Hash == first.Hash {
		t.Error("another text has the code of the first, or an unchanged one is compiled again")
	}

	fewer := *env
	fewer.Names = starlark.StringDict{}
	text["b.star"] = "def b(): return agent\n"
	compiled("main.star")
	if _, err := lang.Compile(read(t, "main.star", text), &fewer); err == nil || !strings.Contains(err.Error(), "undefined: agent") {
		t.Errorf("under fewer names: got %v", err)
	}
	text["main.star"] = "load('a.star', 'a')\ndef main(): return nowhere\n"
	if _, err := lang.Compile(read(t, "main.star", text), env); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a mistake in the entry: got %v", err)
	}
}
