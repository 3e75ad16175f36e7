package check

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// reversed warns of x =+ 1, which sets x to +1.
func (c *checker) reversed(s *syntax.AssignStmt) {
	u, ok := s.RHS.(*syntax.UnaryExpr)
	if !ok || s.Op != syntax.EQ || u.Op != syntax.PLUS && u.Op != syntax.MINUS || u.OpPos.Line != s.OpPos.Line || u.OpPos.Col != s.OpPos.Col+1 {
		return
	}
	if x := way.Start(u.X); x.Line != u.OpPos.Line || x.Col == u.OpPos.Col+1 {
		return
	}
	op := u.Op.String()
	c.at("reversed_operator", u, diagnostic.Diagnostic{Severity: diagnostic.Warning,
		Message: "=" + op + " gives the variable this value, whatever it had", Hint: "write " + op + "= to change what it has"})
}

// behindLast warns of xs[len(xs)]. A dict may be given a value under that key.
func (c *checker) behindLast(e *syntax.IndexExpr) {
	call, ok := way.Unparen(e.Y).(*syntax.CallExpr)
	if !ok || !way.Names(call.Fn, "len") || len(call.Args) != 1 {
		return
	}
	root, path := way.Path(e.X)
	of, within := way.Path(call.Args[0])
	if root == nil || of == nil || way.Variable(root) == nil || way.Variable(root) != way.Variable(of) || path != within {
		return
	}
	text := c.file.Text(e.X)
	c.at("bad_index", e.Y, diagnostic.Diagnostic{Severity: diagnostic.Warning,
		Message: "there is no element behind the last one", Hint: "the last is " + text + "[-1], or " + text + "[len(" + text + ") - 1]"})
}
