package run

import (
	"starling/runtime"
)

// setsInput tells whether arguments of a step are set otherwise.
func setsInput(l *runtime.Lineage, step string) bool {
	return l != nil && l.Changed != nil && l.Step == step
}
