package contract

import (
	"starling/lang/diagnostic"
)

// Two kinds of recursion define nothing. A type that is itself, or a branch of itself, with no
// list, map or record in between (type A = A | int) says nothing, and whoever follows its names
// never arrives. A type every value of which holds another (type A = {next: A}) has no finite
// value. Both are refused, so the rest of the package may follow names without looking back.

func (r *resolver) refuseEndless() {
	circles := circles{}
	for _, n := range r.definitions {
		if circles.through(n) {
			r.at(r.places[n], diagnostic.Diagnostic{
				Message: "type " + n.name + " is defined by itself",
				Hint:    "a type may come back to itself only inside a list, a map or a record",
			})
		}
	}
	finite := finiteTypes(r.definitions)
	for _, n := range r.definitions {
		if len(r.found) == 0 && !finite[n] {
			r.at(r.places[n], diagnostic.Diagnostic{
				Message: "type " + n.name + " has no end: each value would contain another",
				Hint:    "let the recursion end with ? or | null, or pass it through a list",
			})
		}
	}
}

// circles is a depth-first search over names, branches and options. A name is absent, then on the
// path, then done.
type circles map[*named]searchState

type searchState int

const (
	onPath searchState = iota + 1
	done
)

// through says whether following n comes back to a name on the way.
func (c circles) through(n *named) bool {
	if c[n] != 0 {
		return c[n] == onPath
	}
	c[n] = onPath
	found := c.reaches(n.target)
	c[n] = done
	return found
}

func (c circles) reaches(t typ) bool {
	switch t := t.(type) {
	case *refType:
		return c.through(t.named)
	case *optionalType:
		return c.reaches(t.inner)
	case *unionType:
		for _, b := range t.branches {
			if c.reaches(b) {
				return true
			}
		}
	}
	return false
}

// finiteTypes finds the names that have a finite value: the least set that what follows from it
// does not enlarge. A pass visits what a name uses before the name itself, so that a second pass is
// rarely needed.
func finiteTypes(definitions []*named) map[*named]bool {
	f := finite{known: map[*named]bool{}}
	for size := -1; size < len(f.known); {
		size = len(f.known)
		f.visited = map[*named]bool{}
		for _, n := range definitions {
			f.name(n)
		}
	}
	return f.known
}

type finite struct{ known, visited map[*named]bool }

func (f finite) name(n *named) bool {
	if !f.visited[n] {
		f.visited[n] = true
		if !f.known[n] && f.has(n.target) {
			f.known[n] = true
		}
	}
	return f.known[n]
}

// has says whether a type is known to have a finite value.
func (f finite) has(t typ) bool {
	switch t := t.(type) {
	case *refType:
		return f.name(t.named)
	case *listType:
		return f.has(t.elem) || t.limits.holdCount(0)
	case *unionType:
		any := false
		for _, b := range t.branches {
			any = f.has(b) || any
		}
		return any
	case *recordType:
		all := true
		for _, m := range t.members {
			_, nullable := m.typ.(*optionalType)
			all = (f.has(m.typ) || m.optional || nullable) && all
		}
		return all
	}
	return true // scalars, maps, optionals
}
