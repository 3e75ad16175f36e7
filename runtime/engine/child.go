package engine

import (
	"context"
	"errors"
	"fmt"

	"starling/lang"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// A child run is a run of its own that a step of another started. The step waits natively; the
// child's end posts its outcome to the parent. Under the step's address stands which run it is, so
// that looking for it again after a crash finds the one that is there. Its gates are visible from
// the top under the step's address; it is cancelled with its step.

// maxDepth bounds the nesting of child runs.
const maxDepth = 8

// childOf finds the run that a step started, "" when there is none.
func (r *reader) childOf(run, step string) string {
	id, err := r.store.Get(journal.ChildKey(run + "@" + step))
	if err != nil {
		return ""
	}
	return string(id)
}

// hasChildren tells whether a run ever started another.
func (r *reader) hasChildren(run string) bool {
	found := false
	err := journal.Scan(r.store, journal.PrefixChild+run+"@", func(string, []byte) error {
		found = true
		return runtime.ErrStopScan
	})
	return found || err != nil
}

// startChild starts the child of a step, or looks after the one that is there.
func (e *Local) startChild(id string, h *run.Host, s *run.State, st *run.Step) {
	args, _ := st.Args.View()
	step, settings, depth, labels := st.Step, h.Within(st.Tree), s.Depth, s.LabelsBelow(st)
	if !e.enter() {
		return // the next owner finds the step and starts the child
	}
	go func() {
		defer e.exit()
		err := e.runChild(id, step, func() (runtime.StartRequest, error) {
			r, err := e.childRequest(id, h.Program, settings, depth, args)
			r.Labels = labels
			return r, err
		}, depth+1)
		if err != nil && e.ctx.Err() == nil {
			e.settleChild(id, &run.ChildEnded{Step: step, Failed: effect.Errorf(effect.KindRefused, "%s: %v", step, err)})
		}
	}()
}

// childRequest is the start of a child run as its step asks for it.
func (e *Local) childRequest(run string, p *run.Program, settings *effect.Settings, depth int, args effect.View) (runtime.StartRequest, error) {
	if depth >= maxDepth {
		return runtime.StartRequest{}, fmt.Errorf("child runs are nested deeper than %d", maxDepth)
	}
	inputs, err := childInputs(args)
	if err != nil {
		return runtime.StartRequest{}, err
	}
	r := runtime.StartRequest{Script: args.Text("script"), Inputs: inputs, Settings: *settings, Env: e.brought(run).env}
	child, ok := p.Bundle.Child(r.Script)
	switch {
	case !ok && !lang.NamesFile(r.Script):
		return r, e.defined(&r)
	case !ok:
		return r, fmt.Errorf("the script %q is not part of this run's program; name it with a literal, or keep it under a name, with starling define, and run that", r.Script)
	}
	r.Bundle = child.Encode()
	return r, nil
}

// defined makes a child of the script that is defined as its request says, now: once there is a
// child it is pinned like any run. It may use what its parent may; one that somebody else has
// defined, below a script of the project's own, what is granted to its name.
func (e *Local) defined(r *runtime.StartRequest) error {
	found, err := e.definitions(r.Script)
	if err != nil {
		return err
	}
	d := found[0]
	if d.Foreign && r.Settings.Grant == "" {
		r.Settings.Grant = d.Name
	}
	r.Script = d.Address()
	r.Bundle, err = e.store.Get([]byte(journal.PrefixBlob + d.Bundle))
	return err
}

// runChild makes sure that a step has its child run, that the run is carried, and that the parent
// knows how it stands. It fails where there is no child. One that is there and cannot be carried
// just now, or cannot be read, decides nothing: it is quarantined, which its parent is told, or
// whoever finds out is told.
func (e *Local) runChild(parent, step string, request func() (runtime.StartRequest, error), depth int) error {
	ctx := runtime.WithCaller(e.ctx, runtime.Caller{Name: "run:" + parent, Local: true})
	id, err := e.child(ctx, parent+"@"+step, request, depth)
	if err != nil {
		return err
	}
	if err := e.resumeOne(ctx, id, e.brought(parent)); err != nil {
		e.log("run %s, a child of %s@%s: %v", id, parent, step, err)
	}
	in := &run.ChildStarted{Step: step}
	if err := e.send(ctx, parent, event{in: in}); err != nil {
		e.log("run %s: its child %s: %v", parent, id, err)
		return nil
	}
	if !in.Waits { // the step was withdrawn while its child was being started
		e.cancelOrphan(parent, step, id)
		return nil
	}
	sv, err := readRun(e.store, id, 0)
	if err != nil {
		e.log("run %s, a child of %s@%s: %v", id, parent, step, err)
		return nil
	}
	e.childChanged(parent, step, sv.fold())
	return nil
}

// child finds the run of a step, or starts it.
func (e *Local) child(ctx context.Context, parent string, request func() (runtime.StartRequest, error), depth int) (string, error) {
	release := e.hold(string(journal.ChildKey(parent)))
	defer release()
	known := func() (string, error) {
		id, err := e.store.Get(journal.ChildKey(parent))
		return string(id), err
	}
	if id, err := known(); !errors.Is(err, runtime.ErrNoKey) {
		return id, err
	}
	e.keeping.RLock() // no run is dropped meanwhile: its parent may have been, and may be back with another child
	defer e.keeping.RUnlock()
	if id, err := known(); !errors.Is(err, runtime.ErrNoKey) {
		return id, err
	}
	run, _, _ := journal.CutParent(parent)
	if _, err := e.summary(run); err != nil {
		return "", err
	}
	r, err := request()
	if err != nil {
		return "", err
	}
	return e.create(ctx, r, parent, depth, nil)
}

// settled waits until the runs above a child, up to the top, have taken what its last commit means
// for them.
func (e *Local) settled(ctx context.Context, child, top string) error {
	for id := child; id != top; {
		row, err := e.summary(id)
		if err != nil {
			return err
		}
		parent, _, ok := journal.CutParent(row.Parent)
		if !ok {
			return nil
		}
		if err := e.send(ctx, parent, event{in: run.Woken{}}); err != nil {
			return err
		}
		id = parent
	}
	return nil
}

// childInputs are what a call of run passes on; none are passed where it leaves them out.
func childInputs(args effect.View) ([]byte, error) {
	if !args.Has("inputs") {
		return nil, nil
	}
	return contract.ToJSON(args.Value("inputs"))
}

// childChanged tells the parent that a child came to rest, moved on or ended. The parent's turn is
// queued when this returns.
func (e *Local) childChanged(parent, step string, s *run.State) {
	switch in := run.OfChild(step, s).(type) {
	case *run.ChildEnded:
		e.settleChild(parent, in)
	default:
		e.post(parent, event{in: in})
	}
}

// settleChild settles a step with what its child run came to. Where nothing can be settled now, the
// child is looked at again when the run goes on.
func (e *Local) settleChild(parent string, in *run.ChildEnded) {
	e.post(parent, event{in: in, done: func(err error) {
		if err != nil && e.ctx.Err() == nil {
			e.log("run %s: the outcome of its child at %s: %v", parent, in.Step, err)
		}
	}})
}
