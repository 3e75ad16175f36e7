package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
)

// actor is one run in memory: events in, a turn, one commit, effects out. It has a goroutine only while events wait; a resting run
// costs an entry in a map at most.
type actor struct {
	e   *Local
	run string

	mu    sync.Mutex // guards what follows
	queue []event
	busy  bool // a goroutine is taking events
	gone  bool // evicted: a new actor must be made

	// Touched only by the goroutine that takes events.
	s           *state
	m           *vm.Machine
	host        *host
	yielded     bool
	row         string // the summary row as it stands in the store
	checkpoints []uint64
	tail        tail // the journal since the newest checkpoint
	flights     map[string]flight
	recovered   bool // a recovery was counted and no commit has followed
}

// flight is an attempt in flight.
type flight struct {
	attempt int
	stop    context.CancelCauseFunc
}

// tail measures the journal since the newest checkpoint.
type tail struct {
	records int
	bytes   int
	steps   uint64 // of the machine when the checkpoint was taken
}

// event is something that came in: what it does in a turn, and who is told when the turn is durable or has failed.
type event struct {
	apply func(t *turn)
	done  func(err error)
}

// Why an attempt in flight was stopped.
var (
	errLeaving   = errors.New("the engine is leaving")
	errWithdrawn = errors.New("the step was withdrawn")
)

// post hands the actor an event. It reports false when the actor was evicted.
func (a *actor) post(ev event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.gone:
		return false
	case a.busy:
		a.queue = append(a.queue, ev)
	case !a.e.enter():
		a.tell([]event{ev}, errShut)
	default:
		a.busy, a.queue = true, append(a.queue, ev)
		go a.take()
	}
	return true
}

// take runs turns until no event waits.
func (a *actor) take() {
	defer a.e.exit()
	for {
		a.mu.Lock()
		events := a.queue
		if len(events) == 0 && (!a.yielded || a.e.leaving.Load()) {
			a.busy = false
			a.gone = a.e.evict(a)
			a.mu.Unlock()
			return
		}
		a.queue = nil
		a.mu.Unlock()
		rest := a.turn(events)
		a.mu.Lock()
		a.queue = append(rest, a.queue...)
		a.mu.Unlock()
	}
}

// turn takes events into one turn and commits it. It returns the events for which there was no room because the machine has yielded: its slice is finished
// first.
func (a *actor) turn(events []event) (rest []event) {
	fresh, err := a.load()
	if err != nil {
		a.tell(events, err)
		return nil
	}
	if fresh {
		events = append([]event{{apply: a.recover}}, events...)
	}
	t := &turn{s: a.s, m: a.m, host: a.host, now: a.e.now(), keys: map[string]keyed{}}
	taken, err := a.fill(t, events)
	if err == nil {
		err = a.commit(t)
	}
	if err != nil {
		a.discard(err)
		a.tell(events, err)
		return nil
	}
	a.yielded = t.yielded
	a.after(t)
	a.tell(events[:taken], nil)
	return events[taken:]
}

// maxTurnBytes ends a turn that has much to write: what else has come in is for the next one, so that no commit grows beyond what a store takes.
const maxTurnBytes = 4 << 20

// fill applies events until the machine yields. A panic of the machine or of a decision ends the turn as an error.
func (a *actor) fill(t *turn, events []event) (taken int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &poisoned{fmt.Sprintf("%v", p), string(debug.Stack())}
		}
	}()
	if a.yielded {
		t.slice()
	}
	for taken < len(events) && !t.yielded && t.size < maxTurnBytes {
		events[taken].apply(t)
		taken++
	}
	t.begin()
	t.rest()
	return taken, nil
}

// poisoned is a panic inside a turn.
type poisoned struct{ what, stack string }

func (p *poisoned) Error() string { return "the machine failed: " + p.what }

func (a *actor) tell(events []event, err error) {
	for _, ev := range events {
		if ev.done != nil {
			ev.done(err)
		}
	}
}

