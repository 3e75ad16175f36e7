package lang_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"starling/lang"
	"starling/lang/diagnostic"
)

// files is a Source over a map.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func read(t *testing.T, entry string, f files) *lang.Bundle {
	t.Helper()
	b, err := lang.Read(entry, f.read, standard.read)
	if err != nil {
		t.Fatalf("Read(%q):\n%v", entry, err)
	}
	return b
}

// standard stands for the embedded library.
var standard = files{
	"retry.star":  `load("text.star", "join")` + "\ndef with_backoff(fn):\n    return join(fn())\n",
	"sized.star":  "def sized(x, how):\n    if how == \"text\":\n        return x + \"\"\n    return x + 1\n",
	"text.star":   "def join(x):\n    return x\n",
	"escape.star": `load("../lib/x.star", "x")` + "\n",
}

func names(modules []*lang.Module) string {
	var list []string
	for _, m := range modules {
		list = append(list, m.Name)
	}
	return strings.Join(list, " ")
}

// project is a script with loads of every kind, and a child.
var project = files{
	"scripts/review.star": `
load("@std/retry.star", "with_backoff")
load("lib/scoring.star", "keep_above")
load("./lib/scoring.star", again = "keep_above")
load("../common.star", "x")

def main():
    run("child.star", {})
    return run(script = "sub/other.star")
`,
	"scripts/lib/scoring.star": `load("base.star", "base")` + "\nkeep_above = base\n",
	"scripts/lib/base.star":    "def base():\n    return run('child.star')\n",
	"common.star":              "x = 1\n",
	"scripts/child.star":       `load("../common.star", "x")` + "\nload('@std/text.star', 'join')\ny = x\n",
	"scripts/sub/other.star":   `run("again.star")` + "\n",
	"scripts/sub/again.star":   "pass\n",
	"scripts/again.star":       "pass\n",
}

func TestReadOrdersModulesByDependency(t *testing.T) {
	b := read(t, "scripts/review.star", project)
	if got, want := names(b.Modules()), "@std/text.star @std/retry.star scripts/lib/base.star scripts/lib/scoring.star common.star scripts/review.star"; got != want {
		t.Errorf("modules\ngot  %s\nwant %s", got, want)
	}
	if got, want := names(b.Files()[len(b.Modules()):]), "scripts/child.star scripts/sub/other.star scripts/again.star"; got != want {
		t.Errorf("children\ngot  %s\nwant %s", got, want)
	}
	for _, m := range b.Files() {
		if m.Hash != sha256.Sum256(m.Source) {
			t.Errorf("%s: the hash is not that of the text", m.Name)
		}
	}
}

// A literal child script is named relative to the entry's folder, wherever the call stands: that is
// also what a computed name is relative to.
func TestChildIsABundleOfItsOwn(t *testing.T) {
	b := read(t, "scripts/review.star", project)
	child, ok := b.Child("child.star")
	if !ok {
		t.Fatal("no child.star in the bundle")
	}
	if got, want := names(child.Files()), "common.star @std/text.star scripts/child.star"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	alone := read(t, "scripts/child.star", project)
	if !bytes.Equal(child.Encode(), alone.Encode()) {
		t.Error("a child's bundle differs from the bundle of the same script read alone")
	}
	for _, missing := range []string{"sub/again.star", "nope.star", "../../x.star", ""} {
		if _, ok := b.Child(missing); ok {
			t.Errorf("Child(%q) gave a bundle", missing)
		}
	}
}

func TestAScriptMayRunItself(t *testing.T) {
	b := read(t, "loop.star", files{"loop.star": `def main(): run("loop.star")`})
	child, ok := b.Child("loop.star")
	if !ok || names(child.Files()) != "loop.star" {
		t.Errorf("got %v, %t", child, ok)
	}
}

