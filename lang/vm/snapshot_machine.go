package vm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// The roots of a snapshot: what a machine is beside its heap.
//
//	steps · tally of memory and its ceiling · next fiber · own module: 0, or 1, args, count, globals
//	opened    count, (text step, outcome or 00)*
//	fibers    count, fiber*
//	queue     count, fiber number*
//	crowds    count, (text step, count, fiber number*)*: steps for which several wait, in their order
//
//	fiber     id · parent + 1 · index · depth · text branch · names count, (text, count)* · state · steps · frames count, frame* · iterators count, (source, position)*
//	frame     04 function · position · the live registers in ascending order
//	          00 root, 02 native with its name · phase · count, values
//	          03 wait · text step · callback · events count, (length, payload)* · outcome or 00
//	position  2 × site ordinal, or 2 × pc + 1 in an exact snapshot
//	outcome   01 length, payload of the value · length, payload of the error

const frameFunction byte = 4

// identify computes what snapshots say of the program: the names and texts of its modules, their dialects.
func (img *Image) identify() {
	h := sha256.New()
	for _, m := range img.modules {
		fmt.Fprintf(h, "%d %s %v\n", len(m.code.Name), m.code.Name, m.code.Options)
		h.Write(m.code.Hash[:])
	}
	copy(img.identity[:], h.Sum(nil))
}

// Snapshot writes the machine down. It stands at a stop: every fiber waits, is ready to begin, or yielded. key authenticates the bytes. It fails on values
// that cannot be written down, naming their type.
func (m *Machine) Snapshot(key []byte) ([]byte, error) { return m.snapshot(key, false) }

func (m *Machine) snapshot(key []byte, exact bool) ([]byte, error) {
	if m.session != nil {
		return nil, errors.New("a session is not written down: its chunks are replayed")
	}
	e := &rootEncoder{encoder: newEncoder(m.image), m: m, exact: exact, numbers: map[*fiber]int{}}
	roots := e.roots()
	heap := e.heap()
	if e.err != nil {
		return nil, e.err
	}
	flags := uint16(0)
	if exact {
		flags |= flagExact
	}
	size := len(m.image.identity) + len(heap) + len(roots)
	b := make([]byte, 0, headerSize+macSize+size)
	b = append(b, snapshotMagic...)
	b = binary.BigEndian.AppendUint16(b, snapshotFormat)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, m.image.env.Behaviour)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = append(b, make([]byte, macSize)...)
	b = append(b, m.image.identity[:]...)
	b = append(append(b, heap...), roots...)
	copy(b[headerSize:], authenticate(key, b))
	return b, nil
}

func authenticate(key, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(b[:headerSize])
	h.Write(b[headerSize+macSize:])
	return h.Sum(nil)[:macSize]
}

// rootEncoder writes what refers to the heap.
type rootEncoder struct {
	*encoder
	m       *Machine
	exact   bool
	numbers map[*fiber]int // position of each fiber in the list
}

func (e *rootEncoder) roots() []byte {
	m := e.m
	b := binary.AppendUvarint(nil, m.steps)
	b = binary.AppendUvarint(b, uint64(m.tally))
	b = binary.AppendUvarint(b, uint64(m.ceiling))
	b = putUint(b, m.nextID)
	if len(m.modules) == 0 {
		b = append(b, 0)
	} else {
		b = e.value(append(b, 1), m.modules[0].args)
		b = e.values(putUint(b, len(m.modules[0].globals)), m.modules[0].globals)
	}
	b = putUint(b, len(m.opened))
	for _, step := range sortedKeys(m.opened) {
		b = putOutcome(e.text(b, step), m.opened[step])
	}
	for i, f := range m.fibers {
		e.numbers[f] = i
	}
	b = putUint(b, len(m.fibers))
	for _, f := range m.fibers {
		b = e.fiber(b, f)
	}
	b = e.fibers(b, m.queue)
	return e.crowds(b)
}

func (e *rootEncoder) fibers(b []byte, fibers []*fiber) []byte {
	b = putUint(b, len(fibers))
	for _, f := range fibers {
		b = putUint(b, e.numbers[f])
	}
	return b
}

func (e *rootEncoder) crowds(b []byte) []byte {
	var crowded []string
	for _, step := range sortedKeys(e.m.waits) {
		if len(e.m.waits[step]) > 1 {
			crowded = append(crowded, step)
		}
	}
	b = putUint(b, len(crowded))
	for _, step := range crowded {
		b = e.fibers(e.text(b, step), e.m.waits[step])
	}
	return b
}

func putOutcome(b []byte, o *effect.Outcome) []byte {
	if o == nil {
		return append(b, 0)
	}
	b = putText(append(b, 1), string(o.Value))
	return putText(b, string(o.Err.Payload()))
}

