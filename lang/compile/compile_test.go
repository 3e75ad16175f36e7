package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"
)

func everything(string) bool { return true }

var dialect = syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

func mustCompile(t *testing.T, text string) *Module {
	t.Helper()
	m, err := Compile(Source{Name: "test.star", Text: []byte(text), Options: dialect, Predeclared: everything})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCodeIsValid compiles every script of the repository and proves of each instruction what the
// machine takes for granted.
func TestCodeIsValid(t *testing.T) {
	files, err := filepath.Glob("../../testdata/lang/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts found: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range strings.SplitSeq(string(text), "\n---\n") {
			for _, f := range mustCompile(t, chunk).Functions {
				validate(t, f)
			}
		}
	}
}

// validate checks that operands are within bounds, that jumps agree on the open iterators, that
// every path ends in a return, and that no temporary is read before it was written.
func validate(t *testing.T, f *Function) {
	t.Helper()
	for pc, in := range f.Code {
		inRange := func(reg int) {
			if reg >= f.NumRegisters {
				t.Errorf("%s:%d: %s: register %d of %d", f.Name, pc, in, reg, f.NumRegisters)
			}
		}
		f.each(in, inRange, inRange)
		if row := ops[in.Op]; row.c == K && int(in.C) >= len(f.Module.Constants) {
			t.Errorf("%s:%d: %s: no such constant", f.Name, pc, in)
		}
		if !in.Op.jumps() {
			continue
		}
		if in.Target() >= len(f.Code) {
			t.Errorf("%s:%d: %s: jumps past the end", f.Name, pc, in)
		} else if d := f.IterDepth(in.Target()); d != f.IterDepth(pc) {
			t.Errorf("%s:%d: %s: %d iterators open, %d at the target", f.Name, pc, in, f.IterDepth(pc), d)
		}
	}
	if last := f.Code[len(f.Code)-1]; !last.Op.ends() {
		t.Errorf("%s: control falls off the end", f.Name)
	}
	for _, need := range f.Before(0) {
		if need.Reg >= f.NumParams || need.Hold&^HoldValue != 0 {
			t.Errorf("%s: register %d is read before it is written, as %b", f.Name, need.Reg, need.Hold)
		}
	}
	for i, s := range f.Sites {
		if f.SiteAt(s.PC) != i {
			t.Errorf("%s: site %d at %d is found as %d", f.Name, i, s.PC, f.SiteAt(s.PC))
		}
	}
}

