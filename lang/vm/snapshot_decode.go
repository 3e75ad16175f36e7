package vm

import (
	"math"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/contract"
	"starling/lang/effect"
)

// decoder reads a heap. See snapshot.go for the order in which it fills objects and why.
type decoder struct {
	scanner
	img       *Image
	modules   func(index int) *Module
	names     []starlark.Value
	strings   []starlark.Value
	shells    []shell
	last      int                           // the object that was last referred to; whoever wants to know sets it to -1 before
	demand    int                           // host values being made
	hashed    int                           // parts of the tuples that were hashed
	recent    *[32]starlark.Value           // texts that stood where they were used, by how they look
	contracts map[string]*contract.Contract // by text: many values may be one contract, which is parsed once
	owned     []int                         // objects to which only one place may refer
}

// shell is an object on its way: what it is, where its body begins, and its value once there is
// one.
type shell struct {
	kind    byte
	frozen  bool
	emptied bool // a dict or set without keys that once had some
	made    making
	refs    uint8            // how often it is referred to: 0, 1, or 2 for more
	n       uint32           // elements, entries, parts; for functions the ordinal, for records the type
	module  uint32           // of a function; for a host value its codec
	body    uint32           // where it begins
	value   starlark.Value   // nil until made
	elems   []starlark.Value // the elements of a list, a tuple or a record, filled through this slice
}

// making says how far an object is that must be whole before something else can be made of it.
type making uint8

const (
	unmade making = iota
	busy          // what it refers to is being made: meeting it again is a cycle that no script can build
	whole
)

// Bounds of what a snapshot can ask for beside its own size. A snapshot beyond them is refused, and
// its run replayed.
const (
	maxDemand     = 1000    // nesting of methods and host values in each other, which are made by recursion
	maxHashed     = 1 << 24 // parts of tuples that are hashed as keys
	maxSnapshot   = 1 << 31 // bytes
	hashedPerByte = 64      // parts of tuples that are hashed as keys, for each byte
)

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
	d.readStrings()
	d.readShells()
	d.findBodies()
	roots := d.pos
	for i := range d.shells {
		if d.err != nil {
			return
		}
		d.makeShell(&d.shells[i])
	}
	for _, pass := range []func(*shell){d.makeDemanded, d.fillParts, d.fillTable, d.fillRest} {
		d.each(pass)
	}
	if d.err == nil {
		d.pos = roots
	}
}

// each hands every object to a pass, with the position at its body.
func (d *decoder) each(pass func(sh *shell)) {
	for i := range d.shells {
		if d.err != nil {
			return
		}
		d.pos = int(d.shells[i].body)
		pass(&d.shells[i])
	}
}

// sharedTexts bounds the table of texts that is one text in memory: the last of them keeps it all
// alive.
const sharedTexts = 16 << 10

func (d *decoder) readStrings() {
	n, from := d.count(), d.pos
	d.strings = make([]starlark.Value, n)
	for i := 0; i < n && d.err == nil; i++ {
		d.pass()
	}
	if d.err != nil {
		return
	}
	var all string
	if d.pos-from <= sharedTexts {
		all = string(d.buf[from:d.pos])
	}
	d.pos = from
	for i := range d.strings {
		text := d.take(d.count())
		if all == "" {
			d.strings[i] = starlark.String(text)
			continue
		}
		end := d.pos - from
		d.strings[i] = starlark.String(all[end-len(text) : end])
	}
}

