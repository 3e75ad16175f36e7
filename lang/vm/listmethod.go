package vm

import (
	"errors"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// The direct methods of lists and dicts. Each returns nil for anything unusual, an error included,
// before it has changed anything: the builtin then does the call again and finds the words.

func listAppend(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 || recv.(*starlark.List).Append(args[0]) != nil {
		return nil
	}
	m.charge(m.sizes.element)
	return starlark.None
}

func listExtend(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	list := recv.(*starlark.List)
	if len(args) != 1 || listMutable(list) != nil {
		return nil
	}
	other, ok := args[0].(*starlark.List)
	if !ok || extend(list, other) != nil {
		return nil
	}
	m.work(other.Len() >> elementShift)
	m.charge(m.sizes.element * other.Len())
	return starlark.None
}

func listIndex(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	list := recv.(*starlark.List)
	m.fuel -= int64(list.Len()) >> elementShift
	for i := range list.Len() {
		if same, err := m.equal(list.Index(i), args[0]); err != nil {
			if limit := (*effect.Error)(nil); errors.As(err, &limit) {
				m.refused = err
			}
			return nil
		} else if same {
			return starlark.MakeInt(i)
		}
	}
	return nil
}

func dictGet(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) == 0 || len(args) > 2 {
		return nil
	}
	v, found, err := m.find(recv.(*starlark.Dict), args[0])
	switch {
	case err != nil:
		return nil
	case found:
		return v
	case len(args) == 2:
		return args[1]
	}
	return starlark.None
}

func dictSetDefault(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) == 0 || len(args) > 2 {
		return nil
	}
	dict := recv.(*starlark.Dict)
	v, found, err := m.find(dict, args[0])
	if err != nil {
		return nil
	}
	if !found {
		v = starlark.None
		if len(args) == 2 {
			v = args[1]
		}
		if dict.SetKey(args[0], v) != nil {
			return nil
		}
		m.charge(m.sizes.entry)
	}
	return v
}

func dictPop(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) == 0 || len(args) > 2 {
		return nil
	}
	if _, _, err := m.find(recv.(*starlark.Dict), args[0]); err != nil {
		return nil
	}
	v, found, err := recv.(*starlark.Dict).Delete(args[0])
	switch {
	case err != nil:
		return nil
	case found:
		return v
	case len(args) == 2:
		return args[1]
	}
	return nil
}

func dictKeys(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	keys := recv.(*starlark.Dict).Keys()
	m.work(len(keys) >> partShift)
	m.charge(m.sizes.list + m.sizes.element*len(keys))
	return starlark.NewList(keys)
}

func dictValues(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	dict := recv.(*starlark.Dict)
	m.work(dict.Len() >> partShift)
	values := make([]starlark.Value, 0, dict.Len())
	for _, v := range dict.Entries() {
		values = append(values, v)
	}
	m.charge(m.sizes.list + m.sizes.element*len(values))
	return starlark.NewList(values)
}

// dictItems makes each pair in a piece of memory of its own: who keeps one keeps no others.
func dictItems(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	dict := recv.(*starlark.Dict)
	m.work(dict.Len())
	items := make([]starlark.Value, 0, dict.Len())
	for k, v := range dict.Entries() {
		items = append(items, starlark.Tuple{k, v})
	}
	m.charge(m.sizes.list + (m.sizes.element+2*m.sizes.value+m.sizes.tuple)*len(items))
	return starlark.NewList(items)
}
