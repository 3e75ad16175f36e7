package vm

import (
	mathbits "math/bits"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// Memory is charged by a model that any process computes alike, never by Go's heap. What the
// machine makes is added to a tally by the sizes below; nothing is ever taken off. When the tally
// passes the ceiling, the machine counts what the script can still reach: if that exceeds the limit
// the script fails, else it becomes the new tally. Values that would be too large beside it are
// refused before they are made.

// sizes are what values take in bytes, beside their contents and what they refer to.
type sizes struct {
	value   int // a register, an element of a tuple
	element int // of a list
	text    int // a string or bytes
	list    int
	tuple   int
	table   int // a dict or a set: go.starlark.net makes room for eight entries at once
	entry   int // of a dict or a set
	other   int // functions, cells, records and what else there is
	wideInt int // an int of more than 32 bits
}

// Those of now are what go.starlark.net and Go take at the worst: what is allotted in advance where
// something grows, the old beside the new, and what counting takes meanwhile, are in them.
var (
	realSizes  = sizes{value: 24, element: 48, text: 56, list: 72, tuple: 56, table: 640, entry: 208, other: 112, wideInt: 56}
	earlySizes = sizes{value: 16, element: 16, text: 24, list: 56, tuple: 24, table: 512, entry: 96, other: 64} // of effect.BehaviourUnbounded
)

// charge adds to the tally. The next back-edge or call looks at a tally that has passed the mark.
func (m *Machine) charge(n int) {
	if m.tally += int64(n); m.tally > m.mark {
		m.cut()
	}
}

// borrow asks for room among all runs, for what the tally says and n bytes more. The tally has
// garbage in it and no count may be made that would change it: so what is held is looked at, if
// need be.
func (m *Machine) borrow(n int64) {
	most := m.tally + n
	if most <= m.lease {
		return
	}
	m.lease = most + m.limits.Lend(most, func() int64 { return m.held(true) + n })
	m.mark = min(m.ceiling, m.lease)
}

// cut ends the portion of steps here.
func (m *Machine) cut() {
	if m.fuel > 0 {
		m.portion -= m.fuel
		m.fuel = 0
	}
}

// made charges a value that a builtin has made.
func (m *Machine) made(v starlark.Value) {
	switch v := v.(type) {
	case starlark.String:
		m.work(len(v) >> workShift)
		m.charge(m.sizes.text + len(v))
	case starlark.Bytes:
		m.work(len(v) >> workShift)
		m.charge(m.sizes.text + len(v))
	case starlark.Int:
		m.wide(v)
	case *starlark.List:
		m.work(v.Len() >> partShift)
		m.charge(m.sizes.list + m.sizes.element*v.Len())
		if n := v.Len(); n > 0 {
			m.wideAll(v.Index(n-1), n)
		}
	case starlark.Tuple:
		m.work(len(v) >> partShift)
		m.charge(m.sizes.tuple + m.sizes.value*len(v))
	case *starlark.Dict:
		m.work(v.Len())
		m.charge(m.sizes.table + m.sizes.entry*v.Len())
	case *starlark.Set:
		m.work(v.Len())
		m.charge(m.sizes.table + m.sizes.entry*v.Len())
	}
}

// madeAll charges a value that a builtin has made with all that is in it.
func (m *Machine) madeAll(v starlark.Value) {
	if _, ok := v.(starlark.Sequence); !ok || m.early {
		m.made(v)
		return
	}
	c := counter{m: m, sizes: m.sizes}
	c.slot(&v, true)
	c.walk()
	m.charge(c.bytes)
	m.work(c.bytes >> workShift)
}

// room refuses a value of n bytes that could not stay within the limit beside what the script
// holds. The frame has its pc saved.
func (m *Machine) room(what string, n float64) error {
	switch {
	case m.early && n <= float64(m.limits.Memory) || float64(m.tally)+n <= float64(m.ceiling):
		m.borrow(int64(n))
		return nil
	case n > float64(m.limits.Memory):
		return effect.Errorf(effect.KindLimit, "%s would take %.0f bytes: the limit is %d", what, n, m.limits.Memory)
	}
	if err := m.recount(); err != nil {
		return err
	}
	m.fuel -= m.tally >> workShift // who catches the refusal may ask again
	if float64(m.tally)+n <= float64(m.ceiling) {
		m.borrow(int64(n))
		return nil
	}
	return effect.Errorf(effect.KindLimit, "%s would take %.0f bytes, and the script holds %d: the limit is %d", what, n, m.tally, m.limits.Memory)
}

// repeated checks the size of x * n before it is made.
func (m *Machine) repeated(x, y starlark.Value) error {
	n, ok := y.(starlark.Int)
	if !ok {
		x, y = y, x
		if n, ok = y.(starlark.Int); !ok {
			return nil
		}
	}
	what, size := "", 1
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		what = "a repeated string"
	case *starlark.List:
		what, size = "a repeated list", m.sizes.element
	case starlark.Tuple:
		what, size = "a repeated tuple", m.sizes.value
	default:
		return nil
	}
	elements := float64(n.Float()) * float64(starlark.Len(x))
	if elements >= mostRepeated {
		return nil // go.starlark.net has its own words for that
	}
	return m.room(what, elements*float64(size))
}

// mostRepeated is the number of elements from which go.starlark.net itself refuses to repeat.
const mostRepeated = 1 << 30

// MaxIntBits bounds every int: the time for one product or one division grows faster than its size,
// and nothing can interrupt it.
const MaxIntBits = 1 << 22

