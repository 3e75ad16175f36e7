package vm

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// encoder writes a heap. Objects are numbered when they are first met and worked off in that order.
type encoder struct {
	img     *Image
	ids     map[any]uint32
	objects []starlark.Value
	texts   map[string]uint32
	textTab []byte
	names   map[string]uint32
	nameTab []byte
	shells  []byte
	bodies  []byte
	roots   []byte
	err     error
}

// newEncoder takes an encoder whose tables have grown already, if there is one: making them is most
// of the work for a machine that holds little.
func newEncoder(img *Image) *encoder {
	if e, ok := img.encoders.Get().(*encoder); ok {
		return e
	}
	return &encoder{img: img, ids: map[any]uint32{}, texts: map[string]uint32{}, names: map[string]uint32{}}
}

// keptObjects bounds the tables that are kept for the next snapshot.
const keptObjects = 1 << 12

// release keeps the tables, empty.
func (e *encoder) release() {
	if len(e.objects) > keptObjects || len(e.texts) > keptObjects || cap(e.textTab) > 64*keptObjects {
		return
	}
	clear(e.ids)
	clear(e.texts)
	clear(e.names)
	clear(e.objects)
	*e = encoder{img: e.img, ids: e.ids, objects: e.objects[:0], texts: e.texts, textTab: e.textTab[:0], names: e.names, nameTab: e.nameTab[:0],
		shells: e.shells[:0], bodies: e.bodies[:0], roots: e.roots[:0]}
	e.img.encoders.Put(e)
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func putUint(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func putText(b []byte, s string) []byte { return append(putUint(b, len(s)), s...) }

// workOff writes the objects that are known, and those that they lead to.
func (e *encoder) workOff() {
	for i := 0; i < len(e.objects); i++ {
		e.shells, e.bodies = e.object(e.shells, e.bodies, e.objects[i])
	}
}

// maxCount is the most that a count takes, bytes.
const maxCount = binary.MaxVarintLen64

// size is the most that heap and roots take.
func (e *encoder) size() int {
	return 3*maxCount + len(e.nameTab) + len(e.textTab) + len(e.shells) + len(e.bodies) + len(e.roots)
}

// heap appends names, strings, shells and bodies, in the order of the format.
func (e *encoder) heap(b []byte) []byte {
	b = append(putUint(b, len(e.names)), e.nameTab...)
	b = append(putUint(b, len(e.texts)), e.textTab...)
	b = append(putUint(b, len(e.objects)), e.shells...)
	return append(b, e.bodies...)
}

// value appends a value to b.
func (e *encoder) value(b []byte, v starlark.Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, tagUnset)
	case starlark.NoneType:
		return append(b, tagNone)
	case starlark.Bool:
		if v {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case starlark.Int:
		return putInt(b, v)
	case starlark.Float:
		return binary.BigEndian.AppendUint64(append(b, tagFloat), math.Float64bits(float64(v)))
	case starlark.String:
		return e.text(b, string(v))
	case starlark.Bytes:
		return putText(append(b, tagBytes), string(v))
	case forever:
		return append(b, tagForever)
	case starlark.Tuple:
		if len(v) == 0 {
			return append(b, tagEmpty)
		}
	}
	return e.reference(b, v)
}

func putInt(b []byte, v starlark.Int) []byte {
	n, ok := v.Int64()
	switch {
	case ok && n >= 0 && n < int64(tagSmallObject-tagSmallInt):
		return append(b, tagSmallInt+byte(n))
	case ok:
		return binary.AppendVarint(append(b, tagInt), n)
	}
	big := v.BigInt()
	sign := byte(0)
	if big.Sign() < 0 {
		sign = 1
	}
	return putText(append(b, tagBig, sign), string(big.Bytes()))
}

func (e *encoder) text(b []byte, s string) []byte {
	if len(s) < shortText {
		return putText(append(b, tagShort), s)
	}
	return putUint(append(b, tagText), e.textNumber(s))
}

func (e *encoder) textNumber(s string) int {
	n, ok := e.texts[s]
	if !ok {
		n = uint32(len(e.texts))
		e.texts[s] = n
		e.textTab = putText(e.textTab, s)
	}
	return int(n)
}

// reference appends a reference to an object, or what stands for one that the image or the
// environment has.
func (e *encoder) reference(b []byte, v starlark.Value) []byte {
	key := identity(v)
	if key == nil {
		return e.view(b, v)
	}
	if id, ok := e.ids[key]; ok {
		return putObject(b, id)
	}
	if ref, ok := e.img.permanents.refs[key]; ok {
		return putUint(putUint(append(b, tagPermanent), ref.module), ref.number)
	}
	if name, ok := e.img.permanents.names[key]; ok {
		return putUint(append(b, tagNamed), e.nameNumber(name))
	}
	id := uint32(len(e.objects))
	e.ids[key] = id
	e.objects = append(e.objects, v)
	return putObject(b, id)
}

func putObject(b []byte, id uint32) []byte {
	if id < uint32(tagSmallObject) {
		return append(b, tagSmallObject+byte(id))
	}
	return putUint(append(b, tagObject), int(id))
}

func (e *encoder) nameNumber(name string) int {
	n, ok := e.names[name]
	if !ok {
		n = uint32(len(e.names))
		e.names[name] = n
		e.nameTab = putText(e.nameTab, name)
	}
	return int(n)
}

// view appends a range, or a view of a text.
func (e *encoder) view(b []byte, v starlark.Value) []byte {
	if isRange(v) {
		r := reflect.ValueOf(v)
		b = append(b, tagRange)
		for _, field := range []string{"start", "stop", "step"} {
			b = binary.AppendVarint(b, r.FieldByName(field).Int())
		}
		return b
	}
	if kind := viewKind(v); kind >= 0 {
		return e.value(append(b, tagView, byte(kind)), viewSource(v))
	}
	if codecOf(e.img.env.Codecs, v) < 0 {
		e.fail("a %s cannot be written down", v.Type())
		return b
	}
	e.objects = append(e.objects, v) // a host value that cannot be recognised is an object of its own wherever it stands
	return putObject(b, uint32(len(e.objects)-1))
}

// object appends the shell and the body of one object.
func (e *encoder) object(shells, bodies []byte, v starlark.Value) (_, _ []byte) {
	switch v := v.(type) {
	case *starlark.List:
		shells = putUint(append(shells, objList|frozenBit(listIsFrozen(v))), v.Len())
		for i := range v.Len() {
			bodies = e.value(bodies, v.Index(i))
		}
	case starlark.Tuple:
		shells = putUint(append(shells, objTuple), len(v))
		bodies = e.values(bodies, v)
	case *starlark.Dict:
		shells = putUint(append(shells, objDict|tableBits(reflect.ValueOf(v).Elem().Field(dictTable))), v.Len())
		for k, x := range v.Entries() {
			bodies = e.value(e.value(bodies, k), x)
		}
	case *starlark.Set:
		shells = putUint(append(shells, objSet|tableBits(reflect.ValueOf(v).Elem().Field(setTable))), v.Len())
		for x := range v.Elements() {
			bodies = e.value(bodies, x)
		}
	case *cell:
		shells = append(shells, objCell)
		bodies = e.value(bodies, v.v)
	case *Function:
		shells = putUint(putUint(append(shells, objFunction), v.module.index), v.code.Ordinal)
		bodies = e.values(bodies, v.defaults)
		for _, c := range v.free {
			bodies = e.value(bodies, c)
		}
	case *effect.Record:
		shells = append(shells, objRecord, recordNumber(v.RecordType()))
		bodies = e.values(bodies, v.Values())
	default:
		return e.other(shells, bodies, v)
	}
	return shells, bodies
}

func (e *encoder) values(b []byte, vs []starlark.Value) []byte {
	for _, v := range vs {
		b = e.value(b, v)
	}
	return b
}

// other appends objects that are made on demand when they are read.
func (e *encoder) other(shells, bodies []byte, v starlark.Value) (_, _ []byte) {
	switch v := v.(type) {
	case *starlark.Builtin:
		if v.Receiver() == nil {
			e.fail("the builtin %s is not part of the environment and cannot be written down", v.Name())
			return shells, bodies
		}
		return append(shells, objMethod), e.text(e.value(bodies, v.Receiver()), v.Name())
	case *effect.Builtin:
		recv, name := v.Receiver()
		if recv == nil {
			e.fail("the builtin %s is not part of the environment and cannot be written down", v.FullName)
			return shells, bodies
		}
		return append(shells, objEffectMethod), e.text(e.value(bodies, recv), name)
	case *contract.Contract:
		return append(shells, objContract), e.text(bodies, v.String())
	case *effect.Secret:
		return append(shells, objSecret), e.text(e.text(bodies, v.Name), v.Wrap)
	}
	i := codecOf(e.img.env.Codecs, v)
	if i < 0 {
		e.fail("a %s cannot be written down", v.Type())
		return shells, bodies
	}
	parts, err := e.img.env.Codecs[i].Parts(v)
	if err != nil {
		e.fail("a %s cannot be written down: %v", v.Type(), err)
	}
	return putUint(putUint(append(shells, objHost), i), len(parts)), e.values(bodies, parts)
}

func frozenBit(frozen bool) byte {
	if frozen {
		return objFrozen
	}
	return 0
}

func recordNumber(t *effect.RecordType) byte {
	for i, u := range effect.RecordTypes() {
		if t == u {
			return byte(i)
		}
	}
	panic("vm: a record type that effect does not list: " + t.Name)
}

func listIsFrozen(l *starlark.List) bool { return reflect.ValueOf(l).Elem().Field(listFrozen).Bool() }

// tableBits are those of a dict or set, of which t is the table.
func tableBits(t reflect.Value) byte {
	bits := frozenBit(t.Field(tableFrozen).Bool())
	if t.Field(tableLen).Uint() == 0 && !t.Field(tableBuckets).IsNil() {
		bits |= objEmptied
	}
	return bits
}
