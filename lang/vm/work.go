package vm

import (
	mathbits "math/bits"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file charges what machines of effect.BehaviourUnbounded did for nothing: their charges stay
// what they were.

// work charges steps for what Go does in one instruction.
func (m *Machine) work(steps int) {
	if !m.early {
		m.fuel -= int64(steps)
	}
}

// finds checks and charges a look for a key that entry did not find: hashing it, and what lies in
// its place.
func (m *Machine) finds(t *tableLayout, k starlark.Value) error {
	if k, ok := k.(starlark.Tuple); ok {
		if err := hashable(k); err != nil {
			return err
		}
		m.work(tupleWork(k))
	}
	m.look(t, k)
	return nil
}

// tupleWork is what hashing a tuple takes, one that is hashable.
func tupleWork(t starlark.Tuple) int {
	n := len(t) >> partShift
	for _, v := range t {
		switch v := v.(type) {
		case starlark.Tuple:
			n += tupleWork(v)
		case starlark.String:
			n += len(v) >> workShift
		case starlark.Bytes:
			n += len(v) >> workShift
		}
	}
	return n
}

// tableMethod charges a method of a dict or a set that is called through go.starlark.net.
func (m *Machine) tableMethod(t *tableLayout, name string, args []starlark.Value) error {
	if m.early || !layoutsKnown {
		return nil
	}
	t.fit()
	switch name {
	case "get", "pop", "setdefault", "add", "discard", "remove", "popitem":
		if len(args) > 0 {
			if s, ok := args[0].(starlark.String); ok {
				m.work(len(s) >> workShift)
			}
			return m.finds(t, args[0])
		}
		return nil
	}
	m.work(int(t.len))
	for _, arg := range args {
		if other := layoutOf(arg); other != nil {
			if err := m.tabled(int(t.len)+int(other.len), together(t, other)); err != nil {
				return err
			}
			continue
		}
		if err := m.taken(t, arg, name == "update"); err != nil {
			return err
		}
	}
	return nil
}

// payFor charges operators whose work is more than what they make.
func (m *Machine) payFor(op syntax.Token, x, y starlark.Value) error {
	if m.early {
		return nil
	}
	switch op {
	case syntax.STAR, syntax.SLASHSLASH, syntax.PERCENT:
		a, first := x.(starlark.Int)
		b, second := y.(starlark.Int)
		if first && second {
			m.work(words(a) + words(a)*words(b)>>wordShift)
		}
	case syntax.PIPE, syntax.AMP, syntax.MINUS, syntax.CIRCUMFLEX:
		return m.combined(x, y)
	}
	return nil
}

// words is how many words of a machine an int takes, 0 for one of 32 bits.
func words(x starlark.Int) int {
	if _, ok := small(x); ok {
		return 0
	}
	return bits(x)/64 + 1
}

// digitWork is what making an int of so many digits of a text takes, or a text of it.
func digitWork(n int) int {
	words := n / 16
	return words * words >> wordShift
}

// ordering charges for sorting values by comparing them: how often, and how long their texts are.
func (m *Machine) ordering(values starlark.Indexable) {
	if m.early {
		return
	}
	n := values.Len()
	size := n << workShift >> elementShift
	if list, ok := values.(*starlark.List); ok { // most are, and their calls are quicker
		for i := range n {
			size += comparedSize(list.Index(i))
		}
	} else {
		for i := range n {
			size += comparedSize(values.Index(i))
		}
	}
	m.work(size * mathbits.Len(uint(n)) >> workShift)
}

func comparedSize(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case starlark.Int:
		return words(v)
	}
	return 0
}

// comparing charges for comparing two texts or two ints, as long as the shorter one.
func (m *Machine) comparing(x, y starlark.Value) {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			m.work(min(len(x), len(y)) >> workShift)
		}
	case starlark.Bytes:
		if y, ok := y.(starlark.Bytes); ok {
			m.work(min(len(x), len(y)) >> workShift)
		}
	case starlark.Int:
		if y, ok := y.(starlark.Int); ok {
			m.work(min(words(x), words(y)) >> elementShift)
		}
	}
}
