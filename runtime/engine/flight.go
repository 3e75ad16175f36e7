package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// flight is an attempt in flight.
type flight struct {
	attempt int
	job     *job
	asked   map[string]func(granted bool) // by the hashes of questions that an agent waits to have answered
}

// end stops the attempt.
func (f flight) end(why error) { f.job.rouse(func() { f.job.stop(why) }) }

// Why an attempt in flight was stopped.
var (
	errLeaving   = errors.New("the engine is leaving")
	errWithdrawn = errors.New("the step was withdrawn")
	errSteered   = errors.New("the agent is told something")
)

// job is an attempt that a turn has begun: it is performed when the turn is over, and what it came
// to is taken by a later one.
type job struct {
	idleClock
	a       *actor
	step    string
	number  int
	ctx     context.Context
	stop    context.CancelCauseFunc
	handler *effect.Handler
	at      *effect.Attempt
	timeout time.Duration
	forget  func() // what was made for this attempt alone
	doubt   sync.Once
	reply   effect.Reply
	cause   error // why it was stopped, nil where nobody has
}

// launch begins one attempt.
func (a *actor) launch(st *run.Step) {
	j := &job{idleClock: idleClock{e: a.e}, a: a, step: st.Step, number: st.Attempt, timeout: st.Policy.Timeout}
	j.ctx, j.stop = context.WithCancelCause(a.e.ctx)
	f := flight{attempt: st.Attempt, job: j}
	if st.Steering() == effect.SteerLive {
		j.told, j.bell = make(chan effect.Steer, run.MaxTold), make(chan struct{}, 1)
	}
	if journal.AgentKind(st.Kind) {
		f.asked = map[string]func(bool){}
	}
	a.flights[st.Step] = f
	var err *effect.Error
	if j.at, j.handler, err = a.host.Attempt(a.s, st, j.emit); err != nil {
		j.reply.Err = err
		a.post(j.completion())
		return
	}
	j.at.Wait = j.wait
	j.at.Enlisted = j.enlist
	j.at.Told = j.told
	j.at.Share = a.sharer(st.Step, st.Attempt)
	if journal.AgentKind(st.Kind) {
		j.limit = &limit{left: j.timeout}
		j.at.Ask = a.asker(&j.idleClock, st.Step, st.Attempt)
		j.at.Token, j.forget = a.e.attemptSecret(a.run, st)
	}
	if st.HandOver() {
		j.slot = a.run
	}
	a.jobs = append(a.jobs, j)
}

// share gives the attempts that the last turn has begun goroutines of their own, all but one that
// the caller performs, if it wants to.
func (a *actor) share(keep bool) (own *job) {
	jobs := a.jobs
	a.jobs = nil
	if n := len(jobs); keep && n > 0 {
		own, jobs = jobs[n-1], jobs[:n-1]
	}
	for _, do := range jobs {
		a.e.enter() // an actor is active: the engine is not shut
		go func() {
			defer a.e.exit()
			if ev, home := do.perform(); home {
				a.e.post(a.run, ev)
			}
		}()
	}
	return own
}

// perform does the work and returns the event that brings its end home, unless nobody wants to
// know.
func (j *job) perform() (ev event, home bool) {
	j.reply = j.handle()
	if j.slot != "" {
		j.e.slots.release(j.slot)
	}
	if j.forget != nil {
		j.forget()
	}
	if j.reply.Err != nil { // else it came to a reply all the same
		j.cause = context.Cause(j.ctx)
	}
	j.stop(nil)
	return j.completion(), j.cause != errWithdrawn
}

// handle has the handler do the work, under its deadline. One that panics has failed its attempt,
// not the engine.
func (j *job) handle() (r effect.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = effect.Reply{Err: effect.Errorf(effect.KindEffect, "%s: the handler failed: %v", j.step, p)}
		}
	}()
	ctx := j.ctx
	if j.timeout > 0 {
		var release func()
		ctx, j.at.Deadline, release = j.deadline(ctx, j.timeout)
		defer release()
	}
	r = j.handler.Perform(ctx, j.at)
	if r.Err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		r.Err = &effect.Error{Kind: effect.KindTimeout, Message: fmt.Sprintf("%s: no reply within %s", j.step, j.timeout), Data: r.Err.Data}
		r.Class = effect.Final
	}
	return r
}

// completion is the event that brings the end of the attempt home.
func (j *job) completion() event {
	in := &run.Replied{Step: j.step, Attempt: j.number, Reply: &j.reply}
	switch j.cause {
	case errLeaving:
		in.End = run.EndLeaving
	case errSteered:
		in.End = run.EndSteered
	}
	return event{in: in, parks: true, taken: func() {
		if f, ok := j.a.flights[j.step]; ok && f.attempt == j.number {
			delete(j.a.flights, j.step)
		}
	}}
}

// emit journals an event of the attempt, as long as it is the newest.
func (j *job) emit(kind string, data starlark.Value) {
	p, err := effect.Encode(run.OrNone(data))
	if err != nil {
		p = effect.MustEncode(starlark.String("an event that cannot be recorded: " + err.Error()))
	}
	j.e.post(j.a.run, event{in: &run.Happened{Step: j.step, Attempt: j.number, Kind: kind, Data: p}, parks: true})
}

// enlist tells of a process that is started for the attempt, and warns, at the first, of what this
// machine cannot tell about who calls.
func (j *job) enlist(w effect.Worker) (dismiss func()) {
	if doubt := j.e.opts.Doubt; doubt != "" {
		j.doubt.Do(func() { j.at.Warn("who calls cannot be told for certain: " + doubt) })
	}
	if j.e.opts.Enlist == nil {
		return func() {}
	}
	return j.e.opts.Enlist(w)
}

// deliver hands out messages after their commit: into the conversation, or by ending the attempt so
// that the next goes on with it.
func (a *actor) deliver(tl run.Delivery) {
	f, ok := a.flights[tl.Step]
	st := a.s.Steps[tl.Step]
	switch {
	case !ok || st == nil:
	case st.Steering() == effect.SteerResume:
		f.end(errSteered)
	default:
		taken := a.taken(tl.Step, f.attempt, tl.Seq)
		f.job.tell(effect.Steer{Message: tl.Message, Taken: taken})
	}
}

// taken records that the agent has a message.
func (a *actor) taken(step string, attempt int, seq uint64) func() {
	return func() {
		a.e.post(a.run, event{in: &run.Heard{Step: step, Attempt: attempt, Seq: seq}, parks: true})
	}
}

// An attempt may read and change the run's variables while it works, as the script does with
// memory.vars: see [effect.Attempt.Share]. A change is a record of its own, so that the state stays
// a fold of the journal; the machine never hears of it, for what the script reads is recorded where
// it reads it.

// sharer is effect.Attempt.Share for one attempt.
func (a *actor) sharer(step string, attempt int) func(context.Context, effect.Payload) (
	starlark.Value, *effect.Error) {
	return func(ctx context.Context, args effect.Payload) (starlark.Value, *effect.Error) {
		in := &run.Remembered{Step: step, Attempt: attempt, Args: args}
		if err := a.e.send(ctx, a.run, event{in: in}); err != nil {
			return nil, effect.Errorf(effect.KindCancelled, "%s: the run's variables: %v", step, err)
		}
		if in.Outcome.Err != nil {
			return nil, in.Outcome.Err
		}
		v, err := in.Outcome.Value.Value()
		if err != nil {
			return nil, effect.Errorf(effect.KindRefused, "%s: the run's variables: %v", step, err)
		}
		return run.OrNone(v), nil
	}
}
