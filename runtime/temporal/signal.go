package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Signal brings something to a run. The receipt comes when it is durable.
func (e *Engine) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if refused := run.DeniedSignal(&s, runtime.CallerOf(ctx)); refused != nil {
		return nil, refused
	}
	switch {
	case s.Kind == runtime.SignalChunk:
		return nil, errUnsupported("sessions")
	case s.Kind == runtime.SignalClaim && s.Run == "":
		return e.claimAny(ctx, s)
	}
	top, err := e.resolve(ctx, s.Run)
	if err != nil {
		return nil, err
	}
	id, gate := top, s.Gate
	if strings.Contains(s.Gate, "/") { // it may be that of a child run
		if id, gate, err = e.address(ctx, top, s.Gate); err != nil {
			return nil, err
		}
	}
	path := strings.TrimSuffix(s.Gate, gate)
	s.Run, s.Gate, s.Env = id, gate, nil
	if len(s.Data) > 0 && !json.Valid(s.Data) {
		s.Text, s.Data = string(s.Data), nil // it is refused, and that is recorded
	}
	if _, err := json.Marshal(s.Report); err != nil {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "the report is not JSON: %v", err)
	}
	receipt, err := e.ask(ctx, id, letterSignal, &asked{Caller: runtime.CallerOf(ctx), Signal: &s, Any: s.Any})
	if err != nil || id == top {
		return receipt, err
	}
	seen := *receipt
	seen.Run, seen.Gate = top, path+receipt.Gate
	return &seen, nil
}

// address finds the run and the gate that are meant: a gate of a child run is addressed through the
// step that started it.
func (e *Engine) address(ctx context.Context, top, gate string) (string, string, error) {
	h, err := e.read(ctx, top)
	if err == nil {
		err = e.withChildren(ctx, h)
	}
	if err != nil {
		return "", "", err
	}
	return h.past.Address(top, gate)
}

// claimAny takes the oldest work that the caller may take. What somebody else takes first is passed
// over.
func (e *Engine) claimAny(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	who, refused := run.Identify(runtime.CallerOf(ctx), s.As)
	if refused != nil {
		return nil, refused
	}
	l, err := e.List(runtime.WithCaller(ctx, runtime.Caller{Name: "claim", Local: true}), runtime.Query{Work: true, Target: who[0]})
	if err != nil {
		return nil, err
	}
	for _, w := range l.Work {
		if w.By != "" {
			continue
		}
		each := s
		var ok bool
		if each.Run, each.Step, ok = strings.Cut(w.Address, "@"); !ok {
			continue
		}
		r, err := e.Signal(ctx, each)
		if err == nil {
			return r, nil
		}
		if k := runtime.AsRefusal(err).Kind; k != runtime.ErrClaimed && k != runtime.ErrNotOpen && k != runtime.ErrClosed {
			return nil, err
		}
	}
	return nil, runtime.Refusef(runtime.ErrNotOpen, "there is no work for %q", who[0])
}

// Cancel ends a run and all it started.
func (e *Engine) Cancel(ctx context.Context, c runtime.CancelRequest) (*runtime.Receipt, error) {
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := need(ctx, runtime.CanCancel, "cancel runs"); err != nil {
		return nil, err
	}
	who, refused := run.Identify(runtime.CallerOf(ctx), c.As)
	if refused != nil {
		return nil, refused
	}
	if c.Run, err = e.resolve(ctx, c.Run); err != nil {
		return nil, err
	}
	return e.ask(ctx, c.Run, letterCancel, &asked{Who: who, Cancel: &c})
}

