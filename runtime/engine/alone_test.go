package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTurnsAreDecidedAlone: what decides in a run is a function. Its methods start no goroutine, wait for nothing, read no clock, file, variable of the process or store, and know nothing of
// whoever drives the run.
func TestTurnsAreDecidedAlone(t *testing.T) {
	deciders := map[string]bool{"turn": true, "state": true, "step": true, "gate": true, "queueCall": true, "item": true, "replayer": true, "timers": true,
		"limiter": true, "memory": true, "host": true, "breaker": true, "reusedOutcome": true}
	found := map[string]bool{}
	set := token.NewFileSet()
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !deciders[receiver(fn)] && (fn.Name.Name != "apply" || receiver(fn) == "actor") {
				continue
			}
			found[receiver(fn)] = true
			for what, at := range worldly(fn) {
				t.Errorf("%s: (%s).%s has %s", set.Position(at), receiver(fn), fn.Name.Name, what)
			}
		}
	}
	if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(deciders)), func(name string) bool { return found[name] }); len(missing) > 0 {
		t.Errorf("there are no methods of %v: name what decides now", missing)
	}
}

func receiver(fn *ast.FuncDecl) string {
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	name, _ := typ.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// worldly finds what a function has of the world, with the place of each.
func worldly(fn *ast.FuncDecl) map[string]token.Pos {
	found := map[string]token.Pos{}
	forbidden := map[string]bool{"Local": true, "actor": true, "reader": true, "readOnly": true, "Store": true, "job": true}
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "NewTimer": true, "Tick": true, "Sleep": true}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found["a goroutine"] = n.Pos()
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			found["a channel"] = n.Pos()
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				found["a channel"] = n.Pos()
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			switch {
			case !ok:
			case pkg.Name == "time" && clock[n.Sel.Name], pkg.Name == "sync", pkg.Name == "atomic", pkg.Name == "os", pkg.Name == "context", pkg.Name == "rand":
				found[pkg.Name+"."+n.Sel.Name] = n.Pos()
			}
			if n.Sel.Name == "store" || n.Sel.Name == "opts" {
				found["."+n.Sel.Name] = n.Pos()
			}
		case *ast.Ident:
			if forbidden[n.Name] {
				found[n.Name] = n.Pos()
			}
		}
		return true
	})
	return found
}
