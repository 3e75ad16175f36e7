package vm

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// keyword is one named argument of a call.
type keyword = effect.Keyword

// bind sets the parameters of fn, the first registers of its window, from the arguments of a call.
// The general form of a function is
//
//	def f(p1, p2=dp2, p3=dp3, *args, k1, k2=dk2, k3, **kwargs)
//
// whose defaults are (dp2, dp3, nil, dk2, nil). params may hold the positional arguments already:
// the window of a callee begins at its arguments.
func bind(fn *Function, params []starlark.Value, args []starlark.Value, named []keyword) error {
	code := fn.code
	if code.NumParams == 0 {
		if n := len(args) + len(named); n > 0 {
			return fmt.Errorf("function %s accepts no arguments (%d given)", code.Name, n)
		}
		return nil
	}
	ordinary := code.NumParams // without *args and **kwargs
	if code.HasKwargs {
		ordinary--
	}
	if code.HasVarargs {
		ordinary--
	}
	n, err := bindPositional(fn, params, args, ordinary)
	if err != nil {
		return err
	}
	if err := bindNamed(fn, params, named, ordinary); err != nil {
		return err
	}
	if n < ordinary || code.NumKeywordOnly > 0 {
		return bindDefaults(fn, params, n, ordinary)
	}
	return nil
}

// bindPositional sets parameters from positional arguments and collects those left over; it returns
// how many parameters it has set.
func bindPositional(fn *Function, params, args []starlark.Value, ordinary int) (int, error) {
	code := fn.code
	positional := ordinary - code.NumKeywordOnly
	n := min(len(args), positional)
	if len(args) > positional && !code.HasVarargs {
		atMost, plural := "", "s"
		if len(fn.defaults) > code.NumKeywordOnly {
			atMost = "at most "
		}
		if positional == 1 {
			plural = ""
		}
		return 0, fmt.Errorf("function %s accepts %s%d positional argument%s (%d given)", code.Name, atMost, positional, plural, len(args))
	}
	rest := starlark.Tuple{}
	if code.HasVarargs {
		rest = slices.Clone(starlark.Tuple(args[n:]))
	}
	copy(params, args[:n])
	clear(params[n:])
	if code.HasVarargs {
		params[ordinary] = rest
	}
	if code.HasKwargs {
		params[code.NumParams-1] = new(starlark.Dict)
	}
	return n, nil
}

func bindNamed(fn *Function, params []starlark.Value, named []keyword, ordinary int) error {
	code := fn.code
	for _, kw := range named {
		if i := findParam(fn, kw.Name, ordinary); i >= 0 {
			if params[i] != nil {
				return fmt.Errorf("function %s got multiple values for parameter %s", code.Name, starlark.String(kw.Name))
			}
			params[i] = kw.Value
			continue
		}
		if !code.HasKwargs {
			return fmt.Errorf("function %s got an unexpected keyword argument %s", code.Name, starlark.String(kw.Name))
		}
		rest := params[code.NumParams-1].(*starlark.Dict)
		before := rest.Len()
		if err := rest.SetKey(starlark.String(kw.Name), kw.Value); err != nil {
			return err
		}
		if rest.Len() == before {
			return fmt.Errorf("function %s got multiple values for parameter %s", code.Name, starlark.String(kw.Name))
		}
	}
	return nil
}

func findParam(fn *Function, name string, ordinary int) int {
	for i := range fn.code.Locals[:ordinary] {
		if fn.code.Locals[i].Name == name {
			return i
		}
	}
	return -1
}

// bindDefaults fills parameters that no argument has set, or lists all that are missing.
func bindDefaults(fn *Function, params []starlark.Value, n, ordinary int) error {
	first := ordinary - len(fn.defaults) // first parameter with a default
	var missing []string
	for i := n; i < ordinary; i++ {
		if params[i] != nil {
			continue
		}
		if i >= first {
			params[i] = fn.defaults[i-first]
		}
		if params[i] == nil {
			missing = append(missing, fn.code.Locals[i].Name)
		}
	}
	if missing == nil {
		return nil
	}
	plural := ""
	if len(missing) > 1 {
		plural = "s"
	}
	return fmt.Errorf("function %s missing %d argument%s (%s)", fn.code.Name, len(missing), plural, strings.Join(missing, ", "))
}
