// Package worker does the work that agents with backend = "inbox" come for, with agents of its own.
//
// A worker claims work of an engine, mostly one on another machine, and has an engine of its own
// ask its agent: with its project file, its programs, its folder. What the agent tells of goes to
// whoever asked with the heartbeats of the claim, what it is told comes back with their answers.
//
//	engine ◄── claim, heartbeat, submit ── Worker ── start, watch, steer, stop ──► own engine ──► agent
//
// Nothing of a worker outlives its process. Work of one that has died is offered again when the
// lease of its claim is over, and a result that comes after that is refused.
package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"starling/lang"
	"starling/runtime"
)

// Options say who works, for whom and with what.
type Options struct {
	Engine runtime.Engine // whose work is done, as whoever may claim it
	As     string         // the agent whose work it is
	Own    runtime.Engine // asks the agents; nobody else uses it
	Agent  string         // which of Own's agents is asked
	Limit  int            // pieces of work at once, at least 1
	Lease  time.Duration  // of a claim, from runtime.MinLease on

	// Start has the project and the variables of the runs that ask the agents.
	Start runtime.StartRequest

	Key func() string                    // a new idempotency key
	Log func(format string, args ...any) // what operators should know
}

// A worker takes work as long as it has room.
type worker struct {
	Options
	bundle []byte

	mu     sync.Mutex
	active map[string]time.Time // claims that are worked on, since when
	done   int                  // pieces of work since the last tidying
}

//go:embed work.star
var script string

// How often work is looked for while there is none, and a request is made again that did not
// arrive.
const (
	look  = 100 * time.Millisecond
	again = time.Second
)

// Work does work until ctx ends, and then stops the agents that are at it: what was claimed is
// offered again in a moment. It fails with the refusal of a claim that waiting does not mend.
func Work(ctx context.Context, o Options) error {
	b, err := lang.Read("work.star", func(string) ([]byte, error) { return []byte(script), nil }, nil)
	if err != nil {
		return err
	}
	w := &worker{Options: o, bundle: b.Encode(), active: map[string]time.Time{}}
	room := make(chan struct{}, o.Limit)
	var busy sync.WaitGroup
	defer busy.Wait()
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		r, err := w.claim(ctx)
		if r == nil {
			return err
		}
		busy.Go(func() {
			w.begin(r.Claim)
			w.do(ctx, r)
			w.end(r.Claim)
			<-room
		})
	}
}

// tidyAfter is how many pieces of work are remembered at most by the own engine, beside those that
// are worked on.
const tidyAfter = 16

func (w *worker) begin(c *runtime.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active[c.Claim] = time.Now()
}

// end forgets a piece of work, and has the own engine forget too, from time to time: what has ended
// before all began that is worked on now.
func (w *worker) end(c *runtime.Claim) {
	w.mu.Lock()
	delete(w.active, c.Claim)
	w.done++
	tidy, before := w.done >= tidyAfter, time.Now()
	if tidy {
		w.done = 0
	}
	for _, since := range w.active {
		if since.Before(before) {
			before = since
		}
	}
	w.mu.Unlock()
	if !tidy {
		return
	}
	if own, err := runtime.Extension[runtime.Maintenance](w.Own); err == nil {
		ctx := itself(context.Background())
		_, err = own.Maintain(ctx, runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: before})
		if err == nil {
			_, err = own.Maintain(ctx, runtime.MaintenanceRequest{Task: runtime.MaintenanceGC})
		}
		if err != nil {
			w.Log("what was done is still remembered: %v", err)
		}
	}
}

// claim waits for work, and gives its receipt, nil when ctx has ended.
func (w *worker) claim(ctx context.Context) (*runtime.Receipt, error) {
	key, lost := w.Key(), false
	for {
		r, err := w.Engine.Signal(ctx, runtime.Signal{Kind: runtime.SignalClaim, Key: key, As: w.As, Lease: w.Lease})
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return nil, nil
		}
		pause, kind := look, runtime.AsRefusal(err).Kind
		switch {
		case passing(err):
			if pause = again; !lost {
				w.Log("no work can be taken now: %v", err)
			}
			lost = true
		case kind == runtime.ErrNotOpen, kind == runtime.ErrClaimed, kind == runtime.ErrUnknownRun:
			lost = false
		default:
			return nil, err
		}
		if !wait(ctx, pause) {
			return nil, nil
		}
	}
}

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

// asked is what the request of a claim says that a worker needs.
type asked struct {
	Key          string          `json:"key"`
	Task         string          `json:"task"`
	Input        json.RawMessage `json:"input"`
	Context      json.RawMessage `json:"context"`
	Instructions *string         `json:"instructions"`
	Feedback     json.RawMessage `json:"feedback"`
	Handoff      json.RawMessage `json:"handoff"`
	Memory       json.RawMessage `json:"memory"`
	Messages     []string        `json:"messages"`
}

