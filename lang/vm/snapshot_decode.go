package vm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// scanner reads the primitives of a snapshot. After the first failure everything reads as zero.
type scanner struct {
	buf []byte
	pos int
	err error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("snapshot byte %d: %s", s.pos, fmt.Sprintf(format, args...))
	}
	s.pos = len(s.buf)
}

func (s *scanner) byte() byte {
	if s.pos >= len(s.buf) {
		s.fail("ends too early")
		return 0
	}
	s.pos++
	return s.buf[s.pos-1]
}

// uint reads a number that is at most max.
func (s *scanner) uint(max int) int {
	n, w := binary.Uvarint(s.buf[s.pos:])
	switch {
	case w <= 0:
		s.fail("malformed number")
		return 0
	case n > uint64(max):
		s.fail("number %d, want at most %d", n, max)
		return 0
	}
	s.pos += w
	return int(n)
}

// count reads a count of things that take at least one byte each.
func (s *scanner) count() int { return s.uint(len(s.buf) - s.pos) }

func (s *scanner) varint() int64 {
	n, w := binary.Varint(s.buf[s.pos:])
	if w <= 0 {
		s.fail("malformed int")
		return 0
	}
	s.pos += w
	return n
}

func (s *scanner) take(n int) string {
	if n > len(s.buf)-s.pos {
		s.fail("ends inside a text of %d bytes", n)
		return ""
	}
	s.pos += n
	return string(s.buf[s.pos-n : s.pos])
}

func (s *scanner) string() string { return s.take(s.count()) }

// decoder reads a heap. See snapshot.go for the order in which it fills objects and why.
type decoder struct {
	scanner
	img     *Image
	modules func(index int) *Module
	names   []starlark.Value
	strings []starlark.String
	shells  []shell
	demand  int // host values being made
}

// shell is an object on its way: what it is, where its body begins, and its value once there is one.
type shell struct {
	kind   byte
	frozen bool
	body   int
	n      int              // elements, entries, parts; for functions the ordinal, for records the type
	module int              // of a function
	value  starlark.Value   // nil until made
	elems  []starlark.Value // the elements of a list, a tuple or a record, filled through this slice
	busy   bool             // being made on demand
}

// maxDemand bounds how deep methods and host values may be nested in each other.
const maxDemand = 1000

// heap reads names, strings and objects; the position is then at the roots.
func (d *decoder) heap() {
	for n := d.count(); n > 0 && d.err == nil; n-- {
		name := d.string()
		v, ok := d.img.permanents.named(name)
		if !ok && d.err == nil {
			d.fail("the name %q is not in this environment", name)
		}
		d.names = append(d.names, v)
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		d.strings = append(d.strings, starlark.String(d.string()))
	}
	d.readShells()
	d.findBodies()
	roots := d.pos
	for _, pass := range []func(*shell){d.makeDemanded, d.fillTuple, d.fillTable, nil, d.fillRest} {
		if pass == nil {
			d.freeze()
			continue
		}
		for i := range d.shells {
			if d.err != nil {
				return
			}
			d.pos = d.shells[i].body
			pass(&d.shells[i])
		}
	}
	if d.err == nil {
		d.pos = roots
	}
}

func (d *decoder) readShells() {
	n := d.count()
	d.shells = make([]shell, 0, min(n, 1024))
	total := 0
	for ; n > 0 && d.err == nil; n-- {
		kind := d.byte()
		sh := shell{kind: kind &^ objFrozen, frozen: kind&objFrozen != 0}
		d.readShell(&sh)
		if sh.kind != objFunction && sh.kind != objRecord { // theirs is a number, not a count
			total += sh.n
		}
		if total > len(d.buf) {
			d.fail("objects with more contents than there are bytes")
		}
		if d.err == nil {
			d.makeShell(&sh)
		}
		d.shells = append(d.shells, sh)
	}
}

// readShell reads what stands behind the kind.
func (d *decoder) readShell(sh *shell) {
	if sh.frozen && sh.kind > objSet {
		d.fail("an object of kind %#x cannot be frozen", sh.kind)
	}
	switch sh.kind {
	case objList, objDict, objSet, objTuple:
		sh.n = d.count()
	case objFunction:
		sh.module = d.uint(math.MaxInt32)
		sh.n = d.uint(math.MaxInt32)
		d.checkFunction(sh)
	case objRecord:
		sh.n = int(d.byte())
		if sh.n >= len(effect.RecordTypes()) {
			d.fail("unknown record type %d", sh.n)
		}
	case objHost:
		sh.module = d.uint(len(d.img.env.Codecs) - 1)
		sh.n = d.count()
	case objCell, objMethod, objEffectMethod, objContract, objSecret:
	default:
		d.fail("unknown kind of object %#x", sh.kind)
	}
}

func (d *decoder) checkFunction(sh *shell) {
	m := d.modules(sh.module)
	if d.err == nil && (m == nil || sh.n >= len(m.code.Functions)) {
		d.fail("there is no function %d in module %d", sh.n, sh.module)
	}
}

