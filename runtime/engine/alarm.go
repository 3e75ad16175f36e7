package engine

import (
	"math"
	"sync"
	"time"

	"starling/runtime/heap"
)

// alarms wakes runs when their earliest timer is due: one entry a run, one timer of Go's in all.
// The clock on the wall decides: it is looked at again at least twice a minute, so that a jump of
// the clock is noticed.
type alarms struct {
	ring    func(run string)
	clock   func() time.Time
	after   func(d time.Duration, do func()) (stop func() bool)
	recheck time.Duration

	mu     sync.Mutex // guards what follows
	heap   heap.Heap[*alarm]
	at     map[string]*alarm
	cease  func() bool // stops the one timer
	closed bool
}

// newAlarms ring by the engine's clock.
func (e *Local) newAlarms(ring func(name string)) *alarms {
	a := &alarms{ring: ring, clock: e.opts.Clock, after: e.afterFunc, recheck: recheck}
	if e.opts.After != nil {
		a.recheck = math.MaxInt64 // it does not jump
	}
	return a
}

type alarm struct {
	run  string
	due  time.Time
	rank int
}

func (a *alarm) Place() *int { return &a.rank }

func (a *alarm) Before(b *alarm) bool { return a.due.Before(b.due) }

// recheck bounds how long a jump of the clock may go unnoticed.
const recheck = 30 * time.Second

// set says when the run's earliest timer is due, the zero time for never.
func (a *alarms) set(run string, due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.at == nil {
		a.at = map[string]*alarm{}
	}
	old := a.at[run]
	switch {
	case old == nil && due.IsZero() || old != nil && old.due.Equal(due):
		return
	case due.IsZero():
		a.heap.Remove(old)
		delete(a.at, run)
	case old == nil:
		a.at[run] = &alarm{run: run, due: due}
		a.heap.Push(a.at[run])
	default:
		old.due = due
		a.heap.Push(old)
	}
	a.arm()
}

// arm sets the one timer. It is called with mu held.
func (a *alarms) arm() {
	if a.cease != nil {
		a.cease()
	}
	if a.heap.Len() == 0 || a.closed {
		return
	}
	a.cease = a.after(min(a.heap.First().due.Sub(a.clock()), a.recheck), a.fire)
}

func (a *alarms) fire() {
	a.mu.Lock()
	var due []string
	for now := a.clock(); a.heap.Len() > 0 && !a.heap.First().due.After(now); {
		next := a.heap.First()
		a.heap.Remove(next)
		delete(a.at, next.run)
		due = append(due, next.run)
	}
	a.arm()
	a.mu.Unlock()
	for _, run := range due {
		a.ring(run)
	}
}

// within tells whether a run is due within a time.
func (a *alarms) within(soon time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heap.Len() > 0 && a.heap.First().due.Sub(a.clock()) < soon
}

func (a *alarms) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.cease != nil {
		a.cease()
	}
}
