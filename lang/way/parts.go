package way

import "go.starlark.net/syntax"

// Parts of expressions that stand in the text.

// Displayed lists what stands in a list or tuple display.
func Displayed(e syntax.Expr) []syntax.Expr {
	switch e := Unparen(e).(type) {
	case *syntax.ListExpr:
		return e.List
	case *syntax.TupleExpr:
		return e.List
	}
	return nil
}

// Branches are those of a parallel, by what stands there of them.
func Branches(e syntax.Expr) []syntax.Expr {
	switch e := Unparen(e).(type) {
	case *syntax.DictExpr:
		var list []syntax.Expr
		for _, entry := range e.List {
			list = append(list, entry.(*syntax.DictEntry).Value)
		}
		return list
	case *syntax.Comprehension:
		if entry, ok := e.Body.(*syntax.DictEntry); ok {
			return []syntax.Expr{entry.Value}
		}
		return []syntax.Expr{e.Body}
	}
	return Displayed(e)
}

// PartOfCall tells whether an expression is what a call gives, or a part of that.
func PartOfCall(e syntax.Expr) bool {
	switch e := Unparen(e).(type) {
	case *syntax.CallExpr:
		return true
	case *syntax.DotExpr:
		return PartOfCall(e.X)
	case *syntax.IndexExpr:
		return PartOfCall(e.X)
	}
	return false
}

// Parameter is the place of a parameter among those that are passed by place, -1 for none, and its
// default.
func Parameter(params []syntax.Expr, id *syntax.Ident) (place int, byDefault syntax.Expr) {
	named := false
	n := 0
	for _, p := range params {
		var here *syntax.Ident
		switch p := p.(type) {
		case *syntax.Ident:
			here = p
		case *syntax.BinaryExpr:
			here, byDefault = p.X.(*syntax.Ident), p.Y
		case *syntax.UnaryExpr:
			named = true
			continue
		}
		if Variable(here) == Variable(id) && named {
			return -1, byDefault
		} else if Variable(here) == Variable(id) {
			return n, byDefault
		}
		n, byDefault = n+1, nil
	}
	return -1, nil
}
