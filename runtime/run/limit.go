package run

import (
	"starling/runtime/heap"
	"starling/runtime/journal"
)

// Agents have limits: how many of a name, and how many in all, may be at work in the run at once. A step whose agent is at its limit leaves the heap of those that are ready for one of its own, and comes back when one
// of those lands that it waits for. Nobody sees it but by the time that passes: its deadline has not begun. All of this follows from the records, so that it is not recorded.

// everyAgent is where all agents count together; no name is like it.
const everyAgent = ""

// limiter counts the agents of a name, or all, that are at work.
type limiter struct {
	working int              // attempts in flight
	waiting heap.Heap[*Step] // those that are ready but for the limit, the oldest first
}

// limiters lists those that a step counts in, with their limits.
func (s *State) limiters(st *Step, each func(c *limiter, limit int)) {
	if st.Limit > 0 {
		args, _ := st.Args.View()
		each(s.limiterOf("of "+journal.AgentName(args)), st.Limit)
	}
	if st.Total > 0 {
		each(s.limiterOf(everyAgent), st.Total)
	}
}

func (s *State) limiterOf(name string) *limiter {
	c := s.limited[name]
	if c == nil {
		c = &limiter{}
		put(&s.limited, name, c)
	}
	return c
}

// throttled puts a ready step aside where it would be one too many, and tells whether it did.
func (s *State) throttled(st *Step) bool {
	var full *limiter
	s.limiters(st, func(c *limiter, limit int) {
		if c.working >= limit && full == nil {
			full = c
		}
	})
	if full == nil {
		return false
	}
	s.park(st, full)
	return true
}

// park has a ready step wait at a limiter.
func (s *State) park(st *Step, in *limiter) {
	s.ready.Remove(st)
	in.waiting.Push(st)
	st.parkedIn = in
}

// admit lets the first step try that waits.
func (c *limiter) admit(s *State) {
	next := c.waiting.First()
	c.waiting.Remove(next)
	next.parkedIn = nil
	s.ready.Push(next)
}

// works counts an attempt that has begun, or one less.
func (s *State) works(st *Step, n int) {
	s.limiters(st, func(c *limiter, _ int) { c.working += n })
	if n < 0 {
		s.makeRoom(st)
	}
}

// makeRoom lets the next step try of each limiter at which a step may have left room.
func (s *State) makeRoom(st *Step) {
	s.limiters(st, func(c *limiter, _ int) {
		if c.waiting.Len() > 0 {
			c.admit(s)
		}
	})
}
