package way

import "go.starlark.net/syntax"

// Judged tells whether a loop has ways out, and each of them stands under a condition that looks at
// nothing but what certain calls have given in the loop.
func Judged(loop *syntax.ForStmt, by func(*syntax.CallExpr) bool) bool {
	j := &judged{by: by, given: map[*syntax.Ident]bool{}, sure: true}
	for grown := true; grown; {
		grown = false
		for _, stmt := range loop.Body {
			syntax.Walk(stmt, func(n syntax.Node) bool {
				if s, ok := n.(*syntax.AssignStmt); ok && s.Op == syntax.EQ {
					if id, ok := Unparen(s.LHS).(*syntax.Ident); ok && !j.given[Variable(id)] && j.alone(s.RHS) {
						j.given[Variable(id)], grown = true, true
					}
				}
				return true
			})
		}
	}
	for _, stmt := range loop.Body { // what is given another value as well is no answer
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if s, ok := n.(*syntax.AssignStmt); ok {
				if id, ok := Unparen(s.LHS).(*syntax.Ident); ok && (s.Op != syntax.EQ || !j.alone(s.RHS)) {
					delete(j.given, Variable(id))
				}
			}
			return true
		})
	}
	j.block(loop.Body, false)
	return j.sure && j.outs > 0
}

type judged struct {
	by    func(*syntax.CallExpr) bool
	given map[*syntax.Ident]bool // variables that have nothing but what the calls give
	outs  int
	sure  bool
}

// alone tells whether an expression is made of what the calls give, and of nothing else that
// changes.
func (j *judged) alone(e syntax.Expr) bool {
	some, all := false, true
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			dot, method := n.Fn.(*syntax.DotExpr)
			switch {
			case j.by(n):
				some = true
				return false
			case Names(n.Fn, "len"), Names(n.Fn, "bool"):
			case method && j.alone(dot.X):
			default:
				all = false
			}
		case *syntax.Ident:
			if Variable(n) != nil {
				some = some || j.given[Variable(n)]
				all = all && j.given[Variable(n)]
			}
		case *syntax.LambdaExpr, *syntax.Comprehension:
			all = false
		}
		return all
	})
	return some && all
}

// block goes over statements; told tells whether such a condition is around them.
func (j *judged) block(stmts []syntax.Stmt, told bool) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.IfStmt:
			told := j.alone(s.Cond)
			j.block(s.True, told)
			j.block(s.False, told)
		case *syntax.ForStmt:
			j.sure = j.sure && !Leaves(s)
		case *syntax.ReturnStmt:
			j.out(told)
		case *syntax.BranchStmt:
			if s.Token == syntax.BREAK {
				j.out(told)
			}
		case *syntax.ExprStmt:
			if call, ok := Unparen(s.X).(*syntax.CallExpr); ok && Names(call.Fn, "fail") {
				j.out(told)
			}
		}
	}
}

func (j *judged) out(told bool) {
	j.outs++
	j.sure = j.sure && told
}

// Uses tells whether a file names something of the environment or the language.
func Uses(f *syntax.File, name string) bool {
	found := false
	syntax.Walk(f, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && Names(id, name)
		return !found
	})
	return found
}
