package check

import (
	"maps"
	"strconv"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// flow follows the statements of every function, and of the top level, in the order in which they
// run: it warns of those that cannot be reached and of gates that are opened twice on one way.
func (c *checker) flow() {
	c.block(c.file.Tree.Stmts, gates{})
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if def, ok := n.(*syntax.DefStmt); ok {
			c.block(def.Body, gates{})
		}
		return true
	})
}

// ending says how a block lets go of control.
type ending uint8

const (
	falls  ending = iota // on to the next statement
	breaks               // out of the loop, or on to its next round
	leaves               // out of the function
)

// block follows a list of statements and says how it ends. The gates that it opens are added to
// seen.
func (c *checker) block(stmts []syntax.Stmt, seen gates) ending {
	for i, s := range stmts {
		end := c.statement(s, seen)
		if end == falls {
			continue
		}
		if i+1 < len(stmts) {
			c.at("unreachable", stmts[i+1], diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: "this is never reached"})
		}
		return end
	}
	return falls
}

func (c *checker) statement(s syntax.Stmt, seen gates) ending {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		c.open(seen, s.X)
		if c.calls(s.X, "fail") {
			return leaves
		}
	case *syntax.AssignStmt:
		c.open(seen, s.RHS)
		c.open(seen, s.LHS)
	case *syntax.ReturnStmt:
		c.open(seen, s.Result)
		return leaves
	case *syntax.BranchStmt:
		if s.Token != syntax.PASS {
			return breaks
		}
	case *syntax.IfStmt:
		return c.conditional(s, seen)
	case *syntax.ForStmt:
		c.open(seen, s.X)
		c.round(s.Body, seen)
		if c.calls(s.X, "forever") && !hasBreak(s.Body) {
			return leaves
		}
	}
	return falls
}

// conditional follows both ways; a way that leaves the function has opened nothing for what comes
// after.
func (c *checker) conditional(s *syntax.IfStmt, seen gates) ending {
	c.open(seen, s.Cond)
	yes, no := maps.Clone(seen), maps.Clone(seen)
	endYes, endNo := c.block(s.True, yes), c.block(s.False, no)
	if endYes != leaves {
		maps.Copy(seen, yes)
	}
	if endNo != leaves {
		maps.Copy(seen, no)
	}
	return min(endYes, endNo)
}

// round follows the body of a loop once.
func (c *checker) round(body []syntax.Stmt, seen gates) {
	inside := maps.Clone(seen)
	if c.block(body, inside) != leaves {
		maps.Copy(seen, inside)
	}
}

// hasBreak tells whether a statement of the loop's own body breaks it.
func hasBreak(body []syntax.Stmt) bool {
	found := false
	for _, s := range body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ForStmt, *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			case *syntax.BranchStmt:
				found = found || n.Token == syntax.BREAK
			}
			return true
		})
	}
	return found
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
