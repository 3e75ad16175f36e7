package contract

import "go.starlark.net/starlark"

// WithoutNulls is a value that was made for the schema of [Strict], without the nulls that stand
// there for the absence of a name? key. The value need not meet the contract otherwise; what has
// another shape stays as it is. Below a union only a value that meets one of its types is looked
// into.
func (c *Contract) WithoutNulls(v starlark.Value) starlark.Value {
	return withoutNulls(c.root, v, 0)
}

func withoutNulls(t typ, v starlark.Value, depth int) starlark.Value {
	if depth > MaxDepth {
		return v
	}
	switch t := resolved(t).(type) {
	case *listType:
		if list, ok := v.(*starlark.List); ok {
			elems := make([]starlark.Value, list.Len())
			for i := range elems {
				elems[i] = withoutNulls(t.elem, list.Index(i), depth+1)
			}
			return starlark.NewList(elems)
		}
	case *recordType:
		if d, ok := v.(*starlark.Dict); ok {
			return recordWithoutNulls(t, d, depth)
		}
	case *optionalType:
		return withoutNulls(t.inner, v, depth+1)
	case *unionType:
		for _, leaf := range t.leaves {
			if checked, bad := leaf.check(newChecker(Strict, Agents), v); bad.none() {
				return checked
			}
		}
	}
	return v
}

func recordWithoutNulls(t *recordType, d *starlark.Dict, depth int) *starlark.Dict {
	out := starlark.NewDict(d.Len())
	for k, v := range d.Entries() {
		name, _ := starlark.AsString(k)
		m := t.index[name]
		if m != nil && v == starlark.None && m.optional && !admitsNull(m.typ) {
			continue
		}
		if m != nil {
			v = withoutNulls(m.typ, v, depth+1)
		}
		_ = out.SetKey(k, v) // a key of a dict is hashable
	}
	return out
}
