package way

import "go.starlark.net/syntax"

// Path is the variable that an expression begins at, and the way from there: fields and literal
// keys, also where they are read with .get. The variable is nil for what is no path.
func Path(e syntax.Expr) (root *syntax.Ident, path string) {
	switch e := Unparen(e).(type) {
	case *syntax.Ident:
		return Variable(e), ""
	case *syntax.DotExpr:
		root, path = Path(e.X)
		return root, path + "." + e.Name.Name
	case *syntax.IndexExpr:
		if l, ok := Unparen(e.Y).(*syntax.Literal); ok {
			root, path = Path(e.X)
			return root, path + "[" + l.Raw + "]"
		}
	case *syntax.CallExpr:
		if of, key := gets(e); key != nil {
			root, path = Path(of)
			return root, path + "[" + key.Raw + "]"
		}
	}
	return nil, ""
}

// gets is what d.get("key") reads from, and the key, which is nil for any other call.
func gets(e *syntax.CallExpr) (of syntax.Expr, key *syntax.Literal) {
	method, ok := Unparen(e.Fn).(*syntax.DotExpr)
	if !ok || method.Name.Name != "get" || len(e.Args) != 1 {
		return nil, nil
	}
	key, _ = Unparen(e.Args[0]).(*syntax.Literal)
	return method.X, key
}

// Conditional tells whether a place of a function is reached only where a condition holds. The
// types of a program do not say which way a function of the library goes for what it is given.
func Conditional(body []syntax.Stmt, at syntax.Position) bool {
	found := false
	within := func(n syntax.Node) {
		from, to := Span(n)
		found = found || !Before(at, from) && Before(at, to)
	}
	for _, s := range body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.IfStmt:
				for _, branch := range append(n.True[:len(n.True):len(n.True)], n.False...) {
					within(branch)
				}
			case *syntax.CondExpr:
				within(n.True)
				within(n.False)
			}
			return !found
		})
	}
	return found
}

// Changed is the variable whose value a statement or a call changes, or what lies within that.
func Changed(n syntax.Node) (name string, within bool) {
	var e syntax.Expr
	switch n := n.(type) {
	case *syntax.CallExpr:
		if dot, ok := n.Fn.(*syntax.DotExpr); ok {
			e = dot.X
		}
	case *syntax.IndexExpr:
		e = n.X
	case *syntax.AssignStmt:
		e = n.LHS
	}
	for {
		switch x := e.(type) {
		case *syntax.Ident:
			return x.Name, within
		case *syntax.IndexExpr:
			e, within = x.X, true
		default:
			return "", false
		}
	}
}

// MayCall tells whether there is a call in an expression, for the sake of which it may stand there.
func MayCall(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		_, call := n.(*syntax.CallExpr)
		found = found || call
		return !found
	})
	return found
}
