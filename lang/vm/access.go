package vm

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// The operations of this file are go.starlark.net's, which it does not export; the words of their
// errors are its own.

// attr is x.name.
func attr(x starlark.Value, name string) (starlark.Value, error) {
	switch x := x.(type) { // these first: to ask any value for an interface is a search
	case *effect.Record:
		if v, err := x.Attr(name); v != nil && err == nil {
			return v, nil
		}
	case *starlarkstruct.Struct:
		if v, err := x.Attr(name); err == nil {
			return v, nil
		}
	}
	has, ok := x.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	v, err := has.Attr(name)
	if err != nil {
		if missing, ok := err.(starlark.NoSuchAttrError); ok {
			return nil, spellAttr(string(missing), name, has)
		}
		return nil, err
	}
	if v == nil {
		return nil, spellAttr(fmt.Sprintf("%s has no .%s field or method", x.Type(), name), name, has)
	}
	return v, nil
}

// spellAttr adds the attribute that was perhaps meant.
func spellAttr(msg, name string, has starlark.HasAttrs) error {
	if near, ok := diagnostic.Nearest(name, has.AttrNames()); ok {
		return fmt.Errorf("%s (did you mean .%s?)", msg, near)
	}
	return errors.New(msg)
}

// setAttr is x.name = v.
func setAttr(x starlark.Value, name string, v starlark.Value) error {
	has, ok := x.(starlark.HasSetField)
	if !ok {
		return fmt.Errorf("can't assign to .%s field of %s", name, x.Type())
	}
	err := has.SetField(name, v)
	if missing, ok := err.(starlark.NoSuchAttrError); ok {
		return spellAttr(string(missing), name, has)
	}
	return err
}

// indexAny is x[y] for all that index has no short cut for.
func (m *Machine) indexAny(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Mapping:
		v, found, err := x.Get(y)
		if err != nil {
			return nil, err
		}
		if !found {
			if err := m.printable(y); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("key %v not in %s", y, x.Type())
		}
		return v, nil
	case starlark.Indexable:
		n := x.Len()
		i, err := starlark.AsInt32(y)
		if err != nil {
			return nil, fmt.Errorf("%s index: %s", x.Type(), err)
		}
		at, err := inRange(i, n, x)
		if err != nil {
			return nil, err
		}
		return m.own(x.Index(at), x), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), y.Type())
}

// inRange turns an index that may count from the end into one that does not.
func inRange(i, n int, x starlark.Value) (int, error) {
	at := i
	if at < 0 {
		at += n
	}
	switch {
	case 0 <= at && at < n:
		return at, nil
	case n == 0:
		return 0, fmt.Errorf("index %d out of range: empty %s", i, x.Type())
	}
	return 0, fmt.Errorf("%s index %d out of range [%d:%d]", x.Type(), i, -n, n-1)
}

// setIndex is x[y] = v.
func setIndex(x, y, v starlark.Value) error {
	switch x := x.(type) {
	case starlark.HasSetKey:
		return x.SetKey(y, v)
	case starlark.HasSetIndex:
		i, err := starlark.AsInt32(y)
		if err != nil {
			return err
		}
		at, err := inRange(i, x.Len(), x)
		if err != nil {
			return err
		}
		return x.SetIndex(at, v)
	}
	return fmt.Errorf("%s value does not support item assignment", x.Type())
}

// slice is x[lo:hi:step]; None stands for what was left out.
func (m *Machine) slice(x, lo, hi, step starlark.Value) (starlark.Value, error) {
	s, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", x.Type())
	}
	stride := 1
	if step != starlark.None {
		var err error
		if stride, err = starlark.AsInt32(step); err != nil {
			return nil, fmt.Errorf("invalid slice step: %s", err)
		}
		if stride == 0 {
			return nil, errors.New("zero is not a valid slice step")
		}
	}
	start, end, err := bounds(lo, hi, s.Len(), stride)
	if err != nil {
		return nil, err
	}
	part := s.Slice(start, end, stride)
	if stride != 1 {
		m.work(starlark.Len(part) >> partShift)
	}
	if t, ok := part.(starlark.Tuple); ok {
		return slices.Clone(t), nil // go.starlark.net's would hold the whole tuple
	}
	return m.own(part, x), nil
}

// bounds computes the first index of a slice and the one that ends it. Going down, -1 is the end
// before the first element.
func bounds(lo, hi starlark.Value, n, stride int) (start, end int, err error) {
	least, most := 0, n
	start, end = 0, n
	if stride < 0 {
		least, most = -1, n-1
		start, end = n-1, -1
	}
	if err := sliceIndex(lo, n, &start); err != nil {
		return 0, 0, fmt.Errorf("invalid start index: %s", err)
	}
	if err := sliceIndex(hi, n, &end); err != nil {
		return 0, 0, fmt.Errorf("invalid end index: %s", err)
	}
	if stride > 0 {
		start = min(max(start, least), most)
		end = max(min(max(end, least), most), start)
		return start, end, nil
	}
	start = min(start, most)
	end = max(end, least)
	return max(start, end), end, nil
}

func sliceIndex(v starlark.Value, n int, result *int) error {
	if v == nil || v == starlark.None {
		return nil
	}
	i, err := starlark.AsInt32(v)
	if err != nil {
		return err
	}
	if i < 0 {
		i += n
	}
	*result = i
	return nil
}
