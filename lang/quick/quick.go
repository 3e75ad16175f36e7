// Package quick has the usual calls of some builtins of Starlark, computed directly. Each takes the
// positional arguments of a call and gives nil to leave it to the builtin itself.
package quick

import (
	"strconv"

	"go.starlark.net/starlark"
)

// Len is len of a text, a list, a dict or a tuple.
func Len(args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	switch x := args[0].(type) {
	case starlark.String:
		return starlark.MakeInt(len(x))
	case *starlark.List:
		return starlark.MakeInt(x.Len())
	case *starlark.Dict:
		return starlark.MakeInt(x.Len())
	case starlark.Tuple:
		return starlark.MakeInt(len(x))
	}
	return nil
}

// Type is type.
func Type(args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	return starlark.String(args[0].Type())
}

// Str is str of a text or an int of 64 bits.
func Str(args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	switch x := args[0].(type) {
	case starlark.String:
		return x
	case starlark.Int:
		if n, ok := x.Int64(); ok {
			return starlark.String(strconv.FormatInt(n, 10))
		}
	}
	return nil
}

// Int is int of an int.
func Int(args []starlark.Value) starlark.Value {
	if len(args) == 1 {
		if x, ok := args[0].(starlark.Int); ok {
			return x
		}
	}
	return nil
}
