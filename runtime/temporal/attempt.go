package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.starlark.net/starlark"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/run"
)

// attempt is the activity that performs one attempt of a step. It gives what that came to; an error
// is only what keeps it from being begun.
func (w *Worker) attempt(ctx context.Context, body []byte) ([]byte, error) {
	body, err := w.open(ctx, body)
	if err != nil {
		return nil, err
	}
	k, err := taskOf(body)
	if err != nil {
		return nil, err
	}
	a := &trial{Worker: w, task: k, token: activity.GetInfo(ctx).TaskToken, done: make(chan struct{})}
	a.ctx, a.stop = context.WithCancelCause(ctx)
	defer a.stop(nil)
	if err := a.prepare(); err != nil {
		return nil, err
	}
	defer w.flying.enter(a)()
	quiet := a.accompany(activity.GetWorkerStopChannel(ctx))
	a.out.reply = a.handle()
	quiet()
	if a.out.reply.Err != nil {
		switch cause := context.Cause(a.ctx); {
		case errors.Is(cause, errLeaving), errors.Is(cause, errWanted):
			a.out.end = endLeaving
		case errors.Is(cause, errCutOff): // what it says may arrive all the same
			a.out.reply = unheardOf()
		}
	}
	a.left = a.sized()
	close(a.done)
	return a.left, nil
}

// Why an attempt was stopped.
var (
	errLeaving = errors.New("the worker is leaving")
	errWanted  = errors.New("nobody waits for it any more")
	errCutOff  = errors.New("the server has not been reached for so long that the attempt counts as lost")
)

// trial is an attempt in progress.
type trial struct {
	*Worker
	*task
	ctx     context.Context
	stop    context.CancelCauseFunc
	at      *effect.Attempt
	handler *effect.Handler
	out     outcome
	told    bool          // the run was told where this worker is
	done    chan struct{} // closed when left is what it came to
	left    []byte

	mu     sync.Mutex // guards what follows
	token  []byte     // of the activity that the server has for it
	events []event
}

func (a *trial) prepare() error {
	settings, err := a.settingsOf(a.ctx, a.run, a.task.settings)
	if err != nil {
		return err
	}
	v, err := a.excerpt.View()
	if err != nil {
		return err
	}
	s := run.StateOf(a.run, v)
	st := s.Steps[a.step]
	if st == nil {
		return fmt.Errorf("%w: the task of %s does not have its step", runtime.ErrDamaged, a.step)
	}
	a.out.step, a.out.attempt = a.step, st.Attempt
	h := &run.Host{Run: a.run, Settings: settings, World: elsewhere{world{a.env, a.getenv, nil, nil}, a}}
	var refused *effect.Error
	if a.at, a.handler, refused = h.Attempt(s, st, a.emit); refused != nil {
		a.at, a.handler = &effect.Attempt{}, &effect.Handler{Perform: func(context.Context, *effect.Attempt) effect.Reply { return effect.Reply{Err: refused} }}
	}
	a.at.Wait = wait
	return nil
}

// wait lets a time pass.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handle has the handler do the work, under its deadline. One that panics has failed its attempt,
// not the worker.
func (a *trial) handle() (r effect.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = effect.Reply{Err: effect.Errorf(effect.KindEffect, "%s: the handler failed: %v", a.step, p)}
		}
	}()
	ctx := a.ctx
	if a.timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
		defer cancel()
		a.at.Deadline, _ = ctx.Deadline()
	}
	r = a.handler.Perform(ctx, a.at)
	if r.Err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		r.Err = &effect.Error{Kind: effect.KindTimeout, Message: fmt.Sprintf("%s: no reply within %s", a.step, a.timeout), Data: r.Err.Data}
		r.Class = effect.Final
	}
	return r
}

func (a *trial) emit(kind string, data starlark.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, event{kind, encoded(run.OrNone(data))})
}

