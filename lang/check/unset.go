package check

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/infer"
	"starling/lang/way"
)

// unset warns of a variable that is read behind an if, or a loop, of which only some way gives it a
// value.
func (c *checker) unset(inferred *infer.Result) {
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if def, ok := n.(*syntax.DefStmt); ok {
			u := unset{c: c, inferred: inferred, some: map[*syntax.Ident]gap{}, sure: map[*syntax.Ident]bool{}}
			for _, p := range parameters(def.Params) {
				u.sure[way.Variable(p.at)] = true
			}
			u.block(def.Body)
		}
		return true
	})
}

// unset follows the statements of a function that stand under no condition and in no loop.
type unset struct {
	c        *checker
	inferred *infer.Result
	some     map[*syntax.Ident]gap // given a value on some ways alone
	sure     map[*syntax.Ident]bool
}

// gap is an if or a loop that gives a variable a value on some of its ways alone.
type gap struct {
	at   syntax.Stmt
	when string // it has none
}

func (u *unset) block(stmts []syntax.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.IfStmt:
			u.reads(s.Cond)
			u.guarded(s)
			u.partly(s, u.ifGap(s))
		case *syntax.ForStmt:
			u.reads(s.X)
			u.guarded(s)
			u.partly(s, u.loopGap(s))
		case *syntax.ExprStmt:
			u.reads(s.X)
		case *syntax.ReturnStmt:
			u.reads(s.Result)
		case *syntax.AssignStmt:
			u.reads(s.RHS)
			u.give(given([]syntax.Stmt{s}))
		case *syntax.DefStmt:
			u.give([]*syntax.Ident{way.Variable(s.Name)})
		}
	}
}

func (u *unset) give(vars []*syntax.Ident) {
	for _, v := range vars {
		u.sure[v] = true
	}
}

// partly notes which variables a statement gives a value on some of its ways alone.
func (u *unset) partly(s syntax.Stmt, when string) {
	for _, v := range given([]syntax.Stmt{s}) {
		switch {
		case u.sure[v]:
		case u.always([]syntax.Stmt{s}, v):
			u.sure[v] = true
		default:
			u.some[v] = gap{s, when}
		}
	}
}

// guarded: a statement that may leave the function, and looks at what an if before it looks at or
// gives a value, tells its ways apart.
func (u *unset) guarded(s syntax.Stmt) {
	if !way.Leaves(s) {
		return
	}
	for v, g := range u.some {
		syntax.Walk(s, func(n syntax.Node) bool {
			id, ok := n.(*syntax.Ident)
			if ok && way.Variable(id) != nil && way.Mentions(g.at, way.Variable(id)) {
				u.sure[v] = true
			}
			return !u.sure[v]
		})
	}
}

// ifGap says when an if gives a variable no value.
func (u *unset) ifGap(s *syntax.IfStmt) string {
	line := "where the if of line " + itoa(s.If.Line) + " goes another way"
	last, _ := end(s)
	if rest := u.inferred.Rest(last); len(rest.Texts) > 0 {
		return "where " + u.c.file.Text(rest.Of) + " is " + strings.Join(quoted(rest.Texts), " or ") + ": none of the ifs from line " + itoa(s.If.Line) + " on takes it"
	}
	return line
}

func quoted(list []string) []string {
	var all []string
	for _, s := range list {
		all = append(all, `"`+s+`"`)
	}
	return all
}

// loopGap says when a loop gives a variable no value.
func (u *unset) loopGap(s *syntax.ForStmt) string {
	return "where no round of the loop of line " + itoa(s.For.Line) + " gives it one"
}

// end is the last if of a chain of elif, and whether there is no else.
func end(s *syntax.IfStmt) (*syntax.IfStmt, bool) {
	for {
		next, ok := only(s.False)
		if !ok {
			return s, len(s.False) == 0
		}
		s = next
	}
}

func only(stmts []syntax.Stmt) (*syntax.IfStmt, bool) {
	if len(stmts) != 1 {
		return nil, false
	}
	s, ok := stmts[0].(*syntax.IfStmt)
	return s, ok
}

// always tells whether statements give a variable a value, or do not come to their end.
func (u *unset) always(stmts []syntax.Stmt, v *syntax.Ident) bool {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.IfStmt:
			if u.everyWay(s, v, nil) {
				return true
			}
		case *syntax.ReturnStmt:
			return true
		case *syntax.BranchStmt:
			if s.Token != syntax.PASS {
				return true
			}
		case *syntax.ExprStmt:
			if call, ok := way.Unparen(s.X).(*syntax.CallExpr); ok && way.Names(call.Fn, "fail") {
				return true
			}
		case *syntax.ForStmt: // it counts as gone through
			if u.inLoop(s, v) {
				return true
			}
		default:
			if slices.Contains(given([]syntax.Stmt{s}), v) {
				return true
			}
		}
	}
	return false
}

