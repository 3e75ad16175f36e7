package contract

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// A union tries its leaves in turn, and that is all there is to it, were it not for types such as
//
//	type T = {a: T?} | {a: T?, b: int?}
//
// A value of depth n that fits neither branch at its bottom would be looked into twice at the top,
// four times one level down, and so on. So what a union found for a container is remembered, by
// identity and depth. Of a fit only the branch is kept, not the value: had a shared part been
// checked once and used twice, the new value would be one that shares.

// A visit is one union meeting one container at one depth.
type visit struct {
	union *unionType
	value starlark.Value
	depth int
}

// A verdict is what came of it: the branch that fits, or the problems.
type verdict struct {
	branch typ
	bad    problems
}

// check tries the branches in turn. What it finds for a container is remembered: two branches that
// share a recursive part would otherwise double the work at every level.
func (t *unionType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	key := visit{union: t, depth: c.depth}
	switch v.(type) {
	case *starlark.List, *starlark.Dict:
		key.value = v
		if known, ok := c.unions[key]; ok && known.branch == nil {
			return nil, known.bad
		} else if ok {
			return known.branch.check(c, v)
		}
	}
	checked, found := t.try(c, v)
	if key.value != nil {
		if c.unions == nil {
			c.unions = map[visit]verdict{}
		}
		c.unions[key] = found
	}
	return checked, found.bad
}

// try checks against each leaf until one fits.
func (t *unionType) try(c *checker, v starlark.Value) (starlark.Value, verdict) {
	attempts := make([]problems, len(t.leaves))
	for i, leaf := range t.leaves {
		if l, ok := leaf.(*literalType); ok && !l.admits(v) {
			continue // explain has no need of what is wrong with one literal
		}
		checked, bad := leaf.check(c, v)
		if bad.none() {
			return checked, verdict{branch: leaf}
		}
		attempts[i] = bad
	}
	return nil, verdict{bad: t.explain(v, attempts)}
}

// When no branch of a union fits, listing what is wrong with each of them helps nobody. explain
// looks for the branch that was meant:
//
//   - when all branches are literals, the answer is the list of them, and which one is spelled nearly so;
//   - when records are told apart by a literal under a common key, the value's own literal says which record was meant,
//     or else is itself what is wrong;
//   - when only one branch is of the kind of the value (a list, a dict), that one was meant, and so is the only branch
//     besides null.
//
// Otherwise the message names all branches.

func (t *unionType) explain(v starlark.Value, attempts []problems) problems {
	if words, ok := literals(t.leaves); ok {
		return problem(describe(v), oneOf(words), misspelled(v, t.leaves))
	}
	if d, ok := v.(*starlark.Dict); ok {
		if bad, ok := t.byDiscriminator(d, attempts); ok {
			return bad
		}
	}
	if i, ok := t.only(func(leaf typ) bool { return leaf != nullType{} }); ok {
		return attempts[i]
	}
	if isContainer(v) {
		if i, ok := t.only(func(leaf typ) bool { return holds(leaf, v) }); ok {
			return attempts[i]
		}
	}
	return problem(describe(v), brief(t), misspelled(v, t.leaves))
}

// only finds the one leaf that has a property.
func (t *unionType) only(has func(typ) bool) (int, bool) {
	found, n := 0, 0
	for i, leaf := range t.leaves {
		if has(leaf) {
			found, n = i, n+1
		}
	}
	return found, n == 1
}

func isContainer(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict:
		return true
	}
	return false
}

// holds says whether a type is of the kind of a container.
func holds(t typ, v starlark.Value) bool {
	switch t.(type) {
	case *listType:
		_, isDict := v.(*starlark.Dict)
		return !isDict
	case *mapType, *recordType:
		_, isDict := v.(*starlark.Dict)
		return isDict
	}
	return false
}

// byDiscriminator explains by a key under which every record of the union (there are at least two)
// requires literals.
func (t *unionType) byDiscriminator(d *starlark.Dict, attempts []problems) (problems, bool) {
	key := t.discriminator()
	if key == "" {
		return problems{}, false
	}
	v, found, _ := d.Get(starlark.String(key)) // a string is hashable: no error
	var all []typ
	var meant problems
	for i, leaf := range t.leaves {
		record, ok := leaf.(*recordType)
		if !ok {
			continue
		}
		choices := alternatives(record.index[key].typ)
		all = append(all, choices...)
		if found && admitsLiteral(choices, v) && (meant.none() || attempts[i].count < meant.count) {
			meant = attempts[i]
		}
	}
	if !meant.none() {
		return meant, true
	}
	words, _ := literals(all)
	got, hint := "nothing", ""
	if found {
		got, hint = describe(v), misspelled(v, all)
	}
	var bad problems
	bad.add(KeyStep(key), problem(got, oneOf(words), hint))
	return bad, true
}

// discriminator is the first key under which all records require literals; empty if there is none,
// or one record only.
func (t *unionType) discriminator() string {
	var records []*recordType
	for _, leaf := range t.leaves {
		if r, ok := leaf.(*recordType); ok {
			records = append(records, r)
		}
	}
	if len(records) < 2 {
		return ""
	}
	for _, m := range records[0].members {
		if allDiscriminate(records, m.name) {
			return m.name
		}
	}
	return ""
}

func allDiscriminate(records []*recordType, key string) bool {
	for _, r := range records {
		m := r.index[key]
		if m == nil || !m.required() {
			return false
		}
		if _, ok := literals(alternatives(m.typ)); !ok {
			return false
		}
	}
	return true
}

func admitsLiteral(choices []typ, v starlark.Value) bool {
	for _, choice := range choices {
		if l, ok := choice.(*literalType); ok && l.admits(v) {
			return true
		}
	}
	return false
}

// literals gives the words for types that are all literals or null, and whether they are. A word is
// without quotes where that cannot be misread.
func literals(types []typ) (words []string, ok bool) {
	for _, t := range types {
		switch t := t.(type) {
		case nullType:
			words = append(words, "null")
		case *literalType:
			words = append(words, literalWord(t.value))
		default:
			return nil, false
		}
	}
	return words, true
}

// literalWord is one literal in a list of them.
func literalWord(v starlark.Value) string {
	s, ok := v.(starlark.String)
	if !ok {
		return describe(v)
	}
	text := string(s)
	_, err := strconv.ParseFloat(text, 64)
	plain := strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
	if text == "" || !plain || err == nil || text == "true" || text == "false" || text == "null" {
		return quote(text)
	}
	return text
}

// oneOf lists words: "one of A, B, C", up to twenty of them.
func oneOf(words []string) string {
	const shown = 20
	if len(words) == 1 {
		return words[0]
	}
	if len(words) > shown {
		rest := len(words) - shown
		words = append(words[:shown:shown], "… ("+strconv.Itoa(rest)+" more)")
	}
	return "one of " + strings.Join(words, ", ")
}

// misspelled suggests the literal string that a string is spelled like.
func misspelled(v starlark.Value, among []typ) string {
	s, ok := v.(starlark.String)
	if !ok {
		return ""
	}
	var texts []string
	for _, t := range among {
		if l, ok := t.(*literalType); ok {
			if text, ok := l.value.(starlark.String); ok {
				texts = append(texts, string(text))
			}
		}
	}
	return diagnostic.DidYouMean(string(s), texts)
}
