package check

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// busy warns of loops without end that ask whether there is something, and turn at once where there
// is nothing.
func (c *checker) busy() {
	syntax.Walk(c.file.Tree, func(n syntax.Node) bool {
		if loop, ok := n.(*syntax.ForStmt); ok && c.calls(loop.X, "forever") {
			c.asksForEver(loop)
			b := busy{c: c, asked: map[*syntax.Ident]*syntax.CallExpr{}}
			if call := b.turns(loop.Body); call != nil {
				c.at("busy_loop", call, diagnostic.Diagnostic{Severity: diagnostic.Warning,
					Message: "where there is nothing yet, the loop asks again at once, without an end",
					Hint:    "wait for it: " + waiting(call) + "; or break, or sleep(\"10s\") before it goes on"})
			}
		}
		return true
	})
}

// waiting is how a call is written that waits.
func waiting(call *syntax.CallExpr) string {
	if name, _ := way.Predeclared(call.Fn); name == "queue.take" {
		return "queue.take without wait = False"
	}
	return "mailbox.take, queue.take and gate do"
}

// busy follows a round of a loop along the way on which nothing is done.
type busy struct {
	c     *checker
	asked map[*syntax.Ident]*syntax.CallExpr // variables by what they were asked for in this round
}

// turns is what a round asks that comes to its end without a wait and without a change, nil where
// that is not known.
func (b *busy) turns(body []syntax.Stmt) *syntax.CallExpr {
	for i, s := range body {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			id, ok := way.Unparen(s.LHS).(*syntax.Ident)
			call := b.asks(s.RHS)
			if !ok || call == nil || s.Op != syntax.EQ || way.Variable(id) == nil {
				return nil
			}
			b.asked[way.Variable(id)] = call
		case *syntax.ExprStmt:
			if !b.says(s.X) {
				return nil
			}
		case *syntax.IfStmt:
			call := b.about(s.Cond)
			switch {
			case call != nil && (b.again(s.True) || len(s.False) > 0 && b.again(s.False)):
				return call
			case len(s.False) > 0 || call == nil && !leaving(s.True):
				return nil
			case call != nil && i == len(body)-1 && !leaving(s.True):
				return call
			}
		case *syntax.BranchStmt:
			if s.Token != syntax.PASS {
				return nil
			}
		default:
			return nil
		}
	}
	return nil
}

// asks is the one call of an expression that asks whether there is something and does not wait.
func (b *busy) asks(e syntax.Expr) (call *syntax.CallExpr) {
	instant := true
	syntax.Walk(e, func(n syntax.Node) bool {
		if x, ok := n.(*syntax.CallExpr); ok {
			if b.polls(x) {
				call = x
			} else {
				instant = instant && b.pure(x)
			}
		}
		return true
	})
	if !instant {
		return nil
	}
	return call
}

// polls tells whether a call asks for what may come, and gives at once what there is.
func (b *busy) polls(call *syntax.CallExpr) bool {
	switch name, _ := b.c.builtin(call.Fn); name {
	case "queue.take":
		args := argumentsOf(call)
		id, ok := way.Unparen(orNone(args.byName("wait"))).(*syntax.Ident)
		return ok && id.Name == "False" && !args.starStar
	case "memory.vars.get", "memory.project.get", "fs.exists":
		return true
	}
	return false
}

// pure tells whether a call is of a function that does nothing but compute.
func (b *busy) pure(call *syntax.CallExpr) bool {
	_, v := b.c.builtin(call.Fn)
	builtin, ok := v.(*effect.Builtin)
	return way.Names(call.Fn, "len") || way.Names(call.Fn, "bool") || way.Names(call.Fn, "type") || ok && builtin.Class == effect.Pure
}

// says tells whether all that an expression does is to say something.
func (b *busy) says(e syntax.Expr) bool {
	if _, ok := way.Unparen(e).(*syntax.Literal); ok {
		return true
	}
	call, ok := way.Unparen(e).(*syntax.CallExpr)
	if !ok {
		return false
	}
	name, _ := b.c.builtin(call.Fn)
	return name == "print" || strings.HasPrefix(name, "log.")
}

// about is what a condition looks at, where that is what this round has asked for alone.
func (b *busy) about(cond syntax.Expr) (call *syntax.CallExpr) {
	alone := true
	syntax.Walk(cond, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if b.polls(n) {
				call = n
				return false
			}
			alone = alone && b.pure(n)
		case *syntax.Ident:
			if v := way.Variable(n); v != nil {
				alone = alone && b.asked[v] != nil
				if b.asked[v] != nil {
					call = b.asked[v]
				}
			}
		}
		return true
	})
	if !alone {
		return nil
	}
	return call
}

// again tells whether statements do nothing but say something and begin the next round.
func (b *busy) again(stmts []syntax.Stmt) bool {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			if !b.says(s.X) {
				return false
			}
		case *syntax.BranchStmt:
			return s.Token == syntax.CONTINUE
		default:
			return false
		}
	}
	return false
}

// leaving tells whether statements leave the loop at their end.
func leaving(stmts []syntax.Stmt) bool {
	switch s := stmts[len(stmts)-1].(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BranchStmt:
		return s.Token == syntax.BREAK
	}
	return false
}

// asksForEver warns of a loop without end that asks an agent and waits for nothing else.
func (c *checker) asksForEver(loop *syntax.ForStmt) {
	asks, waits, fails := false, false, false
	for _, stmt := range loop.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				switch {
				case asking(call):
					asks = true
				case way.Names(call.Fn, "fail"):
					fails = true
				default:
					waits = waits || !c.harmless(call)
				}
			}
			return true
		})
	}
	if !asks || waits {
		return
	}
	warn := func(at syntax.Node, message, hint string) {
		c.at("endless_asking", at, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: message, Hint: hint})
	}
	ends, stuck := way.Rounds(loop)
	if len(stuck) > 0 && !ends && !fails {
		warn(stuck[0], "the loop never changes what this looks at: once it goes on, it never ends, and asks an agent each time",
			"give the name its new value within the loop")
		return
	}
	if c.entry && !way.Uses(c.file.Tree, "budget") && way.Judged(loop, asking) {
		warn(loop.X, "only what agents answer ends this loop, and nothing bounds what they cost until then",
			"write for n in range(10), or put a budget(…) around it")
	}
	if !fails && !ends {
		warn(loop.X, "this asks an agent again and again, without an end and without a bound",
			"break when it is done, write for _ in range(n), or put a budget(…) around it")
	}
}

func asking(call *syntax.CallExpr) bool {
	return way.Names(call.Fn, "agent") || way.Names(call.Fn, "handoff")
}

// harmless tells whether a call is of a builtin or a method that neither waits nor ends anything.
func (c *checker) harmless(call *syntax.CallExpr) bool {
	name, v := c.builtin(call.Fn)
	if b, ok := v.(*effect.Builtin); ok {
		return b.Class != effect.Waiting && !contains([]string{"fail", "attempt", "budget", "parallel"}, name)
	}
	dot, method := way.Unparen(call.Fn).(*syntax.DotExpr)
	return v != nil || method && dot.Name.Name != "decision"
}
