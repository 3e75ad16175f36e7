package contract

import (
	"github.com/alecthomas/participle/v2/lexer"
	"go.starlark.net/starlark"

	"starling/lang/diagnostic"
)

// text reads a string token. Its escapes are JSON's.
func (r *resolver) text(t lexer.Token) starlark.String {
	v, err := FromJSON([]byte(t.Value))
	s, ok := v.(starlark.String)
	if err != nil || !ok {
		r.at(t, diagnostic.Diagnostic{Message: "the text is not written as in JSON", Hint: `escapes are \" \\ \/ \b \f \n \r \t \u1234`})
	}
	return s
}

// number reads a number token, which is whole unless it has a point or an exponent.
func (r *resolver) number(t lexer.Token) starlark.Value {
	v, err := FromJSON([]byte(t.Value))
	if err != nil {
		r.at(t, diagnostic.Diagnostic{Message: "not a number", Got: t.Value, Hint: "numbers are written as in JSON"})
		return starlark.MakeInt(0)
	}
	return v
}

// value reads a default.
func (r *resolver) value(v *value) starlark.Value {
	switch {
	case v.List != nil:
		return r.array(v.List)
	case v.Record != nil:
		return r.object(v.Record)
	case v.Scalar.Type == tokenString:
		return r.text(*v.Scalar)
	case v.Scalar.Type == tokenNumber:
		return r.number(*v.Scalar)
	}
	switch v.Scalar.Value {
	case "true", "false":
		return starlark.Bool(v.Scalar.Value == "true")
	case "null":
		return starlark.None
	}
	r.at(*v.Scalar, diagnostic.Diagnostic{
		Message: "a default is a literal",
		Got:     v.Scalar.Value,
		Want:    `a number, a text in double quotes, true, false, null, […] or {…}`,
	})
	return starlark.None
}

func (r *resolver) array(a *array) starlark.Value {
	var elems []starlark.Value
	previous := a.First
	if previous != nil {
		elems = append(elems, r.value(previous))
	}
	for _, next := range a.Rest {
		if previous == nil {
			r.strayComma(next.Comma)
		}
		if previous = next.Value; previous != nil {
			elems = append(elems, r.value(previous))
		}
	}
	return starlark.NewList(elems)
}

func (r *resolver) object(o *object) starlark.Value {
	d := new(starlark.Dict)
	previous := o.First
	if previous != nil {
		r.pair(d, previous)
	}
	for _, next := range o.Rest {
		if previous == nil {
			r.strayComma(next.Comma)
		}
		if previous = next.Pair; previous != nil {
			r.pair(d, previous)
		}
	}
	return d
}

func (r *resolver) pair(d *starlark.Dict, p *pair) {
	key := starlark.String(p.Key.Value)
	if p.Key.Type == tokenString {
		key = r.text(p.Key)
	}
	if _, found, _ := d.Get(key); found { // a string is hashable: no error
		r.at(p.Key, diagnostic.Diagnostic{Message: "key " + keyText(string(key)) + " stands twice"})
	}
	put(d, string(key), r.value(p.Value))
}

// put sets a key of a dict that is ours alone.
func put(d *starlark.Dict, key string, v starlark.Value) { set(d, starlark.String(key), v) }

// set is put for a key that is a value already. It cannot fail: a string is hashable, and nobody
// iterates over d.
func set(d *starlark.Dict, key, v starlark.Value) {
	if err := d.SetKey(key, v); err != nil {
		panic(err)
	}
}
