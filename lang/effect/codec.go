package effect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/crowd"
)

// Payload is a value in the tagged binary form, the only one in which values are journaled:
//
//	value  = tag body
//	00 None   01 False   02 True
//	03 int    zigzag varint              04 big int  sign byte, length, magnitude big-endian
//	05 float  8 bytes, IEEE 754 big-endian, finite
//	06 string length, UTF-8 or any bytes 07 bytes    length, bytes
//	08 list   count, values              09 dict     count, (length, key bytes, value)*
//	0a contract  length, canonical text  0b secret   length, name, length, wrap
//	0c record    type number, count, values
//
// Lengths and counts are unsigned varints. Equal values have equal bytes: varints and magnitudes
// are minimal, a big int is one that 03 cannot hold, dicts keep their order; a decoder refuses any
// other spelling. The nil Payload reads as None. Decoding JSON never yields 0a, 0b or 0c.
type Payload []byte

// Limits of a payload. Deeper or larger values are refused when they are copied.
const (
	MaxPayload = 1 << 20  // bytes of one argument list or reply
	MaxOutput  = 16 << 20 // bytes of a run's output
	MaxDepth   = 200      // nesting of lists, dicts and records
)

const (
	tagNone = iota
	tagFalse
	tagTrue
	tagInt
	tagBig
	tagFloat
	tagString
	tagBytes
	tagList
	tagDict
	tagContract
	tagSecret
	tagRecord
)

// Encode copies a value. It fails, naming the path, for what may not cross: functions, sets, NaN
// and infinities, dict keys that are not strings, cycles (as depth).
func Encode(v starlark.Value) (Payload, error) {
	return encode(v, MaxPayload)
}

// EncodeOutput is Encode under the larger limit of a run's output.
func EncodeOutput(v starlark.Value) (Payload, error) {
	return encode(v, MaxOutput)
}

// MustEncode is Encode for values that the caller made of plain data; it panics on what Encode
// refuses.
func MustEncode(v starlark.Value) Payload {
	p, err := Encode(v)
	if err != nil {
		panic("effect: " + err.Error())
	}
	return p
}

// Value makes a fresh, unfrozen value. It fails on bytes that Encode cannot have written.
func (p Payload) Value() (starlark.Value, error) {
	if len(p) == 0 {
		return starlark.None, nil
	}
	d := decoder{buf: p}
	v := d.value(0)
	if d.err == nil && d.pos != len(p) {
		d.fail("%d bytes too many", len(p)-d.pos)
	}
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

type encoder struct {
	buf  []byte
	max  int
	path []place
}

// place is one step into a value: a field or else an index. Paths are put together only for errors.
type place struct {
	field bool
	name  string
	index int
}

func encode(v starlark.Value, longest int) (Payload, error) {
	e := encoder{buf: make([]byte, 0, 64), max: longest}
	if err := e.value(v); err != nil {
		return nil, err
	}
	return e.buf, nil
}

func (e *encoder) value(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType:
		e.buf = append(e.buf, tagNone)
	case starlark.Bool:
		e.buf = append(e.buf, tagFalse)
		if v {
			e.buf[len(e.buf)-1] = tagTrue
		}
	case starlark.Int:
		return e.int(v)
	case starlark.Float:
		return e.float(float64(v))
	case starlark.String:
		return e.bytes(tagString, string(v))
	case starlark.Bytes:
		return e.bytes(tagBytes, string(v))
	case *contract.Contract:
		return e.bytes(tagContract, v.String())
	case *Secret:
		if err := e.bytes(tagSecret, v.Name); err != nil {
			return err
		}
		return e.text(v.Wrap)
	default:
		return e.container(v)
	}
	return e.room(0)
}

// room fails if n more bytes would be too many: before a long text is copied, not after.
func (e *encoder) room(n int) error {
	if len(e.buf)+n > e.max {
		return fmt.Errorf("the value is larger than %d bytes", e.max)
	}
	return nil
}