// TestBreaks: code with breaks is the same code at other places. What snapshots refer to
// (functions, sites, live registers) has the same numbers.
func TestBreaks(t *testing.T) {
	text := `
def f(xs, y):
    t = [g(x, y) for x in xs if x < y]
    for x in t:
        while x: x = x - 1
        print(x)
    return lambda: t
`
	plain := mustCompile(t, text)
	broken, err := Compile(Source{Name: "test.star", Text: []byte(text), Options: dialect, Predeclared: everything, Breaks: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range plain.Functions {
		g := broken.Functions[i]
		validate(t, g)
		for pc := range f.Code {
			if g.Code[2*pc].Op != Break || g.Code[2*pc+1].Op != f.Code[pc].Op {
				t.Fatalf("%s: instruction %d is %s, then %s", f.Name, pc, g.Code[2*pc], g.Code[2*pc+1])
			}
			if got, want := g.Before(2*pc), f.Before(pc); !slices.Equal(got, want) {
				t.Errorf("%s: live before %d: %v, want %v", f.Name, pc, got, want)
			}
			if got, want := g.Position(2*pc+1).String(), f.Position(pc).String(); got != want {
				t.Errorf("%s: position of %d: %s, want %s", f.Name, pc, got, want)
			}
		}
		for s, site := range f.Sites {
			if got, want := g.Across(g.Sites[s].PC), f.Across(site.PC); !slices.Equal(got, want) {
				t.Errorf("%s: live across site %d: %v, want %v", f.Name, s, got, want)
			}
		}
	}
}

func TestSites(t *testing.T) {
	m := mustCompile(t, `
def f(xs):
    for x in xs:
        d[g(x)] = h(
            i(x), [j(y) for y in x])
    while k(): pass
    return lambda: l()
`)
	f := m.Functions[1]
	var got []string
	for _, s := range f.Sites {
		kind := "call"
		if s.Loop {
			kind = "loop"
		}
		got = append(got, fmt.Sprintf("%s %d:%d", kind, s.Line, s.Col))
	}
	want := []string{"loop 3:5", "call 4:12", "call 4:20", "call 5:14", "call 5:21", "loop 5:25", "loop 6:5", "call 6:12"}
	if !slices.Equal(got, want) {
		t.Errorf("sites are %q, want %q", got, want)
	}
	if len(m.Functions) != 3 || m.Functions[2].Name != "lambda" {
		t.Errorf("functions are not in the order of the source")
	}
}

// TestFunctionsAreNumberedBySource: the right side is evaluated first, yet the left one comes first
// in the source.
func TestFunctionsAreNumberedBySource(t *testing.T) {
	m := mustCompile(t, "d[(lambda a: a)(1)] = (lambda b: b)(2)\ndef f(x = lambda c: c): pass")
	var names []string
	for _, f := range m.Functions {
		names = append(names, f.Name)
		if len(f.Locals) > 0 {
			names[len(names)-1] += " " + f.Locals[0].Name
		}
	}
	if want := []string{"<toplevel>", "lambda a", "lambda b", "f x", "lambda c"}; !slices.Equal(names, want) {
		t.Errorf("functions are %q, want %q", names, want)
	}
}

func TestLiveness(t *testing.T) {
	m := mustCompile(t, `
def f(a, b, c):
    t = a + g(b, c)
    for x in t:
        t = h(t, x)
    return t
`)
	f := m.Functions[1]
	names := func(needs []Need) string {
		var s []string
		for _, need := range needs {
			s = append(s, f.register(need.Reg))
		}
		return strings.Join(s, " ")
	}
	for site, want := range []string{"r0(a)", "r3(t)", ""} {
		if f.Sites[site].Loop {
			continue
		}
		if got := names(f.Across(f.Sites[site].PC)); got != want {
			t.Errorf("live across site %d: %s, want %s\n%s", site, got, want, f.Disassemble())
		}
	}
	if got := names(f.Before(0)); got != "r0(a) r1(b) r2(c)" {
		t.Errorf("live at the start: %s", got)
	}
}

// TestNeeds: at each call of rest, what do the registers hold that are live across it?
func TestNeeds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"def f(a): return (a, rest(), a)", "a:value r2:value"},
		{"def f(a):\n    if a: b = 1\n    rest()\n    return b", "b:any"},
		{"def f(a):\n    b = a\n    rest()\n    return b", "b:value"},
		{"def f(a):\n    rest()\n    return lambda: a", "a:cell"},
		{"def f(a):\n    def g(x = rest()): return a\n    return g", "a:cell"},
		{"def f(a):\n    return lambda *, x, y = rest(), z: x", "r2:any"},
		{"def f(a): return [rest() for x in a]", "r2:list"},
		{"def f(a): return {x: rest() for x in a}", "x:value r2:dict"},
		{"def f(a): return [a" + strings.Repeat(", a", 70) + ", rest()]", "r1:list r2:value r3:value r4:value r5:value r6:value r7:value r8:value"},
		{"def f(a): return a.get(rest())", "r2:method r3:value"},
		{"def f(a): return a.b(x = rest())", "r2:value"},
		{"def f(a):\n    for x in a: rest()", ""},
		{"def f(a):\n    for x in a: rest()\n    return x", "x:any late"},
		{"def f(a):\n    x = 0\n    for x in a: rest()\n    return x", "x:value late"},
		{"def f(a, b):\n    x = 0\n    for _ in a:\n        rest()\n        for x in b: pass\n    return x", "b:value x:value late"},
		{"def f(a):\n    for x in a:\n        rest()\n        print(x)\n    return x", "x:value"},
	} {
		f := mustCompile(t, c.text).Functions[1]
		for pc, in := range f.Code {
			site := f.SiteAt(pc)
			if site < 0 || f.Sites[site].Loop || in.Op != Call || in.X != 0 {
				continue
			}
			if got := describe(f, f.Across(pc)); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s\n%s", c.text, got, c.want, f.Disassemble())
			}
		}
	}
}

