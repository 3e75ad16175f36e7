package contract

import (
	"slices"

	"go.starlark.net/starlark"
)

// What each type is in JSON Schema. The keywords come in a fixed order, type first, and a schema is
// as short as its type allows: an enumeration of literals is one enum, T? is a list of types where
// T has one.

// typed is a schema that has a type so far.
func typed(name string) *starlark.Dict {
	s := new(starlark.Dict)
	put(s, "type", starlark.String(name))
	return s
}

func (anyType) schema(w *schemaWriter, path string) *starlark.Dict {
	w.unfit(path, "any")
	return new(starlark.Dict)
}

func (nullType) schema(*schemaWriter, string) *starlark.Dict { return typed("null") }
func (boolType) schema(*schemaWriter, string) *starlark.Dict { return typed("boolean") }

func (t *numberType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := typed("number")
	if t.whole {
		s = typed("integer")
	}
	w.bounds(s, path, t.limits, "minimum", "maximum")
	return s
}

func (t *stringType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := typed("string")
	w.bounds(s, path, t.limits, "minLength", "maxLength")
	return s
}

// A format says its pattern as well: validators may take "format" for a comment.
func (t *formatType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := typed("string")
	if t.keyword != "" {
		w.constraint(s, path, "format", starlark.String(t.keyword))
	}
	w.constraint(s, path, "pattern", starlark.String("^"+t.source+"$"))
	return s
}

func (t *patternType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := typed("string")
	w.constraint(s, path, "pattern", starlark.String(ecmaPattern(t.source)))
	return s
}

func (t *literalType) schema(*schemaWriter, string) *starlark.Dict {
	s := typed(jsonTypeOf(t.value))
	put(s, "const", t.value)
	return s
}

func (t *listType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := typed("array")
	put(s, "items", t.elem.schema(w, path+"[]"))
	w.bounds(s, path, t.limits, "minItems", "maxItems")
	return s
}

func (t *mapType) schema(w *schemaWriter, path string) *starlark.Dict {
	w.unfit(path, "map")
	s := typed("object")
	put(s, "additionalProperties", t.elem.schema(w, path+"{}"))
	return s
}

func (t *recordType) schema(w *schemaWriter, path string) *starlark.Dict {
	properties := new(starlark.Dict)
	var required []starlark.Value
	for _, m := range t.members {
		put(properties, m.name, m.schema(w, path))
		if m.required() || w.profile == Strict {
			required = append(required, starlark.String(m.name))
		}
	}
	s := typed("object")
	put(s, "properties", properties)
	if len(required) > 0 {
		put(s, "required", starlark.NewList(required))
	}
	put(s, "additionalProperties", t.restSchema(w, path))
	return s
}

// restSchema is the value of additionalProperties. Strict admits none, whatever the contract says.
func (t *recordType) restSchema(w *schemaWriter, path string) starlark.Value {
	if t.rest == nil {
		return starlark.False
	}
	w.unfit(path, "open record")
	if w.profile == Strict {
		return starlark.False
	}
	if _, ok := resolved(t.rest).(anyType); ok {
		return starlark.True
	}
	return t.rest.schema(w, memberPath(path, "*"))
}

// memberPath is the path of a field, as violations write it; "*" stands for those that are not
// declared.
func memberPath(path, name string) string {
	if name != "*" {
		name = KeyStep(name)
	}
	if path == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}

func (m *member) schema(w *schemaWriter, path string) *starlark.Dict {
	path = memberPath(path, m.name)
	s := m.typ.schema(w, path)
	if m.optional && w.profile == Strict && !admitsNull(m.typ) {
		s = nullable(s)
	}
	if m.written != nil {
		w.constraint(s, path, "default", m.written)
	}
	return s
}

func (t *unionType) schema(w *schemaWriter, path string) *starlark.Dict {
	if s, ok := enumeration(t.branches); ok {
		return s
	}
	var any []starlark.Value
	for _, b := range t.branches {
		any = append(any, b.schema(w, path))
	}
	s := new(starlark.Dict)
	put(s, "anyOf", starlark.NewList(any))
	return s
}

// enumeration is the schema of a union of nothing but literals and null.
func enumeration(branches []typ) (*starlark.Dict, bool) {
	var values, types []starlark.Value
	for _, b := range branches {
		var v starlark.Value = starlark.None
		switch b := b.(type) {
		case nullType:
		case *literalType:
			v = b.value
		default:
			return nil, false
		}
		values = append(values, v)
		if name := starlark.Value(starlark.String(jsonTypeOf(v))); !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	s := new(starlark.Dict)
	put(s, "type", starlark.NewList(types))
	if len(types) == 1 {
		put(s, "type", types[0])
	}
	put(s, "enum", starlark.NewList(values))
	return s, true
}

// jsonTypeOf is the type keyword for a literal.
func jsonTypeOf(v starlark.Value) string {
	switch v.(type) {
	case starlark.String:
		return "string"
	case starlark.Bool:
		return "boolean"
	case starlark.NoneType:
		return "null"
	}
	return "number"
}

func (t *optionalType) schema(w *schemaWriter, path string) *starlark.Dict {
	s := t.inner.schema(w, path)
	if admitsNull(t.inner) {
		return s
	}
	return nullable(s)
}

func (t *refType) schema(w *schemaWriter, _ string) *starlark.Dict {
	w.used[t.named] = true
	s := new(starlark.Dict)
	put(s, "$ref", starlark.String("#/$defs/"+t.name))
	return s
}

// nullable makes a schema that does not admit null admit it, in the shortest way that its form
// allows.
func nullable(s *starlark.Dict) *starlark.Dict {
	null := starlark.String("null")
	_, isConst, _ := s.Get(starlark.String("const"))
	switch name, _, _ := s.Get(starlark.String("type")); name := name.(type) {
	case starlark.String:
		if isConst {
			break
		}
		put(s, "type", starlark.NewList([]starlark.Value{name, null}))
		return nullableEnum(s)
	case *starlark.List:
		put(s, "type", starlark.NewList(append(elements(name), null)))
		return nullableEnum(s)
	}
	choices := []starlark.Value{s}
	if any, ok, _ := s.Get(starlark.String("anyOf")); ok {
		choices = elements(any)
	}
	wide := new(starlark.Dict)
	put(wide, "anyOf", starlark.NewList(append(choices, typed("null"))))
	return wide
}

func nullableEnum(s *starlark.Dict) *starlark.Dict {
	if enum, ok, _ := s.Get(starlark.String("enum")); ok {
		put(s, "enum", starlark.NewList(append(elements(enum), starlark.None)))
	}
	return s
}

func elements(list starlark.Value) []starlark.Value {
	l := list.(*starlark.List)
	all := make([]starlark.Value, 0, l.Len()+1)
	for i := range l.Len() {
		all = append(all, l.Index(i))
	}
	return all
}
