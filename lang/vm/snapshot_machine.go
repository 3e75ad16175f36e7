package vm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/compile"
	"starling/lang/effect"
)

// The roots of a snapshot: what a machine is beside its heap.
//
//	steps · tally of memory and its ceiling · next fiber · own module: 0, or 1, args, count, globals
//	opened    count, (text step, outcome or 00)*, in order of step
//	fibers    count, fiber*, in order of creation: the script itself first, each branch after the fiber that waits for it
//	queue     the numbers of the fibers that are ready, first in, first out
//	crowds    for each step for which several wait, in order of step, the numbers of these fibers, in their order
//
//	fiber     id · parent + 1 · index · names count, (text, count)* in order · steps · frames count, frame* · iterators, (source, position)*
//	frame     04 function · position · the live registers in ascending order
//	          00 root, 02 native with its name · phase · count, values
//	          03 wait · text step · callback · events count, (length, payload)* · outcome or 00, unless the step is among the opened
//	position  2 × site ordinal, or 2 × pc + 1 in an exact snapshot
//	outcome   01 length, payload of the value · length, payload of the error
//
// What follows from something else is not written: how many are ready, how many wait for a step,
// how many iterators are open; the state of a fiber, which its top frame tells; the path and the
// depth of a branch, which its parent's parallel tells. What cannot be cannot be read.

const frameFunction byte = 4

// identify computes what snapshots say of the program: the names and texts of its modules, their
// dialects.
func (img *Image) identify() {
	h := sha256.New()
	for _, m := range img.modules {
		fmt.Fprintf(h, "%d %s %v\n", len(m.code.Name), m.code.Name, m.code.Options)
		h.Write(m.code.Hash[:])
	}
	copy(img.identity[:], h.Sum(nil))
}

// Snapshot writes the machine down. It stands at a stop: every fiber waits, is ready to begin, or
// yielded. key authenticates the bytes. It fails on values that cannot be written down, naming
// their type.
func (m *Machine) Snapshot(key []byte) ([]byte, error) { return m.snapshot(key, false) }

func (m *Machine) snapshot(key []byte, exact bool) ([]byte, error) {
	if m.session != nil {
		return nil, errors.New("a session is not written down: its chunks are replayed")
	}
	if len(m.fibers) == 0 {
		return nil, errors.New("the run has ended: there is nothing to write down")
	}
	e := &rootEncoder{encoder: newEncoder(m.image), m: m, exact: exact, numbers: make(map[*fiber]int, len(m.fibers))}
	defer e.release()
	e.encoder.roots = e.machine(e.encoder.roots)
	e.workOff()
	if e.err != nil {
		return nil, e.err
	}
	flags := byte(0)
	if exact {
		flags |= flagExact
	}
	const head = headerSize + macSize
	b := make([]byte, 0, head+len(m.image.identity)+e.size())
	b = append(b, snapshotMagic...)
	b = binary.BigEndian.AppendUint16(b, snapshotFormat)
	b = append(b, m.image.main.code.Generator, flags)
	b = binary.BigEndian.AppendUint32(b, m.image.env.Behaviour)
	b = append(b[:head], m.image.identity[:]...)
	b = append(e.heap(b), e.encoder.roots...)
	size := len(b) - head
	if size > maxSnapshot {
		return nil, fmt.Errorf("a snapshot would take %d bytes: the limit is %d", size, maxSnapshot)
	}
	binary.BigEndian.PutUint32(b[headerSize-4:], uint32(size))
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

func (e *rootEncoder) machine(b []byte) []byte {
	m := e.m
	b = binary.AppendUvarint(b, m.steps)
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
	return e.crowds(e.fibers(b, m.queue))
}

func (e *rootEncoder) fibers(b []byte, fibers []*fiber) []byte {
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
	for _, step := range crowded {
		b = e.fibers(b, e.m.waits[step])
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
	for _, n := range []int{f.id, parent, f.index, len(f.names)} {
		b = putUint(b, n)
	}
	for _, name := range sortedKeys(f.names) {
		b = putUint(e.text(b, name), f.names[name])
	}
	b = binary.AppendUvarint(b, uint64(f.steps))
	b = putUint(b, len(f.frames))
	for i := range f.frames {
		b = e.frame(b, f, i)
	}
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
		for _, need := range fr.live(i == len(f.frames)-1) {
			b = e.value(b, window[need.Reg])
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
		b = putUint(b, e.nameNumber(e.img.permanents.names[act.native]))
	}
	return e.values(putUint(putUint(b, act.phase), len(act.state)), act.state)
}

// live lists the registers that the frame still needs.
func (fr *frame) live(top bool) []compile.Need {
	if top {
		return fr.fn.code.Before(fr.pc)
	}
	return fr.fn.code.Across(fr.pc)
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
	if _, opened := e.m.opened[w.step]; opened {
		return b
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
