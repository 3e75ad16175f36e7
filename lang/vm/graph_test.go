package vm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// drawGraph writes down variables and all that they reach: values, which of them are one and the
// same, and which of them are frozen or still locked by a loop.
//
//	x = #1 list [1, #2 dict frozen {"a": #1}]
func drawGraph(globals starlark.StringDict) string {
	d := grapher{ids: make(map[any]int)}
	for _, name := range slices.Sorted(maps.Keys(globals)) {
		d.text.WriteString(name + " = ")
		d.value(globals[name], 0)
		d.text.WriteString("\n")
	}
	return d.text.String()
}

type grapher struct {
	text strings.Builder
	ids  map[any]int // by pointer
}

// deepest is how far drawGraph looks into values.
const deepest = 100

func (d *grapher) value(v starlark.Value, depth int) {
	if depth > deepest {
		d.text.WriteString("deep")
		return
	}
	switch v := v.(type) {
	case *starlark.List, *starlark.Dict, *starlark.Set, *hasFields, *starlarkstruct.Struct, starlark.Callable:
		id, known := d.ids[v]
		if !known {
			id = len(d.ids) + 1
			d.ids[v] = id
		}
		fmt.Fprintf(&d.text, "#%d", id)
		if !known {
			d.object(v, depth)
		}
	case starlark.Tuple:
		d.elements("(", v, ")", depth)
	default:
		d.text.WriteString(v.Type() + " " + v.String())
	}
}

// object writes a value that has an identity.
func (d *grapher) object(v starlark.Value, depth int) {
	fmt.Fprintf(&d.text, " %s%s ", v.Type(), state(v))
	switch v := v.(type) {
	case *starlark.List:
		d.elements("[", slices.Collect(v.Elements()), "]", depth)
	case *starlark.Set:
		d.elements("{", slices.Collect(v.Elements()), "}", depth)
	case *starlark.Dict:
		var items []starlark.Value
		for _, item := range v.Items() {
			items = append(items, item[0], item[1])
		}
		d.elements("{", items, "}", depth)
	case *hasFields:
		d.fields(v, depth)
	case *starlarkstruct.Struct:
		d.fields(v, depth)
	default:
		d.text.WriteString(v.String())
	}
}

func (d *grapher) elements(open string, elems []starlark.Value, end string, depth int) {
	d.text.WriteString(open)
	for i, v := range elems {
		if i > 0 {
			d.text.WriteString(", ")
		}
		d.value(v, depth+1)
	}
	d.text.WriteString(end)
}

func (d *grapher) fields(v starlark.HasAttrs, depth int) {
	for _, name := range v.AttrNames() {
		d.text.WriteString("." + name + " ")
		field, _ := v.Attr(name)
		d.value(field, depth+1)
	}
}

// state tells whether a value is frozen or locked, by a change that changes nothing.
func state(v starlark.Value) string {
	var err error
	switch v := v.(type) {
	case *starlark.List:
		if v.Len() == 0 {
			err = v.Clear()
		} else {
			err = v.SetIndex(0, v.Index(0))
		}
	case *starlark.Dict:
		if v.Len() == 0 {
			err = v.Clear()
		} else {
			item := v.Items()[0]
			err = v.SetKey(item[0], item[1])
		}
	case *starlark.Set:
		if v.Len() == 0 {
			err = v.Clear()
		} else {
			err = v.Insert(slices.Collect(v.Elements())[0])
		}
	case *hasFields:
		if v.frozen {
			return " frozen"
		}
	}
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "frozen"):
		return " frozen"
	}
	return " locked"
}
