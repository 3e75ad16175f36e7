package vm

import (
	"encoding/binary"
	"math"
	"math/big"

	"go.starlark.net/starlark"
)

// value reads one value; nil stands for an unset variable.
func (d *decoder) value() starlark.Value {
	switch tag := d.byte(); {
	case tag >= tagSmallObject:
		return d.object(int(tag - tagSmallObject))
	case tag >= tagSmallInt:
		return starlark.MakeInt(int(tag - tagSmallInt))
	case tag == tagUnset:
		return nil
	case tag == tagNone:
		return starlark.None
	case tag == tagFalse:
		return starlark.False
	case tag == tagTrue:
		return starlark.True
	case tag == tagInt:
		return starlark.MakeInt64(d.varint())
	case tag == tagBig:
		return d.big()
	case tag == tagFloat:
		return d.float()
	case tag == tagShort:
		return d.short()
	case tag == tagText:
		return d.text()
	case tag == tagBytes:
		return starlark.Bytes(d.string())
	case tag == tagEmpty:
		return starlark.Tuple{}
	case tag == tagForever:
		return forever{}
	case tag == tagObject:
		return d.object(d.below(len(d.shells), "object"))
	default:
		return d.rare(tag)
	}
}

// rare reads the rarer values.
func (d *decoder) rare(tag byte) starlark.Value {
	switch tag {
	case tagRange:
		return d.rangeValue()
	case tagView:
		return d.view()
	case tagPermanent:
		return d.permanent()
	case tagNamed:
		if n := d.below(len(d.names), "name"); d.err == nil {
			return d.names[n]
		}
	default:
		d.fail("unknown tag %#x", tag)
	}
	return starlark.None
}

// plain reads a value that a script can hold. Cells, direct methods and top levels are not: they
// belong in the places that the code has for them.
func (d *decoder) plain() starlark.Value {
	v := d.value()
	if v == nil || hidden(v) {
		d.fail("a %s where a value belongs", typeOf(v))
		return starlark.None
	}
	return v
}

// variable is plain for what may also be unset.
func (d *decoder) variable() starlark.Value {
	v := d.value()
	if v != nil && hidden(v) {
		d.fail("a %s where a value belongs", typeOf(v))
	}
	return v
}

// hidden tells whether a value is one that no script can get hold of.
func hidden(v starlark.Value) bool {
	switch v := v.(type) {
	case *cell, *method:
		return true
	case *Function:
		return v.code.Ordinal == 0
	}
	return false
}

func typeOf(v starlark.Value) string {
	if v == nil {
		return "unset variable"
	}
	return v.Type()
}

// object returns the value of an object, making it first if it is made on demand, and notes which
// it was.
func (d *decoder) object(id int) starlark.Value {
	if id >= len(d.shells) {
		d.fail("there is no object %d", id)
		return starlark.None
	}
	sh := &d.shells[id]
	if sh.refs < 2 {
		sh.refs++
	}
	if sh.value == nil && d.err == nil {
		at := d.pos
		d.makeDemanded(sh)
		if d.err == nil {
			d.pos = at
		}
	}
	d.last = id
	if sh.value == nil {
		return starlark.None
	}
	return sh.value
}

// short reads a text that stands where it is used. The keys of records are the same again and
// again: of those that look alike the last one is used again.
func (d *decoder) short() starlark.Value {
	b := d.take(d.count())
	if len(b) == 0 {
		return starlark.String("")
	}
	if d.recent == nil {
		d.recent = new([32]starlark.Value)
	}
	recent := &d.recent[(7*len(b)+31*int(b[0])+int(b[len(b)-1]))%len(d.recent)]
	if s, ok := (*recent).(starlark.String); !ok || string(s) != string(b) {
		*recent = starlark.String(b)
	}
	return *recent
}

func (d *decoder) text() starlark.Value {
	if n := d.below(len(d.strings), "text"); d.err == nil {
		return d.strings[n]
	}
	return starlark.None
}

