// Package pool bounds what the machines of all runs of a process hold together.
//
// A machine says before it grows; where there is no room its turn waits in the middle of a slice,
// until others have ended, have less, or have left memory: runs that wait for something else are
// written down for whoever needs the room. One may always go on, the first of those that move,
// whatever there is: so all of them come to their end, one after another if need be, and what is
// taken is at most the bound and what one run may hold.
//
// Nothing of this is in a journal, and nothing that a run does depends on it. A turn that waits can
// be abandoned, like one whose commit failed: what is not durable has not happened, and is done
// again. Whoever has sent something waits for the turn that takes it, as for any run that is busy.
package pool

import (
	"errors"
	"sync"

	"starling/lang/vm"
)

// Pool is the memory of all machines.
type Pool struct {
	size int64 // bytes, 0 for any number
	log  func(format string, args ...any)

	mu      sync.Mutex // guards what follows, and the loans
	changed *sync.Cond
	lent    int64
	loans   map[*Loan]struct{}
	last    uint64
	waiting int
	needs   map[string]int64 // of the runs that wait, bytes
	closed  bool
}

// Loan is what one run has of the pool. Only the pool looks at it once it was lent.
type Loan struct {
	Run     string
	Leave   func() // asks the run to leave memory, unless it moves
	bytes   int64
	number  uint64 // its place in the order in which runs have come
	moving  bool   // it is in a turn, or will be as soon as it can
	leaving bool   // it was asked to leave
	stays   bool   // it could not be written down
	called  bool   // something has come that should not wait for the end of the turn
}

// ErrAbandoned ends a turn that waits for memory.
var ErrAbandoned = errors.New("the turn was abandoned while it waited for memory")

// New makes a pool of so many bytes, 0 for any number. log is told of runs that wait.
func New(size int64, log func(format string, args ...any)) *Pool {
	p := &Pool{size: size, log: log, loans: map[*Loan]struct{}{}, needs: map[string]int64{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// Bounded tells whether there is a bound: without one nothing need be asked for.
func (p *Pool) Bounded() bool { return p.size > 0 }

// extra is how much more than it has to a run is lent, so that it seldom asks.
func extra(bytes int64) int64 { return max(vm.FreeLoan, bytes/4) }

// Grow lends a run what it needs, at most bytes, and exactly as many as held says if there is no
// room for that; and something more, which it returns. It waits for room, unless the run is the
// first of those that move; ok is false when it gave up waiting because of Call or Close.
func (p *Pool) Grow(l *Loan, most int64, held func() int64) (more int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(l)
	if p.fits(l, most+extra(most)) {
		p.set(l, most+extra(most))
		return extra(most), true
	}
	p.mu.Unlock()
	n := held()
	p.mu.Lock()
	more = extra(n)
	p.set(l, min(n, l.bytes))
	ok = p.wait(l, n+more)
	p.set(l, n+more)
	return more, ok
}

// wait waits until there is room for so many bytes, or it is the run's turn to go on in any case.
func (p *Pool) wait(l *Loan, bytes int64) bool {
	defer delete(p.needs, l.Run)
	for said := false; !p.fits(l, bytes) && !(p.first(l) && p.cleared()); said = true {
		if p.closed || l.called {
			return false
		}
		if !said {
			p.log("run %s waits for memory: all runs hold %d bytes of %d, and it needs %d", l.Run, p.lent, p.size, bytes-l.bytes)
		}
		p.needs[l.Run] = bytes - l.bytes
		p.clear()
		p.waiting++
		p.changed.Wait()
		p.waiting--
	}
	return true
}

// Needed is for how many bytes a run waits, 0 for one that does not.
func (p *Pool) Needed(run string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.needs[run]
}

func (p *Pool) fits(l *Loan, bytes int64) bool { return p.lent-l.bytes+bytes <= p.size }

// first tells whether no run that moves has come before.
func (p *Pool) first(l *Loan) bool {
	for other := range p.loans {
		if other.moving && other.number < l.number {
			return false
		}
	}
	return true
}

// clear asks those to leave that do not move.
func (p *Pool) clear() {
	for l := range p.loans {
		if !l.moving && !l.leaving && !l.stays {
			l.leaving = true
			go l.Leave()
		}
	}
}

// cleared tells whether all that do not move have left, or cannot.
func (p *Pool) cleared() bool {
	for l := range p.loans {
		if !l.moving && !l.stays {
			return false
		}
	}
	return true
}

// enter notes that a run has a loan, and moves. Whoever has left comes last when it comes back: the
// first changes only when the one before has all it needs.
func (p *Pool) enter(l *Loan) {
	if _, known := p.loans[l]; !known {
		p.last++
		l.number = p.last
		p.loans[l] = struct{}{}
	}
	l.moving = true
}

func (p *Pool) set(l *Loan, bytes int64) {
	less := bytes < l.bytes
	p.lent += bytes - l.bytes
	l.bytes = bytes
	if less {
		p.changed.Broadcast()
	}
}

// Begin notes that a run begins a turn with all that has come for it. A call that was for an
// earlier turn is forgotten, also of a run that has no loan any more: else each turn would be
// abandoned for it.
func (p *Pool) Begin(l *Loan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.moving, l.called, l.stays = true, false, false
}

// Stay notes that a run could not be written down.
func (p *Pool) Stay(l *Loan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.stays = true
}

// End notes that a turn has ended. gone tells that the run has no machine now, moving that it goes
// on.
func (p *Pool) End(l *Loan, gone, moving bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.moving, l.leaving = moving, false
	if gone {
		p.set(l, 0)
		delete(p.loans, l)
	}
	if p.waiting > 0 && !moving {
		p.changed.Broadcast() // another may be the first now, or ask this one to leave
	}
}

// Call has a turn that waits, or is about to, be abandoned.
func (p *Pool) Call(l *Loan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.called = true
	p.changed.Broadcast()
}

// Close has all turns that wait be abandoned.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
}

// Give lends without looking whether there is room.
func (p *Pool) Give(l *Loan, bytes int64) (more int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enter(l)
	p.set(l, bytes+extra(bytes))
	return extra(bytes)
}
