package infer

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/doc"
)

// notation reads a type; one text is read once.
func (a *analysis) notation(s string) *doc.Notation {
	n := a.notes[s]
	if n == nil {
		n = doc.ParseNotation(s)
		a.notes[s] = n
	}
	return n
}

// read is the type that a notation stands for; what it makes is made at the node.
func (a *analysis) read(n *doc.Notation, at syntax.Node, part string, of *letters) Type {
	if n.Name == "" {
		var t Type
		for _, p := range n.Parts {
			t = join(t, a.read(p, at, part, of))
		}
		return t
	}
	if t, ok := of.of(n.Name); ok {
		return t
	}
	if t, ok := plain(n.Name); ok {
		return t
	}
	if word, ok := strings.CutPrefix(n.Name, `"`); ok {
		return exactly(text, word)
	}
	switch n.Name {
	case "list", "set", "iterable", "tuple":
		return a.sequence(n, at, part, of)
	case "json":
		return a.json(at, part)
	case "dict":
		o := a.object(dict, at, [2]string{"dict", part})
		key, value := unknown, unknown
		if len(n.Parts) == 2 {
			key, value = a.read(n.Parts[0], at, part+"k", of), a.read(n.Parts[1], at, part+"v", of)
		}
		a.enter(o, key.loose(), value, at)
		return made(o)
	case "tuple by place":
		items := make([]Type, len(n.Parts))
		for i, p := range n.Parts {
			items[i] = a.read(p, at, part+"("+string(rune('0'+i)), of)
		}
		return a.tupleOf(at, part, items)
	case "dict by keys":
		return a.readFields(n, at, part, of)
	}
	if form := recordNamed(n.Name); form != nil {
		return made(a.recordAt(at, n.Name, part))
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

func (a *analysis) sequence(n *doc.Notation, at syntax.Node, part string, of *letters) Type {
	k := map[string]kind{"list": list, "set": set, "iterable": iterable, "tuple": tuple}[n.Name]
	o := a.object(k, at, [2]string{n.Name, part})
	elem := unknown
	if len(n.Parts) == 1 {
		elem = a.read(n.Parts[0], at, part+"[", of)
	}
	a.put(o, elem)
	return made(o)
}

func (a *analysis) readFields(n *doc.Notation, at syntax.Node, part string, of *letters) Type {
	o := a.object(dict, at, [2]string{"dict", part})
	for i, k := range n.Keys {
		name, perhaps := strings.CutSuffix(k, "?")
		a.entry(o, name, a.read(n.Parts[i], at, part+"."+name, of), !perhaps, nil)
	}
	if n.Open {
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
