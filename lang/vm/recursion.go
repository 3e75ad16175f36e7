package vm

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// go.starlark.net prints and hashes values by recursion. These checks come before, so that no value
// a script can build exhausts the Go stack, or takes for ever.

// maxPrintDepth bounds the nesting of a value that is printed: go.starlark.net recurses, and looks
// through the whole path at each level.
const maxPrintDepth = 10_000

// printable refuses to print a value whose text would be too long or too deep: values that share
// parts can be exponentially longer on paper.
func (m *Machine) printable(v starlark.Value) error {
	_, err := m.textSize(v)
	return err
}

// showable is printable for a value that is itself made a text, which a secret never is.
func (m *Machine) showable(v starlark.Value) error {
	if s, ok := v.(*effect.Secret); ok {
		return fmt.Errorf("a secret cannot be shown; %s.wrap(\"Bearer {}\") puts it into a text", s)
	}
	return m.printable(v)
}

// allShowable is showable for each of them.
func (m *Machine) allShowable(args []starlark.Value) error {
	for _, v := range args {
		if err := m.showable(v); err != nil {
			return err
		}
	}
	return nil
}

// allPrintable refuses arguments for a Go function that may print them, or go through them by
// recursion, and pays for that.
func (m *Machine) allPrintable(args []starlark.Value, named []keyword) error {
	for _, v := range args {
		if err := m.printable(v); err != nil {
			return err
		}
	}
	for _, kw := range named {
		if err := m.printable(kw.Value); err != nil {
			return err
		}
	}
	return nil
}

// textSize estimates the length of a value's text and pays for going through it. What would take
// too much is an error.
func (m *Machine) textSize(v starlark.Value) (int64, error) {
	if s, ok := v.(starlark.String); ok {
		return int64(len(s)), nil
	}
	left, digits := shortLength, 0
	if takeShort(v, &left, &digits, 0); left >= 0 {
		m.work(digits + (shortLength-left)>>partShift)
		return int64(shortLength - left), nil
	}
	p := printed{left: min(m.limits.Memory, m.stepsLeft()<<workShift)}
	most := p.left
	p.value(v)
	switch {
	case p.deep:
		return 0, effect.Errorf(effect.KindLimit, "a %s nested deeper than %d cannot be printed", v.Type(), maxPrintDepth)
	case p.left < 0:
		return 0, effect.Errorf(effect.KindLimit, "the text of this %s would take more than the limit of %d bytes", v.Type(), most)
	}
	m.fuel -= (most - p.left) >> workShift
	m.work(int(most-p.left) >> partShift)
	m.work(int((most-p.left)/max(1, p.longest)) * digitWork(int(p.longest)))
	return most - p.left, nil
}

// Most values that are printed are short and flat. They are gone through as printing does, without
// remembering what was met.
const (
	shortLength = 1 << 16
	shallow     = 32
)

// takeShort takes the length of a value's text from left, which is negative in the end if that was
// too long or the value nested too deep. What its ints take to be written is added to digits, in
// steps.
func takeShort(v starlark.Value, left, digits *int, depth int) {
	if *left -= 8; *left < 0 || depth > shallow {
		*left = -1
		return
	}
	switch v := v.(type) {
	case starlark.String:
		*left -= len(v)
	case starlark.Int:
		n := int(ownText(v))
		*left, *digits = *left-n, *digits+digitWork(n)
	case starlark.Bytes:
		*left -= int(ownText(v))
	case *starlark.List:
		for i := 0; i < v.Len() && *left >= 0; i++ {
			takeShort(v.Index(i), left, digits, depth+1)
		}
	case starlark.Tuple:
		for i := 0; i < len(v) && *left >= 0; i++ {
			takeShort(v[i], left, digits, depth+1)
		}
	case *starlark.Dict:
		for k, e := range v.Entries() {
			takeShort(k, left, digits, depth+1)
			takeShort(e, left, digits, depth+1)
			if *left < 0 {
				return
			}
		}
	default:
		for _, part := range printedParts(v) {
			takeShort(part, left, digits, depth+1)
		}
	}
}

// ownText is the length of a value's text without its parts: between quotes, up to six characters
// for one that is not printed as it is. Short texts are taken as they are.
func ownText(v starlark.Value) int64 {
	switch v := v.(type) {
	case starlark.Int:
		return int64(bits(v))/3 + 2
	case starlark.String:
		return quoted(string(v))
	case starlark.Bytes:
		return quoted(string(v))
	}
	return 2
}

