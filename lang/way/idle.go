package way

import (
	"strings"

	"go.starlark.net/syntax"
)

// Idle tells whether what a condition chooses between has no consequence behind it: nothing there
// leaves, gives a value to a name or may change one. It only says something, as print does.
func Idle(s *syntax.IfStmt) bool {
	idle := true
	for _, branch := range append(s.True[:len(s.True):len(s.True)], s.False...) {
		syntax.Walk(branch, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				idle = idle && says(n.Fn)
			case *syntax.BranchStmt:
				idle = idle && n.Token == syntax.PASS
			case *syntax.AssignStmt, *syntax.ReturnStmt, *syntax.DefStmt, *syntax.LoadStmt, *syntax.ForStmt, *syntax.WhileStmt:
				idle = false
			}
			return idle
		})
	}
	return idle
}

// says tells whether a call only says something, or makes the text that is said.
func says(fn syntax.Expr) bool {
	name, ok := Predeclared(fn)
	if dot, is := Unparen(fn).(*syntax.DotExpr); is && !ok {
		return dot.Name.Name == "format" || dot.Name.Name == "join"
	}
	return ok && (strings.HasPrefix(name, "log.") || name == "print" || name == "str" || name == "len" || name == "repr")
}

// Shows tells whether a conditional expression chooses how to show what it asks: one of its two
// values leads to the same place.
func Shows(e *syntax.CondExpr) bool {
	asked := map[string]bool{}
	syntax.Walk(e.Cond, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok {
			if root, path := Path(x); root != nil && path != "" {
				asked[root.Name+path] = true
			}
		}
		return true
	})
	shows := false
	for _, side := range []syntax.Expr{e.True, e.False} {
		if _, computed := Unparen(side).(*syntax.BinaryExpr); !computed {
			continue // it may be the value itself, which is looked at elsewhere
		}
		syntax.Walk(side, func(n syntax.Node) bool {
			if x, ok := n.(syntax.Expr); ok {
				if root, path := Path(x); root != nil && asked[root.Name+path] {
					shows = true
				}
			}
			return true
		})
	}
	return shows
}
