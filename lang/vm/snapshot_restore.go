package vm

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/effect"
)

// Errors of Restore.
var (
	ErrForeignSnapshot = errors.New("the snapshot was not written by this store")
	ErrOtherProgram    = errors.New("the snapshot is of another program")
	ErrOtherBehaviour  = errors.New("the snapshot was written with another behaviour of the builtins")
	ErrSnapshotFormat  = errors.New("the snapshot is of another format")
)

// Restore makes the machine that a snapshot was written of. Damaged, foreign and incompatible bytes
// are refused with an error, and so is every state that no script can be in; a run whose snapshot
// is refused can be rebuilt from its journal.
func (img *Image) Restore(b, key []byte) (m *Machine, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("snapshot: %v", p)
		}
	}()
	exact, err := img.open(b, key)
	if err != nil {
		return nil, err
	}
	d := &rootDecoder{exact: exact, early: b[6] == 0, m: newMachine(img), registers: freeRegisters + registersPerByte*len(b)}
	d.decoder = &decoder{scanner: scanner{buf: b, pos: headerSize + macSize + len(img.identity)}, img: img, modules: d.module}
	d.m.main = img.main
	if !img.main.code.HasMain {
		own, err := img.instance(new(starlark.Dict))
		if err != nil {
			return nil, err
		}
		own.index = len(img.modules)
		d.m.main, d.m.modules = own, []*Module{own}
	}
	d.heap()
	d.roots()
	if d.err == nil && d.pos != len(b) {
		d.fail("%d bytes too many", len(b)-d.pos)
	}
	if d.err != nil {
		return nil, d.err
	}
	return d.m, nil
}

// open checks the header.
func (img *Image) open(b, key []byte) (exact bool, err error) {
	const head = headerSize + macSize
	switch {
	case len(b) < head+len(img.identity) || len(b) > maxSnapshot+head || string(b[:4]) != snapshotMagic:
		return false, errors.New("not a snapshot")
	case binary.BigEndian.Uint16(b[4:]) != snapshotFormat:
		return false, fmt.Errorf("%w: %d, this build reads %d", ErrSnapshotFormat, binary.BigEndian.Uint16(b[4:]), snapshotFormat)
	case !hmac.Equal(b[headerSize:head], authenticate(key, b)):
		return false, ErrForeignSnapshot
	case int(binary.BigEndian.Uint32(b[12:])) != len(b)-head:
		return false, errors.New("the snapshot has another length than its header says")
	case b[7]&^flagExact != 0:
		return false, fmt.Errorf("%w: it has flags that this build does not know", ErrSnapshotFormat)
	case binary.BigEndian.Uint32(b[8:]) != img.env.Behaviour:
		return false, fmt.Errorf("%w: %d, this build has %d", ErrOtherBehaviour, binary.BigEndian.Uint32(b[8:]), img.env.Behaviour)
	case string(b[head:head+len(img.identity)]) != string(img.identity[:]):
		return false, ErrOtherProgram
	case b[7]&flagExact != 0 && b[6] != img.main.code.Generator:
		return false, fmt.Errorf("%w: it stands between two instructions of code generator %d, this build has %d", ErrSnapshotFormat, b[6], img.main.code.Generator)
	}
	return b[7]&flagExact != 0, nil
}

// rootDecoder reads what refers to the heap.
type rootDecoder struct {
	*decoder
	m         *Machine
	exact     bool
	early     bool // written by code generator 0, which left out what is compile.Need.Late
	registers int  // that frames may still take
}

// Bounds of the roots. Registers are not written when they are not live: those of many frames may
// take more than the frames' bytes suggest.
const (
	maxCounter       = 1 << 60 // steps and bytes: adding to one can never overflow
	maxDepth         = 1 << 20 // calls in progress along a fiber and those that wait for it
	freeRegisters    = 1 << 16
	registersPerByte = 16
)

func (d *rootDecoder) module(i int) *Module {
	all := d.img.modules
	switch {
	case i < len(all):
		return all[i]
	case i < len(all)+len(d.m.modules):
		return d.m.modules[i-len(all)]
	}
	return nil
}