func quoted(s string) int64 {
	n := len(s) + 2
	if n > maxBuffer {
		for i := range len(s) {
			if s[i] < ' ' || s[i] > '~' {
				n += 5
			}
		}
	}
	return int64(n)
}

// printed estimates the length of a value's text. Cycles are printed as "...".
type printed struct {
	left    int64
	depth   int
	deep    bool
	known   map[any]text // what was met
	longest int64        // of the texts of ints
	round   int          // how many values that contain themselves were met again
	again   int          // how many were counted that are part of such a value

	height int // how deep the last value was nested
}

// text is the length of the text of a container, unfinished while it is being measured, and how
// deep it is nested.
type text struct {
	length int64
	height int
}

// maxCyclic bounds the containers that are part of themselves in what is printed: each is gone
// through again from wherever it is reached.
const maxCyclic = 1 << 16

// unfinished is the length of a value that contains the one at hand.
const unfinished = -1

func (p *printed) value(v starlark.Value) {
	n := ownText(v)
	p.left -= n
	p.height = 0
	if _, ok := v.(starlark.Int); ok {
		p.longest = max(p.longest, n)
	}
	if children := printedParts(v); len(children) > 0 {
		p.container(v, children)
	}
}

// container counts a value with parts once, unless it is part of itself: then how it is printed
// depends on where one begins.
func (p *printed) container(v starlark.Value, children []starlark.Value) {
	key := identity(v)
	switch t, ok := p.known[key]; {
	case ok && t.length == unfinished:
		p.round++
		return
	case ok:
		p.left -= t.length
		p.height = t.height
		p.deep = p.deep || p.depth+t.height > maxPrintDepth
		return
	case p.depth >= maxPrintDepth:
		p.deep = true
		return
	case p.known == nil:
		p.known = make(map[any]text)
	}
	p.known[key] = text{length: unfinished}
	p.depth++
	before, round, height := p.left, p.round, 0
	for _, c := range children {
		if p.left < 0 || p.deep {
			break
		}
		p.value(c)
		height = max(height, p.height)
	}
	p.depth--
	p.height = height + 1
	if delete(p.known, key); p.round == round {
		p.known[key] = text{before - p.left, p.height}
	} else if p.again++; p.again > maxCyclic {
		p.left = -1
	}
}

// printedParts are the values whose texts are part of the text of v.
func printedParts(v starlark.Value) []starlark.Value {
	switch v := v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, *effect.Record:
		return appendChildren(nil, v)
	case *starlarkstruct.Struct:
		var parts []starlark.Value
		for _, name := range v.AttrNames() {
			if part, err := v.Attr(name); err == nil {
				parts = append(parts, part)
			}
		}
		return parts
	}
	return nil
}

// The nesting of a tuple that is hashed, and the parts it may have, counted as often as they are
// reached.
const (
	maxHashDepth = 1000
	maxHashParts = 1 << 16
)

// hashable refuses tuples whose hash would take too long or too deep a recursion. What is no tuple
// hashes in place or not at all.
func hashable(v starlark.Value) error {
	if t, ok := v.(starlark.Tuple); ok {
		return hashableTuple(t)
	}
	return nil
}

func hashableTuple(t starlark.Tuple) error {
	_, err := tupleParts(t)
	return err
}

// tupleParts counts the parts of a tuple that is hashed, or tells why there are too many.
func tupleParts(t starlark.Tuple) (int, error) {
	left := maxHashParts
	if !hashesFast(t, 0, &left) {
		return 0, effect.Errorf(effect.KindLimit, "unhashable: a tuple nested deeper than %d, or with more than %d parts", maxHashDepth, maxHashParts)
	}
	return maxHashParts - left, nil
}

func hashesFast(t starlark.Tuple, depth int, left *int) bool {
	if *left -= len(t); *left < 0 || depth > maxHashDepth {
		return false
	}
	for _, v := range t {
		if inner, ok := v.(starlark.Tuple); ok && !hashesFast(inner, depth+1, left) {
			return false
		}
	}
	return true
}

// hashesAll checks the values that a builtin may take as keys: its arguments, their elements, and
// the elements of these.
func hashesAll(args []starlark.Value) error {
	for _, v := range args {
		if err := hashesElements(v, 2); err != nil {
			return err
		}
	}
	return nil
}

func hashesElements(v starlark.Value, levels int) error {
	if err := hashable(v); err != nil || levels == 0 {
		return err
	}
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			if err := hashesElements(v.Index(i), levels-1); err != nil {
				return err
			}
		}
	case starlark.Tuple:
		for _, e := range v {
			if err := hashesElements(e, levels-1); err != nil {
				return err
			}
		}
	}
	return nil
}