func describe(f *Function, needs []Need) string {
	var words []string
	for _, need := range needs {
		word := "any"
		for i, name := range []string{"value", "cell", "list", "dict", "method"} {
			if need.Hold>>i&1 != 0 {
				word = name
			}
		}
		name := f.register(need.Reg)
		if _, local, ok := strings.Cut(strings.TrimSuffix(name, ")"), "("); ok {
			name = local
		}
		if word = name + ":" + word; need.Late {
			word += " late"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestHasMain(t *testing.T) {
	for text, want := range map[string]bool{
		"def main(): pass":                   true,
		"x = 1\ndef main(a, b = 2): pass":    true,
		"if x:\n    def main(): pass":        false,
		"def main(): pass\ndef main(): pass": false,
		"main = 1":                           false,
		"def f():\n    def main(): pass":     false,
	} {
		if got := mustCompile(t, text).HasMain; got != want {
			t.Errorf("HasMain of %q is %t", text, got)
		}
	}
}

// TestLimits: what is too large is refused with a position, and what is merely large compiles.
func TestLimits(t *testing.T) {
	many := func(n int, format, sep string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(sep)
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, test := range []struct{ name, text, want string }{
		{"long sum", "x = " + many(9_000, "a%d", " + "), ""},
		{"too long a sum", "x = " + many(11_000, "a%d", " + "), "nested too deeply: the limit is 10,000 levels; give parts of it names of their own"},
		{"long chain of calls", "x = f" + strings.Repeat("()", 11_000), "nested too deeply"},
		{"long chain of elif", "if a0: pass\n" + many(11_000, "elif a%d: pass", "\n"), "nested too deeply"},
		{"many brackets", "x = " + strings.Repeat("(", 2000) + strings.Repeat(")", 2000), "excessive nesting"},
		{"many constants", "x = [" + many(70_000, "%d", ", ") + "]", ""},
		{"many strings as keys", "x = {" + many(70_000, `"k%d": f(%[1]d)`, ", ") + "}", ""},
		{"many locals", "def f():\n" + many(33_000, "    x%d = 1", "\n"), "test.star:1:1: function f is too large: it needs 33000 variables and temporaries (limit 32767)"},
		{"many attributes", many(70_000, "x.a%d", "\n"), "too many constants before the name a65535"},
		{"many globals", many(70_000, "x%d = 0", "\n"), "too many global variables: the limit is 65,536"},
		{"many instructions in a loop", "for x in y:\n" + many(40_000, "    f(x, %d)", "\n"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := Compile(Source{Name: "test.star", Text: []byte(test.text), Options: dialect, Predeclared: everything})
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want == "":
				for _, f := range m.Functions {
					validate(t, f)
				}
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestErrorsOfTheReference(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1 +":        "test.star:1:8: got end of file, want primary expression",
		"def f(): x = y": "test.star:1:14: undefined: y",
		"return 1":       "test.star:1:1: return statement not within a function",
	} {
		_, err := Compile(Source{Name: "test.star", Text: []byte(text), Options: dialect})
		if err == nil || err.Error() != want {
			t.Errorf("%q: error is %v, want %s", text, err, want)
		}
	}
}

// TestDisassembly shows the code of a small function: locals are read in place, constants are
// operands, comparisons jump.
func TestDisassembly(t *testing.T) {
	m := mustCompile(t, `def fib(n):
    if n < 2: return n
    return fib(n - 1) + fib(n - 2)
`)
	want := `function 1 fib: 1 parameters, 1 locals, 6 registers
   0     2:10  ifless       false->2 r0(n) 2
   1     2:10  return       r0(n)
   2     3:12  global       r3 0
   3     3:18  sub          r4 r0(n) 1
   4     3:15  call         r2 r3+2
   5     3:25  global       r4 0
   6     3:31  sub          r5 r0(n) 2
   7     3:28  call         r3 r4+2
   8     3:23  add          r1 r2 r3
   9     3:23  return       r1
`
	if got := m.Functions[1].Disassemble(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestEveryOperation: the table has a row for each operation, and its pictures mention the operands
// it declares.
func TestEveryOperation(t *testing.T) {
	for op := range opCount {
		row := ops[op]
		if row.name == "" || row.picture == "" {
			t.Errorf("operation %d has no row", op)
		}
		for i, kind := range []Operand{row.a, row.b, row.c} {
			letter := string("abc"[i])
			if kind != Unused && kind != Target && !strings.Contains(row.picture, letter) {
				t.Errorf("%s: the picture %q does not mention operand %s", row.name, row.picture, letter)
			}
			if (kind == Window || kind == OutWindow) && row.window == nil {
				t.Errorf("%s: a window without a length", row.name)
			}
		}
	}
}
