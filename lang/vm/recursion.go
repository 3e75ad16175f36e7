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
	p := printed{left: m.limits.Memory}
	p.value(v)
	switch {
	case p.deep:
		return effect.Errorf(effect.KindLimit, "a %s nested deeper than %d cannot be printed", v.Type(), maxPrintDepth)
	case p.left < 0:
		return effect.Errorf(effect.KindLimit, "the text of this %s would take more than the limit of %d bytes", v.Type(), m.limits.Memory)
	}
	return nil
}

// printed estimates the length of a value's text. Cycles are printed as "...".
type printed struct {
	left int64
	path []any
	deep bool
}

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
	children := printedParts(v)
	if len(children) == 0 {
		return
	}
	if len(p.path) >= maxPrintDepth {
		p.deep = true
		return
	}
	key := identity(v)
	for _, k := range p.path {
		if k == key {
			return
		}
	}
	p.path = append(p.path, key)
	for _, c := range children {
		if p.left < 0 || p.deep {
			break
		}
		p.value(c)
	}
	p.path = p.path[:len(p.path)-1]
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
	maxHashParts = 1 << 20
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
