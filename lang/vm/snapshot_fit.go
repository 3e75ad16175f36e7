package vm

import (
	"errors"
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// This file reads the frames that are not Starlark code, and holds the parts of a machine that was
// read against each other.

// activation reads a frame that is not Starlark code.
func (d *rootDecoder) activation(f *fiber, kind activationKind, top bool) {
	act := &activation{kind: kind}
	switch kind {
	case rootFrame:
	case nativeFrame:
		n := d.below(len(d.names), "name")
		if d.err != nil {
			return
		}
		native, ok := d.names[n].(*Native)
		if !ok || native.restore == nil {
			d.fail("a frame of %s", d.names[n])
			return
		}
		act.native = native
	case waitFrame:
		d.wait(f, act, top)
		return
	default:
		d.fail("a frame of kind %d", kind)
		return
	}
	act.phase = d.uint(math.MaxInt32)
	d.state(act)
	if d.err == nil {
		d.check(act.fits(top))
	}
	f.pushActivation(act)
}

// state reads what an activation remembers.
func (d *rootDecoder) state(act *activation) {
	n := d.count()
	act.state = make([]starlark.Value, 0, min(n, 1024))
	for ; n > 0 && d.err == nil; n-- {
		d.last = -1
		v := d.value()
		if v == nil || hidden(v) && act.kind != rootFrame {
			d.fail("a %s in the state of a frame", typeOf(v))
		}
		if act.native != nil && act.native.owns(len(act.state)) {
			d.own("a list that is being built")
		}
		act.state = append(act.state, v)
	}
}

// owns tells whether value i of the state of a frame of the native is known to nobody else.
func (n *Native) owns(i int) bool { return n.owned>>i&1 != 0 }

// fits tells why the state that was read is none that the activation can have.
func (act *activation) fits(top bool) error {
	switch {
	case act.native == nil:
		return act.rootFits(top)
	case top != (act.native == parallelNative):
		return fmt.Errorf("%s cannot be the frame that it is", act.native.name)
	}
	return act.native.restore(act)
}

// rootFits is fits for the bottom of a fiber: phase 0 with the call to make, or phase 1 below that
// call.
func (act *activation) rootFits(top bool) error {
	if act.phase == 1 && !top && len(act.state) == 0 {
		return nil
	}
	if act.phase != 0 || !top {
		return errors.New("a fiber whose first call has begun and not begun")
	}
	return act.hasShape("callable", "tuple", "dict")
}

// hasShape tells why the values of the state are not of these types, in this order. "" is any type.
func (act *activation) hasShape(types ...string) error {
	name := "a fiber"
	if act.native != nil {
		name = act.native.name
	}
	if len(act.state) != len(types) {
		return fmt.Errorf("%s with %d values, want %d", name, len(act.state), len(types))
	}
	for i, want := range types {
		v := act.state[i]
		_, callable := v.(starlark.Callable)
		if want != "" && want != v.Type() && !(want == "callable" && callable) {
			return fmt.Errorf("%s: value %d is a %s", name, i, v.Type())
		}
	}
	return nil
}

// restored is the usual restore of a native: one phase, and the types of its state.
func restored(phase int, types ...string) func(*activation) error {
	return func(act *activation) error {
		if act.phase != phase {
			return fmt.Errorf("%s in phase %d, want %d", act.native.name, act.phase, phase)
		}
		return act.hasShape(types...)
	}
}

// wait reads a frame that waits for a step. Below a callback of its own it may have got its outcome
// already.
func (d *rootDecoder) wait(f *fiber, act *activation, top bool) {
	w := &wait{step: d.textOf("step")}
	if v := d.variable(); v != nil {
		fn, ok := v.(starlark.Callable)
		if !ok {
			d.fail("a callback that is a %s", v.Type())
			return
		}
		w.onEvent = fn
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		w.events = append(w.events, effect.Payload(d.string()))
	}
	outcome, opened := d.m.opened[w.step]
	if !opened {
		outcome = d.outcome()
	}
	w.outcome = outcome
	if w.onEvent == nil && (!top || len(w.events) > 0) || w.onEvent != nil && opened {
		d.fail("a callback is missing, or one too many, where %s is waited for", w.step)
	}
	act.wait = w
	f.pushActivation(act)
	d.m.waits[w.step] = append(d.m.waits[w.step], f)
}

// resting tells in which state a fiber is that stands as this one does.
func (f *fiber) resting() fiberState {
	top := &f.frames[len(f.frames)-1]
	switch {
	case top.fn != nil:
	case top.act.native != nil && top.act.phase == 0:
		return waiting
	case top.act.wait != nil && top.act.wait.outcome == nil && len(top.act.wait.events) == 0:
		return waiting
	}
	return ready
}

// queue reads the order of the fibers that are ready. One that is in the middle of a function has
// had the last turn, which was cut off: it is first.
func (d *rootDecoder) queue() {
	left := 0
	for _, f := range d.m.fibers {
		if f.state == ready {
			left++
		}
	}
	d.m.queue = d.distinct(left, func(f *fiber) bool { return f.state == ready })
	for i, f := range d.m.fibers {
		if d.err == nil && f.frames[len(f.frames)-1].fn != nil && d.m.queue[0] != f {
			d.fail("fiber %d is in the middle of a function, but it is not its turn", i)
		}
	}
}

// crowds reads the orders of the fibers that wait for one step. Only a step with a handle has
// several.
func (d *rootDecoder) crowds() {
	for _, step := range sortedKeys(d.m.waits) {
		crowd := d.m.waits[step]
		if len(crowd) == 1 || d.err != nil {
			continue
		}
		if _, opened := d.m.opened[step]; !opened {
			d.fail("%d fibers wait for %s, which has no handle", len(crowd), step)
		}
		d.m.waits[step] = d.distinct(len(crowd), func(f *fiber) bool { w, _ := f.waitOf(step); return w != nil })
	}
}

// distinct reads n fibers, each another and each as asked.
func (d *rootDecoder) distinct(n int, asked func(*fiber) bool) []*fiber {
	list := make([]*fiber, 0, n)
	seen := make(map[*fiber]bool, n)
	for ; n > 0 && d.err == nil; n-- {
		f := d.m.fibers[d.uint(len(d.m.fibers)-1)]
		if seen[f] || !asked(f) {
			d.fail("fiber %d does not belong in this list, or twice", f.id)
		}
		seen[f] = true
		list = append(list, f)
	}
	return list
}

// branchOf makes a fiber a branch of its parent, or tells why it can be none. Branches begin in
// order, and are listed in it.
func (f *fiber) branchOf(parent *fiber) error {
	top := parent.frames[len(parent.frames)-1].act
	if top == nil || top.native != parallelNative || top.phase != 0 {
		return errors.New("a branch whose parent runs no parallel")
	}
	if f.index >= top.int(parallelBegun) {
		return fmt.Errorf("branch %d has not begun", f.index)
	}
	path, _ := starlark.AsString(top.state[parallelPath])
	f.parent, f.depth = parent, parent.depth+len(parent.frames)
	f.branch = join(path, top.segment(f.index))
	return nil
}

// agrees tells why the parts of a machine that was read do not go together: each parallel has just
// the branches that it counts.
func (m *Machine) agrees() error {
	last := make(map[*fiber]int)
	alive := make(map[*fiber]int)
	for _, f := range m.fibers[1:] {
		p := f.parent
		if alive[p] > 0 && last[p] >= f.index {
			return fmt.Errorf("branch %d of fiber %d is listed after branch %d", f.index, p.id, last[p])
		}
		outcomes := p.frames[len(p.frames)-1].act.state[parallelOutcomes].(*starlark.List)
		if outcomes.Index(f.index) != starlark.None {
			return fmt.Errorf("branch %d of fiber %d has ended and not ended", f.index, p.id)
		}
		last[p] = f.index
		alive[p]++
	}
	for _, f := range m.fibers {
		if act := f.frames[len(f.frames)-1].act; act != nil && act.native == parallelNative {
			path, want := act.text(parallelPath), join(f.branch, numbered("parallel", f.names["parallel"]))
			if path != want {
				return fmt.Errorf("the branches of fiber %d are at %s, want %s", f.id, path, want)
			}
			if want := act.running(); act.phase == 0 && alive[f] != want {
				return fmt.Errorf("fiber %d waits for %d branches, there are %d", f.id, want, alive[f])
			}
		}
	}
	return nil
}
