package contract

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// A wrong length is said before what is wrong with the items, which are checked all the same.
func (t *listType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
	default:
		return nil, problem(describe(v), brief(t), "")
	}
	list := v.(starlark.Indexable)
	checked, bad := c.elementsOf(list, t.elem, MaxDepth)
	if n := list.Len(); !t.limits.holdCount(n) {
		count := problem(fmt.Sprintf("a list of length %d", n), t.limits.length(), "")
		count.add("", bad)
		return nil, count
	}
	return checked, bad
}

// elementsOf makes a list of the elements of v, each checked.
func (c *checker) elementsOf(v starlark.Indexable, elem typ, limit int) (starlark.Value, problems) {
	if bad := c.enter(v, limit); !bad.none() {
		return nil, bad
	}
	defer c.exit(v)
	var bad problems
	elems := make([]starlark.Value, 0, v.Len())
	for i := range v.Len() {
		if c.spend() {
			return nil, tooLarge()
		}
		e, wrong := elem.check(c, v.Index(i))
		if !wrong.none() {
			bad.add(indexStep(i), wrong)
		}
		elems = append(elems, e)
	}
	return starlark.NewList(elems), bad
}

func (t *mapType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, problem(describe(v), brief(t), "")
	}
	return c.entriesOf(d, t.elem, MaxDepth)
}

// entriesOf makes a dict of the entries of d, each value checked.
func (c *checker) entriesOf(d *starlark.Dict, elem typ, limit int) (starlark.Value, problems) {
	if bad := c.enter(d, limit); !bad.none() {
		return nil, bad
	}
	defer c.exit(d)
	out := starlark.NewDict(d.Len())
	var bad problems
	for k, v := range d.Entries() {
		if c.spend() {
			return nil, tooLarge()
		}
		name, wrong := keyOf(k)
		if !wrong.none() {
			bad.add("", wrong)
			continue
		}
		v, wrong := elem.check(c, v)
		if !wrong.none() {
			bad.add(KeyStep(name), wrong)
			continue
		}
		set(out, k, v)
	}
	return out, bad
}

// keyOf is the text of a key.
func keyOf(k starlark.Value) (string, problems) {
	s, ok := k.(starlark.String)
	if !ok {
		return "", problem("the key "+shorten(k.String(), 40), "keys that are strings", "")
	}
	if !utf8.ValidString(string(s)) {
		return "", notText("keys that are text")
	}
	return string(s), problems{}
}

// The members come first, in their order; what the value has besides is looked at only when it has
// more keys than were found.
func (t *recordType) check(c *checker, v starlark.Value) (starlark.Value, problems) {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, problem(describe(v), brief(t), "")
	}
	if bad := c.enter(d, MaxDepth); !bad.none() {
		return nil, bad
	}
	defer c.exit(d)
	out := starlark.NewDict(len(t.members))
	var bad problems
	found := 0
	for _, m := range t.members {
		if c.spend() {
			return nil, tooLarge()
		}
		had, wrong := c.member(out, m, d)
		if !wrong.none() {
			bad.add(KeyStep(m.name), wrong)
		}
		if had {
			found++
		}
	}
	if found < d.Len() {
		bad.add("", c.extras(out, t, d))
	}
	return out, bad
}

// member puts the field m of the record d into out, and says whether d has it.
func (c *checker) member(out *starlark.Dict, m *member, d *starlark.Dict) (had bool, bad problems) {
	v, had, _ := d.Get(m.key) // a string is hashable: no error
	absent := !had || v == starlark.None && c.profile == Strict && m.optional && !admitsNull(m.typ)
	switch {
	case !absent:
		v, bad = m.typ.check(c, v)
	case m.optional:
		return had, problems{}
	case m.preset != nil:
		v, bad = m.typ.check(c, m.preset) // it fits: this is how it is copied
	case !m.required():
		v = starlark.None
	default:
		bad = problem("nothing", brief(m.typ), "")
	}
	if bad.none() && !(m.agentOnly && c.audience == People) {
		set(out, m.key, v)
	}
	return had, bad
}

// extras checks the keys of d that the record does not declare, and puts them into out.
func (c *checker) extras(out *starlark.Dict, t *recordType, d *starlark.Dict) problems {
	var bad problems
	for k, v := range d.Entries() {
		name, wrong := keyOf(k)
		if !wrong.none() {
			bad.add("", wrong)
			continue
		}
		if t.index[name] != nil {
			continue
		}
		if c.spend() {
			return tooLarge()
		}
		if t.rest == nil {
			bad.add(KeyStep(name), unknownKey(t, name, d))
			continue
		}
		v, wrong := t.rest.check(c, v)
		if !wrong.none() {
			bad.add(KeyStep(name), wrong)
			continue
		}
		set(out, k, v)
	}
	return bad
}

// unknownKey suggests the declared keys that the record does not have yet.
func unknownKey(t *recordType, name string, d *starlark.Dict) problems {
	var missing []string
	for _, m := range t.members {
		if _, has, _ := d.Get(m.key); !has {
			missing = append(missing, m.name)
		}
	}
	names := make([]string, 0, len(t.members))
	for _, m := range t.members {
		names = append(names, m.name)
	}
	want := "no keys"
	if len(names) > 0 {
		want = "only " + shorten(strings.Join(names, ", "), 120)
	}
	return problem("an unknown key", want, diagnostic.DidYouMean(name, missing))
}
