package contract

import (
	"slices"

	"go.starlark.net/starlark"
)

// A Schema is a contract as JSON Schema, draft 2020-12, in one profile.
//
// In the profile Validate it admits the JSON form of exactly the values that the contract admits, up to what JSON Schema
// has no words for: the longest duration, the calendar behind a timestamp (stated as a format, which many validators
// take for a comment) and the depth of a value. A default is stated and, as always in JSON Schema, not applied.
//
// In the profile Strict every value that the contract admits, made complete with nulls, is admitted, and more: lengths,
// ranges, patterns and formats are left out, and checked on arrival. Check such an answer with CheckAs(Strict, …).
type Schema struct {
	// Root is the schema; it belongs to the caller.
	Root *starlark.Dict

	// Dropped lists what Strict leaves out, such as "findings[].id: pattern"; a name in front is that of a definition.
	Dropped []string

	// Unfit lists where Strict cannot state even the shape, such as "labels: map": any, maps, open records, a type that
	// is no record. Model APIs refuse such a schema; use Validate in a prompt instead.
	Unfit []string
}

// JSON is the text of the schema on one line. The same contract and profile always give the same bytes.
func (s Schema) JSON() []byte {
	text, err := ToJSON(s.Root)
	if err != nil {
		panic(err) // it is made of plain values
	}
	return text
}

// Schema writes the contract as JSON Schema.
func (c *Contract) Schema(p Profile) Schema {
	w := &schemaWriter{profile: p, used: map[*named]bool{}}
	root := new(starlark.Dict)
	if p == Validate {
		put(root, "$schema", starlark.String("https://json-schema.org/draft/2020-12/schema"))
	}
	top := resolved(c.root)
	if _, ok := top.(*recordType); !ok && p == Strict {
		w.unfit("", "not a record")
	}
	for k, v := range top.schema(w, "").Entries() {
		put(root, string(k.(starlark.String)), v)
	}
	if defs := w.definitions(c.definitions); defs.Len() > 0 {
		put(root, "$defs", defs)
	}
	return Schema{root, w.dropped, w.unfits}
}

type schemaWriter struct {
	profile Profile
	used    map[*named]bool
	dropped []string
	unfits  []string
}

// definitions writes the names that are used, and those that these use, in the order of the contract.
func (w *schemaWriter) definitions(all []*named) *starlark.Dict {
	written := map[*named]starlark.Value{}
	for grown := true; grown; {
		grown = false
		for _, n := range all {
			if w.used[n] && written[n] == nil {
				written[n], grown = n.target.schema(w, n.name), true
			}
		}
	}
	defs := new(starlark.Dict)
	for _, n := range all {
		if written[n] != nil {
			put(defs, n.name, written[n])
		}
	}
	return defs
}

// constraint sets a keyword that Strict does without.
func (w *schemaWriter) constraint(s *starlark.Dict, path, keyword string, v starlark.Value) {
	if w.profile == Strict {
		w.dropped = append(w.dropped, placeLabel(path)+keyword)
		return
	}
	put(s, keyword, v)
}

func (w *schemaWriter) unfit(path, what string) {
	if w.profile == Strict {
		w.unfits = append(w.unfits, placeLabel(path)+what)
	}
}

func placeLabel(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// bounds sets the two keywords of a range.
func (w *schemaWriter) bounds(s *starlark.Dict, path string, l limits, low, high string) {
	if l.low != nil {
		w.constraint(s, path, low, l.low)
	}
	if l.high != nil {
		w.constraint(s, path, high, l.high)
	}
}

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

func memberPath(path, name string) string {
	if name != "*" {
		name = keyStep(name)
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

// nullable makes a schema that does not admit null admit it, in the shortest way that its form allows.
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
