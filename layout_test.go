// Package starling_test holds the rules that the tree as a whole follows: which folder may import
// which, and what every file has. A rule that is only written down is soon broken.
package starling_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "starling"

// arrow is what the packages of a folder may import of this module.
type arrow struct {
	folder string
	may    string // folders, between blanks
}

// arrows are all that is allowed, in the order of the pipeline: a row for each package, and nothing
// in a row that is not used. A package without a row fails the test: say where it belongs.
var arrows = []arrow{
	{"lang/diagnostic", ""},
	{"lang/crowd", ""},
	{"lang/clash", ""},
	{"lang/quick", ""},
	{"lang/foreign", ""},
	{"lang/contract", "lang/crowd lang/diagnostic lang/foreign"},
	{"lang/effect", "lang/contract lang/crowd lang/diagnostic"},
	{"lang/langtest", ""},
	{"lang/way", ""},
	{"lang/edit", "lang/diagnostic lang/way"},
	{"lang/compile", "lang/way"},
	{"lang/doc", "lang/diagnostic lang/effect"},
	{"lang/mutate", "lang lang/compile lang/diagnostic lang/way"},
	{"lang/format", "lang lang/contract lang/diagnostic"},
	{"lang/infer", "lang/contract lang/diagnostic lang/doc lang/edit lang/effect lang/foreign lang/way"},
	{"lang/crontab", ""},
	{"lang/check", "lang/contract lang/crontab lang/diagnostic lang/doc lang/edit lang/effect lang/foreign lang/infer lang/way"},
	{"lang/vm", "lang/clash lang/compile lang/contract lang/crowd lang/diagnostic lang/effect lang/quick"},
	{"lang", "lang/check lang/compile lang/contract lang/diagnostic lang/effect lang/foreign lang/infer lang/way"},
	{"runtime", "lang lang/contract lang/diagnostic lang/effect"},
	{"runtime/heap", ""},
	{"runtime/journal", "lang/contract lang/effect runtime"},
	{"runtime/run", "lang lang/contract lang/diagnostic lang/effect lang/vm runtime runtime/heap runtime/journal"},
	{"runtime/query", "lang/diagnostic lang/effect runtime runtime/journal runtime/run"},
	{"runtime/schedule", "lang/contract lang/crontab lang/effect runtime"},
	{"runtime/fact", "lang/effect runtime runtime/journal"},
	{"runtime/tally", "lang/effect runtime runtime/journal"},
	{"runtime/ledger", "lang/effect runtime runtime/journal"},
	{"runtime/archive", "lang/effect runtime runtime/journal runtime/run"},
	{"runtime/pool", "lang/vm"},
	{"runtime/engine", "lang lang/contract lang/diagnostic lang/effect lang/vm " +
		"runtime runtime/archive runtime/fact runtime/heap runtime/journal runtime/ledger runtime/pool runtime/query runtime/run runtime/schedule runtime/tally"},
	{"runtime/engine/enginetest",
		"lang lang/contract lang/effect lang/vm runtime runtime/engine stdlib"},
	{"runtime/wholefile", ""},
	{"runtime/memory", "runtime"},
	{"runtime/groupcommit", "runtime"},
	{"runtime/badger", "runtime runtime/groupcommit runtime/wholefile"},
	{"runtime/postgres", "runtime runtime/groupcommit"},
	{"runtime/transfer", "runtime runtime/badger runtime/journal runtime/postgres"},
	{"runtime/filter", "lang/contract lang/diagnostic runtime"},
	{"runtime/api", "lang/effect runtime"},
	{"runtime/owner", "lang/effect runtime runtime/api"},
	{"runtime/tool",
		"lang lang/check lang/contract lang/diagnostic lang/effect runtime runtime/journal " +
			"runtime/filter runtime/query"},
	{"runtime/mcp", "lang lang/contract lang/effect runtime runtime/tool"},
	{"runtime/metrics", "runtime runtime/query runtime/tool"},
	{"runtime/web", "lang/diagnostic runtime runtime/api runtime/mcp runtime/metrics runtime/tool"},
	{"runtime/runtimetest", "lang/effect runtime runtime/journal"},
	{"stdlib",
		"lang/contract lang/crowd lang/diagnostic lang/effect stdlib/agent stdlib/confine " +
			"stdlib/git stdlib/jail stdlib/measure stdlib/notify stdlib/pdf stdlib/process " +
			"stdlib/project stdlib/redact stdlib/secret stdlib/tool stdlib/window " +
			"stdlib/yamltext"},
	{"stdlib/agent/acptest", ""},
	{"stdlib/agent/modeltest", ""},
	{"stdlib/jail", ""},
	{"stdlib/measure", ""},
	{"stdlib/pdf", ""},
	{"stdlib/redact", ""},
	{"stdlib/sandbox", ""},
	{"stdlib/tool/tooltest", ""},
	{"stdlib/process", "stdlib/redact stdlib/sandbox"},
	{"stdlib/git", "stdlib/jail stdlib/process stdlib/sandbox"},
	{"stdlib/project", "lang/contract lang/diagnostic lang/effect stdlib/jail"},
	{"stdlib/window", "lang/contract lang/effect stdlib/jail"},
	{"stdlib/yamltext", "lang/crowd lang/effect"},
	{"stdlib/confine", "lang/effect stdlib/git stdlib/process stdlib/project stdlib/sandbox"},
	{"stdlib/secret", "lang/diagnostic lang/effect stdlib/process stdlib/project stdlib/redact"},
	{"stdlib/notify", "lang/effect stdlib/process stdlib/project stdlib/redact stdlib/secret"},
	{"stdlib/tool",
		"lang/contract lang/diagnostic lang/effect stdlib/confine stdlib/process " +
			"stdlib/project stdlib/redact stdlib/secret"},
	{"stdlib/agent",
		"lang lang/check lang/compile lang/contract lang/diagnostic lang/effect lang/vm " +
			"stdlib/confine stdlib/jail stdlib/process stdlib/project stdlib/redact " +
			"stdlib/secret stdlib/tool stdlib/window stdlib/yamltext"},
	{"scripts/gallery", ""},
	{"cmd/starling/annotation", "lang/diagnostic"},
	{"cmd/starling/pace", "cmd/starling/annotation lang/diagnostic runtime"},
	{"cmd/starling/completion", "runtime"},
	{"cmd/starling/build", "lang runtime"},
	{"cmd/starling/checked", "lang lang/check lang/contract"},
	{"cmd/starling/plain", ""},
	{"cmd/starling/manual", "lang/check lang/contract lang/diagnostic lang/doc stdlib/project"},
	{"cmd/starling/collector", "runtime/badger"},
	{"cmd/starling/verdict", "lang/diagnostic runtime"},
	{"cmd/starling/place", "lang/effect runtime runtime/postgres stdlib/project stdlib/redact stdlib/secret"},
	{"cmd/starling/connect", "lang lang/diagnostic lang/effect stdlib/project runtime runtime/api runtime/owner runtime/postgres runtime/web stdlib/process cmd/starling/place"},
	{"cmd/starling/worker", "lang lang/effect runtime runtime/query"},
	{"cmd/starling/probe", "lang/contract lang/effect stdlib/agent"},
	{"cmd/starling/sources", "lang lang/diagnostic runtime runtime/wholefile"},
	{"cmd/starling/mend", "cmd/starling/sources lang/diagnostic runtime"},
	{"cmd/starling/layout", "cmd/starling/sources lang lang/diagnostic lang/format runtime"},
	{"cmd/starling/scaffold", "lang/diagnostic runtime scripts/gallery"},
	{"cmd/starling/lsp", "cmd/starling/place cmd/starling/sources cmd/starling/suite lang lang/check lang/contract lang/diagnostic lang/doc lang/effect lang/format lang/infer lang/way runtime/filter stdlib stdlib/agent stdlib/project"},
	{"cmd/starling/table", "cmd/starling/plain"},
	{"cmd/starling/jq", "runtime"},
	{"cmd/starling/webhook", "cmd/starling/plain cmd/starling/table lang/effect runtime runtime/tool runtime/wholefile stdlib/notify stdlib/project stdlib/redact stdlib/secret"},
	{"cmd/starling/listing", "runtime runtime/filter runtime/query cmd/starling/table"},
	{"cmd/starling/pager", ""},
	{"cmd/starling/stay", "runtime runtime/journal"},
	{"cmd/starling/otlp", "runtime"},
	{"cmd/starling/telemetry", "lang/effect runtime runtime/metrics cmd/starling/build cmd/starling/otlp cmd/starling/trace stdlib/project stdlib/redact stdlib/secret"},
	{"cmd/starling/trace", "runtime runtime/journal runtime/query cmd/starling/build cmd/starling/connect cmd/starling/otlp"},
	{"cmd/starling/graph", "lang lang/diagnostic lang/effect runtime runtime/query cmd/starling/table"},
	{"cmd/starling/shell", ""},
	{"cmd/starling/brought", "runtime/archive stdlib/project"},
	{"cmd/starling/junit", "lang/diagnostic"},
	{"cmd/starling/progress", "lang/contract runtime runtime/query cmd/starling/table"},
	{"cmd/starling/live", "runtime runtime/journal runtime/query cmd/starling/plain cmd/starling/progress"},
	{"cmd/starling/form", "lang/contract lang/diagnostic runtime"},
	{"cmd/starling/inbox", "cmd/starling/form cmd/starling/listing cmd/starling/plain lang/contract runtime runtime/filter runtime/query"},
	{"cmd/starling/repl",
		"lang lang/check lang/diagnostic lang/effect runtime runtime/query cmd/starling/form cmd/starling/plain cmd/starling/progress"},
	{"cmd/starling/suite",
		"lang lang/check lang/compile lang/contract lang/diagnostic lang/effect lang/vm " +
			"runtime runtime/engine runtime/journal runtime/memory runtime/query stdlib stdlib/agent"},
	{"cmd/starling/mutant", "cmd/starling/coverage cmd/starling/junit cmd/starling/plain cmd/starling/snapshot cmd/starling/suite cmd/starling/table lang/compile lang/diagnostic lang/effect lang/mutate runtime"},
	{"cmd/starling/snapshot", "lang/contract runtime/wholefile stdlib"},
	{"cmd/starling/watch", "lang"},
	{"docs", ""},
	{"cmd/starling/manpage", ""},
	{"cmd/starling/site", "lang/doc scripts/gallery stdlib/project"},
	{"cmd/starling/config", "cmd/starling/place cmd/starling/plain cmd/starling/sources cmd/starling/table lang/diagnostic runtime runtime/postgres stdlib/project"},
	{"cmd/starling/coverage", "lang/compile cmd/starling/suite"},
	{"cmd/starling/timetable", "cmd/starling/plain cmd/starling/table lang/contract lang/effect runtime"},
	{"cmd/starling", "cmd/starling/cli"},
	{"cmd/release", ""},
	{"cmd/starling/cli",
		"cmd/starling/telemetry runtime/metrics " +
			"lang lang/check lang/contract lang/diagnostic lang/doc lang/effect " +
			"lang/vm runtime runtime/api runtime/badger runtime/engine " +
			"runtime/filter runtime/mcp runtime/owner runtime/query runtime/tool runtime/web " +
			"runtime/wholefile stdlib stdlib/agent stdlib/confine stdlib/git stdlib/notify " +
			"stdlib/process stdlib/project stdlib/secret stdlib/tool cmd/starling/annotation cmd/starling/build cmd/starling/checked cmd/starling/completion cmd/starling/pace cmd/starling/brought cmd/starling/form " +
			"cmd/starling/collector cmd/starling/connect cmd/starling/graph cmd/starling/inbox cmd/starling/jq cmd/starling/layout cmd/starling/listing cmd/starling/lsp cmd/starling/manual cmd/starling/mend cmd/starling/mutant cmd/starling/pager cmd/starling/junit cmd/starling/live cmd/starling/shell cmd/starling/sources cmd/starling/table cmd/starling/place cmd/starling/plain cmd/starling/progress cmd/starling/repl cmd/starling/scaffold cmd/starling/stay cmd/starling/suite cmd/starling/webhook " +
			"cmd/starling/coverage cmd/starling/probe cmd/starling/timetable cmd/starling/trace cmd/starling/verdict cmd/starling/worker runtime/archive runtime/memory runtime/postgres runtime/transfer " +
			"docs scripts/gallery cmd/starling/config cmd/starling/manpage cmd/starling/site cmd/starling/snapshot cmd/starling/watch"},
}

