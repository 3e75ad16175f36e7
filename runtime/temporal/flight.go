package temporal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"starling/lang/effect"
	"starling/runtime"
)

// An attempt is an activity, and an activity ends with the history that has begun it. An attempt
// may last for hours, and its run may have to leave its history meanwhile. So a worker tells the
// run of each attempt that goes on for longer than a pulse where it is found, on a queue of its
// own; and in the next history that worker is asked to go on with it: to adopt it, which is an
// activity again. To the turns it is one attempt throughout. One that nobody has begun is ordered
// again.

// flight is an attempt in flight.
type flight struct {
	order     order // by which it was begun
	home      string
	end       func()
	steered   bool
	landed    bool // what it came to is in a letter
	withdrawn bool // it is to be ordered again in the next history, if nobody has begun it
	unbegun   bool // nobody has
}

// How a worker is watched: one that has not been heard of for so long is dead.
const (
	heartbeat = 15 * time.Second
	pulse     = 5 * time.Second
	ages      = 365 * 24 * time.Hour
)

// fly begins an attempt, or has its worker go on with it. Temporal does not try it again: whether
// it is tried again is decided in a turn.
func (p *postman) fly(o *order) {
	ctx, cancel := workflow.WithCancel(p.ctx)
	options := workflow.ActivityOptions{
		TaskQueue:           o.queue,
		StartToCloseTimeout: ages,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	f := &flight{order: *o, end: cancel}
	name, body := attemptName, o.body
	if o.kind == orderAdopt {
		f.home, options.ScheduleToStartTimeout = o.queue, heartbeat
		name, body = adoptName, (&where{p.book.run, o.step, o.number, o.queue}).encode()
	}
	p.flights[o.step] = f
	done := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), name, body)
	workflow.Go(p.ctx, func(c workflow.Context) {
		var body []byte
		err := done.Get(c, &body)
		switch {
		case p.flights[f.order.step] != f: // it was withdrawn by a turn
		case f.withdrawn && temporal.IsCanceledError(err):
			f.unbegun = true
		default:
			p.landing(f, p.whole(body), err)
		}
	})
}

// landing has the next turn take what an attempt came to.
func (p *postman) landing(f *flight, body []byte, err error) {
	f.landed = true
	if err != nil {
		body = lost(f.order.step, f.order.number, err).encode(letterReply)
	}
	if f.steered {
		body = append([]byte{byte(letterSteered)}, body[1:]...)
	}
	p.post(body)
}

// lost is what becomes of an attempt of which only the server has told. Where its worker was not
// heard of any more, nobody knows what it has done. Where the worker has said why it could not
// begin it, it is tried again like any failure.
func lost(step string, number uint64, err error) *outcome {
	r := effect.Reply{Class: effect.Retryable, Err: effect.Errorf(effect.KindEffect, "%s: its worker could not begin it: %v", step, err)}
	if timeout := (*temporal.TimeoutError)(nil); errors.As(err, &timeout) {
		r = unheardOf()
	}
	return &outcome{step: step, attempt: int(number), reply: r}
}

func unheardOf() effect.Reply {
	return effect.Reply{Class: effect.Cut, Err: effect.Errorf(effect.KindEffect, "its worker was not heard of for %s", heartbeat)}
}

// locate keeps where the worker of an attempt is found.
func (p *postman) locate(body []byte) {
	if a, err := whereOf(body); err == nil {
		if f := p.flights[a.step]; f != nil && f.order.number == a.number {
			f.home = a.home
		}
	}
}

// long tells whether the history has become so long that the run is to go on in another, and does
// not prepare for that yet.
func (p *postman) long() bool {
	info := workflow.GetInfo(p.ctx)
	return !p.draining && !p.stays && !p.ended && (info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > longEvents ||
		info.GetCurrentHistorySize() > longBytes || p.updates > longUpdates || p.posted > longSignals)
}

// drain prepares for another history: nothing more begins in this one.
func (p *postman) drain() {
	p.draining = true
	if p.moves = workflow.GetVersion(p.ctx, "flights", workflow.DefaultVersion, 1) == 1; p.moves {
		p.letterbox.held, p.nursery.held = true, true
		workflow.Go(p.ctx, p.withdraw)
	}
}

// leaves tells whether the run goes on in another history now.
func (p *postman) leaves() bool { return p.draining && p.portable() && !p.ended }

// withdraw takes back the attempts that nobody has begun, when those that were have had the time to
// tell where they are.
func (p *postman) withdraw(ctx workflow.Context) {
	_ = workflow.Sleep(ctx, 2*pulse)
	for _, step := range slices.Sorted(maps.Keys(p.flights)) {
		if f := p.flights[step]; f.home == "" && !f.landed {
			f.withdrawn = true
			f.end()
		}
	}
}

