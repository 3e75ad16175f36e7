package way

import (
	"strings"

	"go.starlark.net/syntax"
)

// Setting is where a variable of memory is set: by which function, within which def, and under
// which key as it is written, "" for one that is computed.
type Setting struct {
	By     string // such as "memory.vars.set"
	Within *syntax.DefStmt
	Call   *syntax.CallExpr
	Key    string
}

// Settings lists where statements of a def, or of the top level, set variables of memory.
func Settings(within *syntax.DefStmt, stmts []syntax.Stmt) (list []Setting) {
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt:
				list = append(list, Settings(n, n.Body)...)
				return false
			case *syntax.CallExpr:
				name, ok := Predeclared(n.Fn)
				if !ok || !strings.HasPrefix(name, "memory.") || !strings.HasSuffix(name, ".set") || len(n.Args) == 0 {
					break
				}
				key := ""
				if l, ok := Unparen(n.Args[0]).(*syntax.Literal); ok {
					key = l.Raw
				}
				list = append(list, Setting{name, within, n, key})
			}
			return true
		})
	}
	return list
}
