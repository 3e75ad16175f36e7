package engine

import (
	"io"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime"
)

// This is what the turns of this process's runs are given of it: see world.go.

var (
	_ world   = (*Local)(nil)
	_ commons = (*sharedRows)(nil)
	_ quotas  = shares{}
)

// shares are the quotas of an engine.
type shares struct {
	*breakers
	*slots
	*ledger
}

// hosted gives a host what is outside its run.
func (e *Local) hosted(h *host) *host {
	h.world, h.commons, h.quotas, h.macKey = e, &e.shared, shares{&e.breakers, &e.slots, &e.ledger}, e.macKey
	return h
}

func (e *Local) handler(kind string) *effect.Handler { return e.env.Handlers[kind] }

func (e *Local) random() io.Reader { return e.opts.Random }

func (e *Local) draining(run string) bool { return e.leaving.Load() || !e.carries(run) }

func (e *Local) status(run string) (runtime.Status, error) {
	row, err := e.summary(run)
	return row.Status, err
}

func (e *Local) starter(run string) string {
	top, _ := e.tops().of(run, "")
	return top.StartedBy
}

func (e *Local) equip(at *effect.Attempt) {
	run := at.Run
	at.Store = e.store.Info().Path
	at.Journal = func(l effect.Look) (starlark.Value, *effect.Error) { return e.queryJournal(run, at.Step, l) }
	at.Known = func(q effect.Survey) (*effect.Known, *effect.Error) { return e.survey(run, q) }
	at.Artifact = func(hash string) (string, []byte, *effect.Error) { return e.artifact(run, hash) }
	at.Env = func(name string) (string, bool) { return e.variable(run, name) }
}
