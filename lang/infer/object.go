package infer

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/effect"
)

// object stands for all values that one place of the text makes: what a list display, a call or a
// def gives. It only ever grows: whatever is put into one of the values, by whatever name, is in
// the object, so that nobody needs to know which names are the same list.
type object struct {
	kind   kind
	at     syntax.Node // where it is made; nil for what is there from the beginning
	file   *unit
	home   *region
	top    bool    // it stands at the top level
	handed bool    // it was given to a parameter somewhere
	made   bool    // at the top level of a file that is frozen behind it
	lent   bool    // it got where nobody sees what becomes of it: it may hold anything
	loses  bool    // something is taken out of it somewhere
	gains  bool    // something is put into it behind its display
	cyclic bool    // it is put into itself somewhere
	places []Type  // of a list that a display makes: what stands at each place
	sized  bool    // it has as many elements as places, unless something changes that
	like   *object // of a list that parallel gives: it has as many elements as this one has branches
	elem   Type    // elements of a list or set; values of a dict that are not under a known key
	key    Type    // keys of a dict that are not known
	fields map[string]*field
	order  []string
	items  []Type // of a tuple of known length; nil for any other
	form   *effect.RecordType
	fn     *fn
	value  starlark.Value // of a builtin or a module
	path   string         // of a builtin or a module: "http.get"
	recv   Type           // of a method
	name   string         // of a method
	type_  *contract.Contract
	shaped *contract.Shape // what it was checked by
	why    string          // of None
	firm   bool            // of None: it is among what may be anything else, too
	status string          // of a reply: how it may end
	raises bool            // of a reply: a failure raises, so that there is none; so does a deadline of a Decision
}

// field is an entry under a known key, or a field of a record.
type field struct {
	typ  Type
	must bool // it is there from the beginning
	put  bool // some text puts it there
	at   syntax.Node
}

// place names an object: the node that makes it, and what of it.
type place struct {
	node any
	part any
}

// object finds or makes the object of a place.
func (a *analysis) object(k kind, node syntax.Node, part any) *object {
	key := place{node, part}
	if o := a.objects[key]; o != nil {
		return o
	}
	o := &object{kind: k, at: node, file: a.file, home: a.here(), top: a.fn == nil, made: a.fn == nil && a.file != nil && a.file.Pure}
	a.objects[key] = o
	return o
}

// grow joins a type into one that is kept, and notes whether that changed.
func (a *analysis) grow(r *region, kept *Type, t Type) {
	if kept.full {
		a.lend(t)
		return
	}
	if len(t.atoms) == 0 && (!t.any || kept.any) {
		return
	}
	if j := join(*kept, t); !same(j, *kept) {
		*kept = j
		a.grewIn(r)
		if len(j.atoms) > maxAtoms {
			for _, at := range j.atoms {
				a.lend(of(at))
			}
			*kept = Type{any: true, full: true}
		}
	}
}

// set notes that something holds, and whether that is new.
func (a *analysis) set(flag *bool) {
	if !*flag {
		*flag = true
		a.grewIn(a.here())
	}
}

// put adds an element to a list or a set.
func (a *analysis) put(o *object, t Type) {
	a.grow(o.home, &o.elem, t)
	if o.lent {
		a.lend(t)
	}
}

// put notes an entry of a dict.
func (a *analysis) enter(o *object, key, value Type, at syntax.Node) {
	if o.lent {
		a.lend(key)
		a.lend(value)
	}
	if key.empty() || value.empty() {
		return // what is never computed is never put there
	}
	if known := exactTexts(key); known != nil {
		for _, k := range known {
			a.entry(o, k, value, false, at)
		}
		return
	}
	a.grow(o.home, &o.key, key.loose())
	a.grow(o.home, &o.elem, value)
}

// entry notes an entry under a known key.
func (a *analysis) entry(o *object, key string, value Type, must bool, at syntax.Node) {
	f := o.fields[key]
	if f == nil && a.reads && !o.textKeys() {
		return // d[k] += 1 makes no key: it fails without one
	}
	if f == nil {
		if o.fields == nil {
			o.fields = map[string]*field{}
		}
		f = &field{must: must, at: at}
		o.fields[key] = f
		o.order = append(o.order, key)
		a.grewIn(o.home)
	}
	f.put = f.put || at != nil
	a.grow(o.home, &f.typ, value)
	if o.lent {
		a.lend(value)
	}
}

// textKeys tells whether keys that are not known may be texts.
func (o *object) textKeys() bool { return o.lent || o.key.any || o.key.has(text) }

// under is what is under a key, and whether anything can be.
func (o *object) under(key string) (Type, bool) {
	f := o.fields[key]
	var t Type
	if f != nil {
		t = f.typ
	}
	if o.textKeys() {
		t = join(t, o.elem)
	}
	if o.lent {
		t = join(t, unknown)
	}
	return t, f != nil || o.textKeys()
}

