package way

import "go.starlark.net/syntax"

// Follows tells whether a place further down may be reached from one above it: not where the two
// stand on two ways of one condition, nor where the way of the first leaves.
func Follows(stmts []syntax.Stmt, from, to syntax.Position) bool {
	if !Before(from, to) {
		return false
	}
	for _, s := range stmts {
		if !Holds(s, from) {
			continue
		}
		switch s := s.(type) {
		case *syntax.IfStmt:
			for _, branch := range [][]syntax.Stmt{s.True, s.False} {
				if holdsAny(branch, from) {
					return holdsAny(branch, to) && Follows(branch, from, to) || !Holds(s, to) && !gone(branch, from)
				}
			}
		case *syntax.ForStmt:
			if holdsAny(s.Body, from) && holdsAny(s.Body, to) {
				return Follows(s.Body, from, to)
			}
		}
		return true
	}
	return true
}

func holdsAny(stmts []syntax.Stmt, at syntax.Position) bool {
	for _, s := range stmts {
		if Holds(s, at) {
			return true
		}
	}
	return false
}

// gone tells whether a block leaves behind a place in it.
func gone(stmts []syntax.Stmt, from syntax.Position) bool {
	for _, s := range stmts {
		if !Before(from, Start(s)) {
			if branch, ok := s.(*syntax.IfStmt); ok && Holds(s, from) {
				if gone(branch.True, from) && holdsAny(branch.True, from) || gone(branch.False, from) && holdsAny(branch.False, from) {
					return true
				}
			}
			continue
		}
		switch s := s.(type) {
		case *syntax.ReturnStmt:
			return true
		case *syntax.BranchStmt:
			return s.Token != syntax.PASS
		}
	}
	return false
}
