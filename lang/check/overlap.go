package check

import (
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// A parallel whose branches stand in the text, and ask agents whose roles stand in the text, can be
// told that two of them would change the same files before it runs: a request that would is refused
// then. What is computed is not judged here.

// changer is an agent that a branch asks, and what it may change.
type changer struct {
	name    string
	changes []string
}

// overlaps refuses branches that ask agents which may change the same files.
func (c *checker) overlaps(bound map[string]syntax.Expr) {
	if bound["over"] != nil || bound["overlap"] != nil || bound["limit"] != nil || bound["isolation"] != nil {
		return
	}
	var before [][]changer
	for _, branch := range branchesIn(bound["branches"]) {
		list := c.changers(branch)
		for _, other := range before {
			if a, b, ok := rivals(other, list); ok {
				c.at("overlap", branch, diagnostic.Diagnostic{
					Message: fmt.Sprintf("the agents %s and %s may change the same files in two branches of one parallel", a.describe(), b.describe()),
					Hint:    `say with owns what each changes, or let one wait: overlap = "serialize"`,
				})
				return
			}
		}
		before = append(before, list)
	}
}

func (c changer) describe() string {
	what := strings.Join(c.changes, ", ")
	if what == effect.Everything {
		what = "anything"
	}
	return fmt.Sprintf("%q (%s)", c.name, what)
}

func rivals(as, bs []changer) (a, b changer, ok bool) {
	for _, a := range as {
		for _, b := range bs {
			if _, _, ok := effect.Overlapping(a.changes, b.changes); ok {
				return a, b, true
			}
		}
	}
	return a, b, false
}

// branchesIn lists the branches that stand in the text.
func branchesIn(e syntax.Expr) []syntax.Expr {
	switch e := way.Unparen(orNone(e)).(type) {
	case *syntax.ListExpr:
		return e.List
	case *syntax.DictExpr:
		list := make([]syntax.Expr, len(e.List))
		for i, entry := range e.List {
			list[i] = entry.(*syntax.DictEntry).Value
		}
		return list
	}
	return nil
}

// changers lists the agents that a branch asks for certain and that may change something: (agent,
// who, …), a lambda, or a function of this file.
func (c *checker) changers(branch syntax.Expr) []changer {
	var list []changer
	switch e := way.Unparen(branch).(type) {
	case *syntax.TupleExpr:
		if len(e.List) == 0 {
			return nil
		}
		if name, _ := c.builtin(e.List[0]); (name == "agent" || name == "handoff") && len(e.List) > 1 {
			return c.changer(e.List[1], nil)
		}
		return c.changers(e.List[0])
	case *syntax.LambdaExpr:
		list = c.asked(e.Body)
	case *syntax.Ident:
		if s, ok := c.names.only(e); ok && s.kind == defined {
			for _, stmt := range s.def.Body {
				list = append(list, c.asked(stmt)...)
			}
		}
	}
	return list
}

// asked lists the agents that calls in a piece of the text ask. Functions inside are not looked
// into: somebody may call them elsewhere, or nobody.
func (c *checker) asked(n syntax.Node) []changer {
	var list []changer
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr, *syntax.DefStmt, *syntax.IfStmt, *syntax.CondExpr:
			return false
		case *syntax.CallExpr:
			if name, _ := c.builtin(n.Fn); name != "agent" && name != "handoff" {
				return true
			}
			args := argumentsOf(n)
			who := args.byName("who")
			if who == nil {
				who = args.byName("to")
			}
			if who == nil && len(args.positional) > 0 {
				who = args.positional[0]
			}
			if !args.starStar {
				list = append(list, c.changer(orNone(who), args.byName("owns"))...)
			}
		}
		return true
	})
	return list
}

// changer is the agent that a role, or a name, stands for, if what it may change stands in the
// text.
func (c *checker) changer(who, owns syntax.Expr) []changer {
	name, _ := text(who)
	modifies := owns != nil
	if call := c.roleOf(who); call != nil {
		args := argumentsOf(call)
		if args.starStar {
			return nil
		}
		given := args.byName("name")
		if given == nil && len(args.positional) > 0 {
			given = args.positional[0]
		}
		name, _ = text(orNone(given))
		if owns == nil {
			owns = args.byName("owns")
		}
		if said := args.byName("modifies"); said != nil {
			modifies = modifies || isTrue(said)
		} else {
			modifies = modifies || owns != nil
		}
	}
	patterns, known := []string{effect.Everything}, true
	if owns != nil {
		patterns, known = textsOf(owns)
	}
	if name == "" || !modifies || !known || len(patterns) == 0 {
		return nil
	}
	return []changer{{name, patterns}}
}

// roleOf is the call of role that an expression is, or that its only value is.
func (c *checker) roleOf(e syntax.Expr) *syntax.CallExpr {
	if s, ok := c.names.only(e); ok && s.kind == assigned {
		e = s.value
	}
	if call, ok := way.Unparen(e).(*syntax.CallExpr); ok && c.calls(call, "role") {
		return call
	}
	return nil
}

func isTrue(e syntax.Expr) bool {
	id, ok := way.Unparen(e).(*syntax.Ident)
	return ok && id.Name == "True" && scope(id) == resolve.Universal
}

// textsOf is the value of a literal list of literal strings.
func textsOf(e syntax.Expr) (texts []string, ok bool) {
	list, ok := way.Unparen(e).(*syntax.ListExpr)
	if !ok {
		return nil, false
	}
	for _, elem := range list.List {
		s, ok := text(elem)
		if !ok {
			return nil, false
		}
		texts = append(texts, s)
	}
	return texts, true
}