func (e *rootEncoder) fiber(b []byte, f *fiber) []byte {
	parent := 0
	if f.parent != nil {
		parent = e.numbers[f.parent] + 1
	}
	for _, n := range []int{f.id, parent, f.index, f.depth} {
		b = putUint(b, n)
	}
	b = putUint(e.text(b, f.branch), len(f.names))
	for _, name := range sortedKeys(f.names) {
		b = putUint(e.text(b, name), f.names[name])
	}
	b = append(b, byte(f.state))
	b = binary.AppendVarint(b, f.steps)
	b = putUint(b, len(f.frames))
	for i := range f.frames {
		b = e.frame(b, f, i)
	}
	b = putUint(b, len(f.iters))
	for i := range f.iters {
		b = putUint(e.value(b, f.iters[i].source), f.iters[i].pos)
	}
	return b
}

func (e *rootEncoder) frame(b []byte, f *fiber, i int) []byte {
	fr := &f.frames[i]
	if fr.fn != nil {
		b = e.position(e.value(append(b, frameFunction), fr.fn), fr)
		window := f.window(fr)
		for _, r := range fr.live(i == len(f.frames)-1) {
			b = e.value(b, window[r])
		}
		return b
	}
	act := fr.act
	b = append(b, byte(act.kind))
	switch act.kind {
	case waitFrame:
		return e.wait(b, act.wait)
	case borderFrame:
		e.fail("a machine cannot be written down while a built-in function calls back")
	case nativeFrame:
		b = putUint(b, e.nameNumber(act.native.name))
	}
	return e.values(putUint(putUint(b, act.phase), len(act.state)), act.state)
}

// live lists the registers that the frame still needs.
func (fr *frame) live(top bool) []int {
	if top {
		return fr.fn.code.LiveBefore(fr.pc)
	}
	return fr.fn.code.LiveAcross(fr.pc)
}

func (e *rootEncoder) position(b []byte, fr *frame) []byte {
	site := fr.fn.code.SiteAt(fr.pc)
	switch {
	case e.exact:
		return putUint(b, 2*fr.pc+1)
	case site < 0:
		e.fail("a machine cannot be written down between two places of rest")
	}
	return putUint(b, 2*site)
}

func (e *rootEncoder) wait(b []byte, w *wait) []byte {
	b = e.text(b, w.step)
	var callback starlark.Value
	if w.onEvent != nil {
		callback = w.onEvent
	}
	b = putUint(e.value(b, callback), len(w.events))
	for _, ev := range w.events {
		b = putText(b, string(ev))
	}
	return putOutcome(b, w.outcome)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Errors of Restore.
var (
	ErrForeignSnapshot = errors.New("the snapshot was not written by this store")
	ErrOtherProgram    = errors.New("the snapshot is of another program")
	ErrOtherBehaviour  = errors.New("the snapshot was written with another behaviour of the builtins")
	ErrSnapshotFormat  = errors.New("the snapshot is of another format")
)

// Restore makes the machine that a snapshot was written of. Damaged, foreign and incompatible bytes are refused with an error; a run whose snapshot
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
	d := &rootDecoder{exact: exact, m: newMachine()}
	d.decoder = &decoder{scanner: scanner{buf: b, pos: headerSize + macSize + len(img.identity)}, img: img, modules: d.module}
	d.m.image, d.m.main = img, img.main
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
	case len(b) < head+len(img.identity) || string(b[:4]) != snapshotMagic:
		return false, errors.New("not a snapshot")
	case binary.BigEndian.Uint16(b[4:]) != snapshotFormat:
		return false, fmt.Errorf("%w: %d, this build reads %d", ErrSnapshotFormat, binary.BigEndian.Uint16(b[4:]), snapshotFormat)
	case !hmac.Equal(b[headerSize:head], authenticate(key, b)):
		return false, ErrForeignSnapshot
	case int(binary.BigEndian.Uint32(b[12:])) != len(b)-head:
		return false, errors.New("the snapshot has another length than its header says")
	case binary.BigEndian.Uint32(b[8:]) != img.env.Behaviour:
		return false, fmt.Errorf("%w: %d, this build has %d", ErrOtherBehaviour, binary.BigEndian.Uint32(b[8:]), img.env.Behaviour)
	case string(b[head:head+len(img.identity)]) != string(img.identity[:]):
		return false, ErrOtherProgram
	}
	return binary.BigEndian.Uint16(b[6:])&flagExact != 0, nil
}

