package compile

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// Parameters are the parameters as they are written, with the values that stand in place of those
// that are left out, nil for one that must not be.
func (c *Function) Parameters(defaults []starlark.Value) string {
	var list []string
	positional := c.NumParams - c.NumKeywordOnly
	for _, more := range []bool{c.HasVarargs, c.HasKwargs} {
		if more {
			positional--
		}
	}
	first := positional + c.NumKeywordOnly - len(defaults) // the first with a default
	for i := range positional + c.NumKeywordOnly {
		if i == positional && !c.HasVarargs {
			list = append(list, "*")
		}
		text := c.Locals[i].Name
		if d := i - first; d >= 0 && defaults[d] != nil {
			text += fmt.Sprintf(" = %s", defaults[d])
		}
		if i == positional && c.HasVarargs {
			text = "*" + c.Locals[positional+c.NumKeywordOnly].Name + ", " + text
		}
		list = append(list, text)
	}
	if c.HasVarargs && c.NumKeywordOnly == 0 {
		list = append(list, "*"+c.Locals[positional].Name)
	}
	if c.HasKwargs {
		list = append(list, "**"+c.Locals[c.NumParams-1].Name)
	}
	return strings.Join(list, ", ")
}
