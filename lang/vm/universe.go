package vm

import (
	"go.starlark.net/starlark"

	"starling/lang/quick"
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
	"int":  quick.Int,
	"len":  quick.Len,
	"str":  quick.Str,
	"type": quick.Type,
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
