package main

import (
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// environment is all that scripts see and all that serves it. The machine's own builtins and those of the library meet here.
func environment() *effect.Environment {
	return stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
}
