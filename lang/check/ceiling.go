package check

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// ceiling refuses a child run below a budget: what a child spends is counted in the child, so that
// the machine starts none there. What an attempt calls is there to be refused.
func (c *checker) ceiling(fn syntax.Expr) {
	if fn == nil {
		return
	}
	s := search{c: c, names: c.names, file: c.file, been: map[*syntax.DefStmt]bool{}}
	if lambda, ok := way.Unparen(fn).(*syntax.LambdaExpr); ok {
		s.expr(lambda.Body, true)
	} else {
		s.named(fn, true)
	}
	if s.run == nil {
		return
	}
	d := diagnostic.Diagnostic{Message: "a child run cannot be started under budget(): what it spends is counted in the child",
		Hint: "put the budget into the script that is run, or start the child outside of it"}
	at := syntax.Node(s.run.Fn)
	if s.through != nil {
		at = s.through
		d.Note = "it is started on line " + itoa(way.Start(s.run).Line)
		if s.in != c.file {
			d.Note += " of " + s.in.Name
		}
	}
	if !s.sure {
		d.Severity = diagnostic.Warning
	}
	c.at("child_in_budget", at, d)
}

// search looks for the first child run that a function starts, also by way of others.
type search struct {
	c       *checker
	names   *names // of the file that is gone over
	file    *File
	been    map[*syntax.DefStmt]bool
	run     *syntax.CallExpr
	in      *File
	through syntax.Node // the call of the first function on the way, nil where there is none
	sure    bool        // no condition stands on the way
}

// expr looks through an expression; sure tells whether it is computed whatever happens.
func (s *search) expr(e syntax.Node, sure bool) {
	syntax.Walk(e, func(n syntax.Node) bool {
		if s.run != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.DefStmt:
			return n == e
		case *syntax.CallExpr:
			switch {
			case way.Names(n.Fn, "attempt"):
				return false
			case way.Names(n.Fn, "run"):
				s.run, s.in, s.sure = n, s.file, sure
			case way.Names(n.Fn, "parallel"):
				for _, arg := range n.Args {
					s.named(value(arg), sure)
					for _, branch := range elements(value(arg)) {
						if parts := elements(branch); len(parts) > 0 {
							branch = parts[0]
						}
						s.named(branch, sure)
					}
				}
			default:
				s.named(n.Fn, sure)
			}
		case *syntax.CondExpr:
			s.expr(n.Cond, sure)
			s.expr(n.True, false)
			s.expr(n.False, false)
			return false
		}
		return s.run == nil
	})
}

// named looks through the def that an expression names.
func (s *search) named(fn syntax.Expr, sure bool) {
	site, ok := s.names.only(fn)
	if !ok {
		return
	}
	inner := *s
	def := site.def
	if site.kind == loaded {
		inner.file = s.file.Loads[site.load.ModuleName()]
		inner.names = s.c.index[inner.file]
		def = (&checker{file: s.file, index: s.c.index}).exported(site)
	}
	if def == nil || s.been[def] || s.run != nil {
		return
	}
	s.been[def] = true
	for _, stmt := range def.Body {
		inner.expr(stmt, true)
	}
	if inner.run == nil {
		return
	}
	at := way.Start(inner.run)
	if inner.through != nil {
		at = way.Start(inner.through)
	}
	_, likely := way.Inevitable(def.Body, at, nil)
	s.run, s.in, s.through, s.sure = inner.run, inner.in, fn, sure && likely && inner.sure
}