// rootDecoder reads what refers to the heap.
type rootDecoder struct {
	*decoder
	m     *Machine
	exact bool
}

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
	if d.err != nil {
		return
	}
	m := d.m
	m.steps = uint64(d.uint(math.MaxInt64))
	m.tally, m.ceiling = int64(d.uint(math.MaxInt64)), int64(d.uint(math.MaxInt64))
	m.nextID = d.uint(math.MaxInt32)
	d.ownModule()
	for n := d.count(); n > 0 && d.err == nil; n-- {
		step := d.textOf()
		m.opened[step] = d.outcome()
	}
	n := d.count()
	m.fibers = make([]*fiber, 0, min(n, 1024))
	for ; n > 0 && d.err == nil; n-- {
		m.fibers = append(m.fibers, d.fiber())
	}
	for _, f := range m.fibers {
		if d.err == nil && f.parent != nil {
			d.check(f.orphaned())
		}
	}
	m.queue = d.fibers()
	for _, f := range m.queue {
		if f.state != ready {
			d.fail("a fiber in the queue that is not ready")
		}
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		step := d.textOf()
		crowd := d.fibers()
		if len(crowd) != len(m.waits[step]) {
			d.fail("%d fibers wait for %s, want %d", len(crowd), step, len(m.waits[step]))
		}
		m.waits[step] = crowd
	}
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
		mod.globals[i] = d.value()
	}
}

func (d *rootDecoder) textOf() string {
	s, ok := d.value().(starlark.String)
	if !ok {
		d.fail("something else than a text")
	}
	return string(s)
}

func (d *rootDecoder) outcome() *effect.Outcome {
	switch d.byte() {
	case 0:
		return nil
	case 1:
		o := &effect.Outcome{Value: effect.Payload(d.string())}
		if failed := effect.Payload(d.string()); len(failed) > 0 {
			v, err := failed.View()
			d.check(err)
			o.Err = effect.ErrorOf(v)
		}
		return o
	}
	d.fail("an outcome that is neither there nor not")
	return nil
}

func (d *rootDecoder) fibers() []*fiber {
	var out []*fiber
	for n := d.count(); n > 0 && d.err == nil; n-- {
		i := d.uint(len(d.m.fibers))
		if i >= len(d.m.fibers) {
			d.fail("there is no fiber %d", i)
			break
		}
		out = append(out, d.m.fibers[i])
	}
	return out
}

func (d *rootDecoder) fiber() *fiber {
	f := &fiber{id: d.uint(math.MaxInt32)}
	if parent := d.uint(len(d.m.fibers)); parent > 0 {
		f.parent = d.m.fibers[parent-1]
	}
	f.index, f.depth = d.uint(math.MaxInt32), d.uint(math.MaxInt32)
	f.branch = d.textOf()
	if n := d.count(); n > 0 {
		f.names = make(map[string]int, min(n, 1024))
		for ; n > 0 && d.err == nil; n-- {
			name := d.textOf()
			f.names[name] = d.uint(math.MaxInt32)
		}
	}
	f.state = fiberState(d.byte())
	if f.state >= ended {
		d.fail("a fiber in state %d", f.state)
	}
	f.steps = d.varint()
	d.iterators(f, d.frames(f))
	return f
}

