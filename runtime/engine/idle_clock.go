package engine

import (
	"context"
	"time"

	"starling/lang/effect"
)

// idleClock is what an attempt in flight knows of the clock: while it waits for nothing but that,
// it does not count as something in motion.
type idleClock struct {
	e      *Local
	asleep bool              // guarded by e.mu
	limit  *limit            // the time of an attempt that can wait for people, nil for another
	told   chan effect.Steer // messages for it; nil where it cannot be told any
	bell   chan struct{}     // rung when there is one that wait has to hear of
	waits  bool              // it is in wait; guarded by e.mu
	expire func()            // ends the attempt for its time
	slot   string            // run whose slot it has; "" where none is needed
}

// set notes whether the attempt waits for the clock. Whoever wakes it says so before it does, so
// that no moment looks quiet in between.
func (n *idleClock) set(asleep bool) {
	n.e.mu.Lock()
	defer n.e.mu.Unlock()
	n.note(asleep)
}

// note is set for who holds the engine's lock.
func (n *idleClock) note(asleep bool) {
	e := n.e
	switch {
	case asleep && !n.asleep:
		e.asleep++
	case !asleep && n.asleep:
		e.asleep--
	}
	n.asleep = asleep
	if e.active == e.asleep {
		e.quiet.Broadcast()
	}
}

// wait is effect.Attempt.Wait. While it sleeps its timer is set: a clock that is moved in between
// would come to a later one.
func (n *idleClock) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	over := make(chan struct{})
	stop := n.e.afterFunc(d, func() {
		n.set(false)
		close(over)
	})
	defer stop()
	if !n.sleep(ctx) {
		return false
	}
	defer n.wake()
	select {
	case <-over:
		return true
	case <-n.bell:
	case <-ctx.Done():
	}
	return false
}

// left tells whether nobody wants anything of an attempt that waits.
func (n *idleClock) left(ctx context.Context) bool { return ctx.Err() == nil && len(n.told) == 0 }

// sleep has the attempt wait for the clock, unless somebody wants something of it.
func (n *idleClock) sleep(ctx context.Context) bool {
	n.e.mu.Lock()
	defer n.e.mu.Unlock()
	select {
	case <-n.bell: // of a message that it has taken
	default:
	}
	left := n.left(ctx)
	if left {
		n.note(true)
		n.waits = true
	}
	return left
}

// wake ends what sleep has begun.
func (n *idleClock) wake() {
	n.e.mu.Lock()
	defer n.e.mu.Unlock()
	n.note(false)
	n.waits = false
}

// rouse does what wakes the attempt if it waits, and counts it as in motion from then on.
func (n *idleClock) rouse(do func()) {
	n.e.mu.Lock()
	defer n.e.mu.Unlock()
	n.note(false)
	do()
}

// tell hands a message to the attempt, unless so many wait that it gets this one with its next.
func (n *idleClock) tell(s effect.Steer) {
	n.e.mu.Lock()
	defer n.e.mu.Unlock()
	select {
	case n.told <- s:
	default:
		return
	}
	if n.waits {
		n.note(false)
		n.waits = false
		n.bell <- struct{}{} // it has room: sleep has emptied it
	}
}

// deadline bounds an attempt. By a clock that is not this process's the context ends as one that
// was cancelled, with context.DeadlineExceeded as its cause.
func (n *idleClock) deadline(ctx context.Context, timeout time.Duration) (context.Context, time.Time, func()) {
	if n.e.opts.After == nil && n.limit == nil {
		at := time.Now().Add(timeout)
		ctx, cancel := context.WithDeadline(ctx, at)
		return ctx, at, cancel
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n.expire = func() {
		n.set(false)
		cancel(context.DeadlineExceeded)
	}
	if n.limit == nil {
		n.limit = &limit{left: timeout}
	}
	n.limit.run(n.e, n.expire)
	return ctx, n.e.now().Add(timeout), func() {
		n.limit.hold(n.e)
		cancel(nil)
	}
}

// hold stops the time of an attempt that waits for people, until it is resumed, and gives its slot
// to others.
func (n *idleClock) hold() (resume func()) {
	held := n.expire != nil && n.limit.hold(n.e)
	if n.slot != "" {
		n.e.slots.release(n.slot)
	}
	return func() {
		if n.slot != "" {
			n.e.slots.reclaim(n.slot)
		}
		n.set(false)
		if held {
			n.limit.run(n.e, n.expire)
		}
	}
}

// monotonic is a clock for how long something takes.
func (e *Local) monotonic() time.Time {
	if e.opts.After == nil {
		return time.Now()
	}
	return e.now()
}

// afterFunc calls do when the engine's clock has moved on by d.
func (e *Local) afterFunc(d time.Duration, do func()) (stop func() bool) {
	if e.opts.After != nil {
		return e.opts.After(d, do)
	}
	return time.AfterFunc(d, do).Stop
}

// Settle waits until nothing is in motion but what waits for the clock or for people: then, with an
// engine whose Options have After, only moving the clock, a signal or a new run makes anything
// happen. It is meant for whoever moves the clock.
func (e *Local) Settle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.active > e.asleep {
		e.quiet.Wait()
	}
}
