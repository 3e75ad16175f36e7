package infer

import (
	"slices"
	"strings"

	"starling/lang/effect"
)

// kind is what an atom is.
type kind uint8

const (
	none kind = iota
	boolean
	integer
	float
	text
	octets // bytes
	list
	dict
	set
	tuple
	ranging
	iterable // of string.elems() and its like
	function
	builtin
	method
	record
	module
	shape   // a contract
	opaque  // of a type of its own that nothing is known of but its name
	endless // forever()
)

// atom is one alternative of a type: all values of a kind, one value exactly, or what was made at
// one place.
type atom struct {
	kind  kind
	exact bool    // the value is lit
	from  origin  // of what is exact: who says so
	lit   string  // of a text, an int as digits, "True" or "False"; the name of an opaque type; of a text that is not exact its form, "duration" or "timestamp"
	obj   *object // of all that has parts; of None why it is there, nil where it was written
	span  span    // what a contract says of a number, or of the length of a text
}

// origin is who says that a text, a number or a bool is one value exactly.
type origin uint8

const (
	said    origin = iota // a contract, a gate, a builtin: it is one of those that there are
	spelt                 // it stands in a function
	tunable               // it stands at the top level, or is given to a parameter: another day it is another
)

// Type is a set of values that holds every value that may be seen at a place, and perhaps more. The
// zero Type is empty: nothing gets there, or it is not known yet what does. Types do not change.
type Type struct {
	any   bool   // beside the atoms it may be anything
	full  bool   // of what is kept: there were too many atoms, which are all lent
	cut   bool   // a condition has ruled some out
	atoms []atom // what is known is kept beside any, so that what is done to it is seen
}

// The bounds of a type: with more alternatives it becomes wider.
const (
	maxExact = 24 // texts or ints
	maxAtoms = 100
)

var (
	unknown  = Type{any: true}
	noneType = of(atom{kind: none})
	anyBool  = of(atom{kind: boolean, exact: true, lit: "True"}, atom{kind: boolean, exact: true, lit: "False"})
	anyInt   = of(atom{kind: integer})
	anyFloat = of(atom{kind: float})
	anyText  = of(atom{kind: text})
	anyBytes = of(atom{kind: octets})
)

func of(atoms ...atom) Type { return Type{atoms: atoms} }

func exactly(k kind, lit string) Type { return of(atom{kind: k, exact: true, lit: lit}) }

func made(o *object) Type { return of(atom{kind: o.kind, obj: o}) }

// empty tells whether nothing is known to get here.
func (t Type) empty() bool { return !t.any && len(t.atoms) == 0 }

// known tells whether a type says all that may get here, and something does.
func (t Type) known() bool { return !t.any && len(t.atoms) > 0 }

// only is the single alternative of a type.
func (t Type) only() (atom, bool) {
	if t.any || len(t.atoms) != 1 {
		return atom{}, false
	}
	return t.atoms[0], true
}

// holds tells whether an atom is covered by the type. Most of what is inferred is what was known,
// so this is what a check does most: nothing is copied for it.
func (t Type) holds(a *atom) bool {
	special := a.special()
	for i := range t.atoms {
		b := &t.atoms[i]
		if b.kind != a.kind || b.obj != a.obj && !special {
			continue
		}
		if *b == *a || b.covers(*a) {
			return true
		}
	}
	return false
}

// begins tells whether the atoms of a type are the first of another's, without a look at them.
func (t Type) begins(s Type) bool {
	n := len(t.atoms)
	return n == 0 || n <= len(s.atoms) && &t.atoms[0] == &s.atoms[0]
}

// covers tells whether an atom is all values of a kind of which another is some.
func (b atom) covers(a atom) bool {
	return a.kind == b.kind && a.kind != opaque && !b.special() && a.special()
}

// special tells whether an atom is less than all values of its kind.
func (a atom) special() bool { return a.exact || a.span.bound || a.formed() }

// formed tells whether an atom is the texts of a form.
func (a atom) formed() bool { return a.kind == text && !a.exact && a.lit != "" }

