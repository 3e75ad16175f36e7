package vm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
)

// TestRandomHeaps writes and reads machines that hold random heaps: shared, cyclic, frozen in part,
// with functions and tuples as keys, under live iterators of every kind. The graph that is read
// must be the one that was written, down to flags and locks.
func TestRandomHeaps(t *testing.T) {
	if *mutantSeed == 0 {
		*mutantSeed = uint64(time.Now().UnixNano())
	}
	rested := 0
	for i := range 100 {
		rng := rand.New(rand.NewPCG(*mutantSeed, uint64(i)))
		switch err := roundTrip(t, rng, 1+rng.IntN(60), 0); err {
		case nil:
			rested++
		case errNeverRested:
		default:
			t.Fatalf("-mutantseed %d, heap %d: %v", *mutantSeed, i, err)
		}
	}
	if rested < 100 {
		t.Errorf("only %d scripts rested", rested)
	}
	if err := roundTrip(t, rand.New(rand.NewPCG(1, 1)), 20, 200_000); err != nil {
		t.Fatalf("with a list nested deeply: %v", err)
	}
}

const heapScript = `
load("lib.star", "adder", "table", "pair")
def walk(values, i):
    if i == len(values):
        rest()
        return 0
    n = 0
    for e in values[i]:
        n += 1
        if n > i % 3:
            walk(values, i + 1)
            break
    return n
def main():
    fns = [adder(i) for i in range(3)] + [main, walk, lambda: fns, len, attempt, [1].append, "a,b".split, table, pair, forever()]
    values = heap(fns)
    walk(values[1], 0)
    return values
`

// errNeverRested: the iterables ended before the last was reached.
var errNeverRested = errors.New("the script never rested")

// roundTrip lets a script hold a heap of so many objects, writes it down and reads it back. deep is
// the depth of a list within.
func roundTrip(t *testing.T, rng *rand.Rand, size, deep int) error {
	names := mutantNames()
	names["heap"] = pureBuiltin("heap", "fns", func(v starlark.Value) (starlark.Value, error) {
		return randomHeap(rng, v.(*starlark.List), size, deep), nil
	})
	env := &effect.Environment{Names: names, Codecs: mutantCodecs}
	opts := syntax.FileOptions{Set: true, Recursion: true}
	var code []*compile.Module
	for _, src := range []compile.Source{{Name: "lib.star", Text: []byte(mutantLibrary)}, {Name: "main.star", Text: []byte(heapScript)}} {
		src.Options, src.Predeclared = opts, names.Has
		m, err := compile.Compile(src)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, m)
	}
	img, err := Load(code, env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	if stop := m.Run(nil); stop.Status != Waiting {
		return errNeverRested
	}
	b, err := m.Snapshot(mutantKey)
	if err != nil {
		return err
	}
	n, err := img.Restore(b, mutantKey)
	if err != nil {
		return err
	}
	return isomorphic(m, n)
}

// heapMaker makes the objects of a heap, each of some that there are, and lets those that can
// change refer to any.
type heapMaker struct {
	*rand.Rand
	all, keys []starlark.Value
}

// randomHeap returns everything, and what is to be iterated over.
func randomHeap(rng *rand.Rand, fns *starlark.List, size, deep int) starlark.Value {
	h := heapMaker{Rand: rng}
	for v := range fns.Elements() {
		h.add(v)
	}
	h.add(starlark.String("a text that is long enough"))
	h.add(starlark.MakeInt64(-1 << 40))
	for range size {
		h.add(h.object())
	}
	for _, v := range h.all {
		h.fill(v)
	}
	nested := starlark.Value(starlark.NewList(nil))
	for range deep {
		nested = starlark.NewList([]starlark.Value{nested})
	}
	doubled := starlark.Value(starlark.Tuple{nested})
	for range 50 {
		doubled = starlark.Tuple{doubled, doubled}
	}
	h.all = append(h.all, doubled)
	if rng.IntN(2) == 0 {
		new(permanents).freeze([]starlark.Value{h.pick(h.all)})
	}
	return starlark.Tuple{starlark.NewList(h.all), h.iterables()}
}

func (h *heapMaker) pick(from []starlark.Value) starlark.Value { return from[h.IntN(len(from))] }

func (h *heapMaker) add(v starlark.Value) {
	h.all = append(h.all, v)
	if _, err := v.Hash(); err == nil {
		h.keys = append(h.keys, v)
	}
}

func (h *heapMaker) object() starlark.Value {
	switch h.IntN(8) {
	case 0:
		return starlark.NewList(nil)
	case 1:
		return h.pick([]starlark.Value{new(starlark.Dict), starlark.NewDict(0)})
	case 2:
		return h.pick([]starlark.Value{new(starlark.Set), starlark.NewSet(0)})
	case 3:
		return starlark.Tuple{h.pick(h.all), h.pick(h.all)}
	case 4:
		return starlark.Tuple{h.pick(h.keys), starlark.MakeInt(h.IntN(200))}
	case 5:
		return newOutcome("ok", h.pick(h.all), h.pick(h.all))
	case 6:
		return &box{h.pick(h.all)}
	}
	return stamp{h.IntN(5)}
}

