package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/query"
)

// maxEvents are told with one heartbeat.
const maxEvents = 500

// attempt is a claim that is being worked on.
type attempt struct {
	*worker
	claim *runtime.Claim
	since uint64 // the record of the claim in its run's journal
	run   string // that asks the agent, of the own engine

	mu     sync.Mutex
	events []json.RawMessage // that are not yet told
	tell   chan struct{}     // has something when a heartbeat should not wait
}

// perform asks the agent and keeps the claim meanwhile.
func (w *worker) perform(ctx context.Context, r *runtime.Receipt) (*runtime.Report, error) {
	in, err := w.inputs(r.Claim)
	if err != nil {
		return nil, err
	}
	start := w.Start
	start.Key, start.Bundle, start.Script, start.Inputs = w.Key(), w.bundle, "work.star", in
	run, err := w.Own.Start(itself(ctx), start)
	if err != nil {
		return nil, err
	}
	a := &attempt{worker: w, claim: r.Claim, since: r.Seq, run: run.ID, tell: make(chan struct{}, 1)}
	held, drop := context.WithCancelCause(ctx)
	heard, deaf := context.WithCancel(held)
	done := make(chan struct{})
	var kept sync.WaitGroup
	kept.Go(func() {
		if err := a.keep(held, done); err != nil {
			drop(err)
		}
	})
	kept.Go(func() { a.listen(heard) })
	err = a.follow(held)
	close(done)
	deaf()
	kept.Wait()
	defer drop(nil)
	if why := cmp.Or(context.Cause(held), err); why != nil {
		a.cancel()
		return nil, why
	}
	return a.result(ctx)
}

// itself is a worker as its own engine knows it.
func itself(ctx context.Context) context.Context {
	return runtime.WithCaller(ctx, runtime.Caller{Name: "worker", Local: true})
}

// unanswered says that the agent asks people, of whom a worker has none.
type unanswered struct{ gate string }

func (u *unanswered) Error() string {
	return fmt.Sprintf("it asks at the gate %q, which nobody answers at a worker", u.gate)
}

// follow stays with the own run until it has ended, and keeps what its agent tells.
func (a *attempt) follow(ctx context.Context) error {
	return a.Own.Watch(itself(ctx), runtime.WatchRequest{Run: a.run, Follow: true, Types: []string{"agent.event", "gate.opened"}}, func(ev runtime.Event) error {
		if ev.Type == "gate.opened" {
			return &unanswered{ev.Step}
		}
		var told struct {
			Kind string                     `json:"kind"`
			Data map[string]json.RawMessage `json:"data"`
		}
		if json.Unmarshal(ev.Data, &told) != nil || told.Kind == "usage" { // the result says it for all
			return nil
		}
		if told.Data == nil {
			told.Data = map[string]json.RawMessage{}
		}
		told.Data["kind"], _ = json.Marshal(told.Kind)
		event, err := json.Marshal(told.Data)
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.events = append(a.events, event)
		a.mu.Unlock()
		a.soon()
		return nil
	})
}

func (a *attempt) soon() {
	select {
	case a.tell <- struct{}{}:
	default:
	}
}

// Heartbeats come with what is to be told, but no more often than every gather, and at least three
// times in a lease.
const gather = 200 * time.Millisecond

// keep keeps the claim until the work is done or ctx ends, and fails when the claim is lost.
func (a *attempt) keep(ctx context.Context, done <-chan struct{}) error {
	until := a.claim.Until
	for {
		select {
		case <-a.tell:
			select {
			case <-time.After(gather):
			case <-done:
				return nil
			case <-ctx.Done():
				return nil
			}
		case <-time.After(a.Lease / 3):
		case <-done:
			return nil
		case <-ctx.Done():
			return nil
		}
		c, err := a.beat(ctx, until)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return &lostClaim{err}
		}
		until = c.Until
		a.hear(ctx, c)
	}
}

// lostClaim says why the work of a claim is nobody's here any more.
type lostClaim struct{ why error }

func (l *lostClaim) Error() string { return l.why.Error() }

// beat sends one heartbeat, again and again under one key while nobody is there to hear it and the
// claim may still hold.
func (a *attempt) beat(ctx context.Context, until time.Time) (*runtime.Claim, error) {
	var report runtime.Report
	if events := a.take(maxEvents); len(events) > 0 {
		report.Events, _ = json.Marshal(events) // of what is JSON
	}
	sig := a.signal(runtime.SignalHeartbeat, a.Key(), a.claim, &report)
	for {
		r, err := a.Engine.Signal(ctx, sig)
		switch {
		case err == nil:
			return r.Claim, nil
		case !passing(err) || time.Now().After(until) || !wait(ctx, again):
			return nil, err
		}
	}
}