// texts are all of a form, or all texts where the form is not one to tell apart.
func texts(form string) Type {
	if form != "duration" && form != "timestamp" {
		return anyText
	}
	return of(atom{kind: text, lit: form})
}

// join is the union of two types.
func join(s, t Type) Type {
	u := union{all: s}
	u.add(t)
	return u.all
}

func joinAll(types ...Type) Type {
	var u union
	for _, t := range types {
		u.add(t)
	}
	return u.all
}

// union is the join of types as they come, without a copy for each.
type union struct {
	all Type
	own bool // the atoms are nobody else's
}

func (u *union) add(t Type) {
	cut := u.all.cut || t.cut
	u.grow(t)
	u.all.cut = cut
}

func (u *union) grow(t Type) {
	if u.all.empty() {
		u.all, u.own = t, false
		return
	}
	if t.begins(u.all) && (u.all.any || !t.any) {
		return
	}
	grown := false
	for i, a := range t.atoms {
		if i < len(u.all.atoms) && u.all.atoms[i] == a || u.all.holds(&a) {
			continue
		}
		if !u.own {
			u.all.atoms = append(make([]atom, 0, len(u.all.atoms)+len(t.atoms)), u.all.atoms...)
			u.own = true
		}
		grown = true
		if a.obj == nil && !a.special() {
			u.all.atoms = slices.DeleteFunc(u.all.atoms, a.covers)
		}
		u.all.atoms = append(u.all.atoms, a)
	}
	if grown {
		u.all.atoms = widen(u.all.atoms)
	}
	if grown || t.any && !u.all.any {
		u.all = Type{any: u.all.any || t.any, atoms: u.all.atoms}
	}
}

// widen forgets single texts and ints where there are too many.
func widen(atoms []atom) []atom {
	if len(atoms) <= maxExact {
		return atoms
	}
	for _, k := range []kind{text, integer} {
		n := 0
		for _, a := range atoms {
			if a.kind == k && a.exact {
				n++
			}
		}
		if n > maxExact {
			atoms = slices.DeleteFunc(atoms, func(a atom) bool { return a.kind == k && a.exact })
			atoms = append(atoms, atom{kind: k})
		}
	}
	return atoms
}

// same tells whether two types are written alike.
func same(s, t Type) bool {
	if s.any != t.any || len(s.atoms) != len(t.atoms) {
		return false
	}
	if s.begins(t) {
		return true
	}
	for i, a := range s.atoms {
		if t.atoms[i] != a && !slices.Contains(t.atoms, a) {
			return false
		}
	}
	return true
}

// filter keeps some of the atoms.
func (t Type) filter(keep func(atom) bool) Type {
	kept := Type{any: t.any}
	for _, a := range t.atoms {
		if keep(a) {
			kept.atoms = append(kept.atoms, a)
		}
	}
	return kept
}

// loose is the type without single texts and numbers, for what is computed from it.
func (t Type) loose() Type {
	var out Type
	for _, a := range t.atoms {
		if a.kind == text || a.kind == integer || a.kind == float {
			a = atom{kind: a.kind}
		}
		out = join(out, of(a))
	}
	out.any = t.any
	return out
}

// turned is the type with what is exact and of one origin said to be of another.
func (t Type) turned(from, to origin) Type {
	if !slices.ContainsFunc(t.atoms, func(a atom) bool { return a.exact && a.from == from }) {
		return t
	}
	out := union{all: Type{any: t.any}}
	for _, a := range t.atoms {
		if a.exact && a.from == from {
			a.from = to
		}
		out.add(of(a))
	}
	return out.all
}

// maybeTrue and maybeFalse tell whether a value of the atom can be that in a condition.
func (a atom) maybeTrue() bool {
	switch a.kind {
	case none:
		return false
	case boolean:
		return a.lit == "True"
	case text:
		return !a.exact || a.lit != ""
	case integer:
		return !a.exact || a.lit != "0"
	case tuple:
		return a.obj.items == nil || len(a.obj.items) > 0
	}
	return true
}