// makeShell makes the value of an object that can exist before its contents do.
func (d *decoder) makeShell(sh *shell) {
	switch sh.kind {
	case objList:
		sh.elems = unfilled(sh.n)
		sh.value = starlark.NewList(sh.elems)
	case objTuple:
		if sh.n == 0 {
			d.fail("an empty tuple is not an object")
		}
		sh.elems = unfilled(sh.n)
		sh.value = starlark.Tuple(sh.elems)
	case objDict:
		sh.value = starlark.NewDict(sh.n)
	case objSet:
		sh.value = starlark.NewSet(sh.n)
	case objCell:
		sh.value = new(cell)
	case objFunction:
		m := d.modules(sh.module)
		code := m.code.Functions[sh.n]
		sh.value = newFunction(m, code, make([]starlark.Value, code.NumDefaults), make([]*cell, len(code.Free)))
		sh.n = 0
	case objRecord:
		t := effect.RecordTypes()[sh.n]
		sh.elems = unfilled(len(t.Fields))
		sh.value = effect.NewRecord(t, sh.elems...)
	}
}

func unfilled(n int) []starlark.Value {
	elems := make([]starlark.Value, n)
	for i := range elems {
		elems[i] = starlark.None
	}
	return elems
}

// findBodies notes where each body begins, by passing over its values.
func (d *decoder) findBodies() {
	for i := range d.shells {
		if d.err != nil {
			return
		}
		sh := &d.shells[i]
		sh.body = d.pos
		for n := sh.contents(); n > 0 && d.err == nil; n-- {
			d.skip()
		}
	}
}

// contents is the number of values in a body.
func (sh *shell) contents() int {
	switch sh.kind {
	case objList, objTuple, objSet, objHost:
		return sh.n
	case objDict:
		return 2 * sh.n
	case objFunction:
		fn := sh.value.(*Function)
		return len(fn.defaults) + len(fn.free)
	case objRecord:
		return len(sh.elems)
	case objMethod, objEffectMethod, objSecret:
		return 2
	}
	return 1 // cell, contract
}

// skip passes over one value.
func (d *decoder) skip() {
	switch tag := d.byte(); {
	case tag >= tagSmallInt:
	case tag == tagInt:
		d.varint()
	case tag == tagBig:
		d.byte()
		d.string()
	case tag == tagFloat:
		d.take(8)
	case tag == tagShort, tag == tagBytes:
		d.string()
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

// skipText passes over the text that a view looks at; nothing else may stand there, so that skipping does not recurse.
func (d *decoder) skipText() {
	switch tag := d.byte(); tag {
	case tagShort, tagBytes:
		d.string()
	case tagText:
		d.uint(math.MaxInt32)
	default:
		d.fail("a view of something that is no text: tag %#x", tag)
	}
}

// value reads one value.
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
		return starlark.String(d.string())
	case tag == tagText:
		return d.text()
	case tag == tagBytes:
		return starlark.Bytes(d.string())
	case tag == tagEmpty:
		return starlark.Tuple{}
	case tag == tagForever:
		return forever{}
	case tag == tagObject:
		return d.object(d.uint(len(d.shells)))
	default:
		return d.named(tag)
	}
}

// named reads the rarer values.
func (d *decoder) named(tag byte) starlark.Value {
	switch tag {
	case tagRange:
		return d.rangeValue()
	case tagView:
		return d.view()
	case tagPermanent:
		return d.permanent()
	case tagNamed:
		n := d.uint(len(d.names))
		if n < len(d.names) {
			return d.names[n]
		}
		d.fail("there is no name %d", n)
	default:
		d.fail("unknown tag %#x", tag)
	}
	return starlark.None
}

func (d *decoder) text() starlark.Value {
	n := d.uint(len(d.strings))
	if n >= len(d.strings) {
		d.fail("there is no text %d", n)
		return starlark.None
	}
	return d.strings[n]
}

func (d *decoder) big() starlark.Value {
	sign := d.byte()
	b := new(big.Int).SetBytes([]byte(d.string()))
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
	return starlark.Float(math.Float64frombits(binary.BigEndian.Uint64([]byte(b))))
}

func (d *decoder) rangeValue() starlark.Value {
	args := make(starlark.Tuple, 3)
	for i := range args {
		args[i] = starlark.MakeInt64(d.varint())
	}
	v, err := starlark.Universe["range"].(*starlark.Builtin).CallInternal(new(starlark.Thread), args, nil)
	if err != nil {
		d.fail("%v", err)
		return starlark.None
	}
	return v
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
	return d.attr(source, views[kind], true)
}

// attr looks a method up, and calls it if asked.
func (d *decoder) attr(recv starlark.Value, name string, call bool) starlark.Value {
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
	if b, ok := v.(*starlark.Builtin); ok && call {
		if v, err = b.CallInternal(new(starlark.Thread), nil, nil); err != nil {
			d.fail("%v", err)
		}
	}
	return v
}

func typeOf(v starlark.Value) string {
	if v == nil {
		return "unset variable"
	}
	return v.Type()
}

