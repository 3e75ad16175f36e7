package check

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// isolation checks what a call of parallel says of how its branches are kept apart.
func (c *checker) isolation(args arguments, bound map[string]syntax.Expr) {
	c.oneOf(bound, "isolation", effect.IsolationWorktree)
	c.oneOf(bound, "on_conflict", "gate", "merge", "sequential", "fail")
	isolated := bound["isolation"] != nil && typeOf(bound["isolation"]) != "NoneType"
	if decides := bound["on_conflict"]; decides != nil && !isolated && !args.starStar {
		c.at("isolation", decides, diagnostic.Diagnostic{
			Message: "parallel: on_conflict only means something with isolation",
			Hint:    `add isolation = "worktree"`,
		})
	}
	if grow := bound["grow"]; isolated && isTrue(grow) {
		c.at("isolation", grow, diagnostic.Diagnostic{
			Message: "parallel: with isolation no branch can be added",
			Hint:    "leave grow or isolation out",
		})
	}
	if wait := bound["wait"]; isolated && wait != nil && quorumOf(wait) > 1 {
		c.at("isolation", wait, diagnostic.Diagnostic{
			Message: "parallel: with isolation, which of several branches that change the workspace are enough, nobody can tell",
			Hint:    `wait = "all" or "any"`,
		})
	}
}

// oneOf checks a literal text.
func (c *checker) oneOf(bound map[string]syntax.Expr, name string, choices ...string) {
	if s, ok := text(orNone(bound[name])); ok && !contains(choices, s) {
		c.at("bad_choice", bound[name], diagnostic.Diagnostic{
			Message: "parallel: for parameter " + name,
			Got:     fmt.Sprintf("%q", s),
			Want:    "one of " + strings.Join(choices, ", "),
			Hint:    diagnostic.Meant(s, choices),
		})
	}
}

// quorumOf is a number that stands in the text, 0 for anything else.
func quorumOf(e syntax.Expr) int {
	l, ok := way.Unparen(e).(*syntax.Literal)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(l.Raw)
	if err != nil {
		return 0
	}
	return n
}
