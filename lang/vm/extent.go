package vm

import (
	mathbits "math/bits"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/crowd"
	"starling/lang/effect"
)

// A few statements can make a value that is reached by exponentially many ways: a tuple doubled
// forty times, lists of the same list of the same list. go.starlark.net prints and compares such a
// value by going all of them, in one step and with nothing that could interrupt it. This file
// measures first, each object once, what is paid in steps and refuses what a fiber has no steps
// left for.

// comparedShift turns compared parts into steps.
const comparedShift = 4

// stepsLeft is how many steps the fiber has before its limit.
func (m *Machine) stepsLeft() int64 {
	left := m.limits.Steps - (m.portion - m.fuel)
	if m.current != nil {
		left -= m.current.steps
	}
	return max(left, 0)
}

// comparable pays for the comparison of a value with others, times over, or refuses it.
func (m *Machine) comparable(v starlark.Value, times int) error {
	if !hasElements(v) {
		return nil
	}
	left := m.stepsLeft()
	e := extent{left: left << comparedShift / int64(times), crowds: !m.early && layoutsKnown}
	most := e.left
	e.value(v, starlark.CompareLimit)
	if e.left < 0 {
		return effect.Errorf(effect.KindLimit, "a %s is compared that has more than %d parts, counted as often as they are reached: the script has %d steps left for that",
			v.Type(), most, left)
	}
	m.fuel -= (most - e.left) * int64(times) >> comparedShift
	return nil
}

// sortable pays for sorting values by comparing them.
func (m *Machine) sortable(values starlark.Iterable, n int) error {
	iter := values.Iterate()
	defer iter.Done()
	var v starlark.Value
	for iter.Next(&v) {
		if err := m.comparable(v, mathbits.Len(uint(n))); err != nil {
			return err
		}
	}
	return nil
}

// ordered pays for the comparisons of sorted, min and max, whose arguments are what is compared, or
// one that has it.
func (m *Machine) ordered(args starlark.Tuple) error {
	if len(args) != 1 {
		m.ordering(args)
		return m.sortable(args, len(args))
	}
	switch list := args[0].(type) {
	case *starlark.List:
		m.ordering(list)
		return m.sortable(list, list.Len())
	case starlark.Tuple:
		m.ordering(list)
		return m.sortable(list, len(list))
	}
	return nil
}

func hasElements(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict, *starlark.Set, *effect.Record, *starlarkstruct.Struct:
		return true
	}
	return false
}

// extent counts the parts of a value as a comparison reaches them, down to where go.starlark.net
// gives up. left is how many more there may be.
type extent struct {
	left   int64
	steps  int  // containers visited
	crowds bool // looks into tables are counted by what they pass
	known  map[reached]int64
}

// reached is a container at a depth, below which its parts were counted before.
type reached struct {
	key   any
	depth int
}

// manyContainers is the number from which counts are remembered: most values have few parts.
const manyContainers = 64

func (e *extent) value(v starlark.Value, depth int) {
	if e.left--; depth == 0 || e.left < 0 || !hasElements(v) {
		return
	}
	if e.steps++; e.steps < manyContainers {
		e.parts(v, depth)
		return
	}
	at := reached{identity(v), depth}
	if n, ok := e.known[at]; ok {
		e.left -= n
		return
	}
	if e.known == nil {
		e.known = make(map[reached]int64)
	}
	before := e.left
	e.parts(v, depth)
	e.known[at] = before - e.left
}

func (e *extent) parts(v starlark.Value, depth int) {
	switch v := v.(type) {
	case *starlark.List:
		for i := 0; i < v.Len() && e.left >= 0; i++ {
			e.value(v.Index(i), depth-1)
		}
	case starlark.Tuple:
		for _, x := range v {
			e.value(x, depth-1)
		}
	case *starlark.Dict:
		if e.crowds && v.Len() > crowd.Free {
			e.left -= crowd.Cost(v.Len(), together(layoutOfDict(v))) << comparedShift
		}
		for _, x := range v.Entries() {
			e.value(x, depth-1)
		}
	case *starlark.Set:
		e.left -= int64(v.Len())
		if e.crowds && v.Len() > crowd.Free {
			e.left -= crowd.Cost(v.Len(), together(layoutOfSet(v))) << comparedShift
		}
	default:
		for _, x := range printedParts(v) {
			e.value(x, depth-1)
		}
	}
}
