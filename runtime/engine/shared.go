package engine

import (
	"slices"

	"starling/runtime/run"
)

// retryWaiters lets the runs that wait for an item of a queue look again; "" is any queue.
func (e *Local) retryWaiters(queue string) {
	e.mu.Lock()
	var runs []string
	for run, queues := range e.awaiting {
		if queue == "" || slices.Contains(queues, queue) {
			runs = append(runs, run)
		}
	}
	e.mu.Unlock()
	slices.Sort(runs)
	for _, id := range runs {
		e.post(id, event{in: &run.Offered{Queue: queue}, done: func(err error) {
			if err != nil && e.ctx.Err() == nil {
				e.log("run %s: the items of queue %q: %v", id, queue, err)
			}
		}})
	}
}

// offerAgain tells the runs that wait what a commit has put into a queue or, by ending its run, given
// back; holds says that the turn has the commons still. Whoever was looking when the run ended is known
// to wait before it is told.
func (a *actor) offerAgain(c *run.Commit, holds bool) {
	if c.Effects.Pushed != "" {
		a.e.retryWaiters(c.Effects.Pushed)
	}
	if !a.s.Queues || !a.s.Status.Ended() {
		return
	}
	if !holds {
		a.e.shared.Lock()
		defer a.e.shared.Unlock()
	}
	a.e.retryWaiters("")
}