// Work in Go is charged as steps: one for so many bytes, or elements, as a power of two.
const (
	workShift    = 8
	readShift    = 5 // of bytes that a builtin goes through one by one
	partShift    = 2 // of what is made part by part: a list, the text of a list
	elementShift = 4
	wordShift    = 6 // of products of the words of two ints
)

// bits is the size of an int.
func bits(x starlark.Int) int {
	if n, ok := x.Int64(); ok {
		return mathbits.Len64(uint64(max(n, -n)))
	}
	return x.BigInt().BitLen()
}

// madeInt charges an int, and refuses one that is too large. Ints of up to 64 bits are free.
func (m *Machine) madeInt(x starlark.Int) error {
	if _, ok := x.Int64(); ok {
		m.wide(x)
		return nil
	}
	n := bits(x)
	if n > MaxIntBits {
		return tooLarge(n)
	}
	m.charge(n / 8)
	m.fuel -= int64(n/8) >> workShift
	return nil
}

// wide charges an int that go.starlark.net keeps on the heap, beside its digits.
func (m *Machine) wide(x starlark.Int) {
	if _, ok := small(x); !ok {
		m.charge(m.sizes.wideInt)
	}
}

// wideAll charges n elements of a list of which last is the last: a range or a text of json may
// have made as many ints that need memory. It is a guess that the next count corrects.
func (m *Machine) wideAll(last starlark.Value, n int) {
	if x, ok := last.(starlark.Int); ok {
		if _, ok := small(x); !ok {
			m.charge(m.sizes.wideInt * n)
		}
	}
}

func tooLarge(bits int) error {
	return effect.Errorf(effect.KindLimit, "an int of %d bits: the limit is %d", bits, MaxIntBits)
}

// binary applies an operator that has no short cut: what it makes is checked before, as far as it
// can be large, and charged after.
func (m *Machine) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := m.affordable(op, x, y); err != nil {
		return nil, err
	}
	if err := m.payFor(op, x, y); err != nil {
		return nil, err
	}
	v, err := starlark.Binary(op, x, y)
	if z, ok := v.(starlark.Int); ok {
		return v, m.madeInt(z)
	}
	m.made(v)
	return v, err
}

// affordable checks the operators whose result can be much larger than their operands.
func (m *Machine) affordable(op syntax.Token, x, y starlark.Value) error {
	switch op {
	case syntax.STAR:
		if x, ok := x.(starlark.Int); ok {
			if y, ok := y.(starlark.Int); ok {
				return affordableProduct(x, y)
			}
		}
		return m.repeated(x, y)
	case syntax.PERCENT:
		return m.interpolated(x, y)
	case syntax.PLUS:
		return m.joined(x, y)
	}
	return nil
}

// interpolated checks format % y. With names in the format a value can be printed any number of
// times.
func (m *Machine) interpolated(x, y starlark.Value) error {
	format, ok := x.(starlark.String)
	if !ok {
		return nil
	}
	args, several := y.(starlark.Tuple)
	if !several {
		args = starlark.Tuple{y}
	}
	if err := m.allShowable(args); err != nil {
		return err
	}
	m.work(len(args) << 4) // a float may have hundreds of digits
	size, err := m.textSize(y)
	if err != nil {
		return err
	}
	if _, ok := y.(starlark.Mapping); ok {
		size *= int64(strings.Count(string(format), "%("))
	}
	return m.room("a string", float64(size)+float64(len(format)))
}

// joined checks x + y.
func (m *Machine) joined(x, y starlark.Value) error {
	what, size := "a string", 1
	switch x.(type) {
	case starlark.String:
	case starlark.Bytes:
		what = "a bytes"
	case *starlark.List:
		what, size = "a list", m.sizes.element
	case starlark.Tuple:
		what, size = "a tuple", m.sizes.value
	default:
		return nil
	}
	return m.room(what, float64(size)*float64(starlark.Len(x)+starlark.Len(y)))
}

// affordableProduct looks at the operands only when they are large.
func affordableProduct(x, y starlark.Int) error {
	if _, ok := x.Int64(); ok {
		if _, ok := y.Int64(); ok {
			return nil
		}
	}
	if n := bits(x) + bits(y) - 1; n > MaxIntBits {
		return tooLarge(n)
	}
	return nil
}

// consumes checks builtins that go through ranges and views of texts, of which a few bytes can mean
// any amount of work, and charges the steps.
func (m *Machine) consumes(args []starlark.Value) error { return m.consumesEach(args, m.sizes.element) }

// consumesEach is consumes for a builtin that makes a value of size bytes of each element.
func (m *Machine) consumesEach(args []starlark.Value, size int) error {
	for _, v := range args {
		n, each := m.sizes.elements(v, size)
		if int64(n) > m.limits.Steps {
			return effect.Errorf(effect.KindLimit, "a %s of %d elements: the limit of steps is %d", v.Type(), n, m.limits.Steps)
		}
		m.fuel -= int64(n)
		if err := m.room("the elements of a "+v.Type(), float64(n)*float64(each)); err != nil {
			return err
		}
	}
	return nil
}

// elements is how many values a range, or a view of a text, gives, and what each takes if size is
// that of what keeps it; 0 for anything else.
func (s *sizes) elements(v starlark.Value, size int) (n, each int) {
	if _, text := v.(starlark.String); text || v == nil {
		return 0, 0
	}
	if isRange(v) {
		all := v.(starlark.Sliceable)
		if n = all.Len(); n > 0 {
			if _, ok := small(all.Index(n - 1)); !ok {
				size += s.wideInt
			}
		}
		return n, size
	}
	switch viewKind(v) {
	case 0, 2:
		return starlark.Len(viewSource(v)), size + s.text
	case 1, 3:
		return starlark.Len(viewSource(v)), size
	}
	return 0, 0
}
