package cli

import (
	"strings"

	"starling/cmd/starling/suite"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// environment is all that scripts see and all that serves it. The machine's own builtins and those
// of the library meet here.
func environment() *effect.Environment {
	return stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
}

// environmentOf is all that a file sees: test files see more.
func (c *call) environmentOf(script string) *effect.Environment {
	if !strings.HasSuffix(script, suite.Suffix) {
		return c.env()
	}
	return stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: true})
}