// accompany tells the server that the attempt is alive, and the run what it tells of; and ends it
// when nobody waits for it, when the worker leaves, and when the server was not reached for so long
// that it counts the attempt as lost. quiet ends that.
func (a *trial) accompany(leaves <-chan struct{}) (quiet func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		beat, tell := time.NewTicker(pulse), time.NewTicker(time.Second)
		defer beat.Stop()
		defer tell.Stop()
		for heard := time.Now(); ; {
			select {
			case <-over:
				return
			case <-leaves:
				leaves = nil
				a.stop(errLeaving)
			case <-beat.C:
				a.announce()
				heard = a.beat(heard)
			case <-tell.C:
				a.tell()
			}
		}
	}()
	return func() {
		close(over)
		<-done
		a.mu.Lock()
		defer a.mu.Unlock()
		a.out.events = a.events
	}
}

// beat tells the server that the attempt is alive, and gives when it was last heard. Of one whose
// run has gone on in another history the server knows nothing for a moment.
func (a *trial) beat(heard time.Time) time.Time {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), pulse/2)
	defer cancel()
	a.mu.Lock()
	token := a.token
	a.mu.Unlock()
	err := a.client.RecordActivityHeartbeat(ctx, token)
	var gone *temporal.CanceledError
	switch {
	case err == nil:
		return time.Now()
	case errors.As(err, &gone), notFound(err) && !a.moved(ctx):
		a.stop(errWanted)
	case time.Since(heard) > heartbeat-pulse*3/2:
		a.stop(errCutOff)
	}
	return heard
}

// tell posts the events so far to the run.
func (a *trial) tell() {
	a.mu.Lock()
	o := outcome{step: a.step, attempt: a.out.attempt, events: a.events}
	a.events = nil
	a.mu.Unlock()
	if len(o.events) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), pulse)
	defer cancel()
	if err := a.client.SignalWorkflow(ctx, a.run, "", signalName, o.encode(letterEvents)); err != nil {
		a.mu.Lock()
		a.events = append(o.events, a.events...) // they go with the next, or with the reply
		a.mu.Unlock()
	}
}

// sized is the outcome as it is recorded. One that is too large fails its step, not its workflow.
// While contents cannot be reached that would take it, the work is not given up: it is done.
func (a *trial) sized() []byte {
	b := a.out.encode(letterReply)
	for heard := time.Now(); ; heard = a.beat(heard) {
		packed, err := a.pack(context.WithoutCancel(a.ctx), b, maxBody)
		if err == nil {
			return packed
		}
		o := outcome{step: a.step, attempt: a.out.attempt, reply: unheardOf()}
		if large := (*errTooLarge)(nil); errors.As(err, &large) {
			o.reply = effect.Reply{Usage: a.out.reply.Usage, Backend: a.out.reply.Backend, Class: effect.Final,
				Err: effect.Errorf(kindTooLarge, "%s: what it left has %v", a.step, err)}
			return o.encode(letterReply)
		}
		a.log("run %s: what %s left is too large for its history and waits: %v", a.run, a.step, err)
		if !wait(a.ctx, time.Second) {
			return o.encode(letterReply)
		}
	}
}

const kindTooLarge = effect.Kind("too_large")

// elsewhere is the world of an attempt: what it asks of its run is read from the run's history.
type elsewhere struct {
	world
	trial *trial
}

func (w elsewhere) Equip(at *effect.Attempt) {
	a := w.trial
	past := sync.OnceValues(func() (*engine.Past, error) {
		h, err := a.read(a.ctx, a.run)
		if err != nil {
			return nil, err
		}
		return engine.NewPast(h.store), nil
	})
	at.Env = a.getenv
	at.Journal = func(l effect.Look) (starlark.Value, *effect.Error) {
		p, err := past()
		if err != nil {
			return nil, effect.Errorf(effect.KindEffect, "%s: %v", at.Step, err)
		}
		return p.Journal(a.run, at.Step, l)
	}
	at.Artifact = func(hash string) (string, []byte, *effect.Error) {
		p, err := past()
		if err != nil {
			return "", nil, effect.Errorf(effect.KindEffect, "%s: %v", at.Step, err)
		}
		return p.Artifact(a.run, hash)
	}
	at.Known = func(effect.Survey) (*effect.Known, *effect.Error) {
		return &effect.Known{Past: map[string]effect.Spent{}}, nil
	}
}
