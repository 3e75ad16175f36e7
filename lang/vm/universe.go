package vm

import (
	"strconv"

	"go.starlark.net/starlark"
)

// universe is starlark.Universe with its builtins wrapped in natives, and with those that call back
// replaced by resumable ones. It never changes.
var universe = makeUniverse()

func makeUniverse() starlark.StringDict {
	u := make(starlark.StringDict, len(starlark.Universe))
	for name, v := range starlark.Universe {
		if b, ok := v.(*starlark.Builtin); ok {
			v = &Native{name: name, builtin: b, quick: quickBuiltins[name]}
		}
		u[name] = v
	}
	sorted := u["sorted"].(*Native)
	sorted.resumable, sorted.start, sorted.resume, sorted.iters = sortedWithKey, startSorted, resumeSorted, 1
	sorted.restore, sorted.owned = restoreSorted, 1<<2|1<<3
	for _, name := range []string{"min", "max"} {
		n := u[name].(*Native)
		n.resumable, n.start, n.resume, n.iters = extremumWithKey, startExtremum, resumeExtremum, 1
		n.restore = restoreExtremum
	}
	return u
}

// quickBuiltins compute the usual calls of some builtins directly; they return nil to leave a call
// to the original.
var quickBuiltins = map[string]func(args []starlark.Value) starlark.Value{
	"bool": quickBool,
	"int":  quickInt,
	"len":  quickLen,
	"str":  quickStr,
	"type": quickType,
}

func quickLen(args []starlark.Value) starlark.Value {
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

func quickType(args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	return starlark.String(args[0].Type())
}

func quickStr(args []starlark.Value) starlark.Value {
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

func quickInt(args []starlark.Value) starlark.Value {
	if len(args) == 1 {
		if x, ok := args[0].(starlark.Int); ok {
			return x
		}
	}
	return nil
}

func quickBool(args []starlark.Value) starlark.Value {
	if len(args) == 1 {
		if b, err := truth(args[0]); err == nil {
			return starlark.Bool(b)
		}
	}
	return nil
}

func hasKeyword(named []keyword, name string) bool {
	for _, kw := range named {
		if kw.Name == name {
			return true
		}
	}
	return false
}

// Natives are the builtins of the machine that the universe of Starlark does not have. An
// environment lists them among its names.
func Natives() starlark.StringDict {
	return starlark.StringDict{"attempt": attemptNative, "budget": budgetNative, "parallel": parallelNative, "forever": foreverNative}
}
