package effect

import (
	"encoding/binary"
	"math"
	"slices"

	"go.starlark.net/starlark"
)

// View reads a dict by field name, giving zero values for what is not there. A view of a payload
// decodes only what it is asked for: the state of a run is a fold over views, and most fields of
// most records are never looked at.
type View struct {
	d    *starlark.Dict // of a value
	raw  []byte         // of a payload: its fields, (length, key bytes, value)*
	keys keys           // those that the payload may have: most fields that are asked for are not there
	ends [12]uint16     // where the first fields end in raw, 0 behind the last one that is known: they are not passed over value by value to find one
}

// keys is a set of field names in one word: it may seem to hold a name that it does not.
type keys uint64

func (ks keys) with(k []byte) keys { return ks | 1<<(bitOf(string(k))) }

func (ks keys) mayHold(k string) bool { return ks&(1<<bitOf(k)) != 0 }

func bitOf(k string) uint {
	if k == "" {
		return 0
	}
	return (uint(k[0])*7 + uint(k[len(k)-1])*31 + uint(len(k))) % 64
}

// View looks at the payload of a dict. It refuses one that is not well-formed; reading a View never
// fails: what is absent or of another type reads as zero.
func (p Payload) View() (View, error) {
	if len(p) == 0 {
		return View{}, nil
	}
	d := decoder{buf: p}
	if p[0] != tagDict {
		d.skip(0)
		return View{}, d.over()
	}
	d.pos++
	var v View
	n := d.count()
	begin := d.pos
	for i := 0; i < n && d.err == nil; i++ {
		v.keys = v.keys.with(d.key())
		d.skip(1)
		if end := d.pos - begin; i < len(v.ends) && end <= math.MaxUint16 {
			v.ends[i] = uint16(end)
		}
	}
	if err := d.over(); err != nil {
		return View{}, err
	}
	v.raw = p[begin:]
	return v, nil
}

// over tells what is wrong with a payload that was passed over.
func (d *decoder) over() error {
	if d.err == nil && d.pos < len(d.buf) {
		d.fail("%d bytes follow the value", len(d.buf)-d.pos)
	}
	return d.err
}

// key reads the name of a field.
func (d *decoder) key() []byte {
	n := d.length()
	d.pos += n
	return d.buf[d.pos-n : d.pos]
}

// viewOf looks at a payload that is well-formed.
func viewOf(p Payload) View {
	v, _ := p.View()
	return v
}

// ViewOf reads a value that should be a dict.
func ViewOf(v starlark.Value) View {
	d, _ := v.(*starlark.Dict)
	return View{d: d}
}

// skip passes over a value, checking what can be checked without making it.
func (d *decoder) skip(depth int) {
	if depth > MaxDepth {
		d.fail("nested deeper than %d", MaxDepth)
		return
	}
	switch tag := d.byte(); tag {
	case tagNone, tagFalse, tagTrue:
	case tagInt:
		d.int()
	case tagBig:
		d.big()
	case tagFloat:
		d.float()
	case tagString, tagBytes, tagContract:
		d.pos += d.length()
	case tagSecret:
		d.pos += d.length()
		d.pos += d.length()
	case tagList:
		d.skipAll(depth, d.count(), false)
	case tagDict:
		d.skipAll(depth, d.count(), true)
	case tagRecord:
		d.skipRecord(depth)
	default:
		d.fail("unknown tag %#x", tag)
	}
}

func (d *decoder) skipAll(depth, n int, keys bool) {
	for i := 0; i < n && d.err == nil; i++ {
		if keys {
			d.pos += d.length()
		}
		d.skip(depth + 1)
	}
}

func (d *decoder) skipRecord(depth int) {
	typ := int(d.byte())
	if typ >= len(recordTypes) {
		d.fail("unknown record type %d", typ)
		return
	}
	n := d.count()
	if n > len(recordTypes[typ].Fields) {
		d.fail("%s with %d fields, this build knows %d", recordTypes[typ].Name, n, len(recordTypes[typ].Fields))
		return
	}
	d.skipAll(depth, n, false)
}

// find returns the bytes of a field.
func (v View) find(k string) (Payload, bool) {
	if !v.keys.mayHold(k) {
		return nil, false
	}
	begin := 0
	for _, end := range v.ends {
		if end == 0 {
			break
		}
		field := v.raw[begin:end:end]
		n, w := binary.Uvarint(field)
		if value := w + int(n); int(n) == len(k) && string(field[w:value]) == k {
			return field[value:], true
		}
		begin = int(end)
	}
	for d := (decoder{buf: v.raw, pos: begin}); d.pos < len(d.buf) && d.err == nil; {
		key := d.key()
		begin := d.pos
		d.skip(0)
		if string(key) == k {
			return v.raw[begin:d.pos:d.pos], d.err == nil
		}
	}
	return nil, false
}

// Value returns a field, None when it is absent or cannot be decoded.
func (v View) Value(k string) starlark.Value {
	if v.d == nil {
		p, _ := v.find(k)
		x, err := p.Value()
		if err != nil {
			return starlark.None
		}
		return x
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
		_, found := v.find(k)
		return found
	}
	_, found, _ := v.d.Get(starlark.String(k))
	return found
}

// scalar returns the bytes behind the tag of a field that should have this one.
func (v View) scalar(k string, tag byte) ([]byte, bool) {
	p, _ := v.find(k)
	if len(p) == 0 || p[0] != tag {
		return nil, false
	}
	return p[1:], true
}

// Text returns a string field.
func (v View) Text(k string) string {
	if v.d == nil {
		b, _ := v.scalar(k, tagString)
		_, w := binary.Uvarint(b)
		return string(b[w:])
	}
	s, _ := starlark.AsString(v.Value(k))
	return s
}

// TextIn returns the text in a field of the record that a field holds, "" where either is something
// else. It makes no value of the rest of the record, whose contracts take long to read.
func (v View) TextIn(k, field string) string {
	if v.d != nil {
		r, ok := v.Value(k).(*Record)
		if !ok {
			return ""
		}
		s, _ := starlark.AsString(r.Field(field))
		return s
	}
	b, ok := v.scalar(k, tagRecord)
	d := decoder{buf: b}
	typ := int(d.byte())
	if !ok || typ >= len(recordTypes) {
		return ""
	}
	at := slices.Index(recordTypes[typ].Fields, field)
	if at < 0 || at >= d.count() {
		return ""
	}
	d.skipAll(0, at, false)
	if d.byte() != tagString || d.err != nil {
		return ""
	}
	return d.text()
}

// Int returns an int field.
func (v View) Int(k string) int64 {
	if v.d == nil {
		b, _ := v.scalar(k, tagInt)
		n, _ := binary.Varint(b)
		return n
	}
	n, _ := v.Value(k).(starlark.Int)
	i, _ := n.Int64()
	return i
}

// Flag returns a bool field.
func (v View) Flag(k string) bool {
	if v.d == nil {
		_, set := v.scalar(k, tagTrue)
		return set
	}
	b, _ := v.Value(k).(starlark.Bool)
	return bool(b)
}

// Blob returns a bytes field. It may share the bytes of the payload that is looked at.
func (v View) Blob(k string) []byte {
	if v.d == nil {
		b, _ := v.scalar(k, tagBytes)
		_, w := binary.Uvarint(b)
		return b[w:]
	}
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

// Raw returns the payload of a field, nil when it is absent. It may share the bytes of the payload
// that is looked at.
func (v View) Raw(k string) Payload {
	if v.d == nil {
		p, _ := v.find(k)
		return p
	}
	if !v.Has(k) {
		return nil
	}
	p, _ := EncodeOutput(v.Value(k)) // it was decoded, so it can be encoded
	return p
}

// Sub returns a field that is a dict.
func (v View) Sub(k string) View {
	if v.d == nil {
		p, _ := v.find(k)
		return viewOf(p)
	}
	return ViewOf(v.Value(k))
}

// Empty tells whether there are no fields.
func (v View) Empty() bool { return len(v.raw) == 0 && (v.d == nil || v.d.Len() == 0) }

// Each calls fn for the fields in order.
func (v View) Each(fn func(key string, field View)) {
	if v.d != nil {
		for k, f := range v.d.Entries() {
			key, _ := starlark.AsString(k)
			fn(key, ViewOf(f))
		}
	}
	for d := (decoder{buf: v.raw}); d.pos < len(d.buf) && d.err == nil; {
		key := d.text()
		begin := d.pos
		d.skip(0)
		fn(key, viewOf(v.raw[begin:d.pos]))
	}
}

// Without begins a dict with all fields but those of some names, in their order. Of a value it
// takes what can be encoded.
func (v View) Without(names ...string) *Object {
	var o Object
	if v.d != nil {
		for k, f := range v.d.Entries() {
			key, _ := starlark.AsString(k)
			if p, err := EncodeOutput(f); err == nil && !slices.Contains(names, key) {
				o.Raw(key, p)
			}
		}
	}
	for d := (decoder{buf: v.raw}); d.pos < len(d.buf) && d.err == nil; {
		key := d.text()
		begin := d.pos
		d.skip(0)
		if !slices.Contains(names, key) {
			o.Raw(key, v.raw[begin:d.pos])
		}
	}
	return &o
}

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
	if v.Empty() {
		return nil
	}
	return &Error{Kind: Kind(v.Text("kind")), Message: v.Text("message"), Where: v.Text("where"), Backtrace: v.Text("backtrace"), Data: v.Raw("data")}
}
