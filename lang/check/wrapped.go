package check

import (
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// wrapped are the arguments of a call that the function called does not call itself, but gives back
// in a function, a list or a tuple: of make(lambda: …), where make(fn) is return lambda: fn().
func (c *checker) wrapped(call *syntax.CallExpr) []syntax.Expr {
	s, ok := c.names.only(call.Fn)
	if !ok || s.kind != defined {
		return nil
	}
	var list []syntax.Expr
	for i, arg := range call.Args {
		var param *syntax.Ident
		switch arg := arg.(type) {
		case *syntax.UnaryExpr:
			return list
		case *syntax.BinaryExpr:
			if arg.Op == syntax.EQ {
				param = parameterNamed(s.def, arg.X.(*syntax.Ident).Name)
				break
			}
			param = parameterAt(s.def, i)
		default:
			param = parameterAt(s.def, i)
		}
		if param != nil && givesBack(s.def, param) {
			list = append(list, value(arg))
		}
	}
	return list
}

func parameterAt(def *syntax.DefStmt, i int) *syntax.Ident {
	for n, p := range def.Params {
		if _, star := p.(*syntax.UnaryExpr); star {
			return nil
		}
		if n == i {
			return parameters(def.Params[n : n+1])[0].at
		}
	}
	return nil
}

func parameterNamed(def *syntax.DefStmt, name string) *syntax.Ident {
	for _, s := range parameters(def.Params) {
		if s.at.Name == name {
			return s.at
		}
	}
	return nil
}

// givesBack tells whether all that a def does with a parameter is to give it back, by itself, in a
// display, or in a function that it makes and gives back.
func givesBack(def *syntax.DefStmt, param *syntax.Ident) bool {
	all, back := count(def.Body, param), 0
	inner := map[*syntax.Ident]*syntax.DefStmt{}
	for _, s := range def.Body {
		if d, ok := s.(*syntax.DefStmt); ok {
			inner[way.Variable(d.Name)] = d
		}
	}
	for _, s := range def.Body {
		r, ok := s.(*syntax.ReturnStmt)
		if !ok || r.Result == nil {
			continue
		}
		syntax.Walk(r.Result, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				return false
			case *syntax.LambdaExpr:
				back += count([]syntax.Stmt{&syntax.ExprStmt{X: n.Body}}, param)
				return false
			case *syntax.Ident:
				if way.Variable(n) == way.Variable(param) {
					back++
				}
				if d := inner[way.Variable(n)]; d != nil && count(def.Body, d.Name) == 2 {
					back += count(d.Body, param)
				}
			}
			return true
		})
	}
	return all > 0 && back == all
}

// count is how often statements name a variable.
func count(stmts []syntax.Stmt, id *syntax.Ident) int {
	n := 0
	for _, s := range stmts {
		syntax.Walk(s, func(node syntax.Node) bool {
			if other, ok := node.(*syntax.Ident); ok && way.Variable(other) != nil && way.Variable(other) == way.Variable(id) {
				n++
			}
			return true
		})
	}
	return n
}
