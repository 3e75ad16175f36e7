package vm

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"go.starlark.net/starlark"
)

// parallelOptions are the arguments of parallel.
type parallelOptions struct {
	branches, over starlark.Value
	limit          int
	wait           starlark.Value
	onError        string
}

func (o *parallelOptions) parse(args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) > 2 {
		return fmt.Errorf("got %d positional arguments, want at most 2: branches and over", len(args))
	}
	var limit, over starlark.Value
	err := starlark.UnpackArgs("", args, kwargs, "branches", &o.branches, "over?", &over, "limit?", &limit, "wait?", &o.wait, "on_error?", &o.onError)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), ": "))
	}
	if over != starlark.None {
		o.over = over
	}
	o.limit = math.MaxInt32
	if limit != nil && limit != starlark.None {
		if o.limit, err = starlark.AsInt32(limit); err != nil || o.limit < 1 {
			return fmt.Errorf("for parameter limit: got %s, want an int of at least 1", limit)
		}
	}
	if o.onError != "cancel" && o.onError != "collect" {
		return fmt.Errorf(`for parameter on_error: got %q, want "cancel" or "collect"`, o.onError)
	}
	return nil
}

// goal says how many of n branches must succeed, and in which mode.
func (o *parallelOptions) goal(n int) (need int, mode string, err error) {
	if o.wait == nil || o.wait == starlark.String("all") {
		if o.onError == "collect" {
			return n, "outcomes", nil
		}
		return n, "values", nil
	}
	if o.wait == starlark.String("any") {
		need = 1
	} else if need, err = starlark.AsInt32(o.wait); err != nil || need < 1 {
		return 0, "", fmt.Errorf(`for parameter wait: got %s, want "all", "any" or an int of at least 1`, o.wait)
	}
	if need > n {
		return 0, "", fmt.Errorf("%d branches must succeed, but there are %d", need, n)
	}
	return need, "quorum", nil
}

// branchCalls turns the arguments of parallel into one call (fn, arg, ...) for each branch, and their keys if they have any.
func branchCalls(branches, over starlark.Value) (keys starlark.Value, calls starlark.Tuple, err error) {
	if over != nil {
		return callsOver(branches, over)
	}
	switch b := branches.(type) {
	case *starlark.Dict:
		return callsOfDict(b)
	case *starlark.List, starlark.Tuple:
		seq := b.(starlark.Indexable)
		for i := range seq.Len() {
			call, err := branchCall(seq.Index(i), fmt.Sprintf("branch %d", i))
			if err != nil {
				return nil, nil, err
			}
			calls = append(calls, call)
		}
		return starlark.None, calls, nil
	}
	return nil, nil, fmt.Errorf("for parameter branches: got %s, want a list or dict of functions, or a function together with over", branches.Type())
}

func callsOfDict(d *starlark.Dict) (starlark.Value, starlark.Tuple, error) {
	var keys, calls starlark.Tuple
	for _, item := range d.Items() {
		name, ok := starlark.AsString(item[0])
		if !ok {
			return nil, nil, fmt.Errorf("got the key %s, want strings: they name the branches", item[0])
		}
		call, err := branchCall(item[1], "branch "+name)
		if err != nil {
			return nil, nil, err
		}
		keys, calls = append(keys, item[0]), append(calls, call)
	}
	return keys, calls, nil
}

// branchCall checks one branch: a function, or a tuple of a function and its arguments.
func branchCall(v starlark.Value, what string) (starlark.Tuple, error) {
	call, ok := v.(starlark.Tuple)
	if !ok {
		call = starlark.Tuple{v}
	}
	if len(call) == 0 {
		return nil, fmt.Errorf("%s: got an empty tuple, want (fn, arg, ...)", what)
	}
	fn, ok := call[0].(starlark.Callable)
	if !ok {
		return nil, fmt.Errorf("%s: got %s, want a function or a tuple (fn, arg, ...); a call such as f(x) runs before parallel does: write (f, x)", what, call[0].Type())
	}
	if name := capturedLoopVariable(fn); name != "" {
		return nil, fmt.Errorf("%s: this lambda captures the loop variable %s: every branch would see its last value; pass it: (fn, %s), or parallel(fn, over = ...)",
			what, name, name)
	}
	return call, nil
}

// callsOver makes calls fn(item) or fn(key, value).
func callsOver(fn, over starlark.Value) (keys starlark.Value, calls starlark.Tuple, err error) {
	if _, ok := fn.(starlark.Callable); !ok {
		return nil, nil, fmt.Errorf("for parameter branches: got %s, want a function, because over is given", fn.Type())
	}
	if d, ok := over.(*starlark.Dict); ok {
		var names starlark.Tuple
		for _, item := range d.Items() {
			if _, ok := starlark.AsString(item[0]); !ok {
				return nil, nil, fmt.Errorf("got the key %s in over, want strings: they name the branches", item[0])
			}
			names, calls = append(names, item[0]), append(calls, starlark.Tuple{fn, item[0], item[1]})
		}
		return names, calls, nil
	}
	seq, ok := over.(starlark.Indexable)
	if _, text := over.(starlark.String); !ok || text {
		return nil, nil, fmt.Errorf("for parameter over: got %s, want a list or dict", over.Type())
	}
	for i := range seq.Len() {
		calls = append(calls, starlark.Tuple{fn, seq.Index(i)})
	}
	return starlark.None, calls, nil
}

// capturedLoopVariable is the name of a loop or comprehension variable that a lambda uses, "" if there is none.
func capturedLoopVariable(fn starlark.Callable) string {
	if f, ok := fn.(*Function); ok && f.code.Name == "lambda" && len(f.code.LoopVariables) > 0 {
		return f.code.LoopVariables[0]
	}
	return ""
}