func (h *heapMaker) fill(v starlark.Value) {
	for range h.IntN(4) {
		switch v := v.(type) {
		case *starlark.List:
			_ = v.Append(h.pick(h.all))
		case *starlark.Dict:
			_ = v.SetKey(h.pick(h.keys), h.pick(h.all))
		case *starlark.Set:
			_ = v.Insert(h.pick(h.keys))
		}
	}
}

// iterables lists some of what can be iterated over, of every kind.
func (h *heapMaker) iterables() starlark.Value {
	text := starlark.String("héllo")
	elems, _ := text.Attr("elems")
	points, _ := text.Attr("codepoint_ords")
	from := []starlark.Value{forever{}, starlark.Tuple{starlark.None, starlark.True, starlark.None, starlark.True}}
	for _, b := range []starlark.Value{elems, points} {
		v, _ := b.(*starlark.Builtin).CallInternal(nil, nil, nil)
		from = append(from, v)
	}
	r, _ := starlark.Universe["range"].(*starlark.Builtin).CallInternal(nil, starlark.Tuple{starlark.MakeInt(30), starlark.MakeInt(2), starlark.MakeInt(-7)}, nil)
	from = append(from, r)
	for _, v := range h.all {
		if _, ok := v.(starlark.Iterable); ok && starlark.Len(v) > 3 {
			from = append(from, v)
		}
	}
	var list []starlark.Value
	for range h.IntN(6) {
		list = append(list, h.pick(from))
	}
	return starlark.NewList(list)
}

// isomorphic compares what two machines hold, object by object: the same objects are the same in
// both.
func isomorphic(m, n *Machine) error {
	there, back := map[any]any{}, map[any]any{}
	a, b := rootsOf(m), rootsOf(n)
	for i := 0; i < len(a); i++ {
		if len(a) != len(b) {
			return fmt.Errorf("%d values, want %d", len(b), len(a))
		}
		x, y := a[i], b[i]
		if x == nil && y == nil {
			continue
		}
		if x == nil || y == nil || reflect.TypeOf(x) != reflect.TypeOf(y) {
			return fmt.Errorf("value %d is a %s, want a %s", i, typeOf(y), typeOf(x))
		}
		j, k := identity(x), identity(y)
		if j == nil || m.image.owns(j) {
			if j == nil && x.String() != y.String() || j != nil && j != k {
				return fmt.Errorf("value %d is %v, want %v", i, y, x)
			}
			continue
		}
		before, met := there[j]
		if other := back[k]; met && before != k || !met && other != nil {
			return fmt.Errorf("value %d, a %s, is shared otherwise", i, x.Type())
		}
		if met {
			continue
		}
		there[j], back[k] = k, j
		if err := alike(x, y); err != nil {
			return fmt.Errorf("value %d, a %s: %w", i, x.Type(), err)
		}
		a = m.image.permanents.hostParts(appendChildren(a, x), x)
		b = n.image.permanents.hostParts(appendChildren(b, y), y)
	}
	return nil
}

// rootsOf lists what frames and iterators refer to, and how far these have come.
func rootsOf(m *Machine) []starlark.Value {
	var roots []starlark.Value
	for _, f := range m.fibers {
		f.roots(func(at *starlark.Value) { roots = append(roots, *at) })
		for i := range f.iters {
			roots = append(roots, starlark.MakeInt(f.iters[i].pos))
		}
	}
	return roots
}

func tableBitsOf(v starlark.Value, table int) byte {
	return tableBits(reflect.ValueOf(v).Elem().Field(table))
}

// alike compares what is not a reference: names, flags and locks.
func alike(x, y starlark.Value) error {
	switch v := x.(type) {
	case *starlark.List:
		if listMutable(v) != listMutable(y.(*starlark.List)) {
			return errors.New("its flag or its lock differs")
		}
	case *starlark.Dict:
		if dictMutable(v) != dictMutable(y.(*starlark.Dict)) || tableBitsOf(v, dictTable) != tableBitsOf(y, dictTable) {
			return errors.New("its flag or its lock differs")
		}
	case *starlark.Set:
		if tableBitsOf(v, setTable) != tableBitsOf(y, setTable) || (v.Insert(starlark.MakeInt(-7)) == nil) != (y.(*starlark.Set).Insert(starlark.MakeInt(-7)) == nil) {
			return errors.New("its flag or its lock differs")
		}
	case *Function:
		if w := y.(*Function); v.code != w.code || v.module.index != w.module.index {
			return errors.New("it is another function")
		}
	case *starlark.Builtin:
		if v.Name() != y.(*starlark.Builtin).Name() {
			return errors.New("it is another method")
		}
	}
	return nil
}