// values are all values of a dict.
func (o *object) values() Type {
	var u union
	o.addValues(&u)
	return u.all
}

func (o *object) addValues(u *union) {
	u.add(o.elem)
	for _, k := range o.order {
		u.add(o.fields[k].typ)
	}
	if o.lent {
		u.add(unknown)
	}
}

// keys are all keys of a dict.
func (o *object) keys() Type {
	u := union{all: o.key}
	for _, k := range o.order {
		at := atom{kind: text, exact: true, lit: k, from: spelt}
		if o.shaped != nil {
			at.from = said
		} else if o.top {
			at.from = tunable
		}
		u.add(of(at))
	}
	if o.lent {
		u.add(unknown)
	}
	return u.all
}

// elements are what going through the object gives.
func (o *object) elements() Type {
	switch {
	case o.kind == dict:
		return o.keys()
	case o.items != nil:
		return joinAll(o.items...)
	case o.lent:
		return join(o.elem, unknown)
	}
	return o.elem
}

// lend notes that values get where nobody sees what becomes of them.
func (a *analysis) lend(t Type) {
	for _, at := range t.atoms {
		if at.obj != nil && !at.obj.lent && at.kind != none && at.kind != module {
			a.lendObject(at.obj)
		}
	}
}

func (a *analysis) lendObject(o *object) {
	o.lent = true
	a.grewIn(o.home)
	a.lend(o.elem)
	a.lend(o.key)
	for _, f := range o.fields {
		a.lend(f.typ)
	}
	for _, t := range o.items {
		a.lend(t)
	}
	a.lend(o.recv)
	if o.fn != nil {
		a.called(o.fn)
		a.early(o.fn)
		for i := range o.fn.params {
			a.grow(o.fn.region, &o.fn.params[i], unknown)
		}
		a.lend(o.fn.result)
	}
}

// show is the object as messages show it.
func (o *object) show(depth int) string {
	switch o.kind {
	case record:
		return o.form.Name
	case function:
		return o.fn.show()
	case builtin:
		return "function " + o.path
	case method:
		return "method " + o.name
	case module:
		return "module " + o.path
	}
	if depth == 0 || o.lent {
		return kindNames[o.kind]
	}
	return o.showParts(depth - 1)
}

func (o *object) showParts(depth int) string {
	switch {
	case o.kind == tuple && o.items != nil:
		var parts []string
		for _, t := range o.items {
			parts = append(parts, show(t, depth))
		}
		if len(parts) == 1 {
			return "(" + parts[0] + ",)"
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case o.kind == dict && len(o.order) > 0:
		return o.showFields(depth)
	case o.kind == dict && !o.elem.empty():
		return "dict[" + show(o.key, depth) + ", " + show(o.elem, depth) + "]"
	case o.kind == list || o.kind == set || o.kind == tuple || o.kind == iterable:
		if !o.elem.empty() {
			return kindNames[o.kind] + "[" + show(o.elem, depth) + "]"
		}
	case o.kind == shape && o.type_ != nil:
		return "contract"
	}
	return kindNames[o.kind]
}

// manyFields is how many fields of a dict are shown.
const manyFields = 8

func (o *object) showFields(depth int) string {
	var parts []string
	for _, k := range o.order[:min(len(o.order), manyFields)] {
		name := k
		if !o.fields[k].must {
			name += "?"
		}
		parts = append(parts, name+": "+show(o.fields[k].typ.loose(), depth))
	}
	if len(o.order) > manyFields || !o.key.empty() {
		parts = append(parts, "…")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// methods are the attributes of the values of a kind that are the same for each. They are listed
// once and never change.
var methods = sync.OnceValue(func() map[kind][]string {
	return map[kind][]string{text: starlark.String("").AttrNames(), octets: starlark.Bytes("").AttrNames(), list: new(starlark.List).AttrNames(),
		dict: new(starlark.Dict).AttrNames(), set: new(starlark.Set).AttrNames()}
})

// has tells whether something can be read of an atom with a dot.
func (at atom) has(name string) bool {
	if at.kind == record {
		return slices.Contains(at.obj.form.Fields, name) || contains(at.attributes(), name)
	}
	return contains(at.attributes(), name)
}

// attributes lists what can be read of an atom with a dot.
func (at atom) attributes() []string {
	switch at.kind {
	case text, octets, list, dict, set:
		return methods()[at.kind]
	case shape:
		return []string{"check", "parse", "schema"}
	case record:
		return effect.NewRecord(at.obj.form, make([]starlark.Value, len(at.obj.form.Fields))...).AttrNames()
	case module:
		if m, ok := at.obj.value.(starlark.HasAttrs); ok {
			return m.AttrNames()
		}
		return slices.Sorted(maps.Keys(at.obj.fields))
	}
	return nil
}

// closed tells whether attributes lists all that there is.
func (at atom) closed() bool {
	switch at.kind {
	case opaque:
		return at.lit != "secret"
	}
	return true
}
