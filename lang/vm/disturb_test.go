package vm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// TestDisturbed writes down machines in states that no script can be in: they are read back,
// something in them is put where it does not belong, and they are written again. The bytes are well
// formed, so that what is tested is what the decoder knows of machines.
//
//	go test ./lang/vm -run Disturbed -mutants 10000000 -timeout 6h
func TestDisturbed(t *testing.T) {
	if *mutantSeed == 0 {
		*mutantSeed = uint64(time.Now().UnixNano())
	}
	images := mutantImages(t)
	seeds := seedlings(t, images)
	rng := rand.New(rand.NewPCG(*mutantSeed, 0))
	taken, written := 0, 0
	for i := range *mutants / 4 {
		s := seeds[rng.IntN(len(seeds))]
		exact := s.image >= len(images)/2
		b, done := disturbed(rng, images[s.image], s.bytes, exact)
		if b == nil {
			continue
		}
		written++
		ok, err := safely(images[s.image], b, exact)
		if err != nil {
			t.Fatalf("-mutantseed %d, number %d of script %d, disturbed by %v: %v\n%x", *mutantSeed, i, s.image, done, err, b[sealed:])
		}
		if ok {
			taken++
		}
	}
	t.Logf("-mutantseed %d: %d machines written in a wrong state, %d taken, all sound", *mutantSeed, written, taken)
}

// disturbed reads a machine, disturbs it once or twice and writes it down, or gives nil if that is
// not possible.
func disturbed(rng *rand.Rand, img *Image, b []byte, exact bool) (out []byte, done []int) {
	defer func() { _ = recover() }() // the encoder may trust what it writes
	m, err := img.Restore(b, mutantKey)
	if err != nil {
		return nil, nil
	}
	d := disturber{Rand: rng, m: m, pool: everything(m)}
	for range 1 + rng.IntN(2) {
		done = append(done, d.disturb())
	}
	out, _ = m.snapshot(mutantKey, exact)
	return out, done
}

func frozenDict() starlark.Value {
	d := new(starlark.Dict)
	_ = d.SetKey(starlark.True, starlark.NewList(nil))
	d.Freeze()
	return d
}

// disturber knows what there is to take things from.
type disturber struct {
	*rand.Rand
	m    *Machine
	pool []starlark.Value
}

// everything lists the values of a machine, and some that it must not have.
func everything(m *Machine) []starlark.Value {
	var work, pool []starlark.Value
	for _, mod := range m.modules {
		work = append(work, mod.globals...)
		work = append(work, mod.top())
	}
	for _, f := range m.fibers {
		f.roots(func(at *starlark.Value) { work = append(work, *at) })
	}
	seen := map[any]bool{}
	for len(work) > 0 && len(pool) < 500 {
		v := work[len(work)-1]
		pool = append(pool, v)
		work = work[:len(work)-1]
		if key := identity(v); key != nil && !seen[key] && !m.image.owns(key) {
			seen[key] = true
			work = m.image.permanents.hostParts(appendChildren(work, v), v)
		}
	}
	return append(pool, nil, starlark.None, starlark.MakeInt(-1), starlark.MakeInt64(1<<40), &cell{}, &cell{v: starlark.True}, listMethods[1], stringMethods[4],
		starlark.NewList(nil), new(starlark.Dict), attemptNative, parallelNative, universe["sorted"], forever{}, starlark.Tuple{starlark.None}, starlark.String("quorum"),
		frozenDict(), m.image.modules[0].top(), effect.NewRecord(effect.HandleType, starlark.String("handle"), starlark.String("nowhere")))
}

func (d *disturber) value() starlark.Value { return d.pool[d.IntN(len(d.pool))] }

func (d *disturber) number() int {
	return []int{-1, 0, 1, 2, 3, 7, 1 << 31, 1 << 40, 1 << 62}[d.IntN(9)]
}

func (d *disturber) fiber() *fiber { return d.m.fibers[d.IntN(len(d.m.fibers))] }

// of picks a value of a type that belongs to the run, the zero value if none is found.
func of[V starlark.Value](d *disturber) (none V) {
	for range 50 {
		if v, ok := d.value().(V); ok && !d.m.image.owns(identity(v)) {
			return v
		}
	}
	return none
}

// disturb changes one thing and says which.
func (d *disturber) disturb() int {
	kinds := []func(){
		d.register, d.register, d.register, d.position, d.function, d.state, d.state, d.phase, d.iterator, d.order, d.parent, d.waiting, d.list, d.table, d.cell, d.closure,
		d.counters, d.frames, d.tuple, d.record, d.kin,
	}
	n := d.IntN(len(kinds))
	kinds[n]()
	return n
}

func (d *disturber) frame() (f *fiber, fr *frame, top bool) {
	f = d.fiber()
	i := d.IntN(len(f.frames))
	return f, &f.frames[i], i == len(f.frames)-1
}

func (d *disturber) register() {
	f, fr, top := d.frame()
	if fr.fn == nil {
		return
	}
	if needs := fr.live(top); len(needs) > 0 {
		f.window(fr)[needs[d.IntN(len(needs))].Reg] = d.value()
	}
}

func (d *disturber) position() {
	_, fr, _ := d.frame()
	if fr.fn == nil {
		return
	}
	if sites := fr.fn.code.Sites; len(sites) > 0 && d.IntN(2) == 0 {
		fr.pc = sites[d.IntN(len(sites))].PC
		return
	}
	fr.pc = d.IntN(len(fr.fn.code.Code))
}