func (e *encoder) container(v starlark.Value) error {
	if len(e.path) >= MaxDepth {
		return fmt.Errorf("the value is nested deeper than %d levels (or contains itself)", MaxDepth)
	}
	switch v := v.(type) {
	case *starlark.List:
		return e.sequence(tagList, v.Len(), v.Index)
	case starlark.Tuple:
		return e.sequence(tagList, v.Len(), v.Index)
	case *starlark.Dict:
		return e.dict(v)
	case *Record:
		return e.record(v)
	}
	if _, ok := v.(starlark.Iterable); ok {
		return e.refuse("a %s cannot leave the script; pass a list of its elements", v.Type())
	}
	return e.refuse("a %s cannot leave the script", v.Type())
}

func (e *encoder) sequence(tag byte, n int, at func(int) starlark.Value) error {
	e.buf = append(e.buf, tag)
	e.buf = binary.AppendUvarint(e.buf, uint64(n))
	for i := range n {
		e.path = append(e.path, place{index: i})
		if err := e.value(at(i)); err != nil {
			return err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return nil
}

func (e *encoder) dict(d *starlark.Dict) error {
	if err := crowd.Check(d.Len(), starlark.Elements(d)); err != nil {
		return e.refuse("%v", err)
	}
	e.buf = append(e.buf, tagDict)
	e.buf = binary.AppendUvarint(e.buf, uint64(d.Len()))
	for k, v := range d.Entries() {
		key, ok := k.(starlark.String)
		if !ok {
			return e.refuse("dict keys must be strings, got %s %s", k.Type(), k)
		}
		if err := e.text(string(key)); err != nil {
			return err
		}
		e.path = append(e.path, place{field: true, name: string(key)})
		if err := e.value(v); err != nil {
			return err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return nil
}

func (e *encoder) record(r *Record) error {
	e.buf = append(e.buf, tagRecord, typeNumber(r.typ))
	e.buf = binary.AppendUvarint(e.buf, uint64(len(r.fields)))
	for i, v := range r.fields {
		e.path = append(e.path, place{field: true, name: r.typ.Fields[i]})
		if err := e.value(v); err != nil {
			return err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return nil
}

func typeNumber(t *RecordType) byte {
	for i, u := range recordTypes {
		if u == t {
			return byte(i)
		}
	}
	panic("effect: unknown record type " + t.Name)
}

func (e *encoder) int(v starlark.Int) error {
	if n, ok := v.Int64(); ok {
		e.buf = append(e.buf, tagInt)
		e.buf = binary.AppendVarint(e.buf, n)
		return e.room(0)
	}
	b := v.BigInt()
	sign := byte(0)
	if b.Sign() < 0 {
		sign = 1
	}
	e.buf = append(e.buf, tagBig, sign)
	return e.text(string(b.Bytes()))
}

func (e *encoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return e.refuse("%v cannot leave the script", f)
	}
	e.buf = append(e.buf, tagFloat)
	e.buf = binary.BigEndian.AppendUint64(e.buf, math.Float64bits(f))
	return nil
}

func (e *encoder) bytes(tag byte, s string) error {
	e.buf = append(e.buf, tag)
	return e.text(s)
}

func (e *encoder) text(s string) error {
	if err := e.room(len(s)); err != nil {
		return err
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
	return e.room(0)
}

func (e *encoder) refuse(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if len(e.path) == 0 {
		return errors.New(msg)
	}
	var at strings.Builder
	for i, p := range e.path {
		switch {
		case !p.field:
			fmt.Fprintf(&at, "[%d]", p.index)
		case i > 0:
			at.WriteString("." + p.name)
		default:
			at.WriteString(p.name)
		}
	}
	return fmt.Errorf("%s: %s", at.String(), msg)
}

// decoder trusts nothing. The elements of all containers together are bounded by the bytes of the
// input, because each takes at least one: so is what it allocates, however the counts are nested.
type decoder struct {
	buf      []byte
	pos      int
	elements int // claimed by the counts read so far
	err      error
}

func (d *decoder) fail(format string, args ...any) starlark.Value {
	if d.err == nil {
		d.err = fmt.Errorf("payload byte %d: %s", d.pos, fmt.Sprintf(format, args...))
	}
	d.pos = len(d.buf)
	return starlark.None
}

func (d *decoder) byte() byte {
	if d.pos >= len(d.buf) {
		d.fail("ends too early")
		return 0
	}
	d.pos++
	return d.buf[d.pos-1]
}

// length reads the length of a text.
func (d *decoder) length() int {
	n, w := binary.Uvarint(d.buf[d.pos:])
	if w <= 0 || w > 1 && d.buf[d.pos+w-1] == 0 {
		d.fail("malformed length")
		return 0
	}
	d.pos += w
	if n > uint64(len(d.buf)-d.pos) {
		d.fail("length %d exceeds the %d bytes left", n, len(d.buf)-d.pos)
		return 0
	}
	return int(n)
}

// count reads the number of elements of a container.
func (d *decoder) count() int {
	n := d.length()
	if d.elements += n; d.elements > len(d.buf) {
		d.fail("%d elements claimed by %d bytes", d.elements, len(d.buf))
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.length()
	s := string(d.buf[d.pos : d.pos+n])
	d.pos += n
	return s
}

func (d *decoder) value(depth int) starlark.Value {
	if depth > MaxDepth {
		return d.fail("nested deeper than %d", MaxDepth)
	}
	switch tag := d.byte(); tag {
	case tagNone:
		return starlark.None
	case tagFalse:
		return starlark.False
	case tagTrue:
		return starlark.True
	case tagInt:
		return starlark.MakeInt64(d.int())
	case tagBig:
		return d.big()
	case tagFloat:
		return d.float()
	case tagString:
		return starlark.String(d.text())
	case tagBytes:
		return starlark.Bytes(d.text())
	case tagList:
		return starlark.NewList(d.values(depth))
	case tagDict:
		return d.dict(depth)
	case tagContract:
		return d.contract()
	case tagSecret:
		return &Secret{Name: d.text(), Wrap: d.text()}
	case tagRecord:
		return d.record(depth)
	default:
		return d.fail("unknown tag %#x", tag)
	}
}

func (d *decoder) int() int64 {
	n, w := binary.Varint(d.buf[d.pos:])
	if w <= 0 || w > 1 && d.buf[d.pos+w-1] == 0 {
		d.fail("malformed int")
		return 0
	}
	d.pos += w
	return n
}

func (d *decoder) big() starlark.Value {
	sign, magnitude := d.byte(), d.text()
	b := new(big.Int).SetBytes([]byte(magnitude))
	if sign == 1 {
		b.Neg(b)
	}
	if d.err == nil && (sign > 1 || b.IsInt64() || magnitude[0] == 0) {
		return d.fail("malformed big int")
	}
	return starlark.MakeBigInt(b)
}

func (d *decoder) float() starlark.Value {
	if len(d.buf)-d.pos < 8 {
		return d.fail("ends inside a float")
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(d.buf[d.pos:]))
	d.pos += 8
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return d.fail("a float that is not finite")
	}
	return starlark.Float(f)
}

func (d *decoder) values(depth int) []starlark.Value {
	n := d.count()
	out := make([]starlark.Value, 0, n)
	for range n {
		out = append(out, d.value(depth+1))
		if d.err != nil {
			return nil
		}
	}
	return out
}

func (d *decoder) dict(depth int) starlark.Value {
	n := d.count()
	var keys, values []starlark.Value
	for range n {
		keys = append(keys, starlark.String(d.text()))
		values = append(values, d.value(depth+1))
		if d.err != nil {
			return starlark.None
		}
	}
	if err := crowd.Check(len(keys), slices.Values(keys)); err != nil {
		return d.fail("%v", err)
	}
	dict := starlark.NewDict(n)
	for i, key := range keys {
		if err := dict.SetKey(key, values[i]); err != nil {
			return d.fail("%v", err)
		}
	}
	if dict.Len() != n {
		return d.fail("a dict has a key twice")
	}
	return dict
}

func (d *decoder) contract() starlark.Value {
	text := d.text()
	if d.err != nil {
		return starlark.None
	}
	c, err := contract.Parse("contract", text)
	if err != nil {
		return d.fail("contract: %v", err)
	}
	return c
}

func (d *decoder) record(depth int) starlark.Value {
	n := int(d.byte())
	if n >= len(recordTypes) {
		return d.fail("unknown record type %d", n)
	}
	t := recordTypes[n]
	values := d.values(depth)
	if d.err != nil {
		return starlark.None
	}
	if len(values) > len(t.Fields) {
		return d.fail("%s with %d fields, this build knows %d", t.Name, len(values), len(t.Fields))
	}
	for len(values) < len(t.Fields) { // written before the type had these fields
		values = append(values, starlark.None)
	}
	return NewRecord(t, values...)
}
