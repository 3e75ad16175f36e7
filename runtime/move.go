package runtime

import (
	"context"
	"fmt"

	"starling/lang/effect"
)

// Move lets a run go on with another program, as far as that says what the journal says.
func (e *Local) Move(ctx context.Context, r MoveRequest) (*Replayed, error) {
	if err := need(ctx, CanRun|CanAdmin, "move runs to another script"); err != nil {
		return nil, err
	}
	run, err := e.resolveRun(r.Run)
	if err != nil {
		return nil, err
	}
	hash := hashOf(r.Bundle)
	p, err := e.programs.of(hash, func() ([]byte, error) { return r.Bundle, nil })
	if err != nil {
		return nil, checkFailed(err)
	}
	var done *Replayed
	var refused error
	err = e.send(ctx, run, event{apply: func(t *turn) {
		m := mover{e: e, t: t, request: r, program: p, hash: hash, by: CallerOf(ctx).Name}
		done, refused = m.move()
	}})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// mover moves the run of a turn.
type mover struct {
	e       *Local
	t       *turn
	request MoveRequest
	program *program
	hash    string // of the bundle
	by      string
}

func (m *mover) move() (*Replayed, error) {
	t, digest := m.t, hashOf([]byte("move "+m.hash))
	if m.request.Key != "" {
		if k, ok := t.known(m.request.Key); ok && k.Digest != digest {
			return nil, refuse(ErrKeyConflict, "the key %q was used for another request", m.request.Key).help("use a new key for a new request")
		} else if ok {
			return m.document(nil, true), nil
		}
	}
	switch {
	case t.s.Session:
		return nil, refuse(ErrUsage, "run %s is a session: its program is what was typed", t.s.ID)
	case t.s.Status != Suspended && !t.s.Status.Ended() || t.yielded:
		return nil, refuse(ErrNotOpen, "run %s is %s; it can be moved while it rests", t.s.ID, t.s.Status).help("wait for it with: starling wait %s --for suspended", t.s.ID)
	}
	p, err := m.e.programs.at(t.s.Behaviour, m.hash, func() ([]byte, error) { return m.request.Bundle, nil })
	if err != nil {
		return nil, checkFailed(err)
	}
	m.program = p
	journal, err := m.e.whole(t.s.ID)
	if err != nil {
		return nil, err
	}
	journal = append(journal, t.records...)
	settings, err := m.e.settings(t.s.Settings)
	if err != nil {
		return nil, fmt.Errorf("run %s: its settings: %w", t.s.ID, err)
	}
	h := m.e.hosted(&host{run: t.s.ID, program: m.program, settings: settings, kids: t.host.kids, lend: t.host.lend})
	r, err := rehearse(h, journal, t.now, true)
	if err != nil {
		return nil, diverged(err)
	}
	moves := !t.s.Status.Ended() && t.s.Bundle != m.hash
	if moves {
		m.goOn(h, r)
		t.remember(m.request.Key, keyed{Digest: digest, Receipt: &Receipt{Schema: Schema, Accepted: true, Run: t.s.ID, Seq: t.s.Seq}})
	}
	return m.document(journal, !t.s.Status.Ended()), nil
}

// goOn puts the machine that was replayed in the place of the old one. A run that was set aside has none until somebody lets it go on.
func (m *mover) goOn(h *host, r *replayer) {
	t := m.t
	var b effect.Object
	t.record(RunMoved, "", b.Text("bundle", m.hash).Text("program", fmt.Sprintf("%x", m.program.code.Hash)).Text("script", m.request.Script).
		Text("from", t.s.Program).Text("by", m.by).Payload())
	t.keep(m.hash, m.request.Bundle)
	if t.m == nil {
		return
	}
	t.m, t.host, t.moved = r.m, h, true
}

// document tells what was replayed.
func (m *mover) document(journal []Record, moved bool) *Replayed {
	d := replayed(&host{program: m.program}, m.t.s, journal)
	d.Moved = moved
	return d
}
