package engine

import (
	"context"
	"fmt"
	"slices"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Move lets a run go on with another program, as far as that says what the journal says.
func (e *Local) Move(ctx context.Context, r runtime.MoveRequest) (*runtime.Replayed, error) {
	if err := need(ctx, runtime.CanRun|runtime.CanAdmin, "move runs to another script"); err != nil {
		return nil, err
	}
	run, err := e.resolveRun(r.Run)
	if err != nil {
		return nil, err
	}
	in := &moved{request: r, hash: journal.HashOf(r.Bundle), by: runtime.CallerOf(ctx).Name}
	if in.program, err = e.programs.of(in.hash, func() ([]byte, error) { return r.Bundle, nil }); err != nil {
		return nil, checkFailed(err)
	}
	for {
		if err := e.send(ctx, run, event{in: in}); err != nil {
			return nil, err
		}
		if in.wants == nil {
			return in.replayed, nil
		}
		if in.past, err = e.pastFor(run, in); err != nil {
			return nil, err
		}
	}
}

// wanted says which past of a run a move is held against.
type wanted struct {
	behaviour uint32
	settings  string // their hash
	seq       uint64 // the newest record
}

// past is what a run did, and with what.
type past struct {
	wanted
	journal []journal.Record
	host    *host // with the program that it is to go on with
}

// pastFor reads what a move is held against.
func (e *Local) pastFor(run string, in *moved) (*past, error) {
	p, err := e.programs.at(in.wants.behaviour, in.hash, func() ([]byte, error) { return in.request.Bundle, nil })
	if err != nil {
		return nil, checkFailed(err)
	}
	settings, err := e.settings(in.wants.settings)
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", run, err)
	}
	records, err := e.whole(run)
	if err != nil {
		return nil, err
	}
	return &past{*in.wants, records, e.hosted(&host{run: run, program: p, settings: settings})}, nil
}

// move executes the journal with the other program, and puts the machine that comes of it in the place of the old one.
func (t *turn) move(in *moved) (*runtime.Replayed, error) {
	digest := journal.HashOf([]byte("move " + in.hash))
	if key := in.request.Key; key != "" {
		if k, ok := t.lookupKey(key); ok && k.Digest != digest {
			return nil, runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used for another request", key).WithHelp("use a new key for a new request")
		} else if ok {
			return in.document(t.s, nil, true), nil
		}
	}
	switch {
	case t.s.Session:
		return nil, runtime.Refusef(runtime.ErrUsage, "run %s is a session: its program is what was typed", t.s.ID)
	case t.s.Status != runtime.Suspended && !t.s.Status.Ended() || t.yielded:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "run %s is %s; it can be moved while it rests", t.s.ID, t.s.Status).WithHelp("wait for it with: starling wait %s --for suspended", t.s.ID)
	}
	wants := wanted{t.s.Behaviour, t.s.Settings, t.s.Seq - uint64(len(t.records))}
	if in.wants = nil; in.past == nil || in.past.wanted != wants {
		in.wants = &wants
		return nil, nil
	}
	h := in.past.host
	h.kids, h.lend = t.host.kids, t.host.lend
	records := slices.Concat(in.past.journal, t.records)
	r, err := rehearse(h, records, t.now, true)
	if err != nil {
		return nil, diverged(err)
	}
	if !t.s.Status.Ended() && t.s.Bundle != in.hash {
		t.moveOn(in, r)
		t.remember(in.request.Key, keyed{Digest: digest, Receipt: &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: t.s.ID, Seq: t.s.Seq}})
	}
	return in.document(t.s, records, !t.s.Status.Ended()), nil
}

// moveOn goes on with the machine that was replayed. A run that is quarantined has none until somebody lets it go on.
func (t *turn) moveOn(in *moved, r *replayer) {
	var b effect.Object
	t.record(journal.RunMoved, "", b.Text("bundle", in.hash).Text("program", fmt.Sprintf("%x", r.h.program.code.Hash)).Text("script", in.request.Script).
		Text("from", t.s.Program).Text("by", in.by).Payload())
	t.keep(in.hash, in.request.Bundle)
	if t.m == nil {
		return
	}
	t.m, t.host, t.moved = r.m, r.h, true
}

// document tells what was replayed.
func (in *moved) document(s *state, records []journal.Record, moved bool) *runtime.Replayed {
	d := replayed(&host{program: in.program}, s, records)
	d.Moved = moved
	return d
}
