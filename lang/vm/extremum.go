package vm

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// min and max with a key as resumable natives. Their state is
//
//	state[0]  the key function
//	state[1]  the element whose key is being computed
//	state[2]  the best element so far, None before the first key is known
//	state[3]  its key
//
// and phase counts the keys that are known. They hold one iterator, over the argument.

func extremumWithKey(_ []starlark.Value, named []keyword) bool { return hasKeyword(named, "key") }

func startExtremum(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	name := c.act.native.name
	if len(args) == 0 {
		return fmt.Errorf("%s requires at least one positional argument", name)
	}
	var key starlark.Callable
	if err := starlark.UnpackArgs(name, nil, kwargs, "key?", &key); err != nil {
		return err
	}
	var iterable starlark.Value = args
	if len(args) == 1 {
		iterable = args[0]
	}
	if err := c.f.pushIterator(iterable); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var first starlark.Value
	if !c.f.iters[len(c.f.iters)-1].next(&first) {
		return fmt.Errorf("%s: argument is an empty sequence", name)
	}
	c.act.state = []starlark.Value{key, first, starlark.None, starlark.None}
	return nil
}

func resumeExtremum(c nativeCall, result starlark.Value) step {
	s := c.act.state
	if result == nil {
		return c.call(s[0], s[1])
	}
	better := c.act.phase == 0
	if !better {
		op := syntax.LT
		if c.act.native.name == "max" {
			op = syntax.GT
		}
		var err error
		if better, err = c.m.compare(op, result, s[3]); err != nil {
			return step{err: fmt.Errorf("%s: %v", c.act.native.name, err)}
		}
	}
	if better {
		s[2], s[3] = s[1], result
	}
	c.act.phase++
	c.m.fuel--
	if !c.f.iters[len(c.f.iters)-1].next(&s[1]) {
		return step{value: s[2]}
	}
	return c.call(s[0], s[1])
}

// restoreExtremum wants no best element before a key is known. Which element it is by then, its key
// tells.
func restoreExtremum(act *activation) error {
	if err := act.hasShape("callable", "", "", ""); err != nil {
		return err
	}
	if act.phase == 0 && (act.state[2] != starlark.None || act.state[3] != starlark.None) {
		return fmt.Errorf("%s: the best element is known, but no key is", act.native.name)
	}
	return nil
}
