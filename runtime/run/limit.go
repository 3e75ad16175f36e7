package run

import (
	"starling/runtime/heap"
	"starling/runtime/journal"
)

// Agents have limits: how many of a name, and how many in all, may be at work in the run at once. A
// step whose agent is at its limit leaves the heap of those that are ready for one of its own, and
// comes back when one of those lands that it waits for. Nobody sees it but by the time that passes:
// its deadline has not begun. All of this follows from the records, so that it is not recorded.

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

// allRuns is where the steps of a run wait for a slot; no agent's name is like it.
const allRuns = "in all runs"

// takeSlot takes a slot for the next attempt of a step, or has the step wait for one.
func (t *Turn) takeSlot(st *Step) bool {
	q := t.Host.Quotas
	if !q.Bounded() || !journal.AgentKind(st.Kind) {
		return true
	}
	if !q.Acquire(t.State.ID) {
		t.State.park(st, t.State.limiterOf(allRuns))
		return false
	}
	st.hasSlot = true
	t.Given.Slots = append(t.Given.Slots, st)
	return true
}

// waitForSlot has the run wait for a slot as long as a step of it waits that could begin.
func (t *Turn) waitForSlot() {
	if q := t.Host.Quotas; q.Bounded() {
		q.Wait(t.State.ID, t.State.awaitsSlot() && t.Machine != nil && !t.State.Status.Ended() && !t.State.held() && !t.State.lacks() && !t.Host.Draining())
	}
}

// awaitsSlot tells whether a step waits for a slot.
func (s *State) awaitsSlot() bool {
	c := s.limited[allRuns]
	return c != nil && c.waiting.Len() > 0
}

// retrySlot lets the first step try that waits for a slot.
func (s *State) retrySlot() {
	if s.awaitsSlot() {
		s.limited[allRuns].admit(s)
	}
}

// HandOver tells whether an attempt of a step that is about to begin, or does not, has a slot of
// all runs. It is the caller's then, who gives it back.
func (st *Step) HandOver() (slot bool) {
	slot, st.hasSlot = st.hasSlot, false
	return slot
}
