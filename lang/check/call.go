package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// A call is matched with the parameters of what it calls as the machine will match it, but without
// values: *args and **kwargs may fill anything that is left, so they silence what they could
// explain. The parameters come from three places (signature.go): a builtin's declaration, what is
// written about the language's own functions, and the def of a function that is the only value of
// its name.

// arguments is a call taken apart.
type arguments struct {
	positional []syntax.Expr
	named      []*syntax.BinaryExpr // NAME = value
	star       bool                 // *args is passed: further positional arguments are unknown
	starStar   bool                 // **kwargs is passed: further names are unknown
	spread     []*syntax.DictEntry  // of dicts that are passed so and stand in the call
}

func argumentsOf(call *syntax.CallExpr) arguments {
	var a arguments
	for _, arg := range call.Args {
		named, isBinary := arg.(*syntax.BinaryExpr)
		spread, isUnary := arg.(*syntax.UnaryExpr)
		switch {
		case isBinary && named.Op == syntax.EQ:
			a.named = append(a.named, named)
		case isUnary && spread.Op == syntax.STAR:
			a.star = true
		case isUnary && spread.Op == syntax.STARSTAR:
			a.starStar = true
			if d, ok := way.Unparen(spread.X).(*syntax.DictExpr); ok {
				for _, entry := range d.List {
					a.spread = append(a.spread, entry.(*syntax.DictEntry))
				}
			}
		default:
			a.positional = append(a.positional, arg)
		}
	}
	return a
}

// byName is the value passed as NAME = value, nil if there is none.
func (a *arguments) byName(name string) syntax.Expr {
	for _, n := range a.named {
		if n.X.(*syntax.Ident).Name == name {
			return n.Y
		}
	}
	return nil
}

// call checks one call: its arguments against the signature, literal arguments against their
// parameters, and what is particular to a builtin.
func (c *checker) call(call *syntax.CallExpr) {
	sig := c.signature(call.Fn)
	if sig == nil {
		return
	}
	args := argumentsOf(call)
	bound := c.bind(call, sig, args)
	c.literals(sig, bound)
	switch name, _ := c.builtin(call.Fn); name {
	case "gate":
		c.options(bound["options"])
		c.fallback(bound)
		if list, ok := way.Unparen(orNone(bound["options"])).(*syntax.ListExpr); ok {
			c.twice(list.List, "the option")
		}
		c.deadline(args, bound)
		c.escalation(bound)
	case "agent", "handoff", "role":
		c.agents(name, bound)
		c.steers(bound)
		c.tools(bound)
	case "mcp.call", "mcp.tools":
		c.toolServer(bound["server"])
	case "mcp.server":
		if bound["cmd"] == nil && bound["url"] == nil && !args.starStar {
			c.toolServer(bound["name"])
		}
	case "budget":
		c.ceiling(bound["fn"])
	case "parallel":
		c.captures(call, args, bound)
		c.overlaps(bound)
		c.isolation(args, bound)
	case "contract":
		c.contract(bound)
	case "schedule.set":
		c.times(call, args, bound)
	case "queue.ack", "queue.park", "queue.release":
		c.partFor(bound["item"], "value", name+" takes the item itself", "queue.take")
	case "json.decode":
		c.partFor(orNone(at(args.positional, 0)), "json", "it is read already: json.decode reads a text, such as .text", "http.get", "http.post", "http.put")
	}
}

// bind matches arguments with parameters as a call does, reports what does not fit and gives the
// arguments by parameter name.
func (c *checker) bind(call *syntax.CallExpr, sig *signature, args arguments) map[string]syntax.Expr {
	bound := make(map[string]syntax.Expr)
	c.bindPositional(sig, args, bound)
	known := true
	for _, n := range args.named {
		known = c.bindNamed(sig, n, bound) && known
	}
	for _, entry := range args.spread {
		if name, ok := text(entry.Key); ok {
			known = c.bindTo(sig, name, entry.Key, entry.Value, bound) && known
		}
	}
	if known { // else what is missing is probably what was misspelled
		c.missing(call, sig, args, bound)
	}
	return bound
}

func (c *checker) bindPositional(sig *signature, args arguments, bound map[string]syntax.Expr) {
	n := 0
	for _, p := range sig.params {
		if p.Variadic {
			return
		}
		if p.KeywordOnly || p.Keywords {
			continue
		}
		if n < len(args.positional) {
			bound[p.Name] = args.positional[n]
		}
		n++
	}
	if len(args.positional) > n {
		c.at("too_many_arguments", args.positional[n], diagnostic.Diagnostic{
			Message: fmt.Sprintf("%s: got %d positional %s, want at most %d", sig.name, len(args.positional), plural(len(args.positional), "argument"), n),
			Hint:    sig.hint(),
		})
	}
}

// bindNamed binds one argument that is passed by name and tells whether there is such a parameter.
func (c *checker) bindNamed(sig *signature, arg *syntax.BinaryExpr, bound map[string]syntax.Expr) bool {
	id := arg.X.(*syntax.Ident)
	return c.bindTo(sig, id.Name, id, arg.Y, bound)
}

// bindTo binds a value to the parameter with a name that stands at a place. **kwargs takes every
// name that is left.
func (c *checker) bindTo(sig *signature, name string, at, value syntax.Expr, bound map[string]syntax.Expr) bool {
	var known []string
	for _, p := range sig.params {
		switch {
		case p.Keywords:
			return true
		case p.Variadic || p.Positional:
			continue
		case p.Name != name:
			known = append(known, p.Name)
			continue
		}
		if bound[p.Name] != nil {
			c.at("repeated_argument", at, diagnostic.Diagnostic{Message: fmt.Sprintf("%s: got multiple values for keyword argument %q", sig.name, name)})
		}
		bound[p.Name] = value
		return true
	}
	c.at("unknown_keyword", at, diagnostic.Diagnostic{
		Message: fmt.Sprintf("%s: unexpected keyword argument %q", sig.name, name),
		Hint:    cmp.Or(diagnostic.Meant(name, known), sig.hint()),
	})
	return false
}

// missing reports required parameters that nothing is passed for.
func (c *checker) missing(call *syntax.CallExpr, sig *signature, args arguments, bound map[string]syntax.Expr) {
	if args.starStar {
		return
	}
	var list []string
	for _, p := range sig.params {
		optional := p.Default != "" || p.Variadic || p.Keywords
		if optional || bound[p.Name] != nil || args.star && !p.KeywordOnly {
			continue
		}
		list = append(list, p.Name)
	}
	if len(list) == 0 {
		return
	}
	start, end := call.Fn.Span()
	c.report("missing_argument", start, end, diagnostic.Diagnostic{
		Message: fmt.Sprintf("%s: missing %s for %s", sig.name, plural(len(list), "argument"), strings.Join(list, ", ")),
		Hint:    sig.hint(),
	})
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }
