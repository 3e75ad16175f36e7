package effect

import "encoding/binary"

// Object builds the payload of a dict field by field, without making the dict. Journal records are
// written with it.
type Object struct {
	body []byte // begins with the tag and room for a count of one byte, which is nearly always enough
	n    int
}

// Bytes that an object begins with, and those for which there is room at first: what a typical
// record takes.
const (
	objectHead = 2
	objectRoom = 96
)

func (o *Object) key(k string) {
	if o.body == nil {
		o.body = append(make([]byte, 0, objectRoom), tagDict, 0)
	}
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

// list begins a list of n values, which follow; an empty one is left out.
func (o *Object) list(k string, n int) {
	if n > 0 {
		o.key(k)
		o.body = append(o.body, tagList)
		o.body = binary.AppendUvarint(o.body, uint64(n))
	}
}

// Texts adds a list of strings; an empty one is left out.
func (o *Object) Texts(k string, vs []string) *Object {
	o.list(k, len(vs))
	for _, v := range vs {
		o.body = append(o.body, tagString)
		o.body = binary.AppendUvarint(o.body, uint64(len(v)))
		o.body = append(o.body, v...)
	}
	return o
}

// Ints adds a list of ints; an empty one is left out.
func (o *Object) Ints(k string, vs []int) *Object {
	o.list(k, len(vs))
	for _, v := range vs {
		o.body = append(o.body, tagInt)
		o.body = binary.AppendVarint(o.body, int64(v))
	}
	return o
}

// Raws adds a list of values that are already encoded; an empty one is left out.
func (o *Object) Raws(k string, vs []Payload) *Object {
	o.list(k, len(vs))
	for _, v := range vs {
		o.body = append(o.body, v...)
	}
	return o
}

// Payload returns the dict. Nothing may be added after that.
func (o *Object) Payload() Payload {
	if o.n == 0 {
		return Payload{tagDict, 0}
	}
	if o.n < 1<<7 {
		o.body[1] = byte(o.n)
		return o.body
	}
	p := make([]byte, 0, len(o.body)+binary.MaxVarintLen32)
	p = append(p, tagDict)
	p = binary.AppendUvarint(p, uint64(o.n))
	return append(p, o.body[objectHead:]...)
}