// textOf reads a value that must be a text.
func (d *decoder) textOf(what string) string {
	s, ok := d.value().(starlark.String)
	if !ok {
		d.fail("a %s that is no text", what)
	}
	return string(s)
}

func (d *decoder) big() starlark.Value {
	sign := d.byte()
	b := new(big.Int).SetBytes(d.take(d.count()))
	if sign > 1 {
		d.fail("an int with the sign %d", sign)
	}
	if sign == 1 {
		b.Neg(b)
	}
	return starlark.MakeBigInt(b)
}

func (d *decoder) float() starlark.Value {
	b := d.take(8)
	if len(b) < 8 {
		return starlark.None
	}
	return starlark.Float(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

// rangeValue makes a range again. One whose length does not fit an int is none that a script can
// make.
func (d *decoder) rangeValue() starlark.Value {
	args := make(starlark.Tuple, 3)
	for i := range args {
		args[i] = starlark.MakeInt64(d.varint())
	}
	v, err := starlark.Universe["range"].(*starlark.Builtin).CallInternal(new(starlark.Thread), args, nil)
	if err == nil && starlark.Len(v) >= 0 {
		return v
	}
	d.fail("range%s: its length is none", args)
	return starlark.None
}

func (d *decoder) view() starlark.Value {
	kind := int(d.byte())
	var source starlark.HasAttrs
	switch tag := d.byte(); tag {
	case tagShort:
		source = starlark.String(d.string())
	case tagText:
		source, _ = d.text().(starlark.String)
	case tagBytes:
		source = starlark.Bytes(d.string())
	}
	if d.err != nil || source == nil || kind >= len(views) {
		d.fail("a view of nothing")
		return starlark.None
	}
	if b, ok := d.attr(source, views[kind]).(*starlark.Builtin); ok {
		v, err := b.CallInternal(new(starlark.Thread), nil, nil)
		if err == nil {
			return v
		}
	}
	d.fail("a %s has no %s", source.Type(), views[kind])
	return starlark.None
}

// attr looks a method up.
func (d *decoder) attr(recv starlark.Value, name string) starlark.Value {
	x, ok := recv.(starlark.HasAttrs)
	if !ok {
		d.fail("a method of a %s", typeOf(recv))
		return starlark.None
	}
	v, err := x.Attr(name)
	if err != nil || v == nil {
		d.fail("a %s has no method %s", recv.Type(), name)
		return starlark.None
	}
	return v
}

func (d *decoder) permanent() starlark.Value {
	values := d.img.permanents.values
	module := d.below(len(values), "permanent module")
	if d.err != nil {
		return starlark.None
	}
	number := d.below(len(values[module]), "permanent value")
	if d.err != nil {
		return starlark.None
	}
	return values[module][number]
}

// skip passes over one value.
func (d *decoder) skip() {
	switch tag := d.byte(); {
	case tag >= tagSmallInt:
	case tag == tagInt:
		d.varint()
	case tag == tagBig:
		d.byte()
		d.pass()
	case tag == tagFloat:
		d.take(8)
	case tag == tagShort, tag == tagBytes:
		d.pass()
	case tag == tagText, tag == tagNamed, tag == tagObject:
		d.uint(math.MaxInt32)
	case tag == tagRange:
		for range 3 {
			d.varint()
		}
	case tag == tagView:
		d.byte()
		d.skipText()
	case tag == tagPermanent:
		d.uint(math.MaxInt32)
		d.uint(math.MaxInt32)
	case tag > tagObject:
		d.fail("unknown tag %#x", tag)
	}
}

// skipText passes over the text that a view looks at; nothing else may stand there, so that
// skipping does not recurse.
func (d *decoder) skipText() {
	switch tag := d.byte(); tag {
	case tagShort, tagBytes:
		d.pass()
	case tagText:
		d.uint(math.MaxInt32)
	default:
		d.fail("a view of something that is no text: tag %#x", tag)
	}
}
