package vm

import (
	mathbits "math/bits"
	"reflect"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// Memory is charged by a model that any process computes alike, never by Go's heap. What the machine makes is added to a tally by the sizes below; nothing is
// ever taken off. When the tally passes the ceiling, the machine counts what the script can still reach: if that exceeds the limit the script fails, else it
// becomes the new tally. Values that would be too large by themselves are refused before they are made.
const (
	sizeOfValue = 16 // a register, an element
	sizeOfText  = 24 // a string or bytes beside its contents
	sizeOfList  = 56
	sizeOfTuple = 24
	sizeOfDict  = 512 // go.starlark.net makes room for eight entries at once
	sizeOfEntry = 96  // of a dict or a set
	sizeOfOther = 64  // functions, cells, records and what else there is, beside their contents
)

// distinctText is the length from which a string that is met in several places is counted once. Equal strings are several until a machine is restored, whose
// strings are all distinct: it can hold a little more than it could before.
const distinctText = 64

// charge adds to the tally. The next back-edge or call looks at a tally that has passed the ceiling.
func (m *Machine) charge(n int) {
	if m.tally += int64(n); m.tally > m.ceiling {
		m.cut()
	}
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
		m.charge(sizeOfText + len(v))
	case starlark.Bytes:
		m.charge(sizeOfText + len(v))
	case *starlark.List:
		m.charge(sizeOfList + sizeOfValue*v.Len())
	case starlark.Tuple:
		m.charge(sizeOfTuple + sizeOfValue*len(v))
	case *starlark.Dict:
		m.charge(sizeOfDict + sizeOfEntry*v.Len())
	case *starlark.Set:
		m.charge(sizeOfDict + sizeOfEntry*v.Len())
	}
}

// room refuses a value of n bytes that could not stay within the limit.
func (m *Machine) room(what string, n float64) error {
	if n <= float64(m.limits.Memory) {
		return nil
	}
	return effect.Errorf(effect.KindLimit, "%s would take %.0f bytes: the limit is %d", what, n, m.limits.Memory)
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
	what, size := "", 1.0
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		what = "a repeated string"
	case *starlark.List, starlark.Tuple:
		what, size = "a repeated "+x.Type(), sizeOfValue
	default:
		return nil
	}
	elements := float64(n.Float()) * float64(starlark.Len(x))
	if elements >= mostRepeated {
		return nil // go.starlark.net has its own words for that
	}
	return m.room(what, elements*size)
}

// mostRepeated is the number of elements from which go.starlark.net itself refuses to repeat.
const mostRepeated = 1 << 30

// MaxIntBits bounds every int: the time for one product or one division grows faster than its size, and nothing can interrupt it.
const MaxIntBits = 1 << 22