func (d *disturber) function() {
	f, fr, _ := d.frame()
	if fn := of[*Function](d); fn != nil && fr.fn != nil {
		fr.fn, fr.pc = fn, 0
		f.reserve(fr.base + fn.code.NumRegisters)
		d.position()
	}
}

func (d *disturber) state() {
	_, fr, _ := d.frame()
	if fr.act != nil && len(fr.act.state) > 0 {
		fr.act.state[d.IntN(len(fr.act.state))] = d.value()
	}
}

func (d *disturber) phase() {
	if _, fr, _ := d.frame(); fr.act != nil {
		fr.act.phase = d.number()
	}
}

func (d *disturber) iterator() {
	f := d.fiber()
	if len(f.iters) == 0 {
		return
	}
	it := &f.iters[d.IntN(len(f.iters))]
	switch d.IntN(3) {
	case 0:
		it.source = d.value()
	case 1:
		it.pos = d.number()
	case 2:
		f.iters = f.iters[:len(f.iters)-1]
	}
}

func (d *disturber) order() {
	q := append(d.m.queue, d.fiber())
	d.Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
	d.m.queue = q[:d.IntN(len(q)+1)]
	for _, crowd := range d.m.waits {
		d.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
	}
}

func (d *disturber) parent() {
	f := d.fiber()
	f.parent, f.index = d.fiber(), d.IntN(4)
}

// kin repeats a fiber, or loses it.
func (d *disturber) kin() {
	i := d.IntN(len(d.m.fibers))
	if d.IntN(2) == 0 {
		d.m.fibers = slices.Delete(d.m.fibers, i, i+1)
		return
	}
	twin := *d.m.fibers[i]
	twin.id = d.m.nextID
	d.m.nextID++
	d.m.fibers = append(d.m.fibers, &twin)
	for step, crowd := range d.m.waits {
		if slices.Contains(crowd, d.m.fibers[i]) {
			d.m.waits[step] = append(crowd, &twin)
		}
	}
	if slices.Contains(d.m.queue, d.m.fibers[i]) {
		d.m.queue = append(d.m.queue, &twin)
	}
}

func (d *disturber) waiting() {
	f := d.fiber()
	for _, fr := range f.frames {
		if fr.act == nil || fr.act.wait == nil {
			continue
		}
		w := fr.act.wait
		switch d.IntN(6) {
		case 0:
			w.onEvent, _ = d.value().(starlark.Callable)
		case 1:
			w.events = append(w.events, effect.Payload{byte(d.IntN(13)), byte(d.IntN(256))})
		case 2:
			w.outcome = &effect.Outcome{Value: effect.Payload{byte(d.IntN(256))}}
		case 3:
			w.outcome = &effect.Outcome{Err: effect.Errorf(effect.KindScript, "no")}
		case 4:
			w.step = []string{"handle", "rest", "rest#2", "listen", ""}[d.IntN(5)]
		case 5:
			d.m.opened[w.step] = nil
		}
	}
}

func (d *disturber) list() {
	l := of[*starlark.List](d)
	if l == nil {
		return
	}
	if l.Len() > 0 && d.IntN(2) == 0 {
		_ = l.SetIndex(d.IntN(l.Len()), d.value())
		return
	}
	_ = l.Append(d.value())
}

func (d *disturber) table() {
	if t := of[*starlark.Dict](d); t != nil {
		if k := d.value(); k != nil && hashable(k) == nil {
			_ = t.SetKey(k, d.value())
		}
	}
}

func (d *disturber) cell() {
	if c := of[*cell](d); c != nil {
		c.v = d.value()
	}
}

func (d *disturber) closure() {
	fn := of[*Function](d)
	switch {
	case fn == nil:
	case len(fn.free) > 0 && d.IntN(2) == 0:
		fn.free = slices.Clone(fn.free)
		fn.free[d.IntN(len(fn.free))] = of[*cell](d)
	case len(fn.defaults) > 0:
		fn.defaults = slices.Clone(fn.defaults)
		fn.defaults[d.IntN(len(fn.defaults))] = d.value()
	}
}

func (d *disturber) counters() {
	switch f := d.fiber(); d.IntN(6) {
	case 0:
		f.steps = int64(d.number())
	case 1:
		d.m.tally = int64(d.number())
	case 2:
		d.m.ceiling = int64(d.number())
	case 3:
		d.m.nextID = d.number()
	case 4:
		f.id = d.number()
	case 5:
		f.names = map[string]int{fmt.Sprint("rest", d.IntN(3)): d.number(), "parallel": d.number()}
	}
}

func (d *disturber) frames() {
	f := d.fiber()
	i := d.IntN(len(f.frames))
	switch d.IntN(3) {
	case 0:
		f.frames = slices.Delete(f.frames, i, i+1)
	case 1:
		f.frames = slices.Insert(f.frames, i, f.frames[i])
	case 2:
		g := d.fiber()
		f.frames[i] = g.frames[d.IntN(len(g.frames))]
		if fn := f.frames[i].fn; fn != nil {
			f.reserve(f.frames[i].base + fn.code.NumRegisters)
		}
	}
}

// tuple makes a tuple contain anything, itself included.
func (d *disturber) tuple() {
	if t := of[starlark.Tuple](d); len(t) > 0 {
		t[d.IntN(len(t))] = d.value()
	}
}

func (d *disturber) record() {
	if r := of[*effect.Record](d); r != nil {
		if v := d.value(); v != nil {
			r.Values()[d.IntN(len(r.Values()))] = v
		}
	}
}
