package vm

import (
	"hash/maphash"
	"math"
	"reflect"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Counting goes through all that a script can reach. It gives back on the way what cannot be seen:
// the room of lists and tables that have shrunk, the long text that a short one was cut out of, and
// all but one of texts that are equal. So what is counted is what is held, and since a restored
// machine has one text of those that are equal, too, it counts the same as one that was never
// written down.

// sharedText is the length from which equal texts are counted, and held, once.
const sharedText = 64

// recount counts what is alive and compares it with the limit.
func (m *Machine) recount() error {
	n := m.held(false)
	if n > m.limits.Memory {
		return effect.Errorf(effect.KindLimit, "the script holds %d bytes: the limit is %d", n, m.limits.Memory)
	}
	if m.lease < math.MaxInt64 {
		m.lease -= m.tally - n
	}
	m.tally = n
	m.ceiling = n + max(m.limits.Memory-n, m.limits.Memory/8) // counting costs as much as there is: not too often
	m.mark = min(m.ceiling, m.lease)
	return nil
}

// Held counts what the machine holds, in bytes, which takes as long as there are many. It changes
// nothing.
func (m *Machine) Held() int64 { return m.held(true) }

// held counts what is alive. One that only looks gives nothing back.
func (m *Machine) held(looks bool) int64 {
	c := counter{m: m, sizes: m.sizes, still: looks || m.shares}
	if c.part = !m.early && !c.still && m.cutFrom > m.limits.Memory/partedShare; c.part {
		m.cutFrom = 0
	}
	if m.early {
		c.early = make(map[textIdentity]bool)
	}
	for _, mod := range m.modules {
		for i := range mod.globals {
			c.slot(&mod.globals[i], false)
			c.walk()
		}
	}
	for _, f := range m.fibers {
		if f.state != ended {
			c.fiber(f)
		}
	}
	for _, o := range m.opened {
		c.outcome(o)
	}
	return int64(c.bytes)
}

// counter walks the heap with a stack of its own, so that no nesting can exhaust Go's. The stack
// has an entry for each container on the path, not for each value that is still to be looked at: a
// list of a million values takes one.
type counter struct {
	m     *Machine
	sizes *sizes
	bytes int
	still bool // nothing is put in the place of what is met
	part  bool // texts are parted from what they may be cut out of
	stack blocks
	seen  visited
	texts texts                 // from sharedText on, the one that is kept of those that are equal
	early map[textIdentity]bool // instead of it, in a machine of effect.BehaviourUnbounded
}

// textIdentity tells strings apart that have bytes of their own.
type textIdentity struct {
	first  uintptr
	length int
}

func (c *counter) fiber(f *fiber) {
	c.bytes += c.sizes.other
	for i := range f.frames {
		if act := f.frames[i].act; act != nil && act.wait != nil {
			c.outcome(act.wait.outcome)
		}
	}
	f.roots(func(at *starlark.Value) {
		c.slot(at, false)
		c.walk()
	})
}

// roots calls each for what frames and iterators of the fiber refer to. Only what each is given of
// registers and of states may be put in its place.
func (f *fiber) roots(each func(at *starlark.Value)) {
	for i := range f.frames {
		fr := &f.frames[i]
		if fr.fn == nil {
			for j := range fr.act.state {
				each(&fr.act.state[j])
			}
			continue
		}
		var fn starlark.Value = fr.fn
		each(&fn)
		if fr.pc < 0 {
			continue
		}
		window := f.window(fr)
		for _, need := range fr.live(i == len(f.frames)-1) {
			each(&window[need.Reg])
		}
	}
	for i := range f.iters {
		source := f.iters[i].source
		each(&source)
	}
}

func (c *counter) outcome(o *effect.Outcome) {
	if o != nil {
		c.bytes += len(o.Value)
	}
}

// walk works the stack off.
func (c *counter) walk() {
	for c.stack.size > 0 {
		top := c.stack.top()
		fixed := top.fixed
		if e := top.entry; e != nil {
			if top.entry = e.next; top.entry == nil {
				c.stack.pop()
			}
			c.slot(&e.key, fixed)
			c.slot(&e.value, fixed)
			continue
		}
		at := &top.values[0]
		if top.values = top.values[1:]; len(top.values) == 0 {
			c.stack.pop()
		}
		c.slot(at, fixed)
	}
}

// slot counts what a variable or an element holds, once, and puts what that refers to on the stack.
// What all runs share is free. In a place that is fixed nothing else can be put.
func (c *counter) slot(at *starlark.Value, fixed bool) {
	switch v := (*at).(type) {
	case nil, starlark.NoneType, starlark.Bool, starlark.Float:
	case starlark.String:
		c.text(at, string(v), fixed)
	case starlark.Bytes:
		c.bytes += c.sizes.text + len(v)
		if c.early != nil {
			c.earlyText(string(v))
		} else if c.part && !fixed && len(v) < ownedText {
			*at = starlark.Bytes(strings.Clone(string(v)))
		}
	case starlark.Int:
		c.number(v)
	default:
		c.object(v)
	}
}

func (c *counter) number(v starlark.Int) {
	if _, ok := small(v); ok {
		return
	}
	c.bytes += c.sizes.wideInt
	if _, ok := v.Int64(); !ok {
		c.bytes += bits(v) / 8
	}
}

// text counts a text, and lets go what it may be cut out of (own.go). In a fixed place each counts.
func (c *counter) text(at *starlark.Value, s string, fixed bool) {
	shared := len(s) >= sharedText && !fixed && c.early == nil
	if shared {
		if kept := c.texts.find(s); kept != nil && *kept != nil {
			if !c.still {
				*at = *kept
			}
			return
		}
	}
	c.bytes += c.sizes.text + len(s)
	if c.early != nil {
		c.earlyText(s)
		return
	}
	if c.part && !fixed && 0 < len(s) && len(s) < ownedText {
		*at = starlark.String(strings.Clone(s))
	}
	if shared {
		c.texts.add(*at)
	}
}

// earlyText takes off what was counted of a text that was met before.
func (c *counter) earlyText(s string) {
	if len(s) < sharedText {
		return
	}
	key := textIdentity{reflect.ValueOf(s).Pointer(), len(s)}
	if c.early[key] {
		c.bytes -= c.sizes.text + len(s)
	}
	c.early[key] = true
}

func (c *counter) object(v starlark.Value) {
	key := identity(v)
	if key == nil {
		c.view(v)
		return
	}
	if c.m.image.owns(key) || !c.seen.add(key) {
		return
	}
	c.bytes += c.sizes.of(v)
	switch v := v.(type) {
	case *starlark.List:
		if list := layoutOfList(v); c.early == nil && layoutsKnown {
			if !c.still {
				list.fit()
			}
			c.stack.push(span{values: list.elems})
			return
		}
	case starlark.Tuple:
		c.stack.push(span{values: v})
		return
	case *starlark.Dict, *starlark.Set:
		if c.early == nil && layoutsKnown {
			table := layoutOf(v)
			if !c.still {
				table.fit()
			}
			c.stack.push(span{entry: table.head})
			return
		}
	case *cell:
		c.slot(&v.v, false)
		return
	}
	parts := appendChildren(nil, v)
	if c.m.image != nil {
		parts = c.m.image.permanents.hostParts(parts, v)
	}
	c.stack.push(span{values: parts, fixed: true})
}

// view counts a range, or a view with the text that it looks at.
func (c *counter) view(v starlark.Value) {
	if c.early != nil {
		return
	}
	c.bytes += c.sizes.other
	if _, empty := v.(starlark.Tuple); !empty && !isRange(v) && viewKind(v) >= 0 {
		c.bytes += c.sizes.text + starlark.Len(viewSource(v))
	}
}

// owns tells whether a value is shared by all runs.
func (img *Image) owns(key any) bool {
	if img == nil {
		return false
	}
	_, permanent := img.permanents.refs[key]
	return permanent || img.permanents.names[key] != ""
}

// of is the size of a value without what it refers to.
func (s *sizes) of(v starlark.Value) int {
	switch v := v.(type) {
	case *starlark.List:
		return s.list + s.element*v.Len()
	case starlark.Tuple:
		return s.tuple + s.value*len(v)
	case *starlark.Dict:
		return s.table + s.entry*v.Len()
	case *starlark.Set:
		return s.table + s.entry*v.Len()
	case *effect.Record:
		return s.other + s.value*len(v.Values())
	case *Function:
		return s.other + s.value*(len(v.defaults)+len(v.free))
	case *effect.Secret:
		if s != &earlySizes {
			return s.other + len(v.Name) + len(v.Wrap)
		}
	}
	return s.other
}

// span is a container on the path: what is left of it.
type span struct {
	values []starlark.Value
	entry  *entryLayout
	fixed  bool // the values are not where the container has them
}

// blocks is a stack that grows without being copied.
type blocks struct {
	full [][]span
	last []span
	size int
}

const blockSpans = 512

func (b *blocks) push(s span) {
	if len(s.values) == 0 && s.entry == nil {
		return
	}
	if len(b.last) == cap(b.last) {
		if b.last != nil {
			b.full = append(b.full, b.last)
		}
		b.last = make([]span, 0, blockSpans)
	}
	b.last = append(b.last, s)
	b.size++
}

func (b *blocks) top() *span { return &b.last[len(b.last)-1] }

func (b *blocks) pop() {
	b.last = b.last[:len(b.last)-1]
	if b.size--; len(b.last) == 0 && len(b.full) > 0 {
		b.last = b.full[len(b.full)-1]
		b.full = b.full[:len(b.full)-1]
	}
}

// visited is a set of identities. What is met by the million, lists, tables and tuples, is kept as
// an address, of which no two are at one place while all of them are reached.
type visited struct {
	table  []uintptr // open addressing; 0 where there is none
	used   int
	others map[any]bool
}

// add tells whether a key is new.
func (s *visited) add(key any) bool {
	var at uintptr
	switch key := key.(type) {
	case *starlark.List:
		at = reflect.ValueOf(key).Pointer()
	case *starlark.Dict:
		at = reflect.ValueOf(key).Pointer()
	case *starlark.Set:
		at = reflect.ValueOf(key).Pointer()
	case *cell:
		at = reflect.ValueOf(key).Pointer()
	case *Function:
		at = reflect.ValueOf(key).Pointer()
	case tupleIdentity: // one that is cut out of another may begin where that does
		at = key.first + uintptr(key.length)<<48
	default:
		if s.others[key] {
			return false
		}
		if s.others == nil {
			s.others = make(map[any]bool)
		}
		s.others[key] = true
		return true
	}
	if 4*(s.used+1) > 3*len(s.table) {
		s.grow()
	}
	return s.insert(at)
}

func (s *visited) insert(at uintptr) bool {
	mask := uintptr(len(s.table) - 1)
	for i := (at >> 4) * 0x9E3779B97F4A7C15 >> 20 & mask; ; i = (i + 1) & mask {
		switch s.table[i] {
		case at:
			return false
		case 0:
			s.table[i] = at
			s.used++
			return true
		}
	}
}

func (s *visited) grow() {
	old := s.table
	s.table, s.used = make([]uintptr, max(256, 2*len(old))), 0
	for _, at := range old {
		if at != 0 {
			s.insert(at)
		}
	}
}

// texts is a set of texts.
type texts struct {
	table []starlark.Value // open addressing; nil where there is none
	used  int
	seed  maphash.Seed
}

// find is where a text is in the set, or nil's place where it belongs; nil while there is no table.
func (t *texts) find(s string) *starlark.Value {
	if len(t.table) == 0 {
		return nil
	}
	mask := uint64(len(t.table) - 1)
	for i := maphash.String(t.seed, s) & mask; ; i = (i + 1) & mask {
		if at := &t.table[i]; *at == nil || string((*at).(starlark.String)) == s {
			return at
		}
	}
}

// add puts a text into the set that is not in it.
func (t *texts) add(v starlark.Value) {
	if 4*(t.used+1) > 3*len(t.table) {
		old := t.table
		if old == nil {
			t.seed = maphash.MakeSeed()
		}
		t.table = make([]starlark.Value, max(256, 2*len(old)))
		for _, v := range old {
			if v != nil {
				*t.find(string(v.(starlark.String))) = v
			}
		}
	}
	*t.find(string(v.(starlark.String))) = v
	t.used++
}
