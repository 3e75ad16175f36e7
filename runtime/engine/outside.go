package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/ledger"
	"starling/runtime/run"
)

// This is what the turns of this process's runs are given of it: see world.go.

var (
	_ run.World   = outside{}
	_ run.Commons = (*sharedRows)(nil)
	_ run.Quotas  = shares{}
)

// shares are the quotas of an engine.
type shares struct {
	*breakers
	*slots
	*ledger.Ledger
}

// outside is what the runs of an engine may ask of it.
type outside struct{ e *Local }

// hosted gives a host what is outside its run.
func (e *Local) hosted(h *run.Host) *run.Host {
	h.World, h.Commons, h.Quotas, h.MacKey = outside{e}, &e.shared, shares{&e.breakers, &e.slots, e.ledger}, e.macKey
	return h
}

func (o outside) Handler(kind string) *effect.Handler { return o.e.env.Handlers[kind] }

func (o outside) Random() io.Reader { return o.e.opts.Random }

func (o outside) Draining(run string) bool { return o.e.leaving.Load() || !o.e.carries(run) }

func (o outside) Status(run string) (runtime.Status, error) {
	row, err := o.e.summary(run)
	return row.Status, err
}

func (o outside) Starter(run string) string {
	top, _ := o.e.tops().of(run, "")
	return top.StartedBy
}

func (o outside) Variable(run, name string) (string, bool) { return o.e.variable(run, name) }

func (o outside) Machine() string { return o.e.opts.Machine }

// Elsewhere goes by what the settings say. Those of a store that was one machine's say nothing:
// then the folder is looked for.
func (o outside) Elsewhere(s *effect.Settings) string {
	switch here := o.e.opts.Machine; {
	case here == "" || s.Machine == here:
		return ""
	case s.Machine != "":
		return "it is on " + s.Machine + ", and this is " + here
	}
	if _, err := os.Stat(s.Workspace); errors.Is(err, fs.ErrNotExist) {
		return "there is none on " + o.e.opts.Machine
	}
	return ""
}

func (o outside) Worktrees(s *effect.Settings) string { return o.e.trees(s) }

func (o outside) LookupKey(run, key string) (journal.Keyed, bool) { return o.e.lookupKey(run, key) }

func (o outside) ClosedGate(run, address string, deep bool) (run.ClosedGate, bool) {
	return o.e.closedGate(run, address, deep)
}

func (o outside) Equip(at *effect.Attempt) {
	e, run := o.e, at.Run
	at.Store = e.folder()
	at.Journal = func(l effect.Look) (starlark.Value, *effect.Error) { return e.queryJournal(run, at.Step, l) }
	at.Known = func(q effect.Survey) (*effect.Known, *effect.Error) { return e.survey(run, q) }
	at.Artifact = func(hash string) (string, []byte, *effect.Error) { return e.artifact(run, hash) }
	at.Schedule = func(ctx context.Context, args effect.View) (starlark.Value, *effect.Error) {
		return e.scheduleFor(ctx, run, args)
	}
	at.Env = func(name string) (string, bool) { return e.variable(run, name) }
}