// discard throws state and machine away: what is not durable has not happened. A panic sets the run aside.
func (a *actor) discard(err error) {
	a.s, a.m, a.yielded = nil, nil, false
	var p *poisoned
	if errors.As(err, &p) {
		a.e.log("run %s: %v\n%s", a.run, p, p.stack)
		a.quarantine("the machine failed: " + p.what)
	}
}

// after does what the committed turn asked for.
func (a *actor) after(t *turn) {
	for _, step := range t.abort {
		if f, ok := a.flights[step]; ok {
			delete(a.flights, step)
			f.stop(errWithdrawn)
		}
	}
	for _, st := range t.start {
		if a.s.Steps[st.Step] == st && st.InFlight {
			a.launch(st)
		}
	}
	for _, st := range t.children {
		a.e.startChild(a.run, a.host, a.s.Depth, st)
	}
	for _, step := range t.orphans {
		a.e.cancelChild(a.run, step)
	}
	a.e.wake(a.run, a.s)
	if a.m == nil && !a.s.Status.Ended() && a.s.Gates[gateQuarantine] == nil {
		a.s = nil // it was set aside and may go on: load it with its machine
		a.post(event{apply: func(*turn) {}})
	}
}

// launch performs one attempt in a goroutine of its own.
func (a *actor) launch(st *step) {
	ctx, stop := context.WithCancelCause(a.e.ctx)
	a.flights[st.Step] = flight{st.Attempt, stop}
	at, handler, err := a.host.attempt(a.run, st, a.emitter(st.Step, st.Attempt))
	if err != nil {
		a.landed(st.Step, st.Attempt, effect.Reply{Err: err})
		return
	}
	timeout := st.Policy.Timeout
	a.e.enter() // an actor is active: the engine is not shut
	go func() {
		defer a.e.exit()
		r := perform(ctx, handler, at, timeout)
		why := context.Cause(ctx)
		stop(nil)
		switch {
		case errors.Is(why, errWithdrawn):
		case errors.Is(why, errLeaving) && r.Err != nil:
			a.takeBack(at.Step, at.Number)
		default:
			a.landed(at.Step, at.Number, r)
		}
	}()
}

// perform runs one attempt under its deadline. A handler that panics has failed its attempt, not the engine.
func perform(ctx context.Context, handler *effect.Handler, at *effect.Attempt, timeout time.Duration) (r effect.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = effect.Reply{Err: effect.Errorf(effect.KindEffect, "%s: the handler failed: %v", at.Step, p)}
		}
	}()
	if timeout > 0 {
		at.Deadline = time.Now().Add(timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at.Deadline)
		defer cancel()
	}
	r = handler.Perform(ctx, at)
	if r.Err != nil && ctx.Err() == context.DeadlineExceeded {
		r.Err = &effect.Error{Kind: effect.KindTimeout, Message: fmt.Sprintf("%s: no reply within %s", at.Step, timeout), Data: r.Err.Data}
		r.Class = effect.Final
	}
	return r
}

// landed brings an attempt's reply home.
func (a *actor) landed(step string, attempt int, r effect.Reply) {
	a.e.post(a.run, event{apply: func(t *turn) {
		a.forget(step, attempt)
		t.reply(step, attempt, r)
	}})
}

func (a *actor) takeBack(step string, attempt int) {
	a.e.post(a.run, event{apply: func(t *turn) {
		a.forget(step, attempt)
		t.interrupted(step, attempt)
	}})
}

func (a *actor) forget(step string, attempt int) {
	if f, ok := a.flights[step]; ok && f.attempt == attempt {
		delete(a.flights, step)
	}
}

// emitter journals the events of an attempt, as long as it is the newest.
func (a *actor) emitter(step string, attempt int) func(kind string, data starlark.Value) {
	return func(kind string, data starlark.Value) {
		p, err := effect.Encode(orNone(data))
		if err != nil {
			p = effect.MustEncode(starlark.String("an event that cannot be recorded: " + err.Error()))
		}
		a.e.post(a.run, event{apply: func(t *turn) { t.event(step, attempt, kind, p) }})
	}
}
