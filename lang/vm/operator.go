package vm

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// truth is the truth value of a condition. A value may refuse to have one.
func truth(v starlark.Value) (bool, error) {
	switch v := v.(type) {
	case starlark.Bool:
		return bool(v), nil
	case starlark.NoneType:
		return false, nil
	case starlark.String:
		return v != "", nil
	case interface{ TruthError() error }:
		if err := v.TruthError(); err != nil {
			return false, err
		}
	}
	return bool(v.Truth()), nil
}

// equal is x == y, with short cuts for the types that conditions mostly compare.
func (m *Machine) equal(x, y starlark.Value) (bool, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok {
			return a == b, nil
		}
	}
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if len(x) == len(y) {
				m.work(len(x) >> workShift)
			}
			return x == y, nil
		}
	case starlark.NoneType:
		_, ok := y.(starlark.NoneType)
		return ok, nil
	case starlark.Bool:
		if y, ok := y.(starlark.Bool); ok {
			return x == y, nil
		}
	}
	return m.compare(syntax.EQL, x, y)
}

// compare compares by go.starlark.net, if the script can pay for it.
func (m *Machine) compare(op syntax.Token, x, y starlark.Value) (bool, error) {
	if hasElements(x) && hasElements(y) {
		if err := m.comparable(x, 1); err != nil {
			return false, err
		}
	}
	m.comparing(x, y)
	return starlark.Compare(op, x, y)
}

// extendBy is list += y. The list is extended in place by any iterable; otherwise it is list + y.
func (m *Machine) extendBy(list *starlark.List, y starlark.Value) (starlark.Value, error) {
	iterable, ok := y.(starlark.Iterable)
	if !ok {
		return m.binary(syntax.PLUS, list, y)
	}
	if err := listMutable(list); err != nil {
		return nil, fmt.Errorf("cannot apply += to %s", err)
	}
	m.arg[0] = y
	if err := m.consumes(m.arg[:]); err != nil {
		return nil, err
	}
	before := list.Len()
	err := extend(list, iterable)
	m.work((list.Len() - before) >> elementShift)
	m.charge(m.sizes.element * (list.Len() - before))
	return list, err
}

// extend appends the elements of an iterable, which may be the list itself.
func extend(list *starlark.List, y starlark.Iterable) error {
	if same, ok := y.(*starlark.List); ok {
		for i, n := 0, same.Len(); i < n; i++ {
			if err := list.Append(same.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	iter := y.Iterate()
	defer iter.Done()
	var v starlark.Value
	for iter.Next(&v) {
		if err := list.Append(v); err != nil {
			return err
		}
	}
	return nil
}

// orTo is x |= y. A dict is updated in place by a dict; otherwise it is x | y.
func (m *Machine) orTo(x, y starlark.Value) (starlark.Value, error) {
	dict, ok := x.(*starlark.Dict)
	if !ok {
		return m.binary(syntax.PIPE, x, y)
	}
	other, ok := y.(*starlark.Dict)
	if !ok {
		return m.binary(syntax.PIPE, x, y)
	}
	m.charge(m.sizes.entry * other.Len())
	if err := m.combined(dict, other); err != nil {
		return nil, err
	}
	if err := dictMutable(dict); err != nil {
		return nil, fmt.Errorf("cannot apply |= to %s", err)
	}
	for _, item := range other.Items() {
		if err := dict.SetKey(item[0], item[1]); err != nil {
			return nil, err
		}
	}
	return dict, nil
}
