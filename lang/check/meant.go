package check

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// times refuses a schedule that has no times, or two kinds of them.
func (c *checker) times(call *syntax.CallExpr, args arguments, bound map[string]syntax.Expr) {
	cron, every := bound["cron"], bound["every"]
	_, written := text(orNone(cron))
	_, also := text(orNone(every))
	switch {
	case args.star || args.starStar:
	case cron == nil && every == nil:
		c.at("missing_argument", call.Fn, diagnostic.Diagnostic{Message: "schedule.set: there are no times", Want: "cron or every", Hint: `add cron = "30 7 * * 1-5", or every = "6h"`})
	case written && also:
		c.at("repeated_argument", every, diagnostic.Diagnostic{Message: "schedule.set: cron and every are two kinds of times", Want: "one of them", Hint: "leave one of them out"})
	}
}

// partFor warns of what is read of a value that a builtin gave, where another takes the value
// itself, or what is read already: queue.ack(item.value), json.decode(r.json).
func (c *checker) partFor(arg syntax.Expr, name string, hint string, makers ...string) {
	dot, ok := way.Unparen(orNone(arg)).(*syntax.DotExpr)
	if !ok || dot.Name.Name != name {
		return
	}
	s, ok := c.names.only(dot.X)
	if !ok || s.kind != assigned {
		return
	}
	call, ok := way.Unparen(s.value).(*syntax.CallExpr)
	if !ok {
		return
	}
	if made, _ := c.builtin(call.Fn); contains(makers, made) {
		c.at("bad_type", arg, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: "got what is in ." + name + " of what " + made + " gave", Hint: hint})
	}
}
