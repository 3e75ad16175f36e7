package stdlib

import (
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// contractBuiltin makes a contract while the script runs, from a text that may be computed. The
// checker reads those that are literal, and finds their mistakes before there is a run.
func contractBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "contract",
		Doc: "A type, written in the contract language: c.parse(v) returns the checked value or raises, c.check(v) lists the problems, " +
			"c.schema is its JSON Schema.",
		Params: []effect.Param{{Name: "text", Type: "string", Doc: "The type, such as \"{name: string(1..), age: int?}\"."}},
		Result: "contract",
		Pure: func(c *effect.Call) (starlark.Value, error) {
			text := c.Text("text", "")
			c.Steps += int64(len(text)) << 4 // it is much that is made of each letter
			t, err := contract.Parse("contract", text)
			if err != nil {
				return nil, err
			}
			return t, nil
		},
	}
}
