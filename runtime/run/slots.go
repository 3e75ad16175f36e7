package run

import "starling/runtime/journal"

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

// HandOver tells whether an attempt of a step that is about to begin, or does not, has a slot of all
// runs. It is the caller's then, who gives it back.
func (st *Step) HandOver() (slot bool) {
	slot, st.hasSlot = st.hasSlot, false
	return slot
}