func (d *rootDecoder) roots() {
	m := d.m
	m.steps = uint64(d.uint(maxCounter))
	m.tally, m.ceiling = int64(d.uint(maxCounter)), int64(d.uint(maxCounter))
	m.nextID = d.uint(math.MaxInt32)
	d.ownModule()
	last := ""
	for n := d.count(); n > 0 && d.err == nil; n-- {
		step := d.next("opened step", last, len(m.opened) == 0)
		m.opened[step], last = d.outcome(), step
	}
	n := d.count()
	if n == 0 {
		d.fail("a machine without fibers")
	}
	m.fibers = make([]*fiber, 0, min(n, 1024))
	for ; n > 0 && d.err == nil; n-- {
		d.fiber()
	}
	if d.err == nil {
		d.queue()
	}
	d.crowds()
	if d.err == nil {
		d.checkOwned()
		d.check(m.agrees())
	}
}

// next reads a text that must come after the last one, unless it is the first.
func (d *rootDecoder) next(what, last string, first bool) string {
	s := d.textOf(what)
	if !first && s <= last {
		d.fail("the %s %q comes after %q", what, s, last)
	}
	return s
}

func (d *rootDecoder) ownModule() {
	own := d.byte() == 1
	if d.err == nil && own != (len(d.m.modules) > 0) {
		d.fail("a script with main has no module of its own, one without has")
	}
	if !own || d.err != nil {
		return
	}
	mod := d.m.modules[0]
	args, ok := d.value().(*starlark.Dict)
	if !ok {
		d.fail("args that are no dict")
		return
	}
	mod.setArgs(args)
	if n := d.count(); n != len(mod.globals) {
		d.fail("%d globals, want %d", n, len(mod.globals))
		return
	}
	for i := range mod.globals {
		mod.globals[i] = d.variable()
	}
}

func (d *rootDecoder) outcome() *effect.Outcome {
	switch d.byte() {
	case 0:
		return nil
	case 1:
		o := &effect.Outcome{Value: effect.Payload(d.string())}
		if failed := effect.Payload(d.string()); len(failed) > 0 && d.err == nil {
			v, err := failed.View()
			d.check(err)
			if o.Err = effect.ErrorOf(v); o.Err == nil {
				d.fail("an error that is no dict")
			}
		}
		return o
	}
	d.fail("an outcome that is neither there nor not")
	return nil
}

// fiber reads a fiber. What it waits for comes out of its frames.
func (d *rootDecoder) fiber() {
	f := &fiber{id: d.uint(d.m.nextID - 1)}
	if n := len(d.m.fibers); n > 0 && f.id <= d.m.fibers[n-1].id {
		d.fail("fiber %d comes after %d", f.id, d.m.fibers[n-1].id)
	}
	parent := d.uint(len(d.m.fibers))
	f.index = d.uint(math.MaxInt32)
	switch {
	case d.err != nil:
		return
	case (parent == 0) != (len(d.m.fibers) == 0):
		d.fail("the script is the first fiber, and all others have a parent")
		return
	case parent > 0:
		d.check(f.branchOf(d.m.fibers[parent-1]))
	}
	d.m.fibers = append(d.m.fibers, f)
	last := ""
	for n := d.count(); n > 0 && d.err == nil; n-- {
		name := d.next("name", last, f.names == nil)
		if f.names == nil {
			f.names = make(map[string]int)
		}
		f.names[name], last = d.uint(math.MaxInt32), name
	}
	f.steps = int64(d.uint(maxCounter))
	d.frames(f)
	d.iterators(f)
	if d.err == nil {
		f.state = f.resting()
	}
}

// frames reads the frames of a fiber.
func (d *rootDecoder) frames(f *fiber) {
	n := d.count()
	if n == 0 || f.depth+n > maxDepth {
		d.fail("a fiber with %d frames, %d below them", n, f.depth)
	}
	open := 0
	for i := 0; i < n && d.err == nil; i++ {
		kind := d.byte()
		switch {
		case (i == 0) != (kind == byte(rootFrame)):
			d.fail("the root frame belongs at the bottom and nowhere else")
		case kind == frameFunction:
			d.function(f, i == n-1)
		default:
			d.activation(f, activationKind(kind), i == n-1)
		}
		if d.err == nil {
			fr := &f.frames[i]
			fr.iters = open
			open += fr.opens()
		}
	}
}

// opens is the number of iterators that the frame itself holds.
func (fr *frame) opens() int {
	switch {
	case fr.fn != nil:
		return fr.fn.code.IterDepth(fr.pc)
	case fr.act.native != nil:
		return fr.act.native.iters
	}
	return 0
}

