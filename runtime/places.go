package runtime

import (
	"slices"
	"sync"
)

// An owner may bound how many agents are at work at once in all its runs. An attempt takes a place when its turn begins it, and gives it back when it has come to something, or when the turn was not committed. A run that
// gets none stands in line, and is woken when it is its turn; it gets one place, and stands at the end again for the next, so that a run with a thousand branches keeps no other waiting.
//
// A run that has no agent at work gets a place in any case. So no run waits for good for another, whatever that waits for: a person, or this very run, which an agent of it has started. An agent that
// waits for leave has no place meanwhile, and goes on without waiting for one.
//
// Nobody sees this but by the time that passes, and it follows from the records, so it is not recorded.

// places are used concurrently.
type places struct {
	e     *Local
	limit int // 0 for any number: then nothing is counted

	mu    sync.Mutex // guards what follows
	busy  int
	of    map[string]int // places by run
	line  []string       // runs that wait for one, each once
	woken string         // the run at the head of the line, when it was told to come
}

// standing is where the steps of a run wait for a place; no agent's name is like it.
const standing = "in all runs"

func (p *places) bounded() bool { return p.limit > 0 }

// take gives a run a place, unless it must stand in line.
func (p *places) take(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := len(p.line) > 0 && p.line[0] == run
	if p.of[run] > 0 && (p.busy >= p.limit || len(p.line) > 0 && !first) {
		return false
	}
	if first {
		p.line = p.line[1:]
	}
	p.add(run, 1)
	return true
}

// add is called with mu held.
func (p *places) add(run string, n int) {
	put(&p.of, run, p.of[run]+n)
	if p.of[run] == 0 {
		delete(p.of, run)
	}
	p.busy += n
}

// give gives back a place of a run.
func (p *places) give(run string) { p.change(func() { p.add(run, -1) }) }

// retake gives a run a place whoever else waits: it goes on with what it has begun.
func (p *places) retake(run string) { p.change(func() { p.add(run, 1) }) }

// stand puts a run in line or takes it out of it, as it wants a place or does not.
func (p *places) stand(run string, wants bool) {
	p.change(func() {
		if p.woken == run {
			p.woken = ""
		}
		switch at := slices.Index(p.line, run); {
		case wants && at < 0:
			p.line = append(p.line, run)
		case !wants && at >= 0:
			p.line = slices.Delete(p.line, at, at+1)
		}
	})
}

// change changes something, and has the next in line come if there is a place then. What it does not come to is the next one's; it stands in line again when it takes its next turn.
func (p *places) change(do func()) {
	p.mu.Lock()
	do()
	run := ""
	if p.busy < p.limit && p.woken == "" && len(p.line) > 0 && !p.e.leaving.Load() {
		run, p.woken = p.line[0], p.line[0]
	}
	p.mu.Unlock()
	if run != "" {
		p.e.post(run, event{in: vacancy{}, urgent: true, done: func(error) {
			if p.missed(run) {
				p.stand(run, false)
			}
		}})
	}
}

// missed tells whether a run was told to come and its turn came to nothing.
func (p *places) missed(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.woken == run
}

// placed takes a place for the next attempt of a step, or puts the step where it waits for one.
func (t *turn) placed(st *step) bool {
	q := t.host.quotas
	if !q.bounded() || !agentKind(st.Kind) {
		return true
	}
	if !q.take(t.s.ID) {
		t.s.putAside(st, t.s.crowdOf(standing))
		return false
	}
	st.placed = true
	t.given.slots = append(t.given.slots, st)
	return true
}

// standInLine has the run stand for a place as long as a step of it waits that could begin.
func (t *turn) standInLine() {
	if q := t.host.quotas; q.bounded() {
		q.stand(t.s.ID, t.s.stand() && t.m != nil && !t.s.Status.Ended() && !t.s.held() && !t.s.lacks() && !t.host.draining())
	}
}

// stand tells whether a step waits for a place.
func (s *state) stand() bool {
	c := s.crowded[standing]
	return c != nil && c.waiting.len() > 0
}

// comeForward lets the first step try that waits for a place.
func (s *state) comeForward() {
	if s.stand() {
		s.crowded[standing].admit(s)
	}
}

// vacate gives back the places that nothing was begun with.
func (a *actor) vacate(g *given) {
	for _, st := range g.slots {
		if st.placed {
			st.placed = false
			a.e.places.give(a.run)
		}
	}
}