func TestOnlyTheBuiltinRunPinsChildren(t *testing.T) {
	b := read(t, "a.star", files{
		"a.star": `
load("b.star", "run")
def main():
    run("not-a-file")
`,
		"b.star": `
def run(x): return other.run("neither")
def f(name): return run("also-own")
`,
		"c.star": "",
	})
	if got := names(b.Files()); got != "b.star a.star" {
		t.Errorf("got %s", got)
	}
	b = read(t, "a.star", files{
		"a.star": "def main(name, run2):\n    run(name)\n    run('c' + '.star')\n    run2('x')\n    run(*['x'])\n    run({}, name = 'y')\n",
		"c.star": "",
	})
	if got := names(b.Files()); got != "a.star" {
		t.Errorf("got %s", got)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct {
		name  string
		entry string
		files files
		want  string
	}{
		{"a missing script", "nope.star", files{}, `
nope.star: cannot read the script: no file nope.star
`},
		{"a script outside", "../x.star", files{}, `
../x.star: cannot read the script: the name leads out of the script's root folder
`},
		{"a missing module", "a.star", files{"a.star": "\nload('lib/x.star', 'x')"}, `
a.star:2:6: cannot load "lib/x.star": no file lib/x.star
  | load('lib/x.star', 'x')
  |      ^^^^^^^^^^^^
`},
		{"a module outside", "s/a.star", files{"s/a.star": `load("../../x.star", "x")`}, `
s/a.star:1:6: cannot load "../../x.star": the name leads out of the script's root folder
  | load("../../x.star", "x")
  |      ^^^^^^^^^^^^^^
`},
		{"an absolute name", "a.star", files{"a.star": `load("/etc/passwd", "x")`}, `
a.star:1:6: cannot load "/etc/passwd": the name is absolute; names are relative to the file that they stand in
  | load("/etc/passwd", "x")
  |      ^^^^^^^^^^^^^
`},
		{"an empty name", "a.star", files{"a.star": `load("", "x")`}, `
a.star:1:6: cannot load "": the name is empty
  | load("", "x")
  |      ^^
`},
		{"a folder", "a.star", files{"a.star": `load("lib/..", "x")`}, `
a.star:1:6: cannot load "lib/..": "." is not a file name
  | load("lib/..", "x")
  |      ^^^^^^^^
`},
		{"a control character", "a.star", files{"a.star": `load("a\tb", "x")`}, `
a.star:1:6: cannot load "a\tb": "a\tb" is not a file name
  | load("a\tb", "x")
  |      ^^^^^^
`},
		{"a backslash", "a.star", files{"a.star": `load(r"lib\x", "x")`}, `
a.star:1:6: cannot load "lib\\x": the name holds a \; folders are separated by /
  | load(r"lib\x", "x")
  |      ^^^^^^^^
`},
		{"another library", "a.star", files{"a.star": `load("@stdlib/retry.star", "x")`}, `
a.star:1:6: cannot load "@stdlib/retry.star": unknown library; the only one is @std/NAME.star
  | load("@stdlib/retry.star", "x")
  |      ^^^^^^^^^^^^^^^^^^^^
`},
		{"a missing library module", "a.star", files{"a.star": `load("@std/rerty.star", "x")`}, `
a.star:1:6: cannot load "@std/rerty.star": no file @std/rerty.star
  | load("@std/rerty.star", "x")
  |      ^^^^^^^^^^^^^^^^^
`},
		{"a library module outside", "a.star", files{"a.star": `load("@std/escape.star", "x")`}, `
@std/escape.star:1:6: cannot load "../lib/x.star": the name leads out of the library
  | load("../lib/x.star", "x")
  |      ^^^^^^^^^^^^^^^
`},
		{"a cycle", "a.star", files{
			"a.star": `load("b.star", "x")`,
			"b.star": `load("lib/c.star", "x")`,
			"lib/c.star": `
load("../b.star", "x")`,
		}, `
lib/c.star:2:6: cannot load "../b.star": load cycle: b.star -> lib/c.star -> b.star
  | load("../b.star", "x")
  |      ^^^^^^^^^^^
  = help: move what both files need into a third one, which loads neither
`},
		{"a module that loads itself", "a.star", files{"a.star": `load("a.star", "x")`}, `
a.star:1:6: cannot load "a.star": load cycle: a.star -> a.star
  | load("a.star", "x")
  |      ^^^^^^^^
`},
		{"a missing child", "a.star", files{"a.star": `r = [run(script = "child.star") for x in y]`}, `
a.star:1:19: cannot run "child.star": no file child.star
  | r = [run(script = "child.star") for x in y]
  |                   ^^^^^^^^^^^^
`},
		{"several at once", "a.star", files{
			"a.star":     "load('b.star', 'b')\nload('nope.star', 'x')\nload('b.star', 'c')\nrun('child.star')",
			"b.star":     "x = (1\n",
			"child.star": "for",
		}, `
b.star:1:7: got end of file, want ')'
  | x = (1
  |       ^
  = help: is the ( at b.star:1:5 not closed, or a comma missing?
a.star:2:6: cannot load "nope.star": no file nope.star
  | load('nope.star', 'x')
  |      ^^^^^^^^^^^
child.star:1:4: got end of file, want an expression
  | for
  |    ^
`},
		{"a file that is too large", "a.star", files{"a.star": strings.Repeat("#", lang.MaxSource+1)}, `
a.star: cannot read the script: a.star has 1048577 bytes, want at most 1048576
`},
		{"a chain of operators", "a.star", files{"a.star": "x = 1" + strings.Repeat("+1", lang.MaxNesting) + "\n"}, `
a.star:1:5: nested deeper than 10000 levels
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := lang.Read(test.entry, test.files.read, standard.read)
			if err == nil {
				t.Fatalf("got a bundle of %s", names(b.Files()))
			}
			var list diagnostic.List
			if !errors.As(err, &list) {
				t.Fatalf("got %T, want a diagnostic.List", err)
			}
			if got := list.Render(); got != test.want[1:] {
				t.Errorf("got\n%swant%s", got, test.want)
			}
		})
	}
}

func TestReadBoundsTheWhole(t *testing.T) {
	many := func(name string) ([]byte, error) {
		n := 0
		fmt.Sscanf(name, "%d.star", &n)
		return fmt.Appendf(nil, "load('%d.star', 'x')\n", n+1), nil
	}
	_, err := lang.Read("0.star", many, nil)
	if want := `999.star:1:6: cannot load "1000.star": too many files, want at most 1000`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	filler := strings.Repeat("#", lang.MaxSource-100)
	large := func(name string) ([]byte, error) {
		text, _ := many(name)
		return append(text, filler...), nil
	}
	_, err = lang.Read("0.star", large, nil)
	if want := `15.star:1:6: cannot load "16.star": the files have more than 16777216 bytes together`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOtherErrorsOfASource(t *testing.T) {
	broken := func(string) ([]byte, error) { return nil, errors.New("disk on fire") }
	_, err := lang.Read("a.star", broken, nil)
	if want := "a.star: cannot read the script: disk on fire"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = lang.Read("a.star", files{"a.star": "load('@std/retry.star', 'x')"}.read, nil)
	if want := `a.star:1:6: cannot load "@std/retry.star": no file @std/retry.star`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestProgramHash(t *testing.T) {
	base := read(t, "scripts/review.star", project).Hash()
	if again := read(t, "scripts/review.star", project).Hash(); again != base {
		t.Error("the same text has two hashes")
	}
	for _, test := range []struct {
		file string
		same bool
	}{
		{"scripts/review.star", false},
		{"scripts/lib/base.star", false},
		{"common.star", false},
		{"scripts/sub/other.star", true}, // a child is a program of its own
	} {
		changed := files{}
		for name, text := range project {
			changed[name] = text
		}
		changed[test.file] += "# changed\n"
		if got := read(t, "scripts/review.star", changed).Hash(); (got == base) != test.same {
			t.Errorf("%s changed: same hash is %t, want %t", test.file, got == base, test.same)
		}
	}
}

func TestLoads(t *testing.T) {
	b := read(t, "scripts/review.star", project)
	if got, want := names(b.Entry().Loads()), "@std/retry.star scripts/lib/scoring.star common.star"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !slices.Contains(b.Modules(), b.Entry()) {
		t.Error("the entry is not among its modules")
	}
}
