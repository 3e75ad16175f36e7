package graph_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/cmd/starling/graph"
	"starling/lang"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// TestOfScriptHasEveryStep: wherever a script of scripts/ calls something that waits for the world,
// its graph has a step of that line.
func TestOfScriptHasEveryStep(t *testing.T) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	calls := 0
	for _, script := range scripts(t) {
		bundle, err := lang.Read(script, func(name string) ([]byte, error) {
			return os.ReadFile(filepath.Join("..", "..", "..", name))
		}, stdlib.Library)
		if err != nil {
			t.Fatal(err)
		}
		g, err := graph.OfScript(bundle, env)
		if err != nil {
			t.Fatal(err)
		}
		drawn := places(g.Nodes)
		for _, where := range effects(t, bundle.Entry(), env) {
			calls++
			if !slices.Contains(drawn, where) {
				t.Errorf("%s: what is called there is not in the graph", where)
			}
		}
	}
	if calls < 80 {
		t.Errorf("%d calls were looked for, want those of all scripts", calls)
	}
}

// scripts are those that have a main of their own.
func scripts(t *testing.T) (names []string) {
	t.Helper()
	for _, folder := range []string{"scripts", "scripts/gallery"} {
		entries, err := os.ReadDir(filepath.Join("..", "..", "..", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := e.Name()
			if strings.HasSuffix(name, ".star") && !strings.HasSuffix(name, "_test.star") && !strings.HasSuffix(name, "_agents.star") {
				names = append(names, folder+"/"+name)
			}
		}
	}
	return names
}

// places are the lines of the steps of a graph.
func places(nodes []*graph.Node) (all []string) {
	for _, n := range nodes {
		all = append(append(all, n.Where), places(n.Nodes)...)
	}
	return all
}

// effects are the lines of a file where something is called that waits.
func effects(t *testing.T, m *lang.Module, env *effect.Environment) (all []string) {
	t.Helper()
	file, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
	if err != nil {
		t.Fatal(err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && waits(call.Fn, env) {
			start, _ := call.Span()
			all = append(all, fmt.Sprintf("%s:%d", m.Name, start.Line))
		}
		return true
	})
	return all
}

func waits(fn syntax.Expr, env *effect.Environment) bool {
	var value any
	switch fn := fn.(type) {
	case *syntax.Ident:
		value = env.Names[fn.Name]
	case *syntax.DotExpr:
		if x, ok := fn.X.(*syntax.Ident); ok {
			if m, ok := env.Names[x.Name].(*starlarkstruct.Module); ok {
				value = m.Members[fn.Name.Name]
			}
		}
	}
	b, ok := value.(*effect.Builtin)
	return ok && b.Class == effect.Waiting && b.Name() != "parallel"
}
