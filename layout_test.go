// Package starling_test holds the rules that the tree as a whole follows: which folder may import which, and what every file has. A rule
// that is only written down is soon broken.
package starling_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "starling"

// arrow is what the packages of a folder may import of this module.
type arrow struct {
	folder string
	may    []string
}

// arrows are all that is allowed, in the order of the pipeline. "x/..." is x and all below. The first row that fits a package counts; one
// that no row speaks of fails the test: say where it belongs.
var arrows = []arrow{
	{"lang/diagnostic", nil},
	{"lang/crowd", nil},
	{"lang/contract", []string{"lang/crowd", "lang/diagnostic"}},
	{"lang/effect", []string{"lang/contract", "lang/crowd", "lang/diagnostic"}},
	{"lang/langtest", nil},
	{"lang/compile", []string{"lang/diagnostic"}},
	{"lang/doc", []string{"lang/effect", "lang/diagnostic"}},
	{"lang/mutate", []string{"lang", "lang/compile", "lang/diagnostic"}},
	{"lang/check", []string{"lang/doc", "lang/effect", "lang/contract", "lang/diagnostic"}},
	{"lang/vm", []string{"lang/compile", "lang/crowd", "lang/effect", "lang/contract", "lang/diagnostic"}},
	{"lang", []string{"lang/check", "lang/compile", "lang/effect", "lang/contract", "lang/diagnostic"}},
	{"runtime", []string{"lang", "lang/effect", "lang/diagnostic"}},
	{"runtime/engine", []string{"runtime", "lang", "lang/vm", "lang/effect", "lang/contract", "lang/diagnostic"}},
	{"runtime/wholefile", nil},
	{"runtime/memory", []string{"runtime"}},
	{"runtime/badger", []string{"runtime", "runtime/wholefile"}},
	{"runtime/filter", []string{"runtime", "lang/contract", "lang/diagnostic"}},
	{"runtime/api", []string{"runtime"}},
	{"runtime/owner", []string{"runtime", "runtime/api"}},
	{"runtime/tool", []string{"runtime", "runtime/engine", "runtime/filter", "lang", "lang/check", "lang/effect",
		"lang/contract", "lang/diagnostic"}},
	{"runtime/mcp", []string{"runtime", "runtime/tool", "lang", "lang/contract"}},
	{"runtime/web", []string{"runtime", "runtime/api", "runtime/mcp", "runtime/tool", "lang/diagnostic"}},
	{"runtime/runtimetest", []string{"runtime", "runtime/engine", "lang/effect"}},
	{"stdlib", []string{"stdlib/...", "lang/..."}},
	{"stdlib/...", []string{"stdlib/...", "lang/..."}},
	{"cmd/...", []string{"cmd/...", "runtime/...", "stdlib/...", "lang/..."}},
}

func matches(folder, pattern string) bool {
	if all, ok := strings.CutSuffix(pattern, "/..."); ok {
		return folder == all || strings.HasPrefix(folder, all+"/")
	}
	return folder == pattern
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
	for _, p := range packages(t) {
		row := slices.IndexFunc(arrows, func(a arrow) bool { return matches(p.folder(), a.folder) })
		if row < 0 {
			t.Errorf("%s: no arrow says what it may import", p.folder())
			continue
		}
		for _, imported := range p.Imports {
			folder, ours := strings.CutPrefix(imported, module+"/")
			if ours && !slices.ContainsFunc(arrows[row].may, func(may string) bool { return matches(folder, may) }) {
				t.Errorf("%s imports %s; it may import %s", p.folder(), folder, strings.Join(arrows[row].may, ", "))
			}
		}
	}
}

// The language does no I/O: what it reads is handed to it.
func TestTheLanguageDoesNoIO(t *testing.T) {
	outside := []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall", "path/filepath", "io/ioutil", "log"}
	for _, p := range packages(t) {
		if !matches(p.folder(), "lang/...") {
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

// longest is how many lines a function may have. The dispatch loop of the machine is one switch and the exception.
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

// undocumented lists the exported names of a declaration that no comment speaks of. A comment on a group of constants or variables speaks of all.
// What String and Error mean, fmt and errors say.
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

// SECURITY.md promises nothing without a test that tries to break it: those that it names are there.
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
