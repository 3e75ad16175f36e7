package runtime

import (
	"context"
	"maps"
	"slices"
	"strings"

	"starling/lang/effect"
)

// carry makes the engine drive a run and keeps the variables its carrier brought, in memory only.
func (e *Local) carry(run string, env map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	have := e.carried[run]
	if have == nil {
		have = map[string]string{}
		e.carried[run] = have
	}
	maps.Copy(have, env)
}

func (e *Local) uncarry(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.carried, run)
	delete(e.actors, run)
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

// Carry makes the engine drive runs.
func (e *Local) Carry(ctx context.Context, c CarryRequest) ([]string, error) {
	if !CallerOf(ctx).Local {
		return nil, refuse(ErrDenied, "%s may not carry runs", orUnknown(CallerOf(ctx)))
	}
	runs, err := e.toCarry(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if c.Settings != nil {
			if err := e.pin(ctx, run, c); err != nil {
				return nil, err
			}
		}
		if err := e.carryOne(ctx, run, c.Env); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// pin records that a run goes on with other settings: a project file that was edited meanwhile.
func (e *Local) pin(ctx context.Context, run string, c CarryRequest) error {
	settings := settingsPayload(c.Settings)
	hash := hashOf(settings)
	return e.send(ctx, run, func(t *turn) {
		if t.s.Status.Ended() || t.s.Settings == hash {
			return
		}
		t.writes = append(t.writes, Write{[]byte(prefixBlob + hash), settings})
		t.record(RunPinned, "", (&effect.Object{}).Text("settings", hash).Text("by", CallerOf(ctx).Name).Payload())
		t.host.settings = c.Settings
	})
}

func (e *Local) toCarry(ctx context.Context, c CarryRequest) ([]string, error) {
	var runs []string
	for _, address := range c.Runs {
		run, err := e.resolveRun(address)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if c.All {
		l, err := e.List(ctx, Query{})
		if err != nil {
			return nil, err
		}
		for _, s := range slices.Backward(l.Runs) { // oldest first
			runs = append(runs, s.ID)
		}
	}
	return runs, nil
}

// carryOne carries a run and its open children, and wakes it: attempts that wait start, timers that are overdue fire.
func (e *Local) carryOne(ctx context.Context, run string, env map[string]string) error {
	row, err := e.summary(run)
	if err != nil {
		return err
	}
	if row.Status.Ended() {
		return nil
	}
	known := e.carries(run) && len(env) == 0
	e.carry(run, env)
	if known {
		return nil
	}
	return e.send(ctx, run, func(t *turn) {
		t.overdue()
		t.closeNeeds()
	})
}

// needs: a run whose declared variables nobody has brought rests at the gate !needs:NAME, which closes by itself when a carrier brings them.

// waitsForEnv tells whether attempts must wait for a variable, opening its gate when one wants to start.
func (t *turn) waitsForEnv() bool {
	missing := t.host.missing()
	if len(missing) == 0 {
		return false
	}
	for _, st := range t.s.Steps {
		if st.Ready && t.s.Gates[gateNeeds+missing[0]] == nil {
			t.openSystemGate(gateNeeds+missing[0], "", "The project declares the environment variable "+missing[0]+
				", and nobody who carries the run has it. Carry it with the variable set: starling resume "+t.s.ID)
		}
	}
	return true
}

// closeNeeds withdraws the gates of variables that have come.
func (t *turn) closeNeeds() {
	missing := t.host.missing()
	for _, g := range t.s.openGates() {
		name, ok := strings.CutPrefix(g.Name, gateNeeds)
		if ok && !slices.Contains(missing, name) {
			t.record(GateWithdrawn, g.Name, nil)
		}
	}
}
