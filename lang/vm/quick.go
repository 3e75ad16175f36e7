package vm

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
)

// This file has the short cuts of the dispatch loop: the operand types that programs mostly use, decided by a type switch, with the general operation behind.

// unaryToken and binaryToken are the operators of go.starlark.net for operations without a short cut.
var unaryToken = [...]syntax.Token{
	compile.Plus:   syntax.PLUS,
	compile.Neg:    syntax.MINUS,
	compile.Invert: syntax.TILDE,
}

var binaryToken = [...]syntax.Token{
	compile.Div:      syntax.SLASH,
	compile.FloorDiv: syntax.SLASHSLASH,
	compile.And:      syntax.AMP,
	compile.Or:       syntax.PIPE,
	compile.Xor:      syntax.CIRCUMFLEX,
	compile.Shl:      syntax.LTLT,
	compile.Shr:      syntax.GTGT,
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
func order(op compile.Op, x, y starlark.Value) (bool, error) {
	if xi, ok := x.(starlark.Int); ok {
		if yi, ok := y.(starlark.Int); ok {
			c, _ := xi.Cmp(yi, 1)
			switch op {
			case compile.Less, compile.IfLess:
				return c < 0, nil
			case compile.LessEqual, compile.IfLessEqual:
				return c <= 0, nil
			case compile.Greater, compile.IfGreater:
				return c > 0, nil
			}
			return c >= 0, nil
		}
	}
	if xf, ok := x.(starlark.Float); ok {
		if yf, ok := y.(starlark.Float); ok && xf == xf && yf == yf {
			return orderFloats(op, xf, yf), nil
		}
	}
	return starlark.Compare(orderToken[op], x, y)
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
func contains(container, x starlark.Value) (bool, error) {
	switch c := container.(type) {
	case *starlark.Set:
		if err := hashable(x); err != nil {
			return false, err
		}
	case *starlark.Dict:
		if err := hashable(x); err != nil {
			return false, err
		}
		_, found, _ := c.Get(x) // an unhashable x is not in a dict
		return found, nil
	case *starlark.List:
		for i := range c.Len() {
			if same, err := equal(x, c.Index(i)); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case starlark.Tuple:
		for i := range c {
			if same, err := equal(x, c[i]); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	v, err := starlark.Binary(syntax.IN, x, container)
	if err != nil {
		return false, err
	}
	return bool(v.Truth()), nil
}

// subtract is x - y where not both are ints.
func (m *Machine) subtract(x, y starlark.Value) (starlark.Value, error) {
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

func (m *Machine) add(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			m.charge(sizeOfText + len(x) + len(y))
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

func (m *Machine) multiply(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Int:
		if y, ok := y.(starlark.Int); ok {
			return m.multiplyInts(x, y)
		}
	case starlark.Float:
		if y, ok := y.(starlark.Float); ok {
			return x * y, nil
		}
	}
	return m.binary(syntax.STAR, x, y)
}

// multiplyInts multiplies ints. The product of large ones is a cost: it is checked and charged.
func (m *Machine) multiplyInts(x, y starlark.Int) (starlark.Value, error) {
	z := x.Mul(y)
	if _, ok := z.Int64(); ok {
		return z, nil
	}
	n := bits(z)
	if n > MaxIntBits {
		return nil, effect.Errorf(effect.KindLimit, "an int of %.0f bits: the limit is %d", n, MaxIntBits)
	}
	m.charge(int(n) / 8)
	m.fuel -= int64(n) >> workShift
	return z, nil
}

// MaxIntBits bounds the ints that a product or a text can make: the time for one product grows faster than its size, and nothing can interrupt it.
const MaxIntBits = 1 << 22

// workShift turns bytes of native work into steps.
const workShift = 8

func (m *Machine) modulo(x, y starlark.Value) (starlark.Value, error) {
	if xi, ok := x.(starlark.Int); ok {
		if yi, ok := y.(starlark.Int); ok && yi.Sign() != 0 {
			return xi.Mod(yi), nil
		}
	}
	if s, ok := x.(starlark.String); ok {
		if v := m.percent(string(s), y); v != nil {
			return v, nil
		}
		if err := m.refused; err != nil {
			m.refused = nil
			return nil, err
		}
	}
	return m.binary(syntax.PERCENT, x, y)
}

func (m *Machine) addTo(x, y starlark.Value) (starlark.Value, error) {
	switch x.(type) {
	case starlark.Int, starlark.String, starlark.Float:
		return m.add(x, y)
	}
	if list, ok := x.(*starlark.List); ok {
		return m.extendBy(list, y)
	}
	return m.binary(syntax.PLUS, x, y)
}

// smallIndex is an index that fits an int and counts from the start, or -1.
func smallIndex(v starlark.Value) int {
	if i, ok := v.(starlark.Int); ok {
		if i, ok := i.Int64(); ok && 0 <= i && i < math.MaxInt32 {
			return int(i)
		}
	}
	return -1
}

func quickIndex(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		if i := smallIndex(y); i >= 0 && i < x.Len() {
			return x.Index(i), nil
		}
	case *starlark.Dict:
		if err := hashable(y); err != nil {
			return nil, err
		}
		if v, found, err := x.Get(y); found && err == nil {
			return v, nil
		}
	case starlark.Tuple:
		if i := smallIndex(y); i >= 0 && i < len(x) {
			return x[i], nil
		}
	}
	return index(x, y)
}

func (m *Machine) setIndex(x, y, v starlark.Value) error {
	switch x := x.(type) {
	case *starlark.List:
		if i := smallIndex(y); i >= 0 && i < x.Len() {
			return x.SetIndex(i, v)
		}
	case *starlark.Dict:
		if err := hashable(y); err != nil {
			return err
		}
		before := x.Len()
		err := x.SetKey(y, v)
		m.charge(sizeOfEntry * (x.Len() - before))
		return err
	}
	return setIndex(x, y, v)
}

// addKey sets a key of a dict display, which must not be there yet.
func addKey(d *starlark.Dict, k, v starlark.Value) error {
	if err := hashable(k); err != nil {
		return err
	}
	before := d.Len()
	if err := d.SetKey(k, v); err != nil {
		return err
	}
	if d.Len() == before {
		return fmt.Errorf("duplicate key: %v", k)
	}
	return nil
}

// setKey sets a key of a dict that a comprehension builds.
func setKey(d *starlark.Dict, k, v starlark.Value) error {
	if err := hashable(k); err != nil {
		return err
	}
	return d.SetKey(k, v)
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