// everyWay tells whether each way of an if gives a variable a value, or leaves. before are the
// conditions in front of it in its chain.
func (u *unset) everyWay(s *syntax.IfStmt, v *syntax.Ident, before []syntax.Expr) bool {
	if !u.always(s.True, v) {
		return false
	}
	if next, ok := only(s.False); ok {
		return u.everyWay(next, v, append(before, s.Cond))
	}
	if len(s.False) > 0 {
		return u.always(s.False, v)
	}
	return u.inferred.Rest(s).None || slices.ContainsFunc(before, func(e syntax.Expr) bool { return u.opposite(e, s.Cond) })
}

// opposites are the operators of which one holds where the other does not. Whoever asks for less
// and for more has thought of what lies between.
var opposites = map[syntax.Token][]syntax.Token{
	syntax.EQL: {syntax.NEQ}, syntax.NEQ: {syntax.EQL}, syntax.IN: {syntax.NOT_IN}, syntax.NOT_IN: {syntax.IN},
	syntax.LT: {syntax.GE, syntax.GT}, syntax.LE: {syntax.GE, syntax.GT}, syntax.GT: {syntax.LT, syntax.LE}, syntax.GE: {syntax.LT, syntax.LE},
}

// opposite tells whether one of two conditions holds, by their looks.
func (u *unset) opposite(e, f syntax.Expr) bool {
	e, f = way.Unparen(e), way.Unparen(f)
	same := func(e, f syntax.Expr) bool { return u.c.file.Text(way.Unparen(e)) == u.c.file.Text(way.Unparen(f)) }
	for _, pair := range [][2]syntax.Expr{{e, f}, {f, e}} {
		if not, ok := pair[0].(*syntax.UnaryExpr); ok && not.Op == syntax.NOT && same(not.X, pair[1]) {
			return true
		}
	}
	x, ok := e.(*syntax.BinaryExpr)
	y, also := f.(*syntax.BinaryExpr)
	if !ok || !also || !slices.Contains(opposites[x.Op], y.Op) || !same(x.X, y.X) {
		return false
	}
	return same(x.Y, y.Y) || x.Op != syntax.EQL && x.Op != syntax.NEQ && x.Op != syntax.IN && x.Op != syntax.NOT_IN
}

// inLoop tells whether a loop gives a variable a value, provided that it has a round. One without
// an end, or that leaves the function, ends where its author says.
func (u *unset) inLoop(s *syntax.ForStmt, v *syntax.Ident) bool {
	for _, t := range targets(s.Vars, looped) {
		if way.Variable(t.at) == v {
			return true
		}
	}
	if !slices.Contains(given(s.Body), v) {
		return false
	}
	return u.c.calls(s.X, "forever") || leavesFunction(s.Body) || u.always(s.Body, v)
}

func leavesFunction(stmts []syntax.Stmt) bool {
	found := false
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			case *syntax.ReturnStmt:
				found = true
			case *syntax.CallExpr:
				found = found || way.Names(n.Fn, "fail")
			}
			return !found
		})
	}
	return found
}

// given are the variables that statements give a value anywhere.
func given(stmts []syntax.Stmt) []*syntax.Ident {
	var list []*syntax.Ident
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			if def, ok := n.(*syntax.DefStmt); ok {
				list = append(list, way.Variable(def.Name))
				return false
			}
			if _, ok := n.(*syntax.LambdaExpr); ok {
				return false
			}
			for _, at := range sitesOf(n) {
				list = append(list, way.Variable(at.at))
			}
			return true
		})
	}
	return list
}

// reads looks for variables that may have no value in an expression that is evaluated for certain.
func (u *unset) reads(e syntax.Expr) {
	if e == nil {
		return
	}
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr, *syntax.CondExpr, *syntax.Comprehension:
			return false
		case *syntax.BinaryExpr:
			return n.Op != syntax.AND && n.Op != syntax.OR
		case *syntax.Ident:
			v := way.Variable(n)
			g, some := u.some[v]
			if !some || u.sure[v] || !local(n) {
				return true
			}
			u.sure[v] = true // once is enough
			u.c.at("unassigned", n, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: n.Name + " has no value " + g.when,
				Hint: "give it one before the " + keyword(g.at) + ", or on every way"})
		}
		return true
	})
}

func keyword(s syntax.Stmt) string {
	if _, ok := s.(*syntax.ForStmt); ok {
		return "loop"
	}
	return "if"
}
