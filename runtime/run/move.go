package run

import (
	"fmt"
	"slices"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Wanted says which past of a run a move is held against.
type Wanted struct {
	Behaviour uint32
	Settings  string // their hash
	seq       uint64 // the newest record
}

// Past is what a run did, and with what.
type Past struct {
	Wanted
	Journal []journal.Record
	Host    *Host // with the program that it is to go on with
}

// move executes the journal with the other program, and puts the machine that comes of it in the
// place of the old one.
func (t *Turn) move(in *Moved) (*runtime.Replayed, error) {
	digest := journal.HashOf([]byte("move " + in.Hash))
	if key := in.Request.Key; key != "" {
		if k, ok := t.lookupKey(key); ok && k.Digest != digest {
			return nil, runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used for another request", key).WithHelp("use a new key for a new request")
		} else if ok {
			return in.document(t.State, nil, true), nil
		}
	}
	switch {
	case t.State.Session:
		return nil, runtime.Refusef(runtime.ErrUsage, "run %s is a session: its program is what was typed", t.State.ID)
	case t.State.Status != runtime.Suspended && !t.State.Status.Ended() || t.Yielded:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "run %s is %s; it can be moved while it rests", t.State.ID, t.State.Status).WithHelp("wait for it with: starling wait %s --for suspended", t.State.ID)
	}
	wants := Wanted{t.State.Behaviour, t.State.Settings, t.State.Seq - uint64(len(t.Records))}
	if in.Wants = nil; in.Past == nil || in.Past.Wanted != wants {
		in.Wants = &wants
		return nil, nil
	}
	h := in.Past.Host
	h.kids, h.Lend = t.Host.kids, t.Host.Lend
	records := slices.Concat(in.Past.Journal, t.Records)
	r, err := Rehearse(h, records, t.Now, true)
	if err != nil {
		return nil, Diverged(err)
	}
	if !t.State.Status.Ended() && t.State.Bundle != in.Hash {
		t.moveOn(in, r)
		t.remember(in.Request.Key, journal.Keyed{Digest: digest, Receipt: &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: t.State.ID, Seq: t.State.Seq}})
	}
	return in.document(t.State, records, !t.State.Status.Ended()), nil
}

// moveOn goes on with the machine that was replayed. A run that is quarantined has none until
// somebody lets it go on.
func (t *Turn) moveOn(in *Moved, r *replayer) {
	var b effect.Object
	t.record(journal.RunMoved, "", b.Text("bundle", in.Hash).Text("program", fmt.Sprintf("%x", r.h.Program.Code.Hash)).Text("script", in.Request.Script).
		Text("from", t.State.Program).Text("by", in.By).Payload())
	t.keep(in.Hash, in.Request.Bundle)
	if t.Machine == nil {
		return
	}
	t.Machine, t.Host, t.Moved = r.m, r.h, true
}

// document tells what was replayed.
func (in *Moved) document(s *State, records []journal.Record, moved bool) *runtime.Replayed {
	d := Replayed(&Host{Program: in.Program}, s, records)
	d.Moved = moved
	return d
}