func (a *attempt) take(most int) []json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(most, len(a.events))
	taken := a.events[:n:n]
	if a.events = a.events[n:]; len(a.events) > 0 {
		a.soon()
	}
	return taken
}

// hear passes on what the agent is told.
func (a *attempt) hear(ctx context.Context, c *runtime.Claim) {
	for _, m := range c.Messages {
		if err := a.intervene(ctx, runtime.SignalSteer, m); err != nil {
			a.Log("%s: %s was not told %q: %v", a.claim.Claim, a.Agent, m, err)
		}
	}
	if c.Over != "" {
		if err := a.intervene(ctx, runtime.SignalStop, c.Over); err != nil {
			a.Log("%s: %s was not stopped: %v", a.claim.Claim, a.Agent, err)
		}
	}
}

func (a *attempt) intervene(ctx context.Context, kind runtime.SignalKind, words string) error {
	_, err := a.Own.Signal(itself(ctx), runtime.Signal{Kind: kind, Key: a.Key(), Run: a.run, Step: "work", Reason: words})
	return err
}

// listen has a heartbeat sent when somebody intervenes in the step or its run has ended. Who may
// not watch the run hears of it with the next heartbeat.
func (a *attempt) listen(ctx context.Context) {
	types := []string{"agent.intervened", "verdict.given", "step.withdrawn", "step.settled", "attempt.ended", "run.completed", "run.failed", "run.cancelled"}
	for ctx.Err() == nil {
		err := a.Engine.Watch(ctx, runtime.WatchRequest{Run: a.claim.Run, After: a.since, Follow: true, Types: types}, func(ev runtime.Event) error {
			if ev.Step == "" || ev.Step == a.claim.Step {
				a.soon()
			}
			return nil
		})
		if err == nil || !passing(err) || !wait(ctx, again) {
			return
		}
	}
}

// cancel ends the own run, and waits for its agent to be gone.
func (a *attempt) cancel() {
	ctx := context.Background()
	if _, err := a.Own.Cancel(itself(ctx), runtime.CancelRequest{Run: a.run}); err != nil {
		a.Log("%s: %v", a.claim.Claim, err)
		return
	}
	_ = a.Own.Watch(itself(ctx), runtime.WatchRequest{Run: a.run, Follow: true, Types: []string{"run.cancelled"}}, func(runtime.Event) error { return nil })
}

// left is what the own run's agent has left, as far as it may be brought.
func (a *attempt) left(ctx context.Context) map[string][]byte {
	list, err := query.Artifacts(itself(ctx), a.Own, a.run, "work")
	files, room := map[string][]byte{}, effect.MaxBlobs
	for _, one := range list {
		if one.Derived != nil {
			continue // it follows from what is brought anyway
		}
		content, failed := one.Content(itself(ctx), a.Own)
		if failed == nil && len(content) > room {
			failed = fmt.Errorf("%s is left out: there is no room for its %d bytes", one.Name, len(content))
		}
		if failed == nil {
			files[one.Name] = content
			room -= len(content)
		}
		err = cmp.Or(err, failed)
	}
	if err != nil {
		a.Log("%s: %v", a.claim.Claim, err)
	}
	return files
}

// result is what the own run came to.
func (a *attempt) result(ctx context.Context) (*runtime.Report, error) {
	r, err := a.Own.Get(itself(ctx), a.run)
	if err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, errors.New(r.Error.Message)
	}
	var out struct {
		Status, Text, Note, Error string
		Output, Usage             json.RawMessage
	}
	if err := json.Unmarshal(r.Output, &out); err != nil {
		return nil, err
	}
	report := &runtime.Report{Artifacts: a.left(ctx), Text: out.Text, Note: out.Note, Status: out.Status, Usage: said(out.Usage)}
	if a.claim.Returns != "" || present(out.Output) != nil {
		report.Output = out.Output
	}
	switch out.Status {
	case "ok":
	case "stopped", "blocked":
		report.Output = nil
	default:
		report.Output = nil
		report.Status, report.Note = "error", out.Error
	}
	if events := a.take(maxEvents); len(events) > 0 {
		report.Events, err = json.Marshal(events)
	}
	return report, err
}
