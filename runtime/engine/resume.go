package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// variables are those that the carrier of a run has brought. They are in memory only.
type variables struct {
	env    map[string]string
	lookup func(name string) (string, bool) // for what is not in env; nil for none
}

func (v variables) none() bool { return len(v.env) == 0 && v.lookup == nil }

// carry makes the engine drive a run and keeps the variables its carrier brought. moving tells
// whether it is in motion already.
func (e *Local) carry(run string, brought variables, moving bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if moving {
		e.move(run, true)
	}
	have := e.carried[run]
	if have.env == nil && len(brought.env) > 0 {
		have.env = map[string]string{}
	}
	maps.Copy(have.env, brought.env)
	if brought.lookup != nil {
		have.lookup = brought.lookup
	}
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
	have := e.carried[run]
	v, ok := have.env[name]
	e.mu.Unlock()
	if !ok && have.lookup != nil {
		return have.lookup(name)
	}
	return v, ok
}

// brought copies the variables that a run's carrier brought.
func (e *Local) brought(run string) variables {
	e.mu.Lock()
	defer e.mu.Unlock()
	have := e.carried[run]
	return variables{maps.Clone(have.env), have.lookup}
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
	if c.Schedules {
		if err := e.schedules.begin(c.Lookup); err != nil {
			return nil, err
		}
		// Whoever stays marks the index as kept: if it died before its first commit, the next owner
		// would have to make all of it anew.
		if err := e.commit(ctx, new(runtime.Batch)); err != nil {
			return nil, err
		}
	}
	if !c.All {
		return carried, nil
	}
	return e.resumeAll(ctx, c, carried)
}

// resumeAll carries every run that has not ended, beside those that are named. It asks the store
// for all of them at once: to ask for each, over a network, takes minutes where very many wait.
func (e *Local) resumeAll(ctx context.Context, c runtime.ResumeRequest, named []string) ([]string, error) {
	l, err := e.list(runtime.Query{}, contract.People)
	if err != nil {
		return nil, err
	}
	open, needy, err := e.unsettled()
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(named))
	for _, run := range named {
		known[run] = true
	}
	brought := variables{c.Env, c.Lookup}
	for _, s := range slices.Backward(l.Runs) { // oldest first
		if c.Settings != nil {
			err = e.resumeRun(ctx, s.ID, c)
		} else if !e.carries(s.ID) || !brought.none() {
			err = e.resumeRow(ctx, &s, brought, !open[s.ID] && (brought.none() || !needy[s.ID]))
		}
		if err != nil {
			e.log("run %s is left: %v", s.ID, err) // it must not keep the others from going on
		}
		if e.carries(s.ID) && !known[s.ID] {
			named = append(named, s.ID)
		}
	}
	return named, nil
}

// unsettled are the runs that cannot be left in the store, whatever their rows say: open ones, that
// ever started another or rest for want of their workspace, and needy ones, that rest for want of a
// variable, if any are brought.
func (r *reader) unsettled() (open, needy map[string]bool, err error) {
	open, needy = map[string]bool{}, map[string]bool{}
	err = journal.ScanEach(r.store, journal.PrefixChild, func(key string, _ []byte, _ error) error {
		run, _, _ := strings.Cut(key, "@")
		open[run] = true
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	err = journal.ScanEach(r.store, journal.PrefixInbox, func(key string, _ []byte, _ error) error {
		switch run, gate, _ := strings.Cut(key, "/"); {
		case strings.HasPrefix(gate, runtime.GateNeeds):
			needy[run] = true
		case gate == runtime.GateWorkspace:
			open[run] = true
		}
		return nil
	})
	return open, needy, err
}

// resumeRun carries a run, under other settings if the request has some.
func (e *Local) resumeRun(ctx context.Context, run string, c runtime.ResumeRequest) error {
	if c.Settings != nil {
		if err := e.pin(ctx, run, c.Settings); err != nil {
			return err
		}
	}
	return e.resumeOne(ctx, run, variables{c.Env, c.Lookup})
}

// pin records that a run goes on with other settings: a project file that was edited meanwhile. Of
// one that was imported the child runs do, too: what they lack is mended with it.
func (e *Local) pin(ctx context.Context, id string, settings *effect.Settings) error {
	here := *settings
	here.Machine = e.opts.Machine
	in := &run.Pinned{Settings: &here, By: runtime.CallerOf(ctx).Name}
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
func (e *Local) resumeOne(ctx context.Context, id string, brought variables) error {
	if e.carries(id) && brought.none() {
		return nil // it has not ended: it would not be carried
	}
	row, err := e.summary(id)
	if err != nil || row.Status.Ended() {
		return err
	}
	return e.resumeRow(ctx, &row, brought, brought.none() && !e.hasChildren(id))
}

// resumeRow carries the run of a row. alone says that it has started no other and needs none of
// what is brought.
func (e *Local) resumeRow(ctx context.Context, row *runtime.Summary, brought variables, alone bool) error {
	e.carry(row.ID, brought, row.Status != runtime.Suspended)
	if parent, _, ok := journal.CutParent(row.Parent); ok && !e.carries(parent) {
		if err := e.resumeOne(ctx, parent, brought); err != nil {
			e.log("run %s, whose child %s is carried: %v", parent, row.ID, err)
		}
	}
	if alone && e.sleeps(row) {
		return nil
	}
	return e.send(ctx, row.ID, event{in: run.Resumed{}})
}

// sleeps tells whether a run that is alone can be left in the store: it rests, waits for no item of
// a queue, has nobody above it, and is not in memory. Its alarm is set.
func (e *Local) sleeps(row *runtime.Summary) bool {
	if row.Status != runtime.Suspended || row.Awaits || row.Parent != "" {
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
