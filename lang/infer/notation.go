package infer

import (
	"slices"
	"strings"
	"unicode"

	"go.starlark.net/syntax"
)

// notation is a type as the table of builtins writes it:
//
//	string | None          alternatives; " or " is the same
//	list[T] dict[K, V]     what is in it; without brackets it may be anything
//	(K, V)                 a tuple by place
//	{path: string, at?: T} a dict by its keys, of which at may be missing; with … there may be more
//	"ok"                   that text
//	Result                 a record
//	json                   what JSON can say
//
// Letters stand for what the call is made with: T the elements of the receiver, K and V the keys
// and values of one that is a dict, E the elements of the first argument, X the first argument
// itself, D the argument called default, or None where there is none.
type notation struct {
	name  string // "" for alternatives
	parts []*notation
	keys  []string // of a dict by its keys
	open  bool
	calls bool // there are letters in it, or in its parts
}

// lettered tells whether a notation has letters that a call gives a meaning to.
func (n *notation) lettered() bool {
	return len(n.name) == 1 && n.name[0] >= 'A' && n.name[0] <= 'Z' || slices.ContainsFunc(n.parts, (*notation).lettered)
}

// notation reads a type; one text is read once.
func (a *analysis) notation(s string) *notation {
	n := a.notes[s]
	if n == nil {
		n = ParseNotation(s)
		n.calls = n.lettered()
		a.notes[s] = n
	}
	return n
}

// ParseNotation reads a type of the table of builtins.
func ParseNotation(s string) *notation {
	p := &notationReader{rest: strings.ReplaceAll(s, " or ", " | ")}
	return p.either()
}

type notationReader struct{ rest string }

func (p *notationReader) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// take passes over a mark if it comes next.
func (p *notationReader) take(mark string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	return ok
}

func (p *notationReader) either() *notation {
	n := &notation{parts: []*notation{p.one()}}
	for p.take("|") {
		n.parts = append(n.parts, p.one())
	}
	if len(n.parts) == 1 {
		return n.parts[0]
	}
	return n
}

func (p *notationReader) one() *notation {
	switch {
	case p.take("("):
		return &notation{name: "tuple by place", parts: p.list(")")}
	case p.take("{"):
		return p.fields()
	case p.take(`"`):
		word, rest, _ := strings.Cut(p.rest, `"`)
		p.rest = rest
		return &notation{name: `"` + word}
	}
	n := &notation{name: p.word()}
	if p.take("[") {
		n.parts = p.list("]")
	}
	return n
}

func (p *notationReader) word() string {
	p.space()
	i := strings.IndexFunc(p.rest, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && !unicode.IsDigit(r) })
	if i < 0 {
		i = len(p.rest)
	}
	if i == 0 && p.rest != "" {
		i = 1 // what is none is passed over
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *notationReader) list(end string) []*notation {
	var parts []*notation
	for p.rest != "" && !p.take(end) {
		parts = append(parts, p.either())
		p.take(",")
	}
	return parts
}

func (p *notationReader) fields() *notation {
	n := &notation{name: "dict by keys"}
	for p.rest != "" && !p.take("}") {
		if p.take("…") {
			n.open = true
			continue
		}
		key := p.word()
		if p.take("?") {
			key += "?"
		}
		n.keys = append(n.keys, key)
		p.take(":")
		n.parts = append(n.parts, p.either())
		p.take(",")
	}
	return n
}

// read is the type that a notation stands for; what it makes is made at the node.
func (a *analysis) read(n *notation, at syntax.Node, part string, of *letters) Type {
	if n.name == "" {
		var t Type
		for _, p := range n.parts {
			t = join(t, a.read(p, at, part, of))
		}
		return t
	}
	if t, ok := of.of(n.name); ok {
		return t
	}
	if t, ok := plain(n.name); ok {
		return t
	}
	if word, ok := strings.CutPrefix(n.name, `"`); ok {
		return exactly(text, word)
	}
	switch n.name {
	case "list", "set", "iterable", "tuple":
		return a.sequence(n, at, part, of)
	case "json":
		return a.json(at, part)
	case "dict":
		o := a.object(dict, at, [2]string{"dict", part})
		key, value := unknown, unknown
		if len(n.parts) == 2 {
			key, value = a.read(n.parts[0], at, part+"k", of), a.read(n.parts[1], at, part+"v", of)
		}
		a.enter(o, key.loose(), value, at)
		return made(o)
	case "tuple by place":
		items := make([]Type, len(n.parts))
		for i, p := range n.parts {
			items[i] = a.read(p, at, part+"("+string(rune('0'+i)), of)
		}
		return a.tupleOf(at, part, items)
	case "dict by keys":
		return a.readFields(n, at, part, of)
	}
	if form := recordNamed(n.name); form != nil {
		return made(a.recordAt(at, n.name, part))
	}
	return unknown
}

// json is what JSON can say, to any depth.
func (a *analysis) json(at syntax.Node, part string) Type {
	l, d := a.object(list, at, [2]string{"json list", part}), a.object(dict, at, [2]string{"json dict", part})
	t := joinAll(noneType, anyBool, anyInt, anyFloat, anyText, made(l), made(d))
	a.put(l, t)
	a.enter(d, anyText, t, at)
	return t
}

func (a *analysis) sequence(n *notation, at syntax.Node, part string, of *letters) Type {
	k := map[string]kind{"list": list, "set": set, "iterable": iterable, "tuple": tuple}[n.name]
	o := a.object(k, at, [2]string{n.name, part})
	elem := unknown
	if len(n.parts) == 1 {
		elem = a.read(n.parts[0], at, part+"[", of)
	}
	a.put(o, elem)
	return made(o)
}

func (a *analysis) readFields(n *notation, at syntax.Node, part string, of *letters) Type {
	o := a.object(dict, at, [2]string{"dict", part})
	for i, k := range n.keys {
		name, perhaps := strings.CutSuffix(k, "?")
		a.entry(o, name, a.read(n.parts[i], at, part+"."+name, of), !perhaps, nil)
	}
	if n.open {
		a.enter(o, anyText, unknown, at)
	}
	return made(o)
}

// recordAt is the record of a form that a node makes.
func (a *analysis) recordAt(at syntax.Node, form, part string) *object {
	o := a.object(record, at, [2]string{form, part})
	o.form = recordNamed(form)
	return o
}

// plain are the types that have no parts.
func plain(name string) (Type, bool) {
	switch name {
	case "None", "NoneType":
		return noneType, true
	case "bool":
		return anyBool, true
	case "int":
		return anyInt, true
	case "float":
		return anyFloat, true
	case "number":
		return join(anyInt, anyFloat), true
	case "string", "timestamp", "duration":
		return texts(name), true
	case "bytes":
		return anyBytes, true
	case "range":
		return of(atom{kind: ranging}), true
	case "forever":
		return of(atom{kind: endless}), true
	case "secret":
		return of(atom{kind: opaque, lit: "secret"}), true
	case "contract", "any", "function":
		return unknown, true
	case "never":
		return Type{}, true
	}
	return Type{}, false
}
