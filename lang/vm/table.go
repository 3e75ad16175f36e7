package vm

import (
	"iter"

	"go.starlark.net/starlark"

	"starling/lang/crowd"
	"starling/lang/effect"
)

// This file pays for looks into dicts and sets. A look goes through all keys that lie in the same
// place of the table. Where these are many, somebody has chosen them (package crowd): then each
// look is charged by what it passes. The place is worked out as it would be in a table that was
// just made of what is in it, so that a restored machine, whose tables are just made, pays the
// same.

// roomyTable is the number of places up to which a table cannot have a crowd worth looking for.
const roomyTable = 8

// find looks for a key of a dict, and pays for it.
func (m *Machine) find(d *starlark.Dict, k starlark.Value) (v starlark.Value, found bool, err error) {
	e, known := m.entry(layoutOfDict(d), k)
	switch {
	case e != nil:
		return e.value, true, nil
	case known:
		return nil, false, nil
	}
	if err := m.finds(layoutOfDict(d), k); err != nil {
		return nil, false, err
	}
	return d.Get(k)
}

// set sets a key of a dict, and pays for finding its place.
func (m *Machine) set(d *starlark.Dict, k, v starlark.Value) error {
	t := layoutOfDict(d)
	e, known := m.entry(t, k)
	if e != nil && !t.frozen && t.itercount == 0 {
		e.value = v
		return nil
	}
	if !known {
		if err := m.finds(t, k); err != nil {
			return err
		}
	}
	return d.SetKey(k, v)
}

// setNew sets a key of a dict that most likely is not there yet, and pays as set does. A small
// table is not searched first, which would hash the key twice.
func (m *Machine) setNew(d *starlark.Dict, k, v starlark.Value) error {
	if !layoutsKnown || len(layoutOfDict(d).table) > roomyTable {
		return m.set(d, k, v)
	}
	switch k := k.(type) {
	case starlark.String:
		m.work(len(k) >> workShift)
	case starlark.Tuple:
		if err := m.finds(layoutOfDict(d), k); err != nil {
			return err
		}
	}
	return d.SetKey(k, v)
}

// entry is where a small int or a text is in a table, nil if it is not there. It gives up where a
// crowd could be, and where keys are to be compared that are not of one type.
func (m *Machine) entry(t *tableLayout, k starlark.Value) (e *entryLayout, known bool) {
	var hash uint32
	switch k := k.(type) {
	case starlark.Int:
		n, ok := small(k)
		if !ok {
			return nil, false
		}
		hash = smallHash(n)
	case starlark.String:
		hash, _ = k.Hash()
		m.work(len(k) >> workShift)
	default:
		return nil, false
	}
	n := len(t.table)
	if n == 0 || !layoutsKnown || 4*(int(t.len)-1) < 13*n && n > 1 { // no table, or one with more places than one just made
		return nil, false
	}
	hash = max(hash, 1)
	b := &t.table[int(hash)&(n-1)]
	for range crowd.Free / len(b.entries) {
		for i := range b.entries {
			if e := &b.entries[i]; e.hash == hash {
				if e.key == k {
					return e, true
				}
				return nil, false
			}
		}
		if b = b.next; b == nil {
			return nil, true
		}
	}
	return nil, false
}

// look charges for finding a key in a table, or the place where it belongs.
func (m *Machine) look(t *tableLayout, k starlark.Value) {
	if len(t.table) <= roomyTable || m.early || !layoutsKnown {
		return
	}
	if s, ok := k.(starlark.String); ok && len(s) >= 12 { // crowd.Spread, which is most
		return
	}
	m.lookFar(t, k)
}

func (m *Machine) lookFar(t *tableLayout, k starlark.Value) {
	hash, err := k.Hash()
	if err != nil {
		return // nothing is looked for
	}
	hash = max(hash, 1)
	t.fit()
	places := min(crowd.Places(int(t.len)), len(t.table))
	links := 0
	for at := int(hash) & (places - 1); at < len(t.table); at += places {
		for b := t.table[at].next; b != nil; b = b.next {
			links++
		}
	}
	if links > crowd.Free/8-len(t.table)/places {
		m.fuel -= t.passed(k, hash, places)
	}
}

// passed is what passing the keys costs that cannot but lie where k does, in a table of so many
// places.
func (t *tableLayout) passed(k starlark.Value, hash uint32, places int) int64 {
	class, kind := crowd.Class(k)
	if kind == crowd.Spread {
		return 0
	}
	mates, alike := int64(0), int64(0) // in one place, and of one hash
	for at := int(hash) & (places - 1); at < len(t.table); at += places {
		for b := &t.table[at]; b != nil; b = b.next {
			for i := range b.entries {
				e := &b.entries[i]
				if e.hash == 0 || kind == crowd.Twins && e.hash != hash {
					continue
				}
				other, of := crowd.Class(e.key)
				if of != kind || kind == crowd.Twins && other != class {
					continue
				}
				if mates++; other == class {
					alike++
				}
			}
		}
	}
	return crowd.Passed*max(0, mates-crowd.Free) + crowd.Compared*max(0, alike-crowd.Free)
}

// tabled pays for making a table of n keys, or refuses it.
func (m *Machine) tabled(n int, keys iter.Seq[starlark.Value]) error {
	if n <= crowd.Free || m.early {
		return nil
	}
	cost := crowd.Cost(n, keys)
	if cost > m.stepsLeft() {
		return effect.Errorf(effect.KindLimit, "a table of %d keys, of which many lie in one place, takes %d steps: %d are left", n, cost, m.stepsLeft())
	}
	m.fuel -= cost + int64(n)>>elementShift
	return nil
}

// together goes through the keys of several tables.
func together(tables ...*tableLayout) iter.Seq[starlark.Value] {
	return func(yield func(starlark.Value) bool) {
		for _, t := range tables {
			for e := t.head; e != nil; e = e.next {
				if !yield(e.key) {
					return
				}
			}
		}
	}
}

// combined pays for an operator, or a method, that looks for the keys of one dict or set in another
// one.
func (m *Machine) combined(x, y starlark.Value) error {
	a, b := layoutOf(x), layoutOf(y)
	if a == nil || b == nil || !layoutsKnown {
		return nil
	}
	m.work(int(a.len) + int(b.len))
	return m.tabled(int(a.len)+int(b.len), together(a, b))
}

// taken pays for adding what arg has to a table, or for looking for it there: elements, or the keys
// of pairs. t may be nil for a new table.
func (m *Machine) taken(t *tableLayout, arg starlark.Value, pairs bool) error {
	if m.early || arg == nil {
		return nil
	}
	keys := starlark.Elements
	seq, ok := arg.(starlark.Sequence)
	if !ok || seq.Len() <= crowd.Free && t == nil {
		return nil
	}
	_, mapping := arg.(starlark.Mapping)
	all := func(yield func(starlark.Value) bool) {
		for v := range keys(seq) {
			if pair, ok := v.(starlark.Indexable); ok && pairs && !mapping && pair.Len() > 0 {
				v = pair.Index(0)
			}
			if hashable(v) == nil && !yield(v) {
				return
			}
		}
	}
	if t != nil && len(t.table) > roomyTable {
		for k := range all {
			m.look(t, k)
		}
	}
	return m.tabled(seq.Len(), all)
}
