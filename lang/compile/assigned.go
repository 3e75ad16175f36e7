package compile

// Definite assignment. A local that certainly has a value is read in place; any other read is
// preceded by a Check. Assignment is never undone, so the set of assigned locals only grows along a
// path, and one pass in the order of the source is exact enough: the set at the head of a loop is
// the set before the loop, and where paths meet it is their intersection. Paths that cannot
// continue (return, break, continue) do not count.

// save copies the set of assigned locals.
func (c *functionCompiler) save() bitset { return append(bitset(nil), c.assigned...) }

// restore puts back a saved set.
func (c *functionCompiler) restore(s bitset) { c.assigned = append(c.assigned[:0], s...) }

// join gathers the paths that lead to one place.
type join struct {
	assigned  bitset
	reachable bool
}

func (c *functionCompiler) newJoin() *join { return &join{} }

// add counts the current path in if it is reachable.
func (j *join) add(c *functionCompiler) {
	switch {
	case c.unreachable:
	case !j.reachable:
		j.reachable = true
		j.assigned = c.save()
	default:
		for i, w := range c.assigned {
			j.assigned[i] &= w
		}
	}
}

// apply makes the join the current path.
func (j *join) apply(c *functionCompiler) {
	c.unreachable = !j.reachable
	if j.reachable {
		c.restore(j.assigned)
	}
}
