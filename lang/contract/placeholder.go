package contract

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// Agents that are told again and again what their reply must be send, in the end, one that has the
// form and says nothing: {"summary": "N/A"}. Where text stands in for text can be known only of
// free text, and it matters only where the contract left no other way out: what may be absent, null
// or a literal was somebody's choice.

// The words that stand for a text that somebody was still to write. They are compared whole, in
// lower case, without the brackets, quotes and dots around them. What may as well be an answer
// ("none", "unknown", "string") is not one of them.
var placeholders = []string{"n/a", "n.a", "todo", "tbd", "tba", "tbc", "fixme", "xxx", "placeholder", "placeholder text", "placeholder value", "to be determined", "to be decided",
	"to be done", "to be added", "to be filled in", "fill in", "fill me in", "your text here", "insert text here", "text goes here"}

// Fields whose text may well be their own name: a table has a column that is called name.
var namesOfNames = []string{"name", "id", "key", "field", "column", "word"}

// Placeholders lists where v, a value that [Contract.Check] gave, meets the contract by a
// placeholder only: a required field of free text (string, with or without a length) that holds one
// of
//
//	N/A  TODO  TBD  TBA  TBC  FIXME  XXX  placeholder  to be determined …    in any case, within brackets, quotes or dots
//	lorem ipsum …
//	...  …  ---  ???                                                          nothing but three dots or more, dashes, underscores, question marks
//	the name of the field                                                     {"summary": "summary"}, <summary>
//
// A list or map of texts counts when all of them are placeholders. Text that is optional, nullable
// or has a default could have been left out, and does not count; no more does what has a form of
// its own: literals, patterns, formats. An empty text is no placeholder, as string(1..) forbids it.
func (c *Contract) Placeholders(v starlark.Value) Violations {
	var found problems
	found.add("", placeholdersIn(c.root, v, ""))
	return found.violations()
}

// placeholdersIn looks at a value that was checked against t; field is the name that it has.
func placeholdersIn(t typ, v starlark.Value, field string) (found problems) {
	switch t := resolved(t).(type) {
	case *stringType:
		if s, ok := v.(starlark.String); ok && isPlaceholder(string(s), field) {
			return problem(describe(v), "an answer, not a placeholder", "")
		}
	case *listType:
		if list, ok := v.(*starlark.List); ok {
			return placeholdersAmong(list.Len(), func(i int) (starlark.Value, string) { return list.Index(i), indexStep(i) }, t.elem, field)
		}
	case *mapType:
		if d, ok := v.(*starlark.Dict); ok {
			items := d.Items()
			return placeholdersAmong(len(items), func(i int) (starlark.Value, string) {
				return items[i][1], KeyStep(string(items[i][0].(starlark.String)))
			}, t.elem, field)
		}
	case *recordType:
		if d, ok := v.(*starlark.Dict); ok {
			return placeholdersOf(t, d)
		}
	case *unionType:
		if leaf := t.meant(v); leaf != nil {
			return placeholdersIn(leaf, v, field)
		}
	}
	return found
}

// placeholdersOf looks at the fields of a record that it had to have.
func placeholdersOf(t *recordType, d *starlark.Dict) (found problems) {
	for _, m := range t.members {
		if v, had, _ := d.Get(m.key); had && m.required() && !admitsNull(m.typ) { // a string is hashable: no error
			found.add(KeyStep(m.name), placeholdersIn(m.typ, v, m.name))
		}
	}
	return found
}

// placeholdersAmong looks at n elements. Of texts a single one that says something is enough.
func placeholdersAmong(n int, at func(i int) (starlark.Value, string), elem typ, field string) (found problems) {
	empty := 0
	for i := range n {
		v, step := at(i)
		wrong := placeholdersIn(elem, v, field)
		if !wrong.none() {
			empty++
		}
		found.add(step, wrong)
	}
	if _, text := resolved(elem).(*stringType); text && empty < n {
		return problems{}
	}
	return found
}

// meant is the branch that a value was written for; nil for one that says that there is nothing to
// say: a literal, or a union that admits null.
func (t *unionType) meant(v starlark.Value) typ {
	if admitsNull(t) || admitsLiteral(t.leaves, v) {
		return nil
	}
	for _, leaf := range t.leaves {
		if _, bad := leaf.check(newChecker(Validate, Agents), v); bad.none() {
			return leaf
		}
	}
	return nil
}

func isPlaceholder(text, field string) bool {
	s := strings.ToLower(strings.TrimSpace(text))
	if s == "" {
		return false
	}
	if strings.Trim(s, "-–—_?") == "" {
		return true
	}
	if dots := strings.ReplaceAll(s, "…", "..."); strings.Trim(dots, ".") == "" {
		return len(dots) >= 3 // one is a folder, and two are its parent
	}
	s = strings.Trim(s, ".…<>[](){}\"'`* \t\n")
	if slices.Contains(placeholders, s) || strings.HasPrefix(s, "lorem ipsum") {
		return true
	}
	said := func(s string) string {
		return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
	}
	return field != "" && !slices.Contains(namesOfNames, strings.ToLower(field)) && said(s) == said(field)
}
