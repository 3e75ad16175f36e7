package engine

import (
	"slices"
	"sync"

	"starling/runtime/run"
)

// An owner may bound how many agents are at work at once in all its runs. An attempt takes a slot
// when its turn begins it. It gives it back when it has ended, or when its turn was not committed.
// A run that gets none waits in a line, and is woken when its turn comes; it gets one slot, and
// waits at the end of the line for the next, so that a run with a thousand branches keeps no other
// waiting.
//
// A run without an agent at work gets a slot in any case. So no run waits for good for another,
// whatever that one waits for: a person, or the very run that one of its agents has started. An
// agent that waits for a permission has no slot meanwhile, and goes on without waiting for one.
//
// Nobody sees this but by the time that passes, and it follows from the records, so it is not
// recorded.

// slots are used concurrently.
type slots struct {
	e     *Local
	limit int // 0 for any number: then nothing is counted

	mu    sync.Mutex // guards what follows
	busy  int
	of    map[string]int // slots by run
	line  []string       // runs that wait for one, each once
	woken string         // the run at the head of the line, when it was told to come
}

func (p *slots) Bounded() bool { return p.limit > 0 }

// acquire gives a run a slot, unless it must wait for one.
func (p *slots) Acquire(run string) bool {
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
func (p *slots) add(run string, n int) {
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.of[run] += n
	if p.of[run] == 0 {
		delete(p.of, run)
	}
	p.busy += n
}

// release gives back a slot of a run.
func (p *slots) release(run string) { p.change(func() { p.add(run, -1) }) }

// reclaim gives a run a slot whoever else waits: it goes on with what it has begun.
func (p *slots) reclaim(run string) { p.change(func() { p.add(run, 1) }) }

// wait puts a run in the line or takes it out of it.
func (p *slots) Wait(run string, wants bool) {
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

// change changes something, and wakes the next in the line if there is a slot then. What that one
// does not use is for the next; it waits again when it takes its next turn.
func (p *slots) change(do func()) {
	p.mu.Lock()
	do()
	id := ""
	if p.busy < p.limit && p.woken == "" && len(p.line) > 0 && !p.e.leaving.Load() {
		id, p.woken = p.line[0], p.line[0]
	}
	p.mu.Unlock()
	if id != "" {
		p.e.post(id, event{in: run.Vacancy{}, urgent: true, done: func(error) {
			if p.missed(id) {
				p.Wait(id, false)
			}
		}})
	}
}

// missed tells whether a run was told to come and its turn came to nothing.
func (p *slots) missed(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.woken == run
}

// giveBackSlots gives back the slots with which nothing was begun.
func (a *actor) giveBackSlots(g *run.Given) {
	for _, st := range g.Slots {
		if st.HandOver() {
			a.e.slots.release(a.run)
		}
	}
}