// function reads a frame of a Starlark function.
func (d *rootDecoder) function(f *fiber, top bool) {
	fn, ok := d.value().(*Function)
	if !ok {
		d.fail("a frame of something else than a function")
		return
	}
	if fn.code.Ordinal == 0 && (len(d.m.fibers) > 1 || len(f.frames) > 1) {
		d.fail("the top level is called where it cannot be")
	}
	pc := d.position(fn, top)
	base := f.windowBase()
	if grown := base + fn.code.NumRegisters - len(f.regs); grown > 0 {
		d.registers -= grown
	}
	if d.registers < 0 {
		d.fail("frames with more registers than %d bytes can stand for", len(d.buf))
	}
	if d.err != nil {
		return
	}
	fr := f.pushFrame(fn, base)
	fr.pc = pc
	d.window(f.window(fr), fr.live(top))
}

// windowBase is where the window of a function called by the top frame begins: at the arguments, if
// they lie in its own window.
func (f *fiber) windowBase() int {
	top := &f.frames[len(f.frames)-1]
	if top.fn == nil {
		return f.ceiling()
	}
	in := &top.fn.code.Code[top.pc]
	if in.Op == compile.CallMethod {
		return top.base + int(in.B) + 2
	}
	return top.base + int(in.B) + 1
}

func (d *rootDecoder) position(fn *Function, top bool) (pc int) {
	n := d.uint(math.MaxInt32)
	switch {
	case d.err != nil:
		return 0
	case n%2 == 1 && d.exact && n/2 < len(fn.code.Code):
		pc = n / 2
	case n%2 == 0 && !d.exact && n/2 < len(fn.code.Sites):
		pc = fn.code.Sites[n/2].PC
	default:
		d.fail("function %s has no position %d", fn.Name(), n)
		return 0
	}
	if !top && !fn.code.Code[pc].Op.Calls() {
		d.fail("function %s calls nothing at position %d", fn.Name(), n)
	}
	return pc
}

// window reads the live registers of a frame and holds them against what the code needs.
func (d *rootDecoder) window(regs []starlark.Value, needs []compile.Need) {
	for _, need := range needs {
		if d.early && need.Late {
			d.fail("register %d, a loop's variable, was left out by code generator 0", need.Reg)
		}
		d.last = -1
		v := d.value()
		regs[need.Reg] = v
		_, isCell := v.(*cell)
		_, isMethod := v.(*method)
		switch {
		case isCell != (need.Hold&compile.HoldCell != 0):
			d.fail("register %d holds a %s", need.Reg, typeOf(v))
		case v == nil && need.Hold&compile.HoldValue != 0:
			d.fail("register %d is unset", need.Reg)
		case isMethod && need.Hold&compile.HoldMethod != 0:
		case v != nil && !isCell && hidden(v):
			d.fail("register %d holds a %s", need.Reg, typeOf(v))
		case need.Hold&(compile.HoldList|compile.HoldDict) != 0:
			d.underConstruction(v, need)
		}
	}
	for _, need := range needs {
		if m, ok := regs[need.Reg].(*method); ok && d.err == nil && !m.serves(regs[need.Reg+1]) {
			d.fail("a method %s of a %s", m.name, typeOf(regs[need.Reg+1]))
		}
	}
}

// underConstruction checks a list or dict that a literal or a comprehension is still adding to.
func (d *rootDecoder) underConstruction(v starlark.Value, need compile.Need) {
	var ok bool
	if need.Hold&compile.HoldList != 0 {
		_, ok = v.(*starlark.List)
	} else {
		_, ok = v.(*starlark.Dict)
	}
	if !ok {
		d.fail("register %d holds a %s that is being built", need.Reg, typeOf(v))
		return
	}
	d.own("a list or dict that is being built")
}

// iterators opens the fiber's iterators again, which takes the locks, and moves them to where they
// stood.
func (d *rootDecoder) iterators(f *fiber) {
	if d.err != nil {
		return
	}
	top := &f.frames[len(f.frames)-1]
	for n := top.iters + top.opens(); n > 0 && d.err == nil; n-- {
		source := d.plain()
		pos := d.uint(math.MaxInt)
		if d.err == nil {
			d.check(f.pushIterator(source))
		}
		if d.err == nil {
			d.check(f.iters[len(f.iters)-1].seek(pos))
		}
	}
}

// seek moves a fresh iterator to where an earlier one stood.
func (it *iteration) seek(pos int) error {
	switch it.kind {
	case overList, overTuple, overRange:
		if pos > it.length {
			return fmt.Errorf("an iterator at %d of %d", pos, it.length)
		}
		it.pos = pos
	case overForever:
		it.pos = pos
	default:
		var v starlark.Value
		for it.pos < pos {
			if !it.next(&v) {
				return fmt.Errorf("an iterator at %d, behind the end", pos)
			}
		}
	}
	return nil
}
