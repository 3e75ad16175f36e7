package mutate_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/mutate"
)

// Each line is mutated as it says, and in no other way.
func TestMutants(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{`f()`, []string{"pass"}},
		{`"a text"`, nil},
		{`load("x.star", "y")`, nil},
		{`x = None`, nil},
		{`x = True`, []string{"x = False"}},
		{`x = 41`, []string{"x = 42"}},
		{`x = 99999999999999999999`, []string{"x = 100000000000000000000"}},
		{`x = -1.5`, []string{"x = None", "x = 1.5", "x = -2.5"}},
		{`x = 2.0`, []string{"x = 3.0"}},
		{`x = "a"`, []string{`x = ""`}},
		{`x = ""`, []string{`x = "mutant"`}},
		{`x = b"a"`, []string{`x = b""`}},
		{`x = f`, []string{"x = None"}},
		{`x = f; x = g`, []string{"x = None; x = g", "x = f; pass"}},
		{`x, y = f`, nil},
		{`x[0] = f`, []string{"pass", "x[1] = f"}},
		{`x.a = f`, []string{"pass"}},
		{`x += 1`, []string{"pass", "x -= 1", "x += 2"}},
		{`x += y`, []string{"pass"}},
		{`x -= y`, []string{"pass", "x += y"}},
		{`f(a)`, []string{"pass", "f()"}},
		{`f(a, b)`, []string{"pass", "f(a)"}},
		{`f(a, b, c = d, *e, **g)`, []string{"pass", "f(a, c = d, *e, **g)", "f(a, b, *e, **g)", "f(a, b, c = d, **g)", "f(a, b, c = d, *e)"}},
		{`f(a,)`, []string{"pass", "f()"}},
		{`return`, []string{"pass"}},
		{`return None`, nil},
		{`return f`, []string{"return None"}},
		{`return ()`, []string{"return None"}},
		{`return a[b]`, []string{"return None"}},
		{`return a[1:]`, []string{"return None", "return a[2:]"}},
		{`return a or b`, []string{"return None", "return a and b"}},
		{`return a not in b`, []string{"return None", "return a in b"}},
		{`return not a`, []string{"return None", "return (a)"}},
		{`return a + b`, []string{"return a", "return None"}},
		{`return a + len(b)`, []string{"return None", "return a - len(b)", "return a + len()"}},
		{`return "%s" % a`, []string{"return None", `return "" % a`}},
		{`return a % b`, []string{"return None", "return a * b"}},
		{`return a if b else c`, []string{"return None", "return c if b else a"}},
		{`return a if b < c else a if d else e`, []string{"return None", "return (a if d else e) if b < c else a", "return a if b <= c else a if d else e", "return a if b < c else e if d else a"}},
		{`return a if not b else c`, []string{"return None", "return c if not b else a"}},
		{`return lambda x = 1: x`, []string{"return None", "return lambda x = 2: x", "return lambda x = 1: None"}},
		{`return [x for x in y if z]`, []string{"return None", "return [x for x in y if not (z)]"}},
		{`return [x for x in y if z == x]`, []string{"return None", "return [x for x in y if z != x]"}},
		{`return {"a": 1}`, []string{"return None", `return {"": 1}`, `return {"a": 2}`}},
		{`if a: pass`, []string{"if not (a): pass"}},
		{`if a and b: pass`, []string{"if not (a and b): pass", "if a or b: pass"}},
		{`if a <= b: pass`, []string{"if a < b: pass", "if a > b: pass"}},
		{`if not a: pass`, []string{"if (a): pass"}},
		{`for x in y: break`, []string{"for x in []: break", "for x in y: pass"}},
		{`for x in []: continue`, []string{"for x in []: pass"}},
		{`def g(a, b = 1, *c, **d): a = b`, []string{"def g(a, b = 2, *c, **d): a = b", "def g(a, b = 1, *c, **d): pass"}},
	} {
		var got []string
		for _, m := range list(t, c.line+"\n") {
			got = append(got, strings.TrimSuffix(string(m.Apply([]byte(c.line+"\n"))), "\n"))
		}
		want := map[string]bool{}
		for _, w := range c.want {
			want[w] = true
		}
		for _, g := range got {
			if !want[g] {
				t.Errorf("%s: got %q", c.line, g)
			}
			delete(want, g)
		}
		for w := range want {
			t.Errorf("%s: not among them: %q", c.line, w)
		}
	}
}

