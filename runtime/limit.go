package runtime

// Agents have limits: how many of a name, and how many in all, may be at work in the run at once. A step whose agent is at its limit leaves the heap of those that are ready for one of its own, and comes back when one
// of those lands that it waits for. Nobody sees it but by the time that passes: its deadline has not begun. All of this follows from the records, so that it is not recorded.

// everyAgent is where all agents count together; no name is like it.
const everyAgent = ""

// crowd is what agents of a name, or all, have going.
type crowd struct {
	working int         // attempts in flight
	waiting heap[*step] // those that are ready but for the limit, the oldest first
}

// crowds lists the crowds that a step counts in, with their limits.
func (s *state) crowds(st *step, each func(c *crowd, limit int)) {
	if st.Limit > 0 {
		args, _ := st.Args.View()
		each(s.crowdOf("of "+agentName(args)), st.Limit)
	}
	if st.Total > 0 {
		each(s.crowdOf(everyAgent), st.Total)
	}
}

func (s *state) crowdOf(name string) *crowd {
	c := s.crowded[name]
	if c == nil {
		c = &crowd{}
		put(&s.crowded, name, c)
	}
	return c
}

// stands puts a ready step aside where it would be one too many, and tells whether it did.
func (s *state) stands(st *step) bool {
	var full *crowd
	s.crowds(st, func(c *crowd, limit int) {
		if c.working >= limit && full == nil {
			full = c
		}
	})
	if full == nil {
		return false
	}
	s.putAside(st, full)
	return true
}

// putAside has a ready step wait in a crowd.
func (s *state) putAside(st *step, in *crowd) {
	s.ready.remove(st)
	in.waiting.push(st)
	st.aside = in
}

// admit lets the first step try that waits.
func (c *crowd) admit(s *state) {
	next := c.waiting.first()
	c.waiting.remove(next)
	next.aside = nil
	s.ready.push(next)
}

// works counts an attempt that has begun, or one less.
func (s *state) works(st *step, n int) {
	s.crowds(st, func(c *crowd, _ int) { c.working += n })
	if n < 0 {
		s.makeRoom(st)
	}
}

// makeRoom lets the next step try of each crowd in which a step may have left room.
func (s *state) makeRoom(st *step) {
	s.crowds(st, func(c *crowd, _ int) {
		if c.waiting.len() > 0 {
			c.admit(s)
		}
	})
}