// portable tells whether all that is in flight can go on from another history.
func (p *postman) portable() bool {
	for _, f := range p.flights {
		if !f.unbegun && (f.home == "" || f.landed || f.steered) {
			return false
		}
	}
	return true
}

// handOver has the run go on in another history, unless something comes in between.
func (p *postman) handOver() (next error, left bool) {
	p.turn() // which writes down what it goes on from
	if p.ended || p.more || !p.settled() || !p.portable() {
		return nil, false
	}
	carried, err := p.book.carry()
	p.must(err)
	carried.moved, carried.due, carried.status = true, p.alarm, runtime.Suspended
	for _, step := range slices.Sorted(maps.Keys(p.flights)) {
		f := p.flights[step]
		o := order{kind: orderAgain, step: step, number: f.order.number, queue: f.order.queue, body: f.order.body}
		if !f.unbegun {
			o.kind, o.queue, o.body = orderAdopt, f.home, nil
		}
		carried.orders = append(carried.orders, o)
	}
	for _, l := range slices.Concat(p.letterbox.queued, p.nursery.queued) {
		carried.orders = append(carried.orders, l.order)
	}
	for _, l := range p.letters {
		carried.orders = append(carried.orders, order{kind: orderLetter, body: l.body})
	}
	body, err := p.pack(context.Background(), carried.encode(), maxTurned)
	if large := (*errTooLarge)(nil); errors.As(err, &large) {
		p.stay(err)
		return nil, false
	}
	p.must(err)
	return workflow.NewContinueAsNewError(p.ctx, workflowName, body), true
}

// stay has a run go on in its history although that is long, for what it would take along is too
// large for another. It goes on until the server ends it, at some ten times what is long.
func (p *postman) stay(why error) {
	p.log("run %s cannot go on in another history: it would begin with %v", p.book.run, why)
	p.stays, p.draining, p.more = true, false, true
	p.letterbox.release()
	p.nursery.release()
	for _, step := range slices.Sorted(maps.Keys(p.flights)) {
		if f := p.flights[step]; f.unbegun {
			p.fly(&f.order)
		}
	}
}

// settled waits until all that was sent is there and everybody who asked something is answered. It
// is false when somebody asks meanwhile. What was posted goes along: under a stream of signals
// there would be no other moment.
func (p *postman) settled() bool {
	if !p.moves {
		return p.quiet()
	}
	asks := func() bool { return slices.ContainsFunc(p.letters, func(l *letter) bool { return l.asked }) }
	p.must(workflow.Await(p.ctx, func() bool {
		return asks() || p.letterbox.leaving == 0 && p.nursery.leaving == 0 && workflow.AllHandlersFinished(p.ctx)
	}))
	return !asks()
}

// flying are the attempts that a worker makes.
type flying struct {
	mu  sync.Mutex // guards what follows
	all map[where]*trial
}

// enter adds an attempt. What it gives takes it out: of one that the run was told of when no
// history asks for what it came to any more.
func (f *flying) enter(a *trial) func() {
	key := a.where()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[where]*trial{}
	}
	f.all[key] = a
	leave := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.all[key] == a {
			delete(f.all, key)
		}
	}
	return func() {
		if a.told {
			time.AfterFunc(2*heartbeat, leave)
		} else {
			leave()
		}
	}
}

func (f *flying) find(key where) *trial {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[key]
}

func (a *trial) where() where { return where{a.run, a.step, uint64(a.out.attempt), a.home} }

// adopt is the activity by which another history of a run goes on with an attempt. It comes to what
// that comes to.
func (w *Worker) adopt(ctx context.Context, body []byte) ([]byte, error) {
	key, err := whereOf(body)
	if err != nil {
		return nil, err
	}
	a := w.flying.find(key)
	if a == nil { // it was not adopted in time, and has been ended
		o := outcome{step: key.step, attempt: int(key.number), reply: unheardOf()}
		return o.encode(letterReply), nil
	}
	a.mu.Lock()
	a.token = activity.GetInfo(ctx).TaskToken
	a.mu.Unlock()
	<-a.done
	return a.left, nil
}

// announce tells the run where this worker is found, until it was told.
func (a *trial) announce() {
	if a.told {
		return
	}
	at := a.where()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), pulse/2)
	defer cancel()
	a.told = a.client.SignalWorkflow(ctx, a.run, "", signalName, at.encode()) == nil
}

// moved tells whether the run of an attempt that the server does not know goes on: then it may be
// adopted in a moment.
func (a *trial) moved(ctx context.Context) bool {
	if !a.told {
		return false
	}
	d, err := a.client.DescribeWorkflowExecution(ctx, a.run, "")
	return err != nil && !notFound(err) || d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}