func (d *decoder) permanent() starlark.Value {
	module, number := d.uint(math.MaxInt32), d.uint(math.MaxInt32)
	values := d.img.permanents.values
	if module >= len(values) || number >= len(values[module]) {
		d.fail("there is no permanent value %d of module %d", number, module)
		return starlark.None
	}
	return values[module][number]
}

// object returns the value of an object, making it first if it is made on demand.
func (d *decoder) object(id int) starlark.Value {
	if id >= len(d.shells) {
		d.fail("there is no object %d", id)
		return starlark.None
	}
	sh := &d.shells[id]
	if sh.value == nil && d.err == nil {
		at := d.pos
		d.makeDemanded(sh)
		if d.err == nil {
			d.pos = at
		}
	}
	if sh.value == nil {
		return starlark.None
	}
	return sh.value
}

// makeDemanded makes an object that needs its contents first.
func (d *decoder) makeDemanded(sh *shell) {
	if sh.value != nil {
		return
	}
	if sh.busy {
		d.fail("an object that is needed to make itself")
		return
	}
	sh.busy = true
	d.pos = sh.body
	switch sh.kind {
	case objMethod, objEffectMethod:
		recv, name := d.value(), d.value()
		text, ok := name.(starlark.String)
		if d.err == nil && !ok {
			d.fail("a method whose name is a %s", typeOf(name))
		}
		if d.err == nil {
			sh.value = d.attr(recv, string(text), false)
		}
	case objContract:
		d.makeContract(sh)
	case objSecret:
		name, _ := d.value().(starlark.String)
		wrap, _ := d.value().(starlark.String)
		sh.value = &effect.Secret{Name: string(name), Wrap: string(wrap)}
	case objHost:
		d.makeHost(sh)
	}
}

func (d *decoder) makeContract(sh *shell) {
	text, _ := d.value().(starlark.String)
	if d.err != nil {
		return
	}
	c, err := contract.Parse("contract", string(text))
	if err != nil {
		d.fail("a contract that does not parse: %v", err)
		return
	}
	sh.value = c
}

func (d *decoder) makeHost(sh *shell) {
	if d.demand++; d.demand > maxDemand {
		d.fail("values nested too deep in each other")
		return
	}
	parts := make([]starlark.Value, sh.n)
	for i := range parts {
		parts[i] = d.value()
	}
	d.demand--
	if d.err != nil {
		return
	}
	v, err := d.img.env.Codecs[sh.module].Make(parts)
	if err != nil {
		d.fail("%v", err)
		return
	}
	sh.value = v
}

// set reads a value that must be set.
func (d *decoder) set() starlark.Value {
	v := d.value()
	if v == nil {
		d.fail("an unset value inside an object")
		return starlark.None
	}
	if _, ok := v.(*cell); ok {
		d.fail("a cell inside an object")
	}
	return v
}

func (d *decoder) fillTuple(sh *shell) {
	if sh.kind != objTuple && sh.kind != objRecord {
		return
	}
	for i := range sh.elems {
		sh.elems[i] = d.set()
	}
}

func (d *decoder) fillTable(sh *shell) {
	switch sh.kind {
	case objDict:
		dict := sh.value.(*starlark.Dict)
		for range sh.n {
			k, v := d.set(), d.set()
			if d.err == nil {
				d.check(dict.SetKey(k, v))
			}
		}
		d.checkLen(dict.Len(), sh.n)
	case objSet:
		set := sh.value.(*starlark.Set)
		for range sh.n {
			if k := d.set(); d.err == nil {
				d.check(set.Insert(k))
			}
		}
		d.checkLen(set.Len(), sh.n)
	}
}

func (d *decoder) check(err error) {
	if err != nil {
		d.fail("%v", err)
	}
}

func (d *decoder) checkLen(got, want int) {
	if d.err == nil && got != want {
		d.fail("a dict or set with %d keys, want %d", got, want)
	}
}

// freeze restores the frozen flags, the youngest object first: what an object refers to is mostly younger, so freezing rarely has to follow.
func (d *decoder) freeze() {
	for i := len(d.shells) - 1; i >= 0 && d.err == nil; i-- {
		if d.shells[i].frozen {
			d.shells[i].value.Freeze()
		}
	}
}

func (d *decoder) fillRest(sh *shell) {
	switch sh.kind {
	case objList:
		for i := range sh.elems {
			sh.elems[i] = d.set()
		}
	case objCell:
		v := d.value()
		if _, nested := v.(*cell); nested {
			d.fail("a cell inside a cell")
		}
		sh.value.(*cell).v = v
	case objFunction:
		d.fillFunction(sh.value.(*Function))
	}
}

func (d *decoder) fillFunction(fn *Function) {
	for i := range fn.defaults {
		fn.defaults[i] = d.value()
	}
	for i := range fn.free {
		c, ok := d.value().(*cell)
		if !ok && d.err == nil {
			d.fail("a function that captured something else than a cell")
		}
		fn.free[i] = c
	}
}
