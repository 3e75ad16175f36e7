package vm

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// sorted(iterable, key) as a resumable native. Its state is
//
//	state[0]  the key function
//	state[1]  whether to reverse
//	state[2]  the elements, a list
//	state[3]  the keys so far, a list
//
// and it holds one iterator, used up, which keeps the iterable locked until it returns, as the
// original does.

func sortedWithKey(args []starlark.Value, named []keyword) bool {
	return len(args) > 1 || hasKeyword(named, "key")
}

func startSorted(c nativeCall, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var iterable starlark.Iterable
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs("sorted", args, kwargs, "iterable", &iterable, "key?", &key, "reverse?", &reverse); err != nil {
		return err
	}
	if err := c.m.consumes(args); err != nil {
		return err
	}
	if err := c.f.pushIterator(iterable); err != nil {
		return err
	}
	var elems []starlark.Value
	var v starlark.Value
	for c.f.iters[len(c.f.iters)-1].next(&v) {
		elems = append(elems, v)
	}
	c.m.fuel -= int64(len(elems))
	c.act.state = []starlark.Value{key, starlark.Bool(reverse), starlark.NewList(elems), starlark.NewList(make([]starlark.Value, 0, len(elems)))}
	return nil
}

func resumeSorted(c nativeCall, result starlark.Value) step {
	key, elems, keys := c.act.state[0], c.act.state[2].(*starlark.List), c.act.state[3].(*starlark.List)
	if result != nil {
		_ = keys.Append(result) // nobody else has it: cannot fail
	}
	if n := keys.Len(); n < elems.Len() {
		return c.call(key, elems.Index(n))
	}
	reverse := c.act.state[1] == starlark.True
	n := elems.Len()
	c.m.fuel -= int64(n)
	c.m.ordering(keys)
	if sorted := sortUniform(elems, keys, reverse); sorted != nil {
		return step{value: starlark.NewList(sorted)}
	}
	if err := c.m.sortable(keys, n); err != nil {
		return step{err: err}
	}
	s := &keyed{keys: toTuple(keys), elems: toTuple(elems)}
	if reverse {
		sort.Stable(sort.Reverse(s))
	} else {
		sort.Stable(s)
	}
	return step{value: starlark.NewList(s.elems), err: s.err}
}

// restoreSorted wants a key to be missing: the frame waits for it.
func restoreSorted(act *activation) error {
	if err := restored(0, "callable", "bool", "list", "list")(act); err != nil {
		return err
	}
	if elems, keys := act.state[2].(*starlark.List).Len(), act.state[3].(*starlark.List).Len(); keys >= elems {
		return fmt.Errorf("sorted: %d keys of %d elements are known, and the next is awaited", keys, elems)
	}
	return nil
}

// sortUniform sorts elements whose keys are all ints that fit 64 bits, or all strings; nil if they
// are not. A stable order is unique, so it does not matter how it is found as long as no comparison
// can fail.
func sortUniform(elems, keys *starlark.List, reverse bool) []starlark.Value {
	if keys.Len() == 0 {
		return []starlark.Value{}
	}
	if _, ok := keys.Index(0).(starlark.String); ok {
		return sortBy(elems, keys, reverse, func(v starlark.Value) (string, bool) {
			s, ok := v.(starlark.String)
			return string(s), ok
		})
	}
	return sortBy(elems, keys, reverse, func(v starlark.Value) (int64, bool) {
		if i, ok := v.(starlark.Int); ok {
			return i.Int64()
		}
		return 0, false
	})
}

// sortBy sorts by what key extracts; equal keys keep their order because the position decides
// between them.
func sortBy[K cmp.Ordered](elems, keys *starlark.List, reverse bool, key func(starlark.Value) (K, bool)) []starlark.Value {
	type entry struct {
		key K
		at  int
	}
	entries := make([]entry, keys.Len())
	for i := range entries {
		k, ok := key(keys.Index(i))
		if !ok {
			return nil
		}
		entries[i] = entry{k, i}
	}
	slices.SortFunc(entries, func(x, y entry) int {
		c := cmp.Compare(x.key, y.key)
		switch {
		case c == 0:
			return x.at - y.at
		case reverse:
			return -c
		}
		return c
	})
	sorted := make([]starlark.Value, len(entries))
	for i := range sorted {
		sorted[i] = elems.Index(entries[i].at)
	}
	return sorted
}

// keyed sorts elements by their keys. As in the original, sorting goes on after a comparison has
// failed, and the last failure counts.
type keyed struct {
	keys, elems []starlark.Value
	err         error
}

func (s *keyed) Len() int { return len(s.elems) }

func (s *keyed) Less(i, j int) bool {
	less, err := starlark.Compare(syntax.LT, s.keys[i], s.keys[j])
	if err != nil {
		s.err = err
	}
	return less
}

func (s *keyed) Swap(i, j int) {
	s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	s.elems[i], s.elems[j] = s.elems[j], s.elems[i]
}