func list(t *testing.T, text string) []mutate.Mutant {
	t.Helper()
	mutants, err := mutate.File("test.star", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return mutants
}

// Whatever goes over several lines keeps them, with its comments.
func TestLinesStay(t *testing.T) {
	const text = `x = f(
    a,  # the first
    b = """one
two""",
)
return g(
    1,
)[
    2
]  # the end
h(  # why
    3,
); i()
y = (a if
    b  # or
    else c)
z = a not \
    in b
`
	for _, m := range list(t, text) {
		after := string(m.Apply([]byte(text)))
		if strings.Count(after, "\n") != strings.Count(text, "\n") && !strings.Contains(after, "pass; i()") {
			t.Errorf("%d:%d: %q becomes %q, which has other lines", m.Line, m.Column, m.Before, m.After)
		}
		if _, err := lang.FileOptions().Parse("test.star", after, 0); err != nil {
			t.Errorf("%v:\n%s", err, after)
		}
	}
}

var every = flag.Int("every", 23, "TestEveryScript looks at each N-th mutant")

// TestEveryScript: of all scripts that there are here, each mutant is one change of the tree at the
// place that it names, no two are the same, and the text that comes of it is Starlark. It looks at
// some of them; -every 1 at all.
func TestEveryScript(t *testing.T) {
	n := 0
	for name, text := range scripts(t) {
		mutants, err := mutate.File(name, text)
		if err != nil {
			continue // files of testdata may be wrong on purpose
		}
		before := tree(t, name, text)
		seen := map[string]bool{}
		for i, m := range mutants {
			n++
			if (i+len(text))%*every != 0 {
				continue
			}
			after := m.Apply(text)
			if seen[string(after)] {
				t.Errorf("%s:%d:%d: %q to %q is there already", name, m.Line, m.Column, m.Before, m.After)
			}
			seen[string(after)] = true
			one(t, name, &m, text, after)
			if tree(t, name, after) == before {
				t.Errorf("%s:%d:%d: %q to %q changes nothing", name, m.Line, m.Column, m.Before, m.After)
			}
		}
	}
	if n < 10_000 {
		t.Errorf("%d mutants, which cannot be all", n)
	}
}

// one checks that a text differs from another one only at the place of a mutant.
func one(t *testing.T, name string, m *mutate.Mutant, text, after []byte) {
	t.Helper()
	lines := strings.Split(string(text), "\n")
	head := strings.Join(lines[:m.Line-1], "\n") + "\n"
	if m.Line == 1 {
		head = ""
	}
	head += string([]rune(lines[m.Line-1])[:m.Column-1])
	tail := strings.TrimPrefix(string(text), head+m.Before)
	if string(text) != head+m.Before+tail || string(after) != head+m.After+tail {
		t.Errorf("%s:%d:%d: %q to %q is not what has changed", name, m.Line, m.Column, m.Before, m.After)
	}
}

// scripts are all files of the repository that hold Starlark, and those in its sessions.
func scripts(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".star":
			all[path], err = os.ReadFile(path)
		case ".txtar":
			archive, err := txtar.ParseFile(path)
			if err != nil {
				return err
			}
			for _, f := range archive.Files {
				if strings.HasSuffix(f.Name, ".star") {
					all[path+"/"+f.Name] = f.Data
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tree renders the tree of a text without places and without parentheses that say nothing.
func tree(t *testing.T, name string, text []byte) string {
	t.Helper()
	file, err := lang.FileOptions().Parse(name, text, 0)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var out strings.Builder
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			out.WriteString(")")
			return true
		case *syntax.Literal:
			fmt.Fprintf(&out, "%v %#v", n.Token, n.Value)
		case *syntax.Ident:
			out.WriteString(n.Name)
		case *syntax.BinaryExpr:
			out.WriteString(n.Op.String())
		case *syntax.UnaryExpr:
			out.WriteString(n.Op.String())
		case *syntax.AssignStmt:
			out.WriteString(n.Op.String())
		case *syntax.BranchStmt:
			out.WriteString(n.Token.String())
		}
		fmt.Fprintf(&out, "(%v ", reflect.TypeOf(n))
		return true
	})
	return out.String()
}

func TestMarks(t *testing.T) {
	const text = `x = "# mutate: nonsense in a text"
f(x)  # mutate: equivalent, nobody looks
# mutate: equivalent constant, it is
# the greatest there can be
y = 3
`
	marks, err := mutate.Marks("test.star", []byte(text))
	want := []mutate.Mark{{Line: 2, At: 2, Reason: "nobody looks"}, {Line: 5, At: 3, Kind: mutate.Constant, Reason: "it is"}}
	if err != nil || !reflect.DeepEqual(marks, want) {
		t.Errorf("got %+v, %v", marks, err)
	}
	covered := 0
	for _, m := range list(t, text) {
		if marks[1].Covers(&m) {
			covered++
		}
	}
	if covered != 1 {
		t.Errorf("the second covers %d mutants, want 1", covered)
	}
	for comment, said := range map[string]string{
		"# mutate: equivalent":                 "a mark needs a reason",
		"# mutate: equivalent,  ":              "a mark needs a reason",
		"# mutate: skip, it is slow":           "mutants of its line are equivalent",
		"#mutate:":                             "mutants of its line are equivalent",
		"# mutate: equivalent constnt, it is":  `no kind "constnt" of mutants: condition, comparison`,
		"# mutate: equivalent this one, it is": "mutants of its line are equivalent",
	} {
		_, err := mutate.Marks("test.star", []byte("pass "+comment+"\n"))
		if err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), "test.star:1:6: ") {
			t.Errorf("%s: got %v, want %s", comment, err, said)
		}
	}
}

// Whatever parses has mutants of as many lines, and nothing panics.
func FuzzFile(f *testing.F) {
	f.Add("def f(x, *, y = 1):\n    return [a for a in x if a not in (y,)] if x else -y\n")
	f.Add("x = f(a, # b\n b = 2, *c)[1:]; g()\n")
	f.Fuzz(func(t *testing.T, text string) {
		mutants, err := mutate.File("test.star", []byte(text))
		if err != nil {
			return
		}
		for _, m := range mutants {
			_ = m.Apply([]byte(text))
			if m.Line < 1 || m.Column < 1 || m.Before == m.After {
				t.Errorf("%+v", m)
			}
		}
		_, _ = mutate.Marks("test.star", []byte(text))
	})
}
