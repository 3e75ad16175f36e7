package format_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/syntax"
	"golang.org/x/tools/txtar"

	"starling/lang"
	"starling/lang/format"
	"starling/lang/langtest"
)

// everything are all scripts of the repository: files, those of sessions, blocks of files that are
// split. What is not Starlark, on purpose, is left out.
func everything(tb testing.TB) map[string][]byte {
	tb.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		switch filepath.Ext(path) {
		case ".star":
			for i, chunk := range strings.Split("\n"+string(text), "\n---\n") {
				all[path+strings.Repeat("'", i)] = []byte(strings.TrimPrefix(chunk, "\n"))
			}
		case ".txtar":
			for _, f := range txtar.Parse(text).Files {
				if filepath.Ext(f.Name) == ".star" {
					all[path+":"+f.Name] = f.Data
				}
			}
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	for name, text := range all {
		tree, err := lang.Parse(name, text)
		if err != nil || hasWhile(tree) {
			delete(all, name)
		}
	}
	return all
}

// hasWhile tells whether a file has the loop that the language leaves out.
func hasWhile(tree *syntax.File) (found bool) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		_, ok := n.(*syntax.WhileStmt)
		found = found || ok
		return !found
	})
	return found
}

// Everything there is can be laid out: it is the same program then, has its comments, and stays as
// it is when it is laid out again. format.Source refuses what would not be, so that it is enough to
// see that it refuses nothing.
func TestEverythingKeepsItsMeaning(t *testing.T) {
	all := everything(t)
	const least = 500
	if len(all) < least {
		t.Fatalf("found %d scripts, want at least %d", len(all), least)
	}
	for name, text := range all {
		laid, err := format.Source(name, text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		again, err := format.Source(name, laid)
		if err != nil || string(again) != string(laid) {
			t.Errorf("%s: laid out again it is another text: %v", name, err)
		}
	}
}

// Contracts are laid out where their text stands, and nothing else between quotes is.
func TestContracts(t *testing.T) {
	const text = `A = contract("{a:int( 1..9 ),b:[ string ]?}")
B = contract("{a:\"x\"}")
C = "{a:int( 1..9 )}"

def main():
    return agent("x", output = contract(r'''{
  id :/\d+/,# the name


      where:{
  file:path}
  }'''))
`
	const want = `A = contract("{a: int(1..9), b: [string]?}")
B = contract("{a:\"x\"}")
C = "{a:int( 1..9 )}"

def main():
    return agent("x", output = contract(r'''{
        id: /\d+/,  # the name

        where: {
            file: path}
    }'''))
`
	if laid, err := format.Source("f.star", []byte(text)); err != nil || string(laid) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, laid, want)
	}
}

// The scripts that people are to read are laid out as they would be told to.
func TestOwnScriptsAreLaidOut(t *testing.T) {
	n := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".star" {
			return err
		}
		n++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if laid, err := format.Source(path, text); err != nil || string(laid) != string(text) {
			t.Errorf("%s is not laid out (%v): starling fmt writes it", path, err)
		}
		return nil
	}
	for _, folder := range []string{"../../scripts", "../../stdlib"} {
		if err := filepath.WalkDir(folder, look); err != nil {
			t.Error(err)
		}
	}
	if n < 100 {
		t.Errorf("looked at %d scripts", n)
	}
}

