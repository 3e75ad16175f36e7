package vm

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// wait pushes a frame that waits for a step.
func (m *Machine) wait(f *fiber, w *wait) {
	f.pushActivation(&activation{kind: waitFrame, wait: w})
	m.waits[w.step] = append(m.waits[w.step], f)
}

// forget withdraws a step that the fiber does not wait for any more. One that was opened stays
// open: others may hold its handle.
func (m *Machine) forget(f *fiber, w *wait) {
	m.unwait(f, w)
	if _, opened := m.opened[w.step]; !opened && w.outcome == nil {
		m.emit(Emission{Kind: Withdrawn, Step: w.step})
	}
}

// unwait removes the fiber from those that wait for the step.
func (m *Machine) unwait(f *fiber, w *wait) {
	fibers := m.waits[w.step]
	if i := slices.Index(fibers, f); i >= 0 {
		fibers = slices.Delete(fibers, i, i+1)
	}
	if len(fibers) == 0 {
		delete(m.waits, w.step)
		return
	}
	m.waits[w.step] = fibers
}

// waitOf is the frame of the fiber that waits for the step, and whether it is on top.
func (f *fiber) waitOf(step string) (w *wait, top bool) {
	for i := len(f.frames) - 1; i >= 0; i-- {
		if act := f.frames[i].act; act != nil && act.wait != nil && act.wait.step == step {
			return act.wait, i == len(f.frames)-1
		}
	}
	return nil, false
}

// Settle gives the outcome of a step to those who wait for it, or keeps it for a handle.
// [Machine.Run] then goes on. A step that nobody waits for is ignored.
func (m *Machine) Settle(step string, o effect.Outcome) {
	if _, ok := m.opened[step]; ok {
		m.opened[step] = &o
	}
	for _, f := range m.waits[step] {
		w, top := f.waitOf(step)
		w.outcome = &o
		f.steps = 0
		if top {
			m.enqueue(f)
		}
	}
}

// Event hands an event, an encoded Event record, to the callback that listens to the step.
// [Machine.Run] then goes on. Without one it is ignored.
func (m *Machine) Event(step string, event effect.Payload) {
	for _, f := range m.waits[step] {
		w, top := f.waitOf(step)
		if w.onEvent == nil {
			continue
		}
		w.events = append(w.events, event)
		f.steps = 0
		if top {
			m.enqueue(f)
		}
	}
}

// Hears tells whether somebody listens to the events of the step.
func (m *Machine) Hears(step string) bool {
	for _, f := range m.waits[step] {
		if w, _ := f.waitOf(step); w.onEvent != nil {
			return true
		}
	}
	return false
}

// resumeWait hands the next event to the callback or, when there is none, the outcome to the
// caller. verdict is what the callback has returned.
func (m *Machine) resumeWait(f *fiber, w *wait, verdict starlark.Value) (starlark.Value, signal, error) {
	if verdict != nil {
		if err := m.rule(w, verdict); err != nil {
			return nil, sigError, err
		}
	}
	if len(w.events) > 0 {
		event, err := w.events[0].Value()
		if err != nil {
			return nil, sigError, err
		}
		w.events = w.events[1:]
		return m.callValues(f, w.onEvent, f.ceiling(), starlark.Tuple{event}, nil)
	}
	if w.outcome == nil {
		return nil, sigWait, nil
	}
	m.unwait(f, w)
	f.popFrame()
	v, err := m.outcomeValue(w.outcome)
	if err != nil {
		return nil, sigError, err
	}
	return v, sigReturn, nil
}

// rule takes the verdict of a callback: None and proceed() let the agent be, stop and steer are
// given out. After a stop nothing more is heard, and a result that is queued is marked.
func (m *Machine) rule(w *wait, v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	verdict, ok := v.(*effect.Record)
	if !ok || verdict.RecordType() != effect.VerdictType {
		return fmt.Errorf("on_event returned a %s, want proceed(), stop(reason) or steer(message)", v.Type())
	}
	action, _ := starlark.AsString(verdict.Field("action"))
	if action == "proceed" {
		return nil
	}
	m.emit(Emission{Kind: Ruled, Step: w.step, Verdict: verdict})
	if action == "stop" {
		w.onEvent, w.events = nil, nil
	}
	if action == "stop" && w.outcome != nil {
		w.outcome = stopped(w.outcome)
	}
	return nil
}

// stopped is a queued result as it reads after on_event has said stop.
func stopped(o *effect.Outcome) *effect.Outcome {
	v, err := o.Value.Value()
	result, ok := v.(*effect.Record)
	if err != nil || o.Err != nil || !ok || !result.IsResult() {
		return o
	}
	result = result.With("ok", starlark.False).With("status", starlark.String("stopped"))
	return &effect.Outcome{Value: effect.MustEncode(result)}
}
