package vm

import (
	"reflect"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// permanentRef names a permanent value: the module whose load made it, and its number in the walk
// of that module.
type permanentRef struct{ module, number int }

// permanents are the values that pure load-time code made, numbered both ways. The walk starts at a
// module's globals in their order and takes children in theirs; what an earlier module owns is
// passed over. The same program gives the same numbers in every process.
type permanents struct {
	refs   map[any]permanentRef
	values [][]starlark.Value
	codecs []effect.Codec
	names  map[any]string            // builtins, natives and modules of the environment, to their stable names
	byName map[string]starlark.Value // and back
}

func newPermanents(env *effect.Environment) *permanents {
	p := &permanents{codecs: env.Codecs, refs: map[any]permanentRef{}, names: map[any]string{}, byName: map[string]starlark.Value{}}
	for _, name := range universe.Keys() {
		p.name(name, universe[name])
	}
	for _, name := range env.Names.Keys() {
		p.nameAll(name, env.Names[name])
	}
	p.name(isolatedName, isolatedNative)
	p.name("parallel tree", treeNative)
	for kind, table := range map[string]*methodTable{"list": &listMethods, "dict": &dictMethods, "string": &stringMethods} {
		for _, m := range table {
			if m != nil {
				p.name("method "+kind+"."+m.name, m) // the blank keeps it apart from what an environment can name
			}
		}
	}
	return p
}

// nameAll names a value and, of a module, its members.
func (p *permanents) nameAll(name string, v starlark.Value) {
	p.name(name, v)
	if mod, ok := v.(*starlarkstruct.Module); ok {
		for _, member := range mod.Members.Keys() {
			p.nameAll(name+"."+member, mod.Members[member])
		}
	}
}

// name gives a value a stable name. One that has a name keeps it: time.now may be now.
func (p *permanents) name(name string, v starlark.Value) {
	key := identity(v)
	if key == nil {
		return
	}
	p.byName[name] = v
	if _, known := p.names[key]; !known {
		p.names[key] = name
	}
}

// named finds a value by its stable name.
func (p *permanents) named(name string) (starlark.Value, bool) {
	v, ok := p.byName[name]
	return v, ok
}

// number walks the globals of one module that has been loaded and frozen.
func (p *permanents) number(module int, globals []starlark.Value) {
	for len(p.values) <= module {
		p.values = append(p.values, nil)
	}
	work := append([]starlark.Value(nil), globals...)
	for i := 0; i < len(work); i++ {
		v := work[i]
		key := identity(v)
		if key == nil || p.names[key] != "" {
			continue
		}
		if _, known := p.refs[key]; known {
			continue
		}
		p.refs[key] = permanentRef{module, len(p.values[module])}
		p.values[module] = append(p.values[module], v)
		work = p.hostParts(appendChildren(work, v), v)
	}
}

// tupleIdentity tells tuples apart: they share elements when they are the same.
type tupleIdentity struct {
	first  uintptr
	length int
}

// identity is a key under which a value that has an identity is found again, nil for values that
// are nothing but their contents. No value moves while it is referred to.
func identity(v starlark.Value) any {
	switch v := v.(type) {
	case nil, starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String, starlark.Bytes, forever:
		return nil
	case starlark.Tuple:
		if len(v) == 0 {
			return nil
		}
		return tupleIdentity{reflect.ValueOf(v).Pointer(), len(v)}
	case *starlark.List, *starlark.Dict, *starlark.Set, *cell, *Function, *starlark.Builtin, *effect.Builtin, *effect.Record, *Native:
		return v
	}
	if isRange(v) || viewKind(v) >= 0 || !reflect.ValueOf(v).Comparable() {
		return nil
	}
	return v // a pointer, or a host value that equals any other with its contents
}

// appendChildren appends the values that v refers to.
func appendChildren(work []starlark.Value, v starlark.Value) []starlark.Value {
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			work = append(work, v.Index(i))
		}
	case starlark.Tuple:
		work = append(work, v...)
	case *starlark.Dict:
		for k, e := range v.Entries() {
			work = append(work, k, e)
		}
	case *starlark.Set:
		for e := range v.Elements() {
			work = append(work, e)
		}
	case *cell:
		work = append(work, v.v)
	case *Function:
		work = append(work, v.defaults...)
		for _, c := range v.free {
			work = append(work, c)
		}
	case *effect.Record:
		work = append(work, v.Values()...)
	case *starlark.Builtin:
		work = append(work, v.Receiver())
	case *effect.Builtin:
		recv, _ := v.Receiver()
		work = append(work, recv)
	}
	return work
}

// hostParts appends the values that a host value is made of.
func (p *permanents) hostParts(work []starlark.Value, v starlark.Value) []starlark.Value {
	if i := codecOf(p.codecs, v); i >= 0 {
		if parts, err := p.codecs[i].Parts(v); err == nil {
			work = append(work, parts...)
		}
	}
	return work
}

// codecOf is the number of the codec for v, -1 if there is none.
func codecOf(codecs []effect.Codec, v starlark.Value) int {
	for i := range codecs {
		if codecs[i].Type == v.Type() {
			return i
		}
	}
	return -1
}

// isRange recognises ranges.
func isRange(v starlark.Value) bool { return reflect.TypeOf(v) == rangeType }

// views are the iterables that strings and bytes give out, by the method that makes them.
var views = []string{"elems", "elem_ords", "codepoints", "codepoint_ords"}

// viewKind is the index in views of the method that made v, -1 if v is no view.
func viewKind(v starlark.Value) int {
	kind := 0
	switch v.Type() {
	case "bytes.elems":
		return 0
	case "string.elems":
	case "string.codepoints":
		kind = 2
	default:
		return -1
	}
	if reflect.ValueOf(v).FieldByName("ords").Bool() {
		kind++
	}
	return kind
}

// viewSource is what a view looks at.
func viewSource(v starlark.Value) starlark.Value {
	r := reflect.ValueOf(v)
	if v.Type() == "bytes.elems" {
		return starlark.Bytes(r.FieldByName("bytes").String())
	}
	return starlark.String(r.FieldByName("s").String())
}
