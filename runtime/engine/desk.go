package engine

import (
	"errors"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Desk is what an engine that drives its runs in another way than [Local] has in common with it: it
// compiles programs, loads runs, and reads them for whoever asks. It keeps what it has compiled.
// Its methods may be called concurrently.
type Desk struct {
	programs *programs
	log      func(format string, args ...any)
}

// NewDesk makes a desk for an environment. log is told what operators should know.
func NewDesk(env *effect.Environment, log func(format string, args ...any)) *Desk {
	return &Desk{programs: &programs{env: env}, log: log}
}

// Accept compiles the program of a request for a run and holds its inputs against it.
func (d *Desk) Accept(r *runtime.StartRequest) (*run.Program, effect.Payload, error) {
	return d.programs.accept(r)
}

// Loaded is a run in memory, as a store has it.
type Loaded struct {
	State   *run.State
	Machine *vm.Machine // nil of a run that has ended, is quarantined, or is poison
	Host    *run.Host
	Rest    *vm.Stop // what the machine has said beyond a journal that was cut, nil for nothing
	Tail    run.Tail // the journal since the newest checkpoint that is kept
	Poison  error    // why the machine cannot be made: the run is to be quarantined
}

// Runnable tells whether the machine has something to do that nobody has brought.
func (l *Loaded) Runnable() bool {
	return l.Machine != nil && (l.Machine.Runnable() || len(l.State.Decided) > 0)
}

// Load makes the state and the machine of a run. equip gives its host what is outside the run. It
// fails for a run that this build cannot serve, or that cannot be read.
func (d *Desk) Load(s runtime.Store, id string, equip func(*run.Host), now time.Time) (*Loaded, error) {
	sv, err := readRun(s, id, 0)
	if err != nil {
		return nil, err
	}
	out := &Loaded{Host: &run.Host{Run: id}}
	equip(out.Host)
	if !sv.needsNoMachine() {
		if err := d.restore(s, sv, out, equip, now); err != nil {
			return nil, err
		}
	}
	if out.Poison != nil {
		if sv, err = readRun(s, id, 0); err != nil {
			return nil, err
		}
	}
	if out.Machine == nil {
		out.State, out.Tail = sv.fold(), sv.length
	}
	return out, nil
}

// restore makes the machine, of the journal alone where no checkpoint serves.
func (d *Desk) restore(s runtime.Store, sv *saved, out *Loaded, equip func(*run.Host), now time.Time) error {
	r := newReader(s)
	h, err := d.programs.hostOf(&r, sv)
	if errors.Is(err, runtime.ErrDamaged) {
		out.Poison = err
		return nil
	}
	if err != nil {
		return err
	}
	equip(h)
	var made run.Rebuilt
	for skip := 1; ; skip++ {
		last := sv.state.Seq == sv.begins
		err = guarded(func() (err error) {
			made, err = sv.rebuild(h, now)
			return err
		})
		if err == nil || last {
			break
		}
		d.log("run %s: %v; going back to an older checkpoint", sv.run, err)
		if sv, err = readRunTo(s, sv.run, skip, 0); err != nil {
			return err
		}
	}
	if out.Poison = err; err == nil {
		out.State, out.Machine, out.Host, out.Rest, out.Tail = sv.state, made.Machine, h, made.Rest, sv.length
	}
	return nil
}

// Reader reads the runs of a store, as [NewReader] does; carried tells whether a run that has not
// ended goes on somewhere.
func (d *Desk) Reader(s runtime.Store, carried func(run string) bool) runtime.Engine {
	r := newReader(s)
	r.carried = carried
	return &readOnly{reader: r, programs: d.programs}
}

// Past tells of what is in a store what a turn asks of it: see [run.World].
type Past struct{ r reader }

// NewPast makes the past of a store.
func NewPast(s runtime.Store) *Past { return &Past{newReader(s)} }

// LookupKey is what an idempotency key of a run stands for.
func (p *Past) LookupKey(run, key string) (journal.Keyed, bool) { return p.r.lookupKey(run, key) }

// ClosedGate finds a gate of a run that is no longer open.
func (p *Past) ClosedGate(run, address string, deep bool) (run.ClosedGate, bool) {
	return p.r.closedGate(run, address, deep)
}

// Address finds the run and the gate that RUN/GATE means.
func (p *Past) Address(run, gate string) (string, string, error) { return p.r.address(run, gate) }

// ChildOf is the run that a step has started, "" for none.
func (p *Past) ChildOf(run, step string) string { return p.r.childOf(run, step) }

// Journal is [effect.Attempt.Journal].
func (p *Past) Journal(run, asks string, l effect.Look) (starlark.Value, *effect.Error) {
	return p.r.queryJournal(run, asks, l)
}

// Artifact is [effect.Attempt.Artifact].
func (p *Past) Artifact(run, hash string) (string, []byte, *effect.Error) {
	return p.r.artifact(run, hash)
}
