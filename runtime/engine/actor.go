package engine

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"

	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/fact"
	"starling/runtime/journal"
	"starling/runtime/pool"
	"starling/runtime/run"
)

// actor is one run in memory: events in, a turn, one commit, effects out. It has a goroutine only
// while events wait; a resting run costs an entry in a map at most.
type actor struct {
	e   *Local
	run string

	mu    sync.Mutex // guards what follows
	queue []event
	busy  bool // somebody is taking events
	gone  bool // evicted: a new actor must be made

	rested *list.Element // its place among those that rest, guarded by the engine
	loan   pool.Loan     // guarded by the pool

	// Touched only by the goroutine that takes events.
	s            *run.State  // nil: the run is not loaded
	m            *vm.Machine // nil: the run is quarantined, has ended, or cannot be served here
	unjournaled  *vm.Stop    // what the machine said beyond a journal that was cut, until a turn has taken it
	host         *run.Host
	incompatible error // why the run cannot be served here; another build, or a repaired store, could
	yielded      bool
	row          run.SummaryRow // of which the store has the summary
	points       []point
	sought       bool     // points has all that the store has
	tail         run.Tail // the journal since the newest checkpoint that is kept
	saved        uint64   // the record of the newest checkpoint
	flights      map[string]flight
	jobs         []*job            // attempts that the last turn has begun
	parked       []event           // came in while the run is quarantined, and wait until it goes on
	recovered    bool              // a recovery was counted and no commit has followed
	told         runtime.Status    // what the parent of a child run knows of it
	borrows      bool              // it has a loan
	held         int64             // by the machine when it left memory for others, bytes
	deciding     *run.Turn         // the one in progress
	arrived      queue             // what it takes
	facts        *fact.Fold        // what the run is found by; nil: the store has it
	bill         *fact.Bill        // what its agents have taken; nil: the store has it
	asked        map[string]string // open steps of agents when the run was loaded, and who was asked
	spare        *run.Turn         // what turns are made in, one after the other; nil while nothing is about to come
	abandoned    bool              // the last turn was: what is urgent comes first now
	kept         uint64            // where the journal begins, as far as known, or will once the trim in progress is over
}

// event is an input on its way, and who is told what becomes of it.
type event struct {
	in     run.Input
	taken  func()          // it is in the turn in progress
	done   func(err error) // the turn is durable, or has failed
	urgent bool            // needs no machine: it is taken also while the machine is busy, and when there is none
	parks  bool            // what an attempt said or came to: it must not be lost, and waits while the run is quarantined
}

func (ev event) rank() int {
	if ev.urgent {
		return 0
	}
	return 1
}

// post hands the actor an event. It reports false when the actor was evicted.
func (a *actor) post(ev event) bool {
	mine, ok := a.enqueue(ev)
	if mine {
		go a.serve(nil)
	}
	return ok
}

// postInline is post for a caller that waits for its turn anyway: one that finds nobody taking
// events runs one turn itself, and no goroutine has to be woken for it. What is left to do then is
// left to one.
func (a *actor) postInline(ev event) bool {
	mine, ok := a.enqueue(ev)
	if !mine {
		return ok
	}
	defer runtime.EndWithPanic()
	own, rests := a.becomeIdle()
	if !rests {
		a.next()
		own, rests = a.becomeIdle()
	}
	if rests && own == nil {
		a.e.exit()
	} else {
		go a.serve(own)
	}
	return true
}

// enqueue queues an event. mine tells that nobody takes events and the caller is to; ok is false
// when the actor was evicted.
func (a *actor) enqueue(ev event) (mine, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.gone:
		return false, false
	case !a.busy && !a.e.enter():
		tell([]event{ev}, runtime.ErrShuttingDown)
		return false, true
	}
	mine = !a.busy
	a.busy, a.queue = true, append(a.queue, ev)
	if ev.urgent && !mine {
		a.e.pool.Call(&a.loan)
	}
	return mine, true
}

// serve takes events on a goroutine of its own until none waits. Then it performs one of the
// attempts that the last turn has begun, takes what that came to, and so on: a run that makes one
// step after another stays on one goroutine, and nothing has to be woken between its steps.
func (a *actor) serve(own *job) {
	defer a.e.exit()
	deepen(0)
	if own == nil {
		own = a.drain()
	}
	for ; own != nil; own = a.drain() {
		ev, home := own.perform()
		if !home || !a.retake(ev) {
			return
		}
	}
}