// pkg is what `go list` says of a package.
type pkg struct {
	Dir        string
	ImportPath string
	Imports    []string
	GoFiles    []string
}

func (p pkg) folder() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// packages lists those of the module that have code beside tests.
func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,Imports,GoFiles", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages, which cannot be all", len(all))
	}
	return all
}

func TestImportsRunOneWay(t *testing.T) {
	rows := map[string][]string{}
	for _, a := range arrows {
		rows[a.folder] = strings.Fields(a.may)
	}
	for _, p := range packages(t) {
		may, ok := rows[p.folder()]
		if !ok {
			t.Errorf("%s: no row says what it may import", p.folder())
			continue
		}
		delete(rows, p.folder())
		for _, imported := range p.Imports {
			folder, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			if !slices.Contains(may, folder) {
				t.Errorf("%s imports %s, which is not in its row", p.folder(), folder)
			}
			may = slices.DeleteFunc(may, func(name string) bool { return name == folder })
		}
		if len(may) > 0 && runtime.GOOS == "linux" { // elsewhere a package may do without
			t.Errorf("%s does not import %s: take it out of its row", p.folder(), strings.Join(may, ", "))
		}
	}
	for folder := range rows {
		t.Errorf("there is no package %s", folder)
	}
}

// maxPackage bounds the lines of a package, tests aside: more is not held in a head. Those that are
// larger have a bound of their own, which only ever goes down.
const maxPackage = 10_000

