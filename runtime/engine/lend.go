package engine

import (
	"starling/lang/vm"
	"starling/runtime/pool"
	"starling/runtime/run"
)

// lender is the lend of the run's machine, nil where there is no bound.
func (a *actor) lender() func(most int64, held func() int64) (more int64) {
	if !a.e.pool.Bounded() {
		return nil
	}
	return a.lend
}

// lend is vm.Limits.Lend. A turn that must not wait any longer is abandoned, where that can be; one
// that holds what others need, and a machine that is being made, go on.
func (a *actor) lend(most int64, held func() int64) int64 {
	p := a.e.pool
	a.borrows = true
	if a.deciding != nil && a.deciding.HoldsCommons {
		return p.Give(&a.loan, most)
	}
	more, ok := p.Grow(&a.loan, most, held)
	if !ok && a.deciding != nil {
		panic(pool.ErrAbandoned)
	}
	return more
}

// reserve waits for the room that a machine will need which was written down in so many bytes.
func (a *actor) reserve(snapshot int) {
	n := int64(snapshot)
	if n > 0 {
		n = max(n, a.held)
	}
	if a.e.pool.Bounded() && n > vm.FreeLoan {
		a.lend(n, func() int64 { return n })
	}
}

// release tells the pool how a turn has left the run.
func (a *actor) release() {
	if a.borrows {
		gone := a.s == nil || a.m == nil || a.s.Status.Ended()
		a.e.pool.End(&a.loan, gone, a.yielded)
		a.borrows = !gone
	}
}

// makeRoom writes the run down and drops it from memory, unless it moves. Its attempts in flight go
// on.
func (a *actor) makeRoom() {
	a.post(event{in: run.Woken{}, done: func(err error) {
		if err != nil || a.m == nil || a.yielded {
			return
		}
		if a.writeDown() != nil {
			a.e.pool.Stay(&a.loan)
			return
		}
		a.held = a.m.Held()
		a.s, a.m = nil, nil
	}})
}
