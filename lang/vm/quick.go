package vm

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
)

// This file has the short cuts of the dispatch loop: the operand types that programs mostly use,
// decided by a type switch, with the general operation behind.

// unaryToken and binaryToken are the operators of go.starlark.net for operations without a short
// cut.
var unaryToken = [...]syntax.Token{
	compile.Plus:   syntax.PLUS,
	compile.Neg:    syntax.MINUS,
	compile.Invert: syntax.TILDE,
}

var binaryToken = [...]syntax.Token{
	compile.And: syntax.AMP,
	compile.Or:  syntax.PIPE,
	compile.Xor: syntax.CIRCUMFLEX,
	compile.Shl: syntax.LTLT,
	compile.Shr: syntax.GTGT,
}

var orderToken = [...]syntax.Token{
	compile.Less:           syntax.LT,
	compile.LessEqual:      syntax.LE,
	compile.Greater:        syntax.GT,
	compile.GreaterEqual:   syntax.GE,
	compile.IfLess:         syntax.LT,
	compile.IfLessEqual:    syntax.LE,
	compile.IfGreater:      syntax.GT,
	compile.IfGreaterEqual: syntax.GE,
}

// order is x < y, x <= y, x > y or x >= y.
func (m *Machine) order(op compile.Op, x, y starlark.Value) (bool, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok {
			switch op {
			case compile.Less, compile.IfLess:
				return a < b, nil
			case compile.LessEqual, compile.IfLessEqual:
				return a <= b, nil
			case compile.Greater, compile.IfGreater:
				return a > b, nil
			}
			return a >= b, nil
		}
	}
	if xf, ok := x.(starlark.Float); ok {
		if yf, ok := y.(starlark.Float); ok && xf == xf && yf == yf {
			return orderFloats(op, xf, yf), nil
		}
	}
	return m.compare(orderToken[op], x, y)
}

// orderFloats compares floats that are numbers.
func orderFloats(op compile.Op, x, y starlark.Float) bool {
	switch op {
	case compile.Less, compile.IfLess:
		return x < y
	case compile.LessEqual, compile.IfLessEqual:
		return x <= y
	case compile.Greater, compile.IfGreater:
		return x > y
	}
	return x >= y
}

// contains is x in container.
func (m *Machine) contains(container, x starlark.Value) (bool, error) {
	switch c := container.(type) {
	case *starlark.Set:
		if _, known := m.entry(layoutOfSet(c), x); known {
			break
		}
		if err := m.finds(layoutOfSet(c), x); err != nil {
			return false, err
		}
	case *starlark.Dict:
		_, found, err := m.find(c, x)
		if err != nil {
			return false, hashable(x) // what has no hash is not in a dict
		}
		return found, nil
	case *starlark.List:
		m.fuel -= int64(c.Len()) >> elementShift
		for i := range c.Len() {
			if same, err := m.equal(x, c.Index(i)); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case starlark.Tuple:
		m.fuel -= int64(len(c)) >> elementShift
		for i := range c {
			if same, err := m.equal(x, c[i]); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	if text, ok := container.(starlark.String); ok {
		m.fuel -= int64(len(text)) >> workShift
	}
	v, err := starlark.Binary(syntax.IN, x, container)
	if err != nil {
		return false, err
	}
	return bool(v.Truth()), nil
}

// subtract is x - y.
func (m *Machine) subtract(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok {
			return m.int(a - b), nil
		}
	}
	if x, ok := x.(starlark.Float); ok {
		if y, ok := y.(starlark.Float); ok {
			return x - y, nil
		}
	}
	return m.binary(syntax.MINUS, x, y)
}

// divide is x / y.
func (m *Machine) divide(x, y starlark.Value) (starlark.Value, error) {
	if x, ok := x.(starlark.Float); ok {
		if y, ok := y.(starlark.Float); ok && y != 0 {
			return x / y, nil
		}
	}
	return m.binary(syntax.SLASH, x, y)
}

// add is x + y.
func (m *Machine) add(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok {
			return m.int(a + b), nil
		}
	}
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if len(x)+len(y) > maxBuffer && !m.fits(len(x)+len(y)) {
				return nil, m.refusal()
			}
			m.charge(m.sizes.text + len(x) + len(y))
			m.fuel -= int64(len(x)+len(y)) >> workShift
			return x + y, nil
		}
	case starlark.Float:
		if y, ok := y.(starlark.Float); ok {
			return x + y, nil
		}
	}
	return m.binary(syntax.PLUS, x, y)
}

