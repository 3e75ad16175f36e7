package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// carry makes the engine drive a run and keeps the variables its carrier brought, in memory only.
// moving tells whether it is in motion already.
func (e *Local) carry(run string, env map[string]string, moving bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if moving {
		e.move(run, true)
	}
	have := e.carried[run]
	if have == nil && len(env) > 0 {
		have = map[string]string{}
	}
	maps.Copy(have, env)
	e.carried[run] = have
}

func (e *Local) uncarry(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.carried, run)
	delete(e.awaiting, run)
	e.move(run, false)
}

// carries tells whether the engine drives a run.
func (e *Local) carries(run string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.carried[run]
	return ok
}

func (e *Local) variable(run, name string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.carried[run][name]
	return v, ok
}

// environment copies the variables that a run's carrier brought.
func (e *Local) environment(run string) map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.carried[run])
}

// Resume makes the engine drive runs.
func (e *Local) Resume(ctx context.Context, c runtime.ResumeRequest) ([]string, error) {
	if err := need(ctx, runtime.CanRun, "resume runs"); err != nil {
		return nil, err
	}
	if c.Settings != nil {
		if err := need(ctx, runtime.CanAdmin, "pin a project file"); err != nil {
			return nil, err
		}
	}
	carried := []string{}
	for _, address := range c.Runs {
		run, err := e.resolveRun(address)
		if err == nil {
			err = e.resumeRun(ctx, run, c)
		}
		if err != nil {
			return nil, err
		}
		if e.carries(run) {
			carried = append(carried, run)
		}
	}
	if !c.All {
		return carried, nil
	}
	l, err := e.list(runtime.Query{}, contract.People)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(carried)
	for _, s := range slices.Backward(l.Runs) { // oldest first
		if err := e.resumeRun(ctx, s.ID, c); err != nil {
			e.log("run %s is left: %v", s.ID, err) // it must not keep the others from going on
		} else if e.carries(s.ID) && !slices.Contains(named, s.ID) {
			carried = append(carried, s.ID)
		}
	}
	return carried, nil
}

// resumeRun carries a run, under other settings if the request has some.
func (e *Local) resumeRun(ctx context.Context, run string, c runtime.ResumeRequest) error {
	if c.Settings != nil {
		if err := e.pin(ctx, run, c.Settings); err != nil {
			return err
		}
	}
	return e.resumeOne(ctx, run, c.Env)
}

// pin records that a run goes on with other settings: a project file that was edited meanwhile. Of
// one that was imported the child runs do, too: what they lack is mended with it.
func (e *Local) pin(ctx context.Context, id string, settings *effect.Settings) error {
	in := &run.Pinned{Settings: settings, By: runtime.CallerOf(ctx).Name}
	if err := e.send(ctx, id, event{in: in}); err != nil || !in.Imported {
		return err
	}
	kids, err := e.childrenOf(id)
	for _, k := range kids {
		if err := e.pin(ctx, k.id, settings); err != nil { // the others go on all the same
			e.log("run %s, a child of %s: %v", k.id, k.parent, err)
		}
	}
	return err
}

// resumeOne carries a run, with its parent, which goes on when it ends, and its open children.
// Attempts that wait start, timers that are overdue fire. A run at rest that has nothing of this
// stays where it is until its next timer is due.
func (e *Local) resumeOne(ctx context.Context, id string, env map[string]string) error {
	if e.carries(id) && len(env) == 0 {
		return nil // it has not ended: it would not be carried
	}
	row, err := e.summary(id)
	if err != nil || row.Status.Ended() {
		return err
	}
	e.carry(id, env, row.Status != runtime.Suspended)
	if parent, _, ok := journal.CutParent(row.Parent); ok && !e.carries(parent) {
		if err := e.resumeOne(ctx, parent, env); err != nil {
			e.log("run %s, whose child %s is carried: %v", parent, id, err)
		}
	}
	if len(env) == 0 && e.sleeps(&row) {
		return nil
	}
	return e.send(ctx, id, event{in: run.Resumed{}})
}

// sleeps tells whether a run can be left in the store: it rests, waits for no item of a queue, has
// nobody above or below it, and is not in memory. Its alarm is set.
func (e *Local) sleeps(row *runtime.Summary) bool {
	if row.Status != runtime.Suspended || row.Awaits || row.Parent != "" || e.hasChildren(row.ID) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.actors[row.ID] != nil {
		return false
	}
	var due time.Time
	if row.NextDue != nil {
		due = *row.NextDue
	}
	e.alarms.set(row.ID, due)
	return true
}