// deepen has the stack of a goroutine grow at once to what a turn needs. Else it would be copied
// three times on the way, each time with all that is on it.
//
//go:noinline
func deepen(i byte) byte {
	var room [12 << 10]byte
	return room[i] // an index that the compiler does not know keeps the room
}

// drain runs turns until no event waits, and returns an attempt that is left to perform, if there
// is one.
func (a *actor) drain() *job {
	for {
		if own, rests := a.becomeIdle(); rests {
			return own
		}
		a.next()
	}
}

// next runs one turn with what waits.
func (a *actor) next() {
	a.mu.Lock()
	events := a.queue
	a.queue = nil
	if a.e.pool.Bounded() {
		a.e.pool.Begin(&a.loan)
	}
	a.share(false)
	a.mu.Unlock()
	rest := a.turn(events)
	a.release()
	a.mu.Lock()
	a.queue = append(rest, a.queue...)
	a.mu.Unlock()
}

// becomeIdle has the actor rest when there is nothing to do, and then returns an attempt that is
// left to perform, if there is one.
func (a *actor) becomeIdle() (own *job, yes bool) {
	a.mu.Lock()
	events := a.queue
	if !a.idle(events) {
		a.mu.Unlock()
		return nil, false
	}
	own = a.share(true)
	if own == nil && len(a.flights) == 0 {
		a.spare = nil // nothing is about to come
	}
	a.busy, a.queue = false, nil
	a.gone = a.e.evict(a)
	a.mu.Unlock()
	tell(events, runtime.ErrShuttingDown)
	return own, true
}

// retake queues an event and tells whether the caller is to take it; otherwise somebody else does.
func (a *actor) retake(ev event) bool {
	a.mu.Lock()
	if a.gone {
		a.mu.Unlock()
		a.e.post(a.run, ev)
		return false
	}
	defer a.mu.Unlock()
	a.queue = append(a.queue, ev)
	mine := !a.busy
	a.busy = true
	return mine
}

// idle tells whether the actor need not go on. When the engine leaves, a machine that has yielded
// is left where it stands; when it has waited long enough, so are those that wait for the machine.
func (a *actor) idle(events []event) bool {
	if len(events) == 0 {
		return !a.yielded || a.e.leaving.Load()
	}
	return a.yielded && a.e.ctx.Err() != nil
}

// turn takes events into one turn and commits it. It returns the events for which there was no
// room.
func (a *actor) turn(events []event) (rest []event) {
	fresh, err := a.load()
	if err != nil {
		if d := (*runtime.DamagedRun)(nil); errors.As(err, &d) {
			a.e.giveUp(a.run, err)
		}
		tell(events, err)
		return nil
	}
	events = a.admit(events)
	if a.spare == nil {
		a.spare = new(run.Turn)
	}
	t := a.spare
	*t = run.Turn{State: a.s, Machine: a.m, Host: a.host, Now: a.e.now(), Had: &a.row, Yielded: a.yielded}
	a.deciding, a.arrived = t, queue{events: events}
	in := &a.arrived
	var c *run.Commit
	defer func() { a.deciding, a.arrived = nil, queue{} }()
	defer t.UnlockCommons()
	err = guarded(func() error {
		c = t.Process(in, a.recovery(fresh), a.incompatible != nil)
		a.m, a.host = t.Machine, t.Host // it may have begun, or have been moved
		return a.commit(c)
	})
	if err != nil {
		return a.discard(&t.Given, in, err)
	}
	a.yielded = t.Yielded
	a.performEffects(c)
	a.offerAgain(c, t.HoldsCommons)
	if a.goesOn() {
		a.s = nil // load it with its machine
		a.post(event{in: run.Woken{}})
	}
	tell(events[:in.applied], nil)
	if a.incompatible != nil {
		a.s = nil // look again when something comes in
	}
	return events[in.applied:]
}

// queue is events in a turn.
type queue struct {
	events  []event
	applied int
}

func (q *queue) Next() (run.Input, bool) {
	if q.applied == len(q.events) {
		return nil, false
	}
	ev := &q.events[q.applied]
	return ev.in, ev.urgent
}

func (q *queue) Taken() {
	ev := &q.events[q.applied]
	q.applied++
	if ev.taken != nil {
		ev.taken()
	}
}