// inputs are those of work.star.
type inputs struct {
	Who     string          `json:"who"`
	Task    string          `json:"task"`
	Input   json.RawMessage `json:"input,omitempty"`
	Context any             `json:"context,omitempty"`
	Returns string          `json:"returns,omitempty"`
	Timeout string          `json:"timeout,omitempty"`
}

// surroundings are what whoever asks says beside the task, where it says something. They are the
// context of the agent's request.
type surroundings struct {
	Key          string          `json:"key,omitempty"` // the same for every attempt of the step, at whichever worker
	Context      json.RawMessage `json:"context,omitempty"`
	Instructions *string         `json:"instructions,omitempty"`
	Feedback     json.RawMessage `json:"feedback,omitempty"`
	Handoff      json.RawMessage `json:"handoff,omitempty"`
	Memory       json.RawMessage `json:"memory,omitempty"`
	Messages     []string        `json:"messages,omitempty"`
}

func (w *worker) inputs(c *runtime.Claim) (json.RawMessage, error) {
	var a asked
	if err := json.Unmarshal(c.Request, &a); err != nil {
		return nil, fmt.Errorf("the request of %s: %w", c.Claim, err)
	}
	in := inputs{Who: w.Agent, Task: a.Task, Input: present(a.Input), Returns: c.Returns}
	around := surroundings{a.Key, present(a.Context), a.Instructions, said(a.Feedback), said(a.Handoff), said(a.Memory), a.Messages}
	if text, err := json.Marshal(around); err != nil {
		return nil, err
	} else if string(text) != "{}" {
		in.Context = around
	}
	if c.Deadline != nil {
		in.Timeout = fmt.Sprintf("%ds", max(1, int(time.Until(*c.Deadline).Seconds())))
	}
	return json.Marshal(in)
}

// present is JSON that is there, nil for null: an empty list is what somebody has said.
func present(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// said is a list or an object with something in it, nil for any other.
func said(v json.RawMessage) json.RawMessage {
	if text := string(v); text == "[]" || text == "{}" {
		return nil
	}
	return present(v)
}

// do does a piece of work, and brings what came of it.
func (w *worker) do(ctx context.Context, r *runtime.Receipt) {
	c := r.Claim
	w.Log("%s: %s works", c.Claim, w.Agent)
	report, err := w.perform(ctx, r)
	lost, asks := (*lostClaim)(nil), (*unanswered)(nil)
	switch {
	case errors.As(err, &asks):
		report = &runtime.Report{Status: "blocked", Note: asks.Error()}
	case errors.As(err, &lost):
		w.Log("%s: left, for the claim is lost: %v", c.Claim, lost.why)
		return
	case ctx.Err() != nil:
		w.leave(ctx, c)
		return
	case err != nil:
		report = &runtime.Report{Status: "error", Note: err.Error()}
	}
	if err := w.submit(ctx, c, report); err != nil {
		w.Log("%s: the result was not taken: %v", c.Claim, err)
		return
	}
	w.Log("%s: %s", c.Claim, report.Status)
}

// leave lets the lease of a claim be over soon.
func (w *worker) leave(ctx context.Context, c *runtime.Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), again)
	defer cancel()
	sig := w.signal(runtime.SignalHeartbeat, w.Key(), c, nil)
	sig.Lease = runtime.MinLease
	if _, err := w.Engine.Signal(ctx, sig); err != nil {
		w.Log("%s: left; it is offered again when its lease is over: %v", c.Claim, err)
		return
	}
	w.Log("%s: left; it is offered again in %s", c.Claim, sig.Lease)
}

// submit brings a result, again and again while nobody is there to take it.
func (w *worker) submit(ctx context.Context, c *runtime.Claim, r *runtime.Report) error {
	key := w.Key()
	for {
		_, err := w.Engine.Signal(ctx, w.signal(runtime.SignalSubmit, key, c, r))
		if err == nil || !passing(err) || !wait(ctx, again) {
			return err
		}
	}
}

// passing tells of an error whether the same request may be answered later.
func passing(err error) bool {
	kind := runtime.AsRefusal(err).Kind
	return kind == runtime.ErrOwnerUnreachable || kind == runtime.ErrInternal
}

func (w *worker) signal(kind runtime.SignalKind, key string, c *runtime.Claim, r *runtime.Report) runtime.Signal {
	_, _, n, _ := runtime.ParseClaim(c.Claim) // of a receipt
	return runtime.Signal{Kind: kind, Key: key, Run: c.Run, Step: c.Step, Claim: n, As: w.As, Report: r}
}