var larger = map[string]int{"lang/vm": 11_000}

func TestPackagesAreSmall(t *testing.T) {
	for _, p := range packages(t) {
		lines := 0
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		most := max(maxPackage, larger[p.folder()])
		if lines > most {
			t.Errorf("%s has %d lines, want %d at most", p.folder(), lines, most)
		}
	}
}

// maxColumns bounds the lines of comments and Markdown, a tab counted as four.
const maxColumns = 100

// TestProseIsWrapped looks at comments that fill lines of their own and at paragraphs of Markdown.
// What is laid out by hand (indented, a table, a block of code) and a word that is longer stay as
// they are.
func TestProseIsWrapped(t *testing.T) {
	comment := regexp.MustCompile(`^\s*(//|#) \S`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".go" && ext != ".md" && ext != ".star" || strings.HasPrefix(path, "testdata") {
			return err
		}
		text, err := os.ReadFile(path)
		fenced, example := false, strings.HasSuffix(path, "example_test.go")
		for i, line := range strings.Split(string(text), "\n") {
			fence := strings.HasPrefix(strings.TrimSpace(line), "```")
			fenced = fenced != fence
			prose := comment.MatchString(line) && !example && !strings.HasSuffix(path, "doc_test.go")
			if ext == ".md" {
				prose = !fenced && !fence && !strings.HasPrefix(strings.TrimSpace(line), "|") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "#")
			}
			width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if prose && width > maxColumns && strings.Contains(strings.TrimLeft(line, " \t/-*"), " ") {
				t.Errorf("%s:%d: %d columns, want %d at most", path, i+1, width, maxColumns)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPagesAreLinked holds the README short, each page of docs within its reach, and what links of
// Markdown point to in its place.
func TestPagesAreLinked(t *testing.T) {
	const most = 8 << 10 // bytes of the README
	link, linked := regexp.MustCompile(`\]\(([^)\s#:]+)(#[^)]*)?\)`), map[string]bool{}
	fenced := regexp.MustCompile("(?s)\n```.*?\n```")
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" || strings.HasPrefix(path, "testdata") {
			return err
		}
		text, err := os.ReadFile(path)
		if path == "README.md" && len(text) > most {
			t.Errorf("README.md has %d bytes, want %d at most: move what is not for everybody to docs", len(text), most)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			to := filepath.Join(filepath.Dir(path), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			}
			linked[to] = linked[to] || path != to
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !linked[page] {
			t.Errorf("nothing links to %s", page)
		}
	}
}

// TestNamedFilesExist holds comments and designs to the names that files and tests have now. What
// stands in another repository is named with its folder, or is on the list.
func TestNamedFilesExist(t *testing.T) {
	elsewhere := map[string]bool{"db.go": true, "memtable.go": true, "structs.go": true} // badger's
	prose, files, exists := map[string]string{}, regexp.MustCompile(`(?:^|[(\s`+"`"+`])(\w+\.go|Test[A-Z]\w{5,})\b`), map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".go" && ext != ".md" || strings.HasPrefix(path, "testdata") || path == "CHANGELOG.md" {
			return err
		}
		text, err := os.ReadFile(path)
		exists[d.Name()] = true
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			exists[m[1]] = true
		}
		prose[path] = string(text)
		if ext == ".go" {
			prose[path] = strings.Join(regexp.MustCompile(`(?m)^\s*// .*$`).FindAllString(string(text), -1), "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range prose {
		for _, m := range files.FindAllStringSubmatch(text, -1) {
			if name := m[1]; !exists[name] && !elsewhere[name] {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

// maxCoreNames bounds the names of runtime/run that its driver uses: a second engine has to learn
// them.
const maxCoreNames = 75

// TestTheCoreIsNarrow counts names of the package, not the methods and fields of what they give.
func TestTheCoreIsNarrow(t *testing.T) {
	files, err := filepath.Glob("runtime/engine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := sel.X.(*ast.Ident); ok && of.Name == "run" && ast.IsExported(sel.Sel.Name) {
					used[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	if n := len(used); n == 0 || n > maxCoreNames {
		t.Errorf("the engine uses %d names of runtime/run, want 1 to %d: %v", n, maxCoreNames, slices.Sorted(maps.Keys(used)))
	}
}

// modules are those of their own in this repository, which take packages of this one from its
// folders.
var modules = []string{"runtime/peers", "runtime/temporal", "runtime/temporal/temporaltest", "stdlib/agent/judge", "cmd/starling/telemetry/collectortest"}

// A module of its own asks for all that the packages ask for which it takes from here: else it does
// not build, and no other test would see that.
func TestModulesAreWhole(t *testing.T) {
	for _, dir := range modules {
		sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}
		for _, path := range importedIn(t, dir) {
			own := func(m string) bool { return strings.HasPrefix(path, module+"/"+m) }
			if strings.HasPrefix(path, module+"/") && !slices.ContainsFunc(modules, own) {
				args = append(args, path)
			}
		}
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			t.Fatalf("%s: go list: %v", dir, err)
		}
		for _, path := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out))))) {
			if path != module && !bytes.Contains(sums, []byte(path+" ")) {
				t.Errorf("%s: go.sum does not have %s: run go mod tidy there", dir, path)
			}
		}
	}
}

// importedIn lists what the packages of a module import.
func importedIn(t *testing.T, dir string) (paths []string) {
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if _, none := os.Stat(filepath.Join(file, "go.mod")); err == nil && d.IsDir() && file != dir && none == nil {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(file) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imported := range f.Imports {
			path, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				return err
			}
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// The language does no I/O: what it reads is handed to it.
func TestTheLanguageDoesNoIO(t *testing.T) {
	outside := []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall", "path/filepath", "io/ioutil", "log"}
	for _, p := range packages(t) {
		if folder := p.folder(); folder != "lang" && !strings.HasPrefix(folder, "lang/") {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(outside, imported) {
				t.Errorf("%s imports %s", p.folder(), imported)
			}
		}
	}
}

// A folder is named for what it holds. These names say only that somebody did not know.
func TestNoDrawers(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "core", "internal", "misc", "shared", "base", "lib", "pkg"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == ".git" || d.Name() == "testdata" || path == "scripts" {
			return filepath.SkipDir
		}
		if slices.Contains(drawers, d.Name()) {
			t.Errorf("%s: a folder is named for what it holds", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// source is a parsed file.
type source struct {
	path string
	text []byte
	ast  *ast.File
}

// sources parses the files of a package, without its tests.
func sources(t *testing.T, fset *token.FileSet, p pkg) []source {
	t.Helper()
	var list []source
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(p.folder(), name)
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		list = append(list, source{path, text, f})
	}
	return list
}

// topLevel is all that may lie at the root.
const topLevel = ".ci .gitattributes .gitignore CHANGELOG.md LICENSE README.md SECURITY.md cmd docs go.mod go.sum " +
	"lang layout_test.go played_test.go requirements_test.go runtime scripts stdlib testdata"

// TestTopLevel: what somebody has tried out at the root stays out of the repository, or a
// starling.toml there would be that of every command below.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	allowed := strings.Fields(topLevel + " .git starling .starling") // the last ones git ignores
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s lies at the root", e.Name())
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		documented := 0
		for _, s := range sources(t, fset, p) {
			if s.ast.Doc != nil {
				documented++
			}
		}
		if documented != 1 {
			t.Errorf("%s: %d files have a package comment, want one", p.folder(), documented)
		}
	}
}

func TestFilesAreFormatted(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		for _, s := range sources(t, fset, p) {
			if want, err := format.Source(s.text); err == nil && !bytes.Equal(want, s.text) {
				t.Errorf("%s: run gofmt", s.path)
			}
		}
	}
}

// Nothing happens because a package is linked in.
func TestNoInit(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		for _, s := range sources(t, fset, p) {
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					t.Errorf("%s: no init: let somebody call it", fset.Position(f.Pos()))
				}
			}
		}
	}
}

