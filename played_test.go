package starling_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// player is a test that plays files. Where `whole` is set, it is what the code of the test calls
// all of them, so that one more is played too; else the code has the name of each.
type player struct {
	files string // as path.Match has it
	by    string // the test, as FOLDER.NAME, or FOLDER.NAME/SESSION for what a session plays
	whole string
}

// players are all tests that play files: those of folders testdata, and tests in the language.
var players = []player{
	{"testdata/cli/*.txtar", "cmd/starling/cli.TestSessions", `filepath.Join("..", "..", "..", "testdata", "cli")`},
	{"stdlib/*_test.star", "cmd/starling/cli.TestSessions/test_run", "exec starling test $LIBRARY\n"},
	{"scripts/review_test.star", "cmd/starling/cli.TestSessions/test_run", ""},
	{"scripts/super_starter/factory_test.star", "cmd/starling/cli.TestSessions/signal_factory", ""},
	{"scripts/gallery/*_test.star", "scripts/gallery.TestGallery", `_test.star`},
	{"scripts/tools/sql_test.star", "cmd/starling/cli.TestSessions/tools_of_agents", ""},
	{"scripts/tools/testdata/*.txt", "cmd/starling/cli.TestToolServers", `"testdata", s.tape+".txt"`},
	{"stdlib/testdata/starter.star", "cmd/starling/cli.TestSessions/test_run", "exec starling test $LIBRARY\n"},
	{"testdata/stories/*/*", "cmd/starling/cli.TestMetamorphic", `filepath.Join("..", "..", "..", "testdata", "stories", name)`},
	{"testdata/stories/*/*/*", "cmd/starling/cli.TestMetamorphic", `filepath.Join("..", "..", "..", "testdata", "stories", name)`},
	{"testdata/sarif.schema.json", "lang/check.TestSARIF", ""},
	{"testdata/mcp/client.mjs", "cmd/starling/cli.TestA20AwaitSurvivesTheServer", `"mcp-client"`},
	{"testdata/faces/*", "cmd/starling/cli.TestRealFaces", `"../../../testdata/faces"`},
	{"testdata/editors/*", "cmd/starling/lsp.TestRealEditor", `"../../../testdata/editors"`},
	{"testdata/library/*.star", "stdlib.TestLibrary", `"../testdata/library"`},
	{"stdlib/measure/testdata/jacoco.xml", "stdlib/measure.TestCoverage", ""},
	{"stdlib/measure/testdata/*", "stdlib/measure.TestRealReports", ""},
	{"testdata/check/*.star", "lang.TestCheckGolden", `"../testdata/check/*.star"`},
	{"testdata/lang/*.star", "lang/vm.TestLanguage", `"../../testdata/lang/*.star"`},
	{"testdata/machine/*.txt", "lang/vm.TestMachine", `"../../testdata/machine/*.txt"`},
	{"testdata/bombs/*.star", "lang/vm.TestBombs", `"../../testdata/bombs/*.star"`},
	{"testdata/differential/expressions.txt", "lang/vm.TestExpressionsAgree", ""},
	{"testdata/differential/programs.star", "lang/vm.TestProgramsAgree", ""},
	{"testdata/differential/parameters.star", "lang/vm.TestParametersAgree", ""},
	{"testdata/wire/*.txt", "lang/vm.TestWire", `wireDir+"/*.txt"`},
	{"testdata/wire/v*/*", "lang/vm.TestWire", `wireDir`},
	{"lang/vm/testdata/fuzz/FuzzRestore/*", "lang/vm.FuzzRestore", "f.Fuzz("},
	{"lang/mutate/testdata/fuzz/FuzzFile/*", "lang/mutate.FuzzFile", "f.Fuzz("},
	{"lang/contract/testdata/*.txt", "lang/contract.TestTranscripts", ""},
	{"testdata/wire/store-v*/*", "runtime/engine.TestKeptStores", ""},
	{"testdata/wire/export-v*/*", "runtime/engine.TestKeptExports", ""},
	{"runtime/temporal/testdata/v*/*.history", "runtime/temporal.TestKeptHistories", `"testdata/v*/*.history"`},
	{"runtime/temporal/temporaltest/testdata/*.txtar", "runtime/temporal/temporaltest.TestSessions", `"testdata"`},
	{"runtime/temporal/temporaltest/testdata/postgres/*.txtar", "runtime/temporal/temporaltest.TestSessionsWithADatabase", `"testdata/postgres"`},
	{"runtime/badger/testdata/v4.mem", "runtime/badger.TestKeptLog", ""},
	{"runtime/filter/testdata/refused.txt", "runtime/filter.TestRefusedFilters", ""},
}

