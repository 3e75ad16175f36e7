package vm

import (
	"reflect"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// go.starlark.net freezes by recursion, through tuples as often as they are reached: (t, t) doubled
// forty times would take days, and a list nested ten million deep the whole stack. It is also all
// or nothing: what a frozen list refers to is frozen with it, when a snapshot has to say it of each
// object. So this file sets the flags itself, which lock.go finds by name.

// setFrozen freezes a list, a dict or a set, and nothing that it refers to. Other values have no
// flag.
func setFrozen(v starlark.Value) {
	var flag reflect.Value
	switch v := v.(type) {
	case *starlark.List:
		flag = reflect.ValueOf(v).Elem().Field(listFrozen)
	case *starlark.Dict:
		flag = reflect.ValueOf(v).Elem().Field(dictTable).Field(tableFrozen)
	case *starlark.Set:
		flag = reflect.ValueOf(v).Elem().Field(setTable).Field(tableFrozen)
	default:
		return
	}
	if !flag.Bool() { // what is frozen may be read by others
		*(*bool)(unsafe.Pointer(flag.UnsafeAddr())) = true
	}
}

// freeze makes all that is reachable from the values immutable, each object once and with a list
// instead of recursion. What earlier modules own is so already. Host values freeze themselves, when
// the lists in them have been.
func (p *permanents) freeze(values []starlark.Value) {
	work := append([]starlark.Value(nil), values...)
	seen := make(map[any]bool)
	var hosts []starlark.Value
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if key := identity(v); key != nil {
			if _, owned := p.refs[key]; owned || seen[key] || p.names[key] != "" {
				continue
			}
			seen[key] = true
		}
		switch v := v.(type) {
		case nil, starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String, starlark.Bytes:
		case *starlark.List, *starlark.Dict, *starlark.Set, starlark.Tuple, *Function, *effect.Record, *starlark.Builtin, *effect.Builtin:
			setFrozen(v)
			work = appendChildren(work, v)
		case *cell:
			v.frozen = true
			work = append(work, v.v)
		case *starlarkstruct.Struct:
			work = append(work, printedParts(v)...)
		default:
			hosts = append(hosts, v)
			work = p.hostParts(work, v)
		}
	}
	for _, v := range hosts {
		v.Freeze()
	}
}
