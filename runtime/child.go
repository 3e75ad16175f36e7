package runtime

import (
	"context"
	"errors"
	"fmt"

	"starling/lang/contract"
	"starling/lang/effect"
)

// A child run is a run of its own that a step of another started. The step waits natively; the child's end posts its outcome to the parent. The child is
// started by a key made of the parent's step, so that starting it again after a crash finds the one that is there. Its gates are visible from the top under the step's
// address; it is cancelled with its step.

// maxDepth bounds the nesting of child runs.
const maxDepth = 8

func childKey(run, step string) string { return "child:" + run + "@" + step }

// childOf finds the run that a step started, "" when there is none.
func (r *reader) childOf(run, step string) string {
	v, err := r.store.Get([]byte(prefixStartKey + childKey(run, step)))
	if err != nil {
		return ""
	}
	k, err := readKeyed(v)
	if err != nil {
		return ""
	}
	return k.Run
}

// startChild starts the child of a step, or looks after the one that is there.
func (e *Local) startChild(run string, h *host, depth int, st *step) {
	args, _ := st.Args.View()
	step := st.Step
	if !e.enter() {
		return // the next owner finds the step and starts the child
	}
	go func() {
		defer e.exit()
		if err := e.runChild(run, h, depth, step, args); err != nil && e.ctx.Err() == nil {
			e.settleChild(run, step, nil, effect.Errorf(effect.KindRefused, "%s: %v", step, err))
		}
	}()
}

func (e *Local) runChild(run string, h *host, depth int, step string, args effect.View) error {
	ctx := WithCaller(e.ctx, Caller{Name: "run:" + run, Local: true})
	id := e.childOf(run, step)
	if id == "" {
		if depth+1 > maxDepth {
			return fmt.Errorf("child runs are nested deeper than %d", maxDepth)
		}
		script := args.Text("script")
		child, ok := h.program.bundle.Child(script)
		if !ok {
			return fmt.Errorf("the script %q is not part of this run's program; name it with a literal", script)
		}
		inputs, err := contract.ToJSON(args.Value("inputs"))
		if err != nil {
			return err
		}
		made, err := e.start(ctx, StartRequest{Key: childKey(run, step), Bundle: child.Encode(), Script: script, Inputs: inputs, Settings: *h.settings,
			Env: e.environment(run)}, run+"@"+step, depth+1)
		if err != nil {
			return err
		}
		id = made.ID
	}
	if err := e.carryOne(ctx, id, e.environment(run)); err != nil {
		return err
	}
	row, err := e.summary(id)
	if err != nil || !row.Status.Ended() {
		return err
	}
	sv, err := readRun(e.store, id, 0)
	if err == nil {
		e.childChanged(run, step, sv.fold())
	}
	return err
}

// settled waits until the runs above a child, up to the top, have taken what its last commit means for them.
func (e *Local) settled(ctx context.Context, child, top string) error {
	for run := child; run != top; {
		row, err := e.summary(run)
		if err != nil {
			return err
		}
		parent, _, ok := cutParent(row.Parent)
		if !ok {
			return nil
		}
		if err := e.send(ctx, parent, func(*turn) {}); err != nil {
			return err
		}
		run = parent
	}
	return nil
}

// childChanged tells the parent that a child came to rest, moved on or ended. The parent's turn is queued when this returns.
func (e *Local) childChanged(parent, step string, s *state) {
	switch s.Status {
	case Completed:
		e.settleChild(parent, step, s.Output, nil)
	case Cancelled:
		e.settleChild(parent, step, nil, effect.Errorf(effect.KindChild, "%s: child run %s was %s", step, s.ID, s.Err.Message))
	case Failed:
		e.settleChild(parent, step, nil, effect.Errorf(effect.KindChild, "%s: child run %s failed: %s", step, s.ID, s.Err.Message))
	default:
		e.post(parent, event{apply: func(*turn) {}})
	}
}

func (e *Local) settleChild(parent, step string, out effect.Payload, failed *effect.Error) {
	e.post(parent, event{apply: func(t *turn) {
		st := t.s.Steps[step]
		if st == nil {
			return // withdrawn in the meantime
		}
		if failed != nil {
			t.settle(st, failure(st, failed, nil))
			return
		}
		t.settle(st, childValue(st, out))
	}, done: func(err error) {
		if err != nil && e.ctx.Err() == nil {
			e.log("run %s: the outcome of its child at %s: %v", parent, step, err)
		}
	}})
}

// cancelChild cancels the child of a step that nobody waits for any more.
func (e *Local) cancelChild(run, step string) {
	if !e.enter() {
		return
	}
	go func() {
		defer e.exit()
		id := e.childOf(run, step)
		if id == "" {
			return
		}
		_, err := e.Cancel(WithCaller(context.WithoutCancel(e.ctx), Caller{Name: "run:" + run, Local: true}), CancelRequest{Run: id, Reason: "its parent ended"})
		var r *Refusal
		if err != nil && !errors.As(err, &r) {
			e.log("run %s: cancelling its child %s: %v", run, id, err)
		}
	}()
}

// abandoned tells whether the step that started a child does not wait for it any more: the process ended before the child could be cancelled.
func (e *Local) abandoned(parent, step string) bool {
	sv, err := readRun(e.store, parent, 0)
	return err == nil && sv.fold().Steps[step] == nil
}

// childMoving tells whether the child of a step is in motion. One that is not known yet is about to be.
func (h *host) childMoving(step string) bool {
	if h.e == nil {
		return false
	}
	id := h.e.childOf(h.run, step)
	if id == "" {
		return true
	}
	row, err := h.e.summary(id)
	return err == nil && (row.Status == Running || row.Status == Pending)
}

// environment copies the variables that a run's carrier brought.
func (e *Local) environment(run string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[string]string{}
	for k, v := range e.carried[run] {
		out[k] = v
	}
	return out
}
