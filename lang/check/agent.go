package check

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// agents warns of agents that are named literally and that a run would not find. A role registers
// nothing: what it leaves open is looked up by its name, or by that of its backend.
func (c *checker) agents(call string, bound map[string]syntax.Expr) {
	if len(c.project.Agents) == 0 {
		return
	}
	params := []string{"backend", "who", "to"}
	if call == "role" {
		params = []string{"backend", "name"} // that of a call is the step's
	}
	for _, param := range params {
		if list, ok := orNone(bound[param]).(*syntax.ListExpr); ok {
			for _, e := range list.List {
				c.agent(e)
			}
			return
		}
		if c.agent(orNone(bound[param])) {
			return // the backend's is the one that counts
		}
	}
}

// agent warns of one literal name, and tells whether it is one.
func (c *checker) agent(e syntax.Expr) bool {
	name, ok := text(e)
	if _, known := c.project.agent(name); ok && !known {
		names := c.project.names()
		c.at("unknown_agent", e, diagnostic.Diagnostic{
			Severity: diagnostic.Warning,
			Message:  "no agent is called " + `"` + name + `"`,
			Want:     "one of " + strings.Join(names, ", "),
			Hint:     diagnostic.Meant(name, names),
		})
	}
	return ok
}