// Resume names the runs that go on: workers carry all. With settings it pins those.
func (e *Engine) Resume(ctx context.Context, c runtime.ResumeRequest) ([]string, error) {
	given := ctx
	ctx, done, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	err = need(ctx, runtime.CanRun, "resume runs")
	if err == nil && c.Settings != nil {
		err = need(ctx, runtime.CanAdmin, "pin a project file")
	}
	if err != nil {
		return nil, err
	}
	carried := []string{}
	for _, address := range c.Runs {
		r, err := e.Get(ctx, address)
		if err == nil && !r.Status.Ended() {
			carried, err = append(carried, r.ID), e.pin(ctx, r.ID, c)
		}
		if err != nil {
			return nil, err
		}
	}
	if !c.All {
		return carried, nil
	}
	l, err := e.List(given, runtime.Query{})
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(l.Runs) {
		if !slices.Contains(carried, s.ID) {
			carried = append(carried, s.ID)
			if err := e.pin(ctx, s.ID, c); err != nil {
				e.log("run %s is left: %v", s.ID, err)
			}
		}
	}
	return carried, nil
}

// pin gives a run other settings, if the request has some.
func (e *Engine) pin(ctx context.Context, id string, c runtime.ResumeRequest) error {
	if c.Settings == nil {
		return nil
	}
	_, err := e.ask(ctx, id, letterPin, &asked{Caller: runtime.CallerOf(ctx), Pin: run.SettingsPayload(c.Settings)})
	return err
}

// ask hands a run a letter and waits for its answer. One that has ended is asked as it was left:
// what it answers changes nothing.
func (e *Engine) ask(ctx context.Context, id string, kind letterKind, a *asked) (*runtime.Receipt, error) {
	body := letterOf(kind, a)
	packed, err := e.pack(ctx, body, maxBody)
	if large := (*errTooLarge)(nil); errors.As(err, &large) {
		return nil, runtime.Refuse(runtime.ErrBadPayload, "send less at once", "what is sent has %v", err)
	}
	if err != nil {
		return nil, err
	}
	for {
		receipt, err := e.update(ctx, id, packed)
		var none *serviceerror.NotFound
		if !errors.As(err, &none) && !overtaken(err) {
			return receipt, err
		}
		h, err := e.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if goesOn(h.store)(id) { // it is between two histories
			if !wait(ctx, 50*time.Millisecond) {
				return nil, ctx.Err()
			}
			continue
		}
		return e.late(ctx, h, body)
	}
}

// update sends a letter as an update. Where no answer comes because no worker is there, that is
// said; a worker that comes later takes the letter all the same, and its key keeps it from being
// taken twice.
func (e *Engine) update(ctx context.Context, id string, body []byte) (*runtime.Receipt, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go e.answered(waiting, id, func(err error) { cancel(err) })
	h, err := e.client.UpdateWorkflow(waiting, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: updateName, Args: []any{body}, WaitForStage: client.WorkflowUpdateStageCompleted})
	var answer []byte
	if err == nil {
		err = h.Get(waiting, &answer)
	}
	if err != nil {
		if why := context.Cause(waiting); why != nil && ctx.Err() == nil {
			return nil, why
		}
		return nil, err
	}
	var t told
	if err := json.Unmarshal(answer, &t); err != nil {
		return nil, err
	}
	return t.give()
}

// overtaken tells whether an update was not taken because its workflow had just ended, or gone on
// in another history.
func overtaken(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "workflow execution already completed") || strings.Contains(err.Error(), "completed before the Update") ||
		strings.Contains(err.Error(), "Workflow Update failed because the Workflow completed"))
}

// late is what a run that has ended answers. It is told again what was answered under a key, and
// which gate was decided how.
func (e *Engine) late(ctx context.Context, h *history, body []byte) (*runtime.Receipt, error) {
	h.book.letters = []numbered{{body: body}}
	h.book.now = time.Now().UnixMicro()
	t, err := e.turn(ctx, h.book)
	if err != nil {
		return nil, err
	}
	var answer told
	if len(t.answers) == 1 {
		err = json.Unmarshal(t.answers[0].body, &answer)
	}
	if err != nil {
		return nil, err
	}
	return answer.give()
}

func keyedIn(s runtime.Store, key string) (k journal.Keyed, ok bool) {
	v, err := s.Get([]byte(key))
	return k, err == nil && json.Unmarshal(v, &k) == nil
}
