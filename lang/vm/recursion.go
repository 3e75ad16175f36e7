package vm

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
)

// go.starlark.net prints and hashes values by recursion. These checks come before, so that no value a script can build exhausts the Go stack, or takes for ever.

// maxPrintDepth bounds the nesting of a value that is printed: go.starlark.net recurses, and looks through the whole path at each level.
const maxPrintDepth = 10_000

// printable refuses to print a value whose text would be too long or too deep: values that share parts can be exponentially longer on paper.
func (m *Machine) printable(v starlark.Value) error {
	switch v.(type) {
	case starlark.Int, starlark.Bool, starlark.NoneType, starlark.Float, *Function, *Native:
		return nil
	case starlark.String:
		return nil
	}
	p := printed{left: min(m.limits.Memory, m.stepsLeft()<<workShift)}
	most := p.left
	p.value(v)
	switch {
	case p.deep:
		return effect.Errorf(effect.KindLimit, "a %s nested deeper than %d cannot be printed", v.Type(), maxPrintDepth)
	case p.left < 0:
		return effect.Errorf(effect.KindLimit, "the text of this %s would take more than the limit of %d bytes", v.Type(), most)
	}
	m.fuel -= (most - p.left) >> workShift
	return nil
}

// printed estimates the length of a value's text. Cycles are printed as "...".
type printed struct {
	left  int64
	depth int
	deep  bool
	known map[any]int64 // the lengths of what was met, unfinished for what is being printed further out
	round int           // how many values that contain themselves were met again
	again int           // how many were counted that are part of such a value
}

// maxCyclic bounds the containers that are part of themselves in what is printed: each is gone through again from wherever it is reached.
const maxCyclic = 1 << 16

// unfinished is the length of a value that contains the one at hand.
const unfinished = -1

func (p *printed) value(v starlark.Value) {
	p.left -= 2
	if s, ok := v.(starlark.String); ok {
		p.left -= int64(len(s))
		return
	}
	if b, ok := v.(starlark.Bytes); ok {
		p.left -= int64(len(b))
		return
	}
	if children := printedParts(v); len(children) > 0 {
		p.container(v, children)
	}
}

// container counts a value with parts once, unless it is part of itself: then how it is printed depends on where one begins.
func (p *printed) container(v starlark.Value, children []starlark.Value) {
	key := identity(v)
	switch n, ok := p.known[key]; {
	case ok && n == unfinished:
		p.round++
		return
	case ok:
		p.left -= n
		return
	case p.depth >= maxPrintDepth:
		p.deep = true
		return
	case p.known == nil:
		p.known = make(map[any]int64)
	}
	p.known[key] = unfinished
	p.depth++
	before, round := p.left, p.round
	for _, c := range children {
		if p.left < 0 || p.deep {
			break
		}
		p.value(c)
	}
	p.depth--
	if delete(p.known, key); p.round == round {
		p.known[key] = before - p.left
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

// The nesting of a tuple that is hashed, and the parts it may have, counted as often as they are reached.
const (
	maxHashDepth = 1000
	maxHashParts = 1 << 16
)

// hashable refuses tuples whose hash would take too long or too deep a recursion. What is no tuple hashes in place or not at all.
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
	if !fewParts(t, 0, &left) {
		return 0, effect.Errorf(effect.KindLimit, "unhashable: a tuple nested deeper than %d, or with more than %d parts", maxHashDepth, maxHashParts)
	}
	return maxHashParts - left, nil
}

func fewParts(t starlark.Tuple, depth int, left *int) bool {
	if *left -= len(t); *left < 0 || depth > maxHashDepth {
		return false
	}
	for _, v := range t {
		if inner, ok := v.(starlark.Tuple); ok && !fewParts(inner, depth+1, left) {
			return false
		}
	}
	return true
}

// hashesAll checks the values that a builtin may take as keys: its arguments, their elements, and the elements of these.
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
