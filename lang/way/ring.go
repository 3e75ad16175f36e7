package way

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Rounds tells whether a loop without end may end in a round other than the first, and which
// conditions let nobody out later than in that.
func Rounds(loop *syntax.ForStmt) (end bool, stuck []syntax.Expr) {
	r := &ring{moves: moved(loop)}
	r.block(loop.Body, true, false)
	return r.ends, r.stuck
}

// ring looks for the ways out of a loop without end: whether one of them may be taken in a round
// when it was not in the round before.
type ring struct {
	moves       map[*syntax.Ident]bool // variables that may have another value in the next round
	ends        bool                   // some way out may be taken later
	conditional bool                   // a condition is around what is gone over
	stuck       []syntax.Expr          // conditions that let nobody out later than in the first round
}

// block goes over statements of the loop. moving tells whether there is no condition around them,
// or one that may come out otherwise in another round; inner whether a loop of their own is around
// them.
func (r *ring) block(stmts []syntax.Stmt, moving, inner bool) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.IfStmt:
			was, stuck := r.ends, len(r.stuck)
			may := r.changes(s.Cond) || moving && r.conditional
			top := r.conditional
			r.conditional = true
			r.block(s.True, may, inner)
			r.block(s.False, may, inner)
			r.conditional = top
			if !r.ends && !was && !may && len(r.stuck) == stuck && (leavesLoop(s.True, inner) || leavesLoop(s.False, inner)) {
				r.stuck = append(r.stuck, s.Cond)
			}
		case *syntax.ForStmt:
			r.block(s.Body, r.changes(s.X), true)
		case *syntax.BranchStmt:
			r.ends = r.ends || s.Token == syntax.BREAK && !inner && moving
		case *syntax.ReturnStmt:
			r.ends = r.ends || moving
		case *syntax.ExprStmt:
			if call, ok := Unparen(s.X).(*syntax.CallExpr); ok && Names(call.Fn, "fail") {
				r.ends = r.ends || moving
			}
		}
	}
}

// leavesLoop tells whether statements have a way out of the loop.
func leavesLoop(stmts []syntax.Stmt, inner bool) bool {
	found := false
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.BranchStmt:
			found = found || s.Token == syntax.BREAK && !inner
		case *syntax.ReturnStmt:
			found = true
		}
	}
	return found
}

// changes tells whether a condition may come out otherwise in another round.
func (r *ring) changes(cond syntax.Expr) bool {
	may := false
	syntax.Walk(cond, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			may = may || !Names(n.Fn, "len") && !Names(n.Fn, "bool")
		case *syntax.Ident:
			b, ok := n.Binding.(*resolve.Binding)
			may = may || ok && b.Scope != resolve.Local && b.Scope != resolve.Predeclared && b.Scope != resolve.Universal || ok && r.moves[b.First]
		}
		return !may
	})
	return may
}

// moved are the variables that a loop gives a value, changes, or gives to a function that may.
func moved(s *syntax.ForStmt) map[*syntax.Ident]bool {
	m := map[*syntax.Ident]bool{}
	all := func(e syntax.Node) {
		syntax.Walk(e, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok && Variable(id) != nil {
				m[Variable(id)] = true
			}
			return true
		})
	}
	all(s.Vars)
	for _, stmt := range s.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.AssignStmt:
				all(n.LHS)
			case *syntax.ForStmt:
				all(n.Vars)
			case *syntax.DefStmt:
				all(n.Name)
			case *syntax.CallExpr:
				if dot, ok := n.Fn.(*syntax.DotExpr); ok {
					all(dot.X)
				}
				if copies(n.Fn) {
					break
				}
				for _, x := range n.Args {
					all(x)
				}
			}
			return true
		})
	}
	return m
}

// copies tells whether a call is of something predeclared that changes nothing it is given.
func copies(fn syntax.Expr) bool {
	for {
		switch e := Unparen(fn).(type) {
		case *syntax.DotExpr:
			fn = e.X
		case *syntax.Ident:
			b, ok := e.Binding.(*resolve.Binding)
			switch e.Name {
			case "attempt", "parallel", "budget", "sorted", "min", "max":
				return false // they call functions
			}
			return ok && (b.Scope == resolve.Predeclared || b.Scope == resolve.Universal)
		default:
			return false
		}
	}
}
