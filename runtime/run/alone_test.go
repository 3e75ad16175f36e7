package run

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRunsAreFunctions: what decides in a run is a function. Nothing in this package starts a
// goroutine, waits for one, locks, reads a clock, a file or a variable of the process, knows a
// store, or keeps anything between two turns but what it was given.
func TestRunsAreFunctions(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d files, %v", len(names), err)
	}
	set := token.NewFileSet()
	read := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		read++
		for _, what := range worldly(file) {
			t.Errorf("%s: %s", set.Position(what.at), what.is)
		}
	}
	if read == 0 {
		t.Error("no file was read")
	}
}

// TestWorldlyIsSeen: the test above sees what it is to see.
func TestWorldlyIsSeen(t *testing.T) {
	for _, source := range []string{
		`import "sync"`, `import "os"`, `import "math/rand/v2"`, `import "context"`, `import "sync/atomic"`,
		`func f() { go f() }`, `func f(c chan int) {}`, `func f() { select {} }`,
		`import "time"; func f() any { return time.Now() }`, `import "time"; var f = time.AfterFunc`,
		`import "starling/runtime"; func f(s runtime.Store) {}`, `import "starling/runtime"; func f(s runtime.Engine) {}`,
		`var last = map[string]int{}`, `var last int`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(worldly(file)) == 0 {
			t.Errorf("nothing was found in: %s", source)
		}
	}
}

type found struct {
	at token.Pos
	is string
}

// pure are the packages of the standard library that have nothing of the world but what is named in
// worldly.
var pure = []string{"bytes", "cmp", "crypto/sha256", "encoding/binary", "encoding/json", "errors", "fmt", "io", "maps",
	"path/filepath", "regexp", "slices", "strconv", "strings", "time"}

// tables are the variables of the package: filled where they are declared, and only read.
var tables = []string{"fields", "requestFields", "outputTypes", "stepPurposes", "attemptPurposes",
	"errBadSnapshot", "servedFields", "foreignFields", "systemOptions", "notInWord"}

// worldly lists what a file has of the world.
func worldly(file *ast.File) (all []found) {
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") && first != "starling" && !slices.Contains(pure, path) {
			all = append(all, found{spec.Pos(), "imports " + path})
		}
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				for _, name := range s.(*ast.ValueSpec).Names {
					if !slices.Contains(tables, name.Name) {
						all = append(all, found{name.Pos(), "the variable " + name.Name + " outlives a turn"})
					}
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			all = append(all, found{n.Pos(), "a goroutine"})
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			all = append(all, found{n.Pos(), "a channel"})
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && slices.Contains(forbiddenNames[of.Name], n.Sel.Name) {
				all = append(all, found{n.Pos(), of.Name + "." + n.Sel.Name})
			}
		}
		return true
	})
	return all
}

// forbiddenNames are names of packages that are used here otherwise.
var forbiddenNames = map[string][]string{
	"time":     {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local"},
	"runtime":  {"Store", "Engine", "Batch", "WithCaller", "CallerOf"},
	"filepath": {"Abs", "Glob", "Walk", "WalkDir", "EvalSymlinks"},
}