// frames reads the frames and returns how many iterators they have open.
func (d *rootDecoder) frames(f *fiber) (open int) {
	n := d.count()
	if n == 0 {
		d.fail("a fiber without frames")
	}
	for i := range n {
		if d.err != nil {
			return 0
		}
		kind := d.byte()
		if (i == 0) != (kind == byte(rootFrame)) {
			d.fail("the root frame belongs at the bottom and nowhere else")
		}
		switch {
		case kind == frameFunction:
			open += d.function(f, i == n-1)
		case d.err == nil:
			open += d.activation(f, activationKind(kind))
		}
		if d.err == nil {
			f.frames[i].iters = open - f.frames[i].opens()
		}
	}
	return open
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

// function reads a frame of a Starlark function and returns how many iterators it has open.
func (d *rootDecoder) function(f *fiber, top bool) int {
	fn, ok := d.value().(*Function)
	if !ok {
		d.fail("a frame of something else than a function")
		return 0
	}
	pc, ok := d.position(fn)
	if !ok {
		return 0
	}
	fr := f.pushFrame(fn, f.ceiling())
	fr.pc = pc
	window := f.window(fr)
	for _, r := range fr.live(top) {
		window[r] = d.value()
	}
	return fr.opens()
}

func (d *rootDecoder) position(fn *Function) (pc int, ok bool) {
	n := d.uint(math.MaxInt32)
	switch {
	case d.err != nil:
	case n%2 == 1 && d.exact && n/2 < len(fn.code.Code):
		return n / 2, true
	case n%2 == 0 && !d.exact && n/2 < len(fn.code.Sites):
		return fn.code.Sites[n/2].PC, true
	default:
		d.fail("function %s has no position %d", fn.Name(), n)
	}
	return 0, false
}

// activation reads any other frame and returns how many iterators it holds.
func (d *rootDecoder) activation(f *fiber, kind activationKind) int {
	act := &activation{kind: kind}
	switch kind {
	case rootFrame:
	case nativeFrame:
		n := d.uint(len(d.names))
		if n >= len(d.names) {
			d.fail("there is no name %d", n)
			return 0
		}
		native, ok := d.names[n].(*Native)
		if !ok || native.resume == nil {
			d.fail("a native frame of %s", d.names[n])
			return 0
		}
		act.native = native
	case waitFrame:
		act.wait = d.wait()
		if d.err != nil {
			return 0
		}
		f.pushActivation(act)
		d.m.waits[act.wait.step] = append(d.m.waits[act.wait.step], f)
		return 0
	default:
		d.fail("a frame of kind %d", kind)
		return 0
	}
	act.phase = d.uint(math.MaxInt32)
	n := d.count()
	act.state = make([]starlark.Value, 0, min(n, 1024))
	for ; n > 0 && d.err == nil; n-- {
		act.state = append(act.state, d.value())
	}
	d.check(act.wellFormed())
	f.pushActivation(act)
	return f.frames[len(f.frames)-1].opens()
}

// The shapes of the states of activations: the types of their values, "" for any that is set.
var (
	rootShape   = []string{"callable", "tuple", "dict"}
	nativeShape = map[string][]string{
		"attempt":  {"callable", "tuple", "dict"},
		"sorted":   {"callable", "bool", "list", "list"},
		"min":      {"callable", "", "", ""},
		"max":      {"callable", "", "", ""},
		"parallel": {"", "tuple", "list", "int", "int", "string", "string", "", "int", "int", "int"},
	}
)

// wellFormed tells why a state that was read is none that the activation can have.
func (act *activation) wellFormed() error {
	shape, name := rootShape, "a fiber"
	switch {
	case act.native != nil:
		shape, name = nativeShape[act.native.name], act.native.name
	case act.phase > 0:
		shape = nil // the call has begun and has its arguments
	}
	if len(act.state) != len(shape) {
		return fmt.Errorf("%s with %d values, want %d", name, len(act.state), len(shape))
	}
	for i, want := range shape {
		v := act.state[i]
		_, callable := v.(starlark.Callable)
		if v == nil || want != "" && want != v.Type() && !(want == "callable" && callable) {
			return fmt.Errorf("%s: value %d is a %s", name, i, typeOf(v))
		}
	}
	if name == "parallel" {
		return act.wellFormedBranches()
	}
	return nil
}

// wellFormedBranches holds the parts of a parallel's state against each other.
func (act *activation) wellFormedBranches() error {
	calls := act.state[parallelCalls].(starlark.Tuple)
	keys, named := act.state[parallelKeys].(starlark.Tuple)
	begun, over := act.int(parallelBegun), act.int(parallelGood)+act.int(parallelBad)
	switch {
	case !named && act.state[parallelKeys] != starlark.None || named && len(keys) != len(calls):
		return errors.New("parallel: its keys are not those of its branches")
	case act.state[parallelOutcomes].(*starlark.List).Len() != len(calls):
		return errors.New("parallel: it has another number of outcomes than of branches")
	case begun < 0 || begun > len(calls) || over < 0 || over > begun:
		return errors.New("parallel: its counts do not fit")
	}
	for _, c := range calls {
		if call, ok := c.(starlark.Tuple); !ok || len(call) == 0 {
			return errors.New("parallel: a branch that is no call")
		}
	}
	return nil
}

// orphaned tells why a fiber is no branch of its parent, nil if it is one.
func (f *fiber) orphaned() error {
	top := f.parent.frames[len(f.parent.frames)-1]
	if top.act == nil || top.act.native == nil || top.act.native.name != "parallel" {
		return errors.New("a branch whose parent runs no parallel")
	}
	if f.index >= top.act.state[parallelCalls].(starlark.Tuple).Len() {
		return fmt.Errorf("there is no branch %d", f.index)
	}
	return nil
}

func (d *rootDecoder) wait() *wait {
	w := &wait{step: d.textOf()}
	if v := d.value(); v != nil {
		fn, ok := v.(starlark.Callable)
		if !ok {
			d.fail("a callback that cannot be called")
		}
		w.onEvent = fn
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		w.events = append(w.events, effect.Payload(d.string()))
	}
	w.outcome = d.outcome()
	return w
}

// iterators opens the fiber's iterators again, which takes the locks, and moves them to where they stood.
func (d *rootDecoder) iterators(f *fiber, want int) {
	n := d.count()
	if d.err == nil && n != want {
		d.fail("%d iterators are open, the code says %d", n, want)
	}
	for ; n > 0 && d.err == nil; n-- {
		source := d.value()
		pos := d.uint(math.MaxInt32)
		if d.err != nil {
			return
		}
		if source == nil {
			d.fail("an iterator over nothing")
			return
		}
		if err := f.pushIterator(source); err != nil {
			d.fail("%v", err)
			return
		}
		d.check(f.iters[len(f.iters)-1].seek(pos))
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