func (d *decoder) readShells() {
	n := d.count()
	d.shells = make([]shell, 0, min(n, 1024))
	for ; n > 0 && d.err == nil; n-- {
		kind := d.byte()
		sh := shell{kind: kind &^ (objFrozen | objEmptied), frozen: kind&objFrozen != 0, emptied: kind&objEmptied != 0}
		d.readShell(&sh)
		if sh.emptied && (sh.n > 0 || sh.kind != objDict && sh.kind != objSet) {
			d.fail("an object of kind %#x with %d parts cannot have been emptied", sh.kind, sh.n)
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
	case objList, objDict, objSet:
		sh.n = uint32(d.count())
	case objTuple:
		if sh.n = uint32(d.count()); sh.n == 0 {
			d.fail("an empty tuple is not an object")
		}
	case objFunction:
		sh.module = uint32(d.uint(math.MaxInt32))
		sh.n = uint32(d.uint(math.MaxInt32))
		d.checkFunction(sh)
	case objRecord:
		sh.n = uint32(d.below(len(recordTypes), "record type"))
	case objHost:
		sh.module = uint32(d.below(len(d.img.env.Codecs), "codec"))
		sh.n = uint32(d.count())
	case objCell, objMethod, objEffectMethod, objContract, objSecret:
	default:
		d.fail("unknown kind of object %#x", sh.kind)
	}
}

// recordTypes are the types by their number on the wire.
var recordTypes = effect.RecordTypes()

// checkFunction refuses code that is not there, and the top level of a module that all runs share:
// it would write to what they share.
func (d *decoder) checkFunction(sh *shell) {
	m := d.modules(int(sh.module))
	switch {
	case d.err != nil:
	case m == nil || int(sh.n) >= len(m.code.Functions):
		d.fail("there is no function %d in module %d", sh.n, sh.module)
	case sh.n == 0 && int(sh.module) < len(d.img.modules):
		d.fail("the top level of module %d belongs to no run", sh.module)
	}
}

func (d *decoder) code(sh *shell) *compile.Function {
	return d.modules(int(sh.module)).code.Functions[sh.n]
}

// findBodies notes where each body begins, by passing over its values: nothing is made before it is
// known that all it claims to hold is there.
func (d *decoder) findBodies() {
	for i := range d.shells {
		if d.err != nil {
			return
		}
		sh := &d.shells[i]
		sh.body = uint32(d.pos)
		for n := d.contents(sh); n > 0 && d.err == nil; n-- {
			d.skip()
		}
	}
}

// contents is the number of values in a body.
func (d *decoder) contents(sh *shell) int {
	switch sh.kind {
	case objList, objTuple, objSet, objHost:
		return int(sh.n)
	case objDict:
		return 2 * int(sh.n)
	case objFunction:
		code := d.code(sh)
		return code.NumDefaults + len(code.Free)
	case objRecord:
		return len(recordTypes[sh.n].Fields)
	case objMethod, objEffectMethod, objSecret:
		return 2
	}
	return 1 // cell, contract
}

// makeShell makes the value of an object that can exist before its contents do.
func (d *decoder) makeShell(sh *shell) {
	switch sh.kind {
	case objList:
		sh.elems = unfilled(int(sh.n))
		sh.value = starlark.NewList(sh.elems)
	case objTuple:
		sh.elems = unfilled(int(sh.n))
		sh.value = starlark.Tuple(sh.elems)
	case objDict:
		sh.value = newTable(sh, newDict, starlark.NewDict)
	case objSet:
		sh.value = newTable(sh, newSet, starlark.NewSet)
	case objCell:
		sh.value = new(cell)
	case objFunction:
		code := d.code(sh)
		sh.value = newFunction(d.modules(int(sh.module)), code, make([]starlark.Value, code.NumDefaults), make([]*cell, len(code.Free)))
	case objRecord:
		t := recordTypes[sh.n]
		sh.elems = unfilled(len(t.Fields))
		sh.value = effect.NewRecord(t, sh.elems...)
	}
}

// newTable makes a dict or a set: by emptied, which gives it a table for any size, if it had one.
func newTable[T starlark.Value](sh *shell, plain, emptied func(int) T) T {
	if sh.emptied {
		return emptied(0)
	}
	return plain(int(sh.n))
}

func unfilled(n int) []starlark.Value {
	elems := make([]starlark.Value, n)
	for i := range elems {
		elems[i] = starlark.None
	}
	return elems
}

// own notes that nobody but the place just read may refer to the object that was last referred to.
func (d *decoder) own(what string) {
	if d.last < 0 {
		d.fail("%s that is not the run's own", what)
		return
	}
	d.owned = append(d.owned, d.last)
}

// checkOwned is asked when everything has been read.
func (d *decoder) checkOwned() {
	for _, id := range d.owned {
		if d.shells[id].refs > 1 || d.shells[id].frozen {
			d.fail("object %d is frozen or known elsewhere, but it is still being built", id)
		}
	}
}