// Work in Go is charged as steps: one for so many bytes, or elements, as a power of two.
const (
	workShift    = 8
	elementShift = 4
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

func tooLarge(bits int) error {
	return effect.Errorf(effect.KindLimit, "an int of %d bits: the limit is %d", bits, MaxIntBits)
}

// binary applies an operator that has no short cut: what it makes is checked before, as far as it can be large, and charged after.
func (m *Machine) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if err := m.affordable(op, x, y); err != nil {
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

// interpolated checks format % y. With names in the format a value can be printed any number of times.
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
	size := 1.0
	switch x.(type) {
	case starlark.String, starlark.Bytes:
	case *starlark.List, starlark.Tuple:
		size = sizeOfValue
	default:
		return nil
	}
	return m.room("a "+x.Type(), size*float64(starlark.Len(x)+starlark.Len(y)))
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

// consumes checks builtins that go through ranges and views of texts, of which a few bytes can mean any amount of work, and charges the steps.
func (m *Machine) consumes(args []starlark.Value) error { return m.consumesEach(args, sizeOfValue) }

// consumesEach is consumes for a builtin that makes a value of size bytes of each element.
func (m *Machine) consumesEach(args []starlark.Value, size int) error {
	for _, v := range args {
		n, each := elements(v, size)
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

// elements is how many values a range, or a view of a text, gives, and what each takes; 0 for anything else.
func elements(v starlark.Value, size int) (n, each int) {
	if _, text := v.(starlark.String); text || v == nil {
		return 0, 0
	}
	if isRange(v) {
		return v.(starlark.Sequence).Len(), size
	}
	switch viewKind(v) {
	case 0, 2:
		return starlark.Len(viewSource(v)), size + sizeOfText
	case 1, 3:
		return starlark.Len(viewSource(v)), size
	}
	return 0, 0
}

// recount counts what is alive and compares it with the limit.
func (m *Machine) recount() error {
	c := counter{m: m, seen: make(map[any]bool), texts: make(map[textIdentity]bool)}
	for _, mod := range m.modules {
		c.work = append(c.work, mod.globals...)
	}
	for _, f := range m.fibers {
		if f.state != ended {
			c.fiber(f)
		}
	}
	for _, o := range m.opened {
		c.outcome(o)
	}
	c.run()
	if c.bytes > m.limits.Memory {
		return effect.Errorf(effect.KindLimit, "the script holds %d bytes: the limit is %d", c.bytes, m.limits.Memory)
	}
	m.tally = c.bytes
	m.ceiling = c.bytes + max(m.limits.Memory-c.bytes, m.limits.Memory/8) // counting costs as much as there is: not too often
	return nil
}

// counter walks the heap from a list, so that no nesting can exhaust the Go stack.
type counter struct {
	m     *Machine
	bytes int64
	work  []starlark.Value
	seen  map[any]bool
	texts map[textIdentity]bool
}

// textIdentity tells strings apart that have bytes of their own.
type textIdentity struct {
	first  uintptr
	length int
}

func (c *counter) fiber(f *fiber) {
	c.bytes += sizeOfOther
	for i := range f.frames {
		fr := &f.frames[i]
		if fr.fn == nil {
			c.work = append(c.work, fr.act.state...)
			if fr.act.wait != nil {
				c.outcome(fr.act.wait.outcome)
			}
			continue
		}
		c.work = append(c.work, fr.fn)
		if fr.pc < 0 {
			continue
		}
		window := f.window(fr)
		for _, need := range fr.live(i == len(f.frames)-1) {
			c.work = append(c.work, window[need.Reg])
		}
	}
	for i := range f.iters {
		c.work = append(c.work, f.iters[i].source)
	}
}

func (c *counter) outcome(o *effect.Outcome) {
	if o != nil {
		c.bytes += int64(len(o.Value))
	}
}

func (c *counter) run() {
	for len(c.work) > 0 {
		v := c.work[len(c.work)-1]
		c.work = c.work[:len(c.work)-1]
		c.value(v)
	}
}

// value counts a value once and puts what it refers to on the list. What all runs share is free.
func (c *counter) value(v starlark.Value) {
	switch v := v.(type) {
	case starlark.String:
		c.text(string(v))
		return
	case starlark.Bytes:
		c.text(string(v))
		return
	case starlark.Int:
		if _, small := v.Int64(); !small {
			c.bytes += int64(bits(v) / 8)
		}
		return
	}
	key := identity(v)
	if key == nil || c.seen[key] || c.m.image.owns(key) {
		return
	}
	c.seen[key] = true
	c.bytes += size(v)
	c.work = appendChildren(c.work, v)
	if c.m.image != nil {
		c.work = c.m.image.permanents.hostParts(c.work, v)
	}
}

func (c *counter) text(s string) {
	if len(s) >= distinctText {
		key := textIdentity{reflect.ValueOf(s).Pointer(), len(s)}
		if c.texts[key] {
			return
		}
		c.texts[key] = true
	}
	c.bytes += sizeOfText + int64(len(s))
}

// owns tells whether a value is shared by all runs.
func (img *Image) owns(key any) bool {
	if img == nil {
		return false
	}
	_, permanent := img.permanents.refs[key]
	return permanent || img.permanents.names[key] != ""
}

// size is that of a value without what it refers to.
func size(v starlark.Value) int64 {
	switch v := v.(type) {
	case *starlark.List:
		return sizeOfList + sizeOfValue*int64(v.Len())
	case starlark.Tuple:
		return sizeOfTuple + sizeOfValue*int64(len(v))
	case *starlark.Dict:
		return sizeOfDict + sizeOfEntry*int64(v.Len())
	case *starlark.Set:
		return sizeOfDict + sizeOfEntry*int64(v.Len())
	case *effect.Record:
		return sizeOfOther + sizeOfValue*int64(len(v.Values()))
	case *Function:
		return sizeOfOther + sizeOfValue*int64(len(v.defaults)+len(v.free))
	}
	return sizeOfOther
}
