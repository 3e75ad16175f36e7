package effect

import (
	"encoding/binary"

	"go.starlark.net/starlark"
)

// Object builds the payload of a dict field by field, without making the dict. Journal records are written with it.
type Object struct {
	body []byte
	n    int
}

func (o *Object) key(k string) {
	o.n++
	o.body = binary.AppendUvarint(o.body, uint64(len(k)))
	o.body = append(o.body, k...)
}

// Text adds a string; an empty one is left out.
func (o *Object) Text(k, v string) *Object {
	if v != "" {
		o.key(k)
		o.body = append(o.body, tagString)
		o.body = binary.AppendUvarint(o.body, uint64(len(v)))
		o.body = append(o.body, v...)
	}
	return o
}

// Int adds an int; zero is left out.
func (o *Object) Int(k string, v int64) *Object {
	if v != 0 {
		o.key(k)
		o.body = append(o.body, tagInt)
		o.body = binary.AppendVarint(o.body, v)
	}
	return o
}

// Flag adds True; false is left out.
func (o *Object) Flag(k string, v bool) *Object {
	if v {
		o.key(k)
		o.body = append(o.body, tagTrue)
	}
	return o
}

// Raw adds a value that is already encoded; the nil payload is left out.
func (o *Object) Raw(k string, p Payload) *Object {
	if len(p) > 0 {
		o.key(k)
		o.body = append(o.body, p...)
	}
	return o
}

// Blob adds bytes; empty ones are left out.
func (o *Object) Blob(k string, b []byte) *Object {
	if len(b) > 0 {
		o.key(k)
		o.body = append(o.body, tagBytes)
		o.body = binary.AppendUvarint(o.body, uint64(len(b)))
		o.body = append(o.body, b...)
	}
	return o
}

// Texts adds a list of strings; an empty one is left out.
func (o *Object) Texts(k string, vs []string) *Object {
	if len(vs) == 0 {
		return o
	}
	o.key(k)
	o.body = append(o.body, tagList)
	o.body = binary.AppendUvarint(o.body, uint64(len(vs)))
	for _, v := range vs {
		o.body = append(o.body, tagString)
		o.body = binary.AppendUvarint(o.body, uint64(len(v)))
		o.body = append(o.body, v...)
	}
	return o
}

// Payload returns the dict.
func (o *Object) Payload() Payload {
	p := make([]byte, 0, len(o.body)+3)
	p = append(p, tagDict)
	p = binary.AppendUvarint(p, uint64(o.n))
	return append(p, o.body...)
}

// View reads a dict payload by field name, giving zero values for what is not there.
type View struct{ d *starlark.Dict }

// View decodes the payload of a dict. Reading a View never fails: what is absent or of another type reads as zero.
func (p Payload) View() (View, error) {
	v, err := p.Value()
	if err != nil {
		return View{}, err
	}
	return ViewOf(v), nil
}

// ViewOf reads a value that should be a dict.
func ViewOf(v starlark.Value) View {
	d, _ := v.(*starlark.Dict)
	return View{d}
}

// Value returns a field, None when it is absent.
func (v View) Value(k string) starlark.Value {
	if v.d == nil {
		return starlark.None
	}
	x, found, err := v.d.Get(starlark.String(k))
	if err != nil || !found {
		return starlark.None
	}
	return x
}

// Has tells whether a field is there.
func (v View) Has(k string) bool {
	if v.d == nil {
		return false
	}
	_, found, _ := v.d.Get(starlark.String(k))
	return found
}

// Text returns a string field.
func (v View) Text(k string) string {
	s, _ := starlark.AsString(v.Value(k))
	return s
}

// Int returns an int field.
func (v View) Int(k string) int64 {
	n, _ := v.Value(k).(starlark.Int)
	i, _ := n.Int64()
	return i
}

// Flag returns a bool field.
func (v View) Flag(k string) bool {
	b, _ := v.Value(k).(starlark.Bool)
	return bool(b)
}

// Blob returns a bytes field.
func (v View) Blob(k string) []byte {
	b, _ := v.Value(k).(starlark.Bytes)
	return []byte(b)
}

// Texts returns a field that is a list of strings.
func (v View) Texts(k string) []string {
	l, ok := v.Value(k).(*starlark.List)
	if !ok {
		return nil
	}
	out := make([]string, 0, l.Len())
	for e := range l.Elements() {
		s, _ := starlark.AsString(e)
		out = append(out, s)
	}
	return out
}

// Raw returns a field encoded again, nil when it is absent.
func (v View) Raw(k string) Payload {
	if !v.Has(k) {
		return nil
	}
	e := encoder{max: MaxOutput}
	p, _ := e.payload(v.Value(k)) // it was decoded, so it can be encoded
	return p
}

// Sub returns a field that is a dict.
func (v View) Sub(k string) View { return ViewOf(v.Value(k)) }

// Payload returns the error as a dict.
func (e *Error) Payload() Payload {
	if e == nil {
		return nil
	}
	var o Object
	return o.Text("kind", string(e.Kind)).Text("message", e.Message).Text("where", e.Where).Text("backtrace", e.Backtrace).Raw("data", e.Data).Payload()
}

// ErrorOf reads what [Error.Payload] wrote, nil from an absent field.
func ErrorOf(v View) *Error {
	if v.d == nil {
		return nil
	}
	return &Error{Kind: Kind(v.Text("kind")), Message: v.Text("message"), Where: v.Text("where"), Backtrace: v.Text("backtrace"), Data: v.Raw("data")}
}

// Each calls fn for the fields in order.
func (v View) Each(fn func(key string, field starlark.Value)) {
	if v.d == nil {
		return
	}
	for k, f := range v.d.Entries() {
		key, _ := starlark.AsString(k)
		fn(key, f)
	}
}
