package vm_test

import (
	"errors"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// freeze freezes a value, unless go.starlark.net would die of it.
func (r *report) freeze(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, errors.New("freeze: want one argument")
	}
	r.freezeValue(args[0])
	return args[0], nil
}

func (r *report) freezeValue(v starlark.Value) {
	if endless(v, make(map[starlark.Value]bool)) {
		r.limited = true
		return
	}
	v.Freeze()
}

func (r *report) freezeAll(globals starlark.StringDict) {
	for _, name := range globals.Keys() {
		r.freezeValue(globals[name])
	}
}

// endless tells whether go.starlark.net would freeze a value for ever: a function of it that
// reaches itself through its own variables. It may say so of more values.
func endless(v starlark.Value, above map[starlark.Value]bool) bool {
	switch v.(type) {
	case *starlark.List, *starlark.Dict, *hasFields:
		if above[v] {
			return false
		}
		above[v] = true // for good: it is frozen once
	case *starlark.Function:
		if above[v] {
			return true
		}
		above[v] = true
		defer delete(above, v)
	}
	for _, part := range parts(v) {
		if part != nil && endless(part, above) {
			return true
		}
	}
	return false
}

func fields(v starlark.HasAttrs) []starlark.Value {
	var list []starlark.Value
	for _, name := range v.AttrNames() {
		field, _ := v.Attr(name)
		list = append(list, field)
	}
	return list
}

// parts are the values that freezing a value freezes, too.
func parts(v starlark.Value) []starlark.Value {
	var list []starlark.Value
	switch v := v.(type) {
	case *starlark.List:
		return slices.Collect(v.Elements())
	case starlark.Tuple:
		return v
	case *starlark.Dict:
		for _, item := range v.Items() {
			list = append(list, item[0], item[1])
		}
	case *starlark.Function:
		for i := range v.NumParams() {
			list = append(list, v.ParamDefault(i))
		}
		for i := range v.NumFreeVars() {
			_, free := v.FreeVar(i)
			list = append(list, free)
		}
	case *starlarkstruct.Struct:
		return fields(v)
	case *hasFields:
		return fields(v)
	}
	return list
}