// admit sorts out what must wait or be turned away, and puts what is urgent first.
func (a *actor) admit(events []event) []event {
	if a.m != nil && len(a.parked) > 0 {
		events, a.parked = append(a.parked, events...), nil
	}
	if a.m == nil && a.s.Seq > 0 && !a.s.Status.Ended() {
		events = slices.DeleteFunc(events, func(ev event) bool {
			switch {
			case ev.parks:
				a.parked = append(a.parked, ev)
			case a.incompatible != nil && !ev.urgent:
				tell([]event{ev}, a.incompatible)
			default:
				return false
			}
			return true
		})
	}
	if a.yielded || a.abandoned {
		a.abandoned = false
		slices.SortStableFunc(events, func(x, y event) int { return cmp.Compare(x.rank(), y.rank()) })
	}
	return events
}

// poisoned is a panic of the machine or of a decision.
type poisoned struct{ what, stack string }

func (p *poisoned) Error() string { return "the machine failed: " + p.what }

// Format adds the stack where it is asked for, with %+v.
func (p *poisoned) Format(s fmt.State, verb rune) {
	io.WriteString(s, p.Error())
	if verb == 'v' && s.Flag('+') {
		io.WriteString(s, "\n"+p.stack)
	}
}

// guarded makes a panic an error.
func guarded(do func() error) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case pool.ErrAbandoned:
			err = pool.ErrAbandoned
		default:
			err = &poisoned{fmt.Sprint(p), string(debug.Stack())}
		}
	}()
	return do()
}

func tell(events []event, err error) {
	for _, ev := range events {
		if ev.done != nil {
			ev.done(err)
		}
	}
}

// discard throws state and machine away: what is not durable has not happened. A panic sets the run
// aside; the event that brought it about is answered with it, the others are taken again.
func (a *actor) discard(g *run.Given, in *queue, err error) (rest []event) {
	events := in.events
	a.s, a.m, a.yielded = nil, nil, false
	a.giveBackSlots(g)
	for _, backend := range g.Probes {
		a.e.breakers.unprobe(backend)
	}
	if a.abandoned = err == pool.ErrAbandoned; a.abandoned && a.e.leaving.Load() {
		err = runtime.ErrShuttingDown
	} else if a.abandoned {
		a.unrecovered()
		return events
	}
	var p *poisoned
	if !errors.As(err, &p) {
		tell(events, err)
		return nil
	}
	a.e.log("run %s: %+v", a.run, p)
	if failed := a.quarantine(p.Error()); failed != nil {
		tell(events, err)
		return nil
	}
	if in.applied < len(events) && !events[in.applied].parks {
		tell(events[in.applied:in.applied+1], err)
		events = slices.Delete(events, in.applied, in.applied+1)
	}
	return events
}

// performEffects does what a commit asks for, now that it is durable.
func (a *actor) performEffects(c *run.Commit) {
	do := &c.Effects
	for _, step := range do.Abort {
		if f, ok := a.flights[step]; ok {
			delete(a.flights, step)
			f.end(errWithdrawn)
		}
	}
	for _, tl := range do.Deliveries {
		a.deliver(tl)
	}
	for _, n := range do.Notices {
		a.e.notices.add(n, a.e.brought(a.run).env)
	}
	for _, g := range do.Granted {
		a.grant(g)
	}
	for _, st := range do.Start {
		if a.s.Steps[st.Step] == st && st.InFlight {
			a.launch(st)
		}
	}
	a.giveBackSlots(&c.Given)
	for _, st := range do.Children {
		if a.s.Steps[st.Step] == st && a.m != nil && !a.host.Draining() { // of a quarantined run they are looked after when it goes on
			a.e.startChild(a.run, a.host, a.s, st)
		}
	}
	for _, step := range do.Orphans {
		a.e.orphan(a.run, step)
	}
	for _, in := range do.Inputs {
		a.post(event{in: in, parks: true})
	}
	a.announce()
	if a.s.Status.Ended() && a.s.Trees {
		a.e.removeTrees(a.run, a.host.Settings)
	}
}

// goesOn tells whether a run is quarantined and is not any more.
func (a *actor) goesOn() bool {
	return a.m == nil && a.incompatible == nil && !a.s.Status.Ended() && a.s.Gates[runtime.GateQuarantine] == nil
}

// announce tells watchers, timers and the parent that a run has committed.
func (a *actor) announce() {
	a.e.committed(a.run, a.s, a.m == nil)
	a.e.notify(a.run)
	parent, step, child := journal.CutParent(a.s.Parent)
	if child && a.told != a.s.Status {
		a.told = a.s.Status
		a.e.childChanged(parent, step, a.s)
	}
}
