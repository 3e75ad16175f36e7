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
)

// carry makes the engine drive a run and keeps the variables its carrier brought, in memory only. moving tells whether it is in motion already.
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

// Carry makes the engine drive runs.
func (e *Local) Carry(ctx context.Context, c runtime.CarryRequest) ([]string, error) {
	if err := need(ctx, runtime.CanRun, "carry runs"); err != nil {
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
func (e *Local) resumeRun(ctx context.Context, run string, c runtime.CarryRequest) error {
	if c.Settings != nil {
		if err := e.pin(ctx, run, c.Settings); err != nil {
			return err
		}
	}
	return e.carryOne(ctx, run, c.Env)
}

// pin records that a run goes on with other settings: a project file that was edited meanwhile. Of
// one that was imported the child runs do, too: what they lack is mended with it.
func (e *Local) pin(ctx context.Context, run string, settings *effect.Settings) error {
	in := &pinned{settings: settings, by: runtime.CallerOf(ctx).Name}
	if err := e.send(ctx, run, event{in: in}); err != nil || !in.imported {
		return err
	}
	kids, err := e.childrenOf(run)
	for _, k := range kids {
		if err := e.pin(ctx, k.id, settings); err != nil { // the others go on all the same
			e.log("run %s, a child of %s: %v", k.id, k.parent, err)
		}
	}
	return err
}

func (t *turn) pin(settings *effect.Settings, by string) {
	content := settingsPayload(settings)
	hash := journal.HashOf(content)
	if t.s.Settings == hash {
		return
	}
	t.keep(hash, content)
	t.record(journal.RunPinned, "", (&effect.Object{}).Text("settings", hash).Text("by", by).Payload())
	t.host.settings = settings
	t.reconsider()
}

// carryOne carries a run, with its parent, which goes on when it ends, and its open children. Attempts that wait start, timers that are overdue fire. A run at
// rest that has nothing of this stays where it is until its next timer is due.
func (e *Local) carryOne(ctx context.Context, run string, env map[string]string) error {
	if e.carries(run) && len(env) == 0 {
		return nil // it has not ended: it would not be carried
	}
	row, err := e.summary(run)
	if err != nil || row.Status.Ended() {
		return err
	}
	e.carry(run, env, row.Status != runtime.Suspended)
	if parent, _, ok := cutParent(row.Parent); ok && !e.carries(parent) {
		if err := e.carryOne(ctx, parent, env); err != nil {
			e.log("run %s, whose child %s is carried: %v", parent, run, err)
		}
	}
	if len(env) == 0 && e.sleeps(&row) {
		return nil
	}
	return e.send(ctx, run, event{in: resumed{}})
}

// sleeps tells whether a run can be left in the store: it rests, waits for no item of a queue, has nobody above or below it, and is not in memory. Its alarm is set.
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

// carried is what follows when a run is carried anew: its children are, and gates close whose variables have come.
func (t *turn) carried() {
	if t.s.needy() { // a look at all that is open costs as much as is open
		missing := t.missing()
		for _, g := range t.s.openGates() {
			name, ok := strings.CutPrefix(g.Name, runtime.GateNeeds)
			if ok && !slices.Contains(missing, name) {
				t.withdrawGate(g, "")
			}
		}
	}
	t.reconsider()
	for _, st := range t.s.children {
		t.effects.children = append(t.effects.children, st)
	}
}

// A run whose declared variables nobody has brought rests at a gate !needs:NAME for each, which closes by itself when a carrier brings it.

// needs tells whether attempts must wait for variables, and opens the gates of those.
func (t *turn) needs() bool {
	missing := t.missing()
	for _, name := range missing {
		if t.s.Gates[runtime.GateNeeds+name] == nil {
			t.openSystemGate(runtime.GateNeeds+name, "", "The project declares the environment variable "+name+", and nobody who carries the run has it. "+
				"Carry it with the variable set: starling resume "+t.s.ID+". Skip goes on without it, fail ends the run.")
		}
	}
	return len(missing) > 0
}

// missing lists the declared variables that the run has to wait for.
func (t *turn) missing() []string {
	return slices.DeleteFunc(t.host.missing(), func(name string) bool { return slices.Contains(t.s.Without, name) })
}

// needy tells whether a run rests at the gate of a variable.
func (s *state) needy() bool { return s.needs > 0 }