// A line that is longer than 100 columns is broken as far out as it can be, and what has come of it
// in turn. One that cannot be broken stays, and so does one that only a comment makes long.
func TestLongLines(t *testing.T) {
	const text = `load("lib.star", "analyze_the_request", "select_the_agents", "fix_and_verify", "simplify_the_rest", "b")

def main(target_files, constraints = [], threshold = "HIGH", patience = "2d", budget = None, who = {}):
    if looks_good(target_files, threshold) and len(constraints) < 10 or budget != None and not budget.spent:
        return agent("judge", "review the code", input = {"target": target_files}, on_uncertain = "retry").output
    names = ", ".join([name_of(f, constraints) for f in target_files if f.endswith(".py") and not f in who])
    fail("nothing is changed that cannot be tested: name the command and its format, as checks = {…}, and so on")
    fail("the step %s has ended with %s, and nobody has looked at the files %s" % (who, threshold, names))
    x = {"a": {"one": [threshold, patience, budget], "two": [constraints, target_files, who, names], "three": {}}}
    y = 1  # a comment that is as long as it likes to be, since nobody can break it without writing it anew
    z = [word for word in names] + [other_word for other_word in target_files if other_word not in constraints]
    return "what was found in the files of the request: " + names + ", within a budget of " + str(budget[0])
`
	const want = `load(
    "lib.star",
    "analyze_the_request",
    "select_the_agents",
    "fix_and_verify",
    "simplify_the_rest",
    "b",
)

def main(
        target_files,
        constraints = [],
        threshold = "HIGH",
        patience = "2d",
        budget = None,
        who = {}):
    if (
        looks_good(target_files, threshold) and len(constraints) < 10 or
        budget != None and not budget.spent
    ):
        return agent(
            "judge",
            "review the code",
            input = {"target": target_files},
            on_uncertain = "retry",
        ).output
    names = ", ".join([
        name_of(f, constraints)
        for f in target_files
        if f.endswith(".py") and not f in who
    ])
    fail("nothing is changed that cannot be tested: name the command and its format, as checks = {…}, and so on")
    fail("the step %s has ended with %s, and nobody has looked at the files %s" % (
        who,
        threshold,
        names,
    ))
    x = {
        "a": {
            "one": [threshold, patience, budget],
            "two": [constraints, target_files, who, names],
            "three": {},
        },
    }
    y = 1  # a comment that is as long as it likes to be, since nobody can break it without writing it anew
    z = [word for word in names] + [
        other_word
        for other_word in target_files
        if other_word not in constraints
    ]
    return (
        "what was found in the files of the request: " +
        names +
        ", within a budget of " +
        str(budget[0])
    )
`
	laid, err := format.Source("f.star", []byte(text))
	if err != nil || string(laid) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, laid, want)
	}
}

// However many levels a line has, it comes to rest.
func TestDeepLinesAreBroken(t *testing.T) {
	const depth = 60
	text := "x = " + strings.Repeat("[1, ", depth) + strings.Repeat("]", depth) + "\n"
	laid, err := format.Source("f.star", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(laid), "\n"); n < depth {
		t.Errorf("%d levels have %d lines", depth, n)
	}
	if again, err := format.Source("f.star", laid); err != nil || string(again) != string(laid) {
		t.Errorf("got %v\n%s\nwant\n%s", err, again, laid)
	}
}

// A comment in front of else or elif belongs to what follows it, and stays there.
func TestCommentsBeforeElse(t *testing.T) {
	const text = `def f(a):
    for x in a:
        if x:
            # first
            y = 1

        # not
        # one
        elif x == 1:
            if y:
                y = 2

        # else
        else:
            y = 3
    return y
`
	laid, err := format.Source("f.star", []byte(text))
	if err != nil || string(laid) != text {
		t.Errorf("got %v\n%s\nwant\n%s", err, laid, text)
	}
	laid, err = format.Source("f.star", []byte(strings.ReplaceAll(text, "\n\n", "\n")))
	if err != nil || !strings.Contains(string(laid), "        # one\n        elif x") || !strings.Contains(string(laid), "        # else\n        else:") {
		t.Errorf("got %v\n%s", err, laid)
	}
}

// So can programs that nobody wrote.
func TestGeneratedKeepTheirMeaning(t *testing.T) {
	for seed := range uint64(500) {
		p := langtest.Generate(langtest.Seed(seed))
		if p.Options.While {
			continue
		}
		text := p.Script
		if _, err := format.Source("generated.star", []byte(text)); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

func FuzzSource(f *testing.F) {
	n := 0
	for name, text := range everything(f) {
		if n++; len(text) < 2_000 && !strings.Contains(name, "bombs") {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		laid, err := format.Source("fuzz.star", text)
		if err != nil {
			return // it is left as it is
		}
		again, err := format.Source("fuzz.star", laid)
		if err != nil || string(again) != string(laid) {
			t.Errorf("laid out again it is another text: %v\n%s\n---\n%s", err, laid, again)
		}
	})
}