// A struct that embeds another has a wrapper for each method of that one, compiled as any function
// is. There are some forty verbs, and what they share has close to two hundred methods.
func TestNoVerbEmbedsItsCall(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		if p.folder() != "cmd/starling/cli" {
			continue
		}
		for _, s := range sources(t, fset, p) {
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if st, ok := n.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						if len(f.Names) == 0 && types.ExprString(f.Type) == "*call" {
							t.Errorf("%s: give the field a name", fset.Position(f.Pos()))
						}
					}
				}
				return true
			})
		}
	}
}

// longest is how many lines a function may have. The dispatch loop of the machine is one switch and
// the exception.
const longest = 80

func TestFunctionsAreShort(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		for _, s := range sources(t, fset, p) {
			for _, d := range s.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || p.folder() == "lang/vm" && f.Name.Name == "interpret" {
					continue
				}
				if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > longest {
					t.Errorf("%s: %s has %d lines, want at most %d", fset.Position(f.Pos()), f.Name.Name, n, longest)
				}
			}
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	fset := token.NewFileSet()
	for _, p := range packages(t) {
		for _, s := range sources(t, fset, p) {
			for _, d := range s.ast.Decls {
				for _, name := range undocumented(d) {
					t.Errorf("%s: %s has no comment", fset.Position(name.Pos()), name.Name)
				}
			}
		}
	}
}

// undocumented lists the exported names of a declaration that no comment speaks of. A comment on a
// group of constants or variables speaks of all. What String and Error mean, fmt and errors say.
func undocumented(d ast.Decl) []*ast.Ident {
	var list []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		known := d.Recv != nil && (d.Name.Name == "String" || d.Name.Name == "Error" || !ast.IsExported(receiver(d)))
		if d.Name.IsExported() && d.Doc == nil && !known {
			list = append(list, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
					list = append(list, spec.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
						list = append(list, name)
					}
				}
			}
		}
	}
	return list
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// SECURITY.md promises nothing without a test that tries to break it: those that it names are
// there.
func TestSecurityNamesTestsThatAreThere(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+|[a-z0-9]+(_[a-z0-9]+)*\\.txtar)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 10 {
		t.Fatalf("it names %d tests, which cannot be all", len(named))
	}
	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if filepath.Ext(path) == ".txtar" {
			there[d.Name()] = true
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(code, -1) {
			there[string(f[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if !there[name[1]] {
			t.Errorf("SECURITY.md names %s, which is not there", name[1])
		}
	}
}