func (a atom) maybeFalse() bool {
	switch a.kind {
	case boolean:
		return a.lit == "False"
	case text:
		return !a.exact || a.lit == ""
	case integer:
		return !a.exact || a.lit == "0"
	case tuple:
		return len(a.obj.items) == 0
	case function, builtin, method, module, shape, endless:
		return false
	case record:
		return slices.Contains(a.obj.form.Fields, "ok")
	}
	return true
}

func (t Type) truthy() Type { return t.filter(atom.maybeTrue) }
func (t Type) falsy() Type  { return t.filter(atom.maybeFalse) }

// typeName is what type(x) gives.
func (a atom) typeName() string {
	switch a.kind {
	case none:
		return "NoneType"
	case record:
		return a.obj.form.Name
	case opaque:
		return a.lit
	}
	return kindNames[a.kind]
}

var kindNames = [...]string{none: "NoneType", boolean: "bool", integer: "int", float: "float", text: "string", octets: "bytes", list: "list", dict: "dict",
	set: "set", tuple: "tuple", ranging: "range", iterable: "iterable", function: "function", builtin: "builtin_function_or_method",
	method: "builtin_function_or_method", module: "module", shape: "contract", endless: "forever", record: "record", opaque: ""}

// has tells whether some atom is of a kind.
func (t Type) has(k kind) bool {
	return slices.ContainsFunc(t.atoms, func(a atom) bool { return a.kind == k })
}

// recordOf is the record type that all atoms are of, nil if they are not.
func (a atom) recordOf(name string) bool { return a.kind == record && a.obj.form.Name == name }

// String is the type as messages show it.
func (t Type) String() string { return show(t, 3) }

// Brief is the type without what is in it.
func (t Type) brief() string { return show(t, 0) }

func show(t Type, depth int) string {
	if t.any {
		return "any"
	}
	if len(t.atoms) == 0 {
		return "never"
	}
	var words []string
	for _, a := range t.atoms {
		if w := a.show(depth); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if t.json() {
		return "JSON value"
	}
	if i, j := slices.Index(words, "True"), slices.Index(words, "False"); i >= 0 && j >= 0 {
		words[min(i, j)] = "bool"
		words = slices.Delete(words, max(i, j), max(i, j)+1)
	}
	words = asNumber(words)
	if i := slices.Index(words, "None"); i >= 0 { // last, as people write it
		words = append(slices.Delete(words, i, i+1), "None")
	}
	return strings.Join(words, " | ")
}

// json tells whether a type has what JSON can say of each kind.
func (t Type) json() bool {
	for _, k := range []kind{none, boolean, integer, float, text, list, dict} {
		if !slices.ContainsFunc(t.atoms, func(a atom) bool { return a.kind == k && !a.special() || k == boolean && a.kind == k }) {
			return false
		}
	}
	return true
}

// asNumber writes number(0..1) for what contracts call so.
func asNumber(words []string) []string {
	for i, w := range words {
		bounds, ok := strings.CutPrefix(w, "int(")
		if j := slices.Index(words, "float("+bounds); ok && j >= 0 {
			words[i] = "number(" + bounds
			return slices.Delete(words, j, j+1)
		}
	}
	return words
}

func (a atom) show(depth int) string {
	switch {
	case a.kind == none:
		return "None"
	case a.exact && a.kind == text && depth > 0:
		return quote(a.lit)
	case a.exact && (a.kind == integer && depth > 0 || a.kind == boolean):
		return a.lit
	case a.kind == opaque, a.formed():
		return a.lit
	case a.obj == nil && depth > 0:
		return kindNames[a.kind] + a.span.String()
	case a.obj == nil:
		return kindNames[a.kind]
	}
	return a.obj.show(depth)
}

func quote(s string) string {
	const most = 24
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, "\n", `\n`), `"`, `\"`) + `"`
}

// recordNamed is a form of record by its name.
func recordNamed(name string) *effect.RecordType { return effect.TypeNamed(name) }
