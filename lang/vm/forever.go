package vm

import (
	"fmt"

	"go.starlark.net/starlark"
)

// forever is what forever() returns: the operand of a loop without end, whose variable counts from
// 0. It is not Iterable, so that nothing but a for can take it: list(forever()) is an error and not
// an endless call.
type forever struct{}

func (forever) String() string        { return "forever()" }
func (forever) Type() string          { return "forever" }
func (forever) Freeze()               {}
func (forever) Truth() starlark.Bool  { return true }
func (forever) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: forever") }

// foreverNative is the builtin.
var foreverNative = &Native{
	name: "forever",
	quick: func(args []starlark.Value) starlark.Value {
		if len(args) > 0 {
			return nil
		}
		return forever{}
	},
	builtin: starlark.NewBuiltin("forever", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return forever{}, starlark.UnpackArgs(b.Name(), args, kwargs)
	}),
}
