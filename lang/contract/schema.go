package contract

import "go.starlark.net/starlark"

// A Schema is a contract as JSON Schema, draft 2020-12, in one profile.
//
// In the profile Validate it admits the JSON form of exactly the values that the contract admits,
// up to what JSON Schema has no words for: the longest duration, the calendar behind a timestamp
// (stated as a format, which many validators take for a comment) and the depth of a value. A
// default is stated and, as always in JSON Schema, not applied.
//
// In the profile Strict every value that the contract admits, made complete with nulls, is
// admitted, and more: lengths, ranges, patterns and formats are left out, and checked on arrival.
// Check such an answer with CheckAs(Strict, …).
type Schema struct {
	// Root is the schema; it belongs to the caller.
	Root *starlark.Dict

	// Dropped lists what Strict leaves out, such as "findings[].id: pattern"; a name in front is
	// that of a definition.
	Dropped []string

	// Unfit lists where Strict cannot state even the shape, such as "labels: map": any, maps, open
	// records, a type that is no record. Model APIs refuse such a schema; use Validate in a prompt
	// instead.
	Unfit []string
}

// JSON is the text of the schema on one line. The same contract and profile always give the same
// bytes.
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

// definitions writes the names that are used, and those that these use, in the order of the
// contract.
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

// unfit notes a place whose very shape Strict cannot state.
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
