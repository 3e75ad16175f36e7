package contract

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Contract is a value of scripts, which the builtin contract(text) gives them: immutable, equal
// by canonical text, unhashable.
//
//	c.parse(v)  the checked value; raises if v does not fit
//	c.check(v)  the list of what is wrong, a dict each with path, got, want, hint and message; empty if v fits
//	c.schema    JSON Schema, profile Validate, as a new dict each time
var (
	_ starlark.HasAttrs   = (*Contract)(nil)
	_ starlark.Comparable = (*Contract)(nil)
	_ Plainer             = (*Contract)(nil)
)

// Type is "contract".
func (c *Contract) Type() string { return "contract" }

// Freeze does nothing: a contract never changes.
func (c *Contract) Freeze() {}

// Truth is always true.
func (c *Contract) Truth() starlark.Bool { return true }

// Hash refuses: contracts are no dict keys.
func (c *Contract) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: contract") }

// Plain is the canonical text.
func (c *Contract) Plain() starlark.Value { return starlark.String(c.text) }

// CompareSameType implements == and != by canonical text; there is no order.
func (c *Contract) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	switch equal := c.Equal(other.(*Contract)); op {
	case syntax.EQL:
		return equal, nil
	case syntax.NEQ:
		return !equal, nil
	}
	return false, fmt.Errorf("%s %s %s not implemented", c.Type(), op, other.Type())
}

// AttrNames lists what Attr knows.
func (c *Contract) AttrNames() []string { return []string{"check", "parse", "schema"} }

// Attr gives schema as a value and the methods bound to c; nil for any other name.
func (c *Contract) Attr(name string) (starlark.Value, error) {
	switch name {
	case "schema":
		return c.Schema(Validate).Root, nil
	case "parse":
		return starlark.NewBuiltin("parse", parseMethod).BindReceiver(c), nil
	case "check":
		return starlark.NewBuiltin("check", checkMethod).BindReceiver(c), nil
	}
	return nil, nil
}

func parseMethod(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(fn.Name(), args, kwargs, "value", &v); err != nil {
		return nil, err
	}
	checked, bad := fn.Receiver().(*Contract).Check(v)
	return checked, bad.Err()
}

func checkMethod(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(fn.Name(), args, kwargs, "value", &v); err != nil {
		return nil, err
	}
	_, bad := fn.Receiver().(*Contract).Check(v)
	found := make([]starlark.Value, len(bad))
	for i, one := range bad {
		found[i] = one.dict()
	}
	return starlark.NewList(found), nil
}

// dict is the violation as scripts see it.
func (v Violation) dict() *starlark.Dict {
	d := new(starlark.Dict)
	put(d, "path", starlark.String(v.Path))
	put(d, "got", starlark.String(v.Got))
	put(d, "want", starlark.String(v.Want))
	put(d, "hint", starlark.String(v.Hint))
	put(d, "message", starlark.String(v.Error()))
	return d
}