// played tells whether a file is one that a test plays, and gives the one that does.
func played(file string) (p player, ok bool) {
	for _, p := range players {
		if ok, _ := path.Match(p.files, file); ok {
			return p, true
		}
	}
	return player{}, false
}

// toPlay tells whether a file is there to be played.
func toPlay(file string) bool {
	return slices.Contains(strings.Split(path.Dir(file), "/"), "testdata") || strings.HasSuffix(file, "_test.star")
}

// A file that no test plays holds nothing, whatever it says. Each has its player, which says its
// name or plays the folder as a whole, and is itself a test that runs.
func TestEveryFileOfTestdataIsPlayed(t *testing.T) {
	tests := testsInGo(t)
	used := map[player]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if file = filepath.ToSlash(file); err != nil || d.IsDir() || !toPlay(file) {
			return err
		}
		p, ok := played(file)
		if !ok {
			t.Errorf("%s: no test plays it; say in players which one does, or delete it", file)
			return nil
		}
		used[p] = true
		name := strings.TrimSuffix(path.Base(file), path.Ext(file))
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		if p.whole == "" && !word.MatchString(p.code(t, tests)) {
			t.Errorf("%s: %s does not play it: nothing in its code has the name", file, p.by)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range players {
		if !used[p] {
			t.Errorf("there is nothing that %s plays as %s", p.by, p.files)
		}
		if !strings.Contains(p.code(t, tests), p.whole) {
			t.Errorf("%s does not play %s: nothing in its code says %s", p.by, p.files, p.whole)
		}
	}
}

// code is what a player consists of: the test with all that it uses in its package, or its session.
func (p player) code(t *testing.T, tests map[string]*goTests) string {
	t.Helper()
	dot := strings.LastIndex(p.by, ".")
	test, session, ofSession := strings.Cut(p.by[dot+1:], "/")
	pkg := tests[p.by[:dot]]
	if pkg == nil || !slices.Contains(pkg.run, test) {
		t.Errorf("%s, which is to play %s, is no test that runs", p.by, p.files)
		return ""
	}
	if !ofSession {
		return pkg.code(test)
	}
	text, err := os.ReadFile("testdata/cli/" + session + ".txtar")
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// goTests are the tests in Go of a package, as Linux has them.
type goTests struct {
	run  []string            // tests, fuzz targets and examples that do not begin by being skipped
	text map[string]string   // of what the test files declare, with its comment, by name
	uses map[string][]string // the names in it
}

// testsInGo reads the test files of all packages, by folder, and those of modules of their own.
func testsInGo(t *testing.T) map[string]*goTests {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", "./...")
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]*goTests{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		g := &goTests{text: map[string]string{}, uses: map[string][]string{}}
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			g.read(t, filepath.Join(p.Dir, name))
		}
		all[strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")] = g
	}
	for _, dir := range modules {
		g := &goTests{text: map[string]string{}, uses: map[string][]string{}}
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		for _, file := range files {
			g.read(t, file)
		}
		all[dir] = g
	}
	return all
}

// read adds what a file declares.
func (g *goTests) read(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range tree.Decls {
		from := decl.Pos()
		if doc := docOf(decl); doc != nil {
			from = doc.Pos()
		}
		said := string(text[fset.Position(from).Offset:fset.Position(decl.End()).Offset])
		for _, name := range declared(decl) {
			g.text[name] += said + "\n"
			g.uses[name] = append(g.uses[name], identifiers(decl)...)
		}
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && runs(f) {
			g.run = append(g.run, f.Name.Name)
		}
	}
}

// code is the text of tests and of all that they use.
func (g *goTests) code(tests ...string) string {
	var code strings.Builder
	seen := map[string]bool{}
	for len(tests) > 0 {
		name := tests[0]
		tests = tests[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		code.WriteString(g.text[name])
		tests = append(tests, g.uses[name]...)
	}
	return code.String()
}

func docOf(decl ast.Decl) *ast.CommentGroup {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Doc
	case *ast.GenDecl:
		return decl.Doc
	}
	return nil
}

// declared are the names that a declaration declares; of a method its own.
func declared(decl ast.Decl) (names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		names = append(names, decl.Name.Name)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

func identifiers(decl ast.Decl) (names []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// runs tells whether a function is one that go test runs, and does not begin by being skipped.
func runs(f *ast.FuncDecl) bool {
	if !regexp.MustCompile(`^(Test|Fuzz|Example)(\P{Ll}|$)`).MatchString(f.Name.Name) || f.Name.Name == "TestMain" {
		return false
	}
	for _, stmt := range f.Body.List {
		call, ok := stmt.(*ast.ExprStmt)
		if !ok {
			continue
		}
		if c, ok := call.X.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Skip") {
				return false
			}
		}
	}
	return true
}