// multiply is x * y.
func (m *Machine) multiply(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok {
			return m.int(a * b), nil
		}
	}
	if x, ok := x.(starlark.Float); ok {
		if y, ok := y.(starlark.Float); ok {
			return x * y, nil
		}
	}
	return m.binary(syntax.STAR, x, y)
}

// modulo is x % y.
func (m *Machine) modulo(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok && b != 0 {
			return makeInt(floorMod(a, b)), nil
		}
	}
	if s, ok := x.(starlark.String); ok {
		if v := m.percent(string(s), y); v != nil {
			return v, nil
		}
		if err := m.refusal(); err != nil {
			return nil, err
		}
	}
	return m.binary(syntax.PERCENT, x, y)
}

// floorDivide is x // y.
func (m *Machine) floorDivide(x, y starlark.Value) (starlark.Value, error) {
	if a, ok := small(x); ok {
		if b, ok := small(y); ok && b != 0 {
			return makeInt((a - floorMod(a, b)) / b), nil
		}
	}
	return m.binary(syntax.SLASHSLASH, x, y)
}

// floorMod is the remainder that has the sign of b.
func floorMod(a, b int64) int64 {
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// addTo is x += y.
func (m *Machine) addTo(x, y starlark.Value) (starlark.Value, error) {
	if list, ok := x.(*starlark.List); ok {
		return m.extendBy(list, y)
	}
	return m.add(x, y)
}

// smallIndex is an index that fits 32 bits, negative if it counts from the end or is none.
func smallIndex(v starlark.Value) int {
	if i, ok := small(v); ok {
		return int(i)
	}
	return -1
}

// index is x[y].
func (m *Machine) index(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		if i := smallIndex(y); i >= 0 && i < x.Len() {
			return x.Index(i), nil
		}
	case *starlark.Dict:
		if v, found, err := m.find(x, y); found || err != nil {
			return v, err
		}
	case starlark.Tuple:
		if i := smallIndex(y); i >= 0 && i < len(x) {
			return x[i], nil
		}
	}
	return m.indexAny(x, y)
}

func (m *Machine) setIndex(x, y, v starlark.Value) error {
	switch x := x.(type) {
	case *starlark.List:
		if i := smallIndex(y); i >= 0 && i < x.Len() {
			return x.SetIndex(i, v)
		}
	case *starlark.Dict:
		before := x.Len()
		err := m.set(x, y, v)
		m.charge(m.sizes.entry * (x.Len() - before))
		return err
	}
	return setIndex(x, y, v)
}

// newDict makes an empty dict with room for n entries. Without entries go.starlark.net gives it no
// table, which its errors show.
func newDict(n int) *starlark.Dict {
	if n == 0 {
		return new(starlark.Dict)
	}
	return starlark.NewDict(n)
}

// newSet makes an empty set with room for n elements, in the same way.
func newSet(n int) *starlark.Set {
	if n == 0 {
		return new(starlark.Set)
	}
	return starlark.NewSet(n)
}

// addKey sets a key of a dict display, which must not be there yet.
func (m *Machine) addKey(d *starlark.Dict, k, v starlark.Value) error {
	before := d.Len()
	if err := m.setNew(d, k, v); err != nil {
		return err
	}
	if d.Len() == before {
		if err := m.printable(k); err != nil {
			return err
		}
		return fmt.Errorf("duplicate key: %v", k)
	}
	return nil
}

func extendWindow(l *starlark.List, elems []starlark.Value) {
	for _, v := range elems {
		_ = l.Append(v) // nobody else has it: cannot fail
	}
}

func toTuple(l *starlark.List) starlark.Tuple {
	t := make(starlark.Tuple, l.Len())
	for i := range t {
		t[i] = l.Index(i)
	}
	return t
}
