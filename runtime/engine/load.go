package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// saved is a run as the store has it: a checkpoint, if any reads, and the records behind it.
type saved struct {
	run     string
	begins  uint64          // the horizon: what the journal has is newer; 0 for a whole one
	start   *journal.Record // what the run was started with
	state   *run.State      // as the checkpoint has it; folded, as the newest record left it
	machine []byte          // the machine's snapshot, nil without a checkpoint
	points  []point
	sought  bool   // points has all of them
	saved   uint64 // the record that it is of
	headed  bool   // it is the head
	tail    []journal.Record
	length  run.Tail                                                               // since the newest checkpoint that is kept
	origins func(name string, read func() (run.Origin, error)) (run.Origin, error) // finds one that is known, or keeps what was read; nil has the first record read in any case
	upTo    uint64                                                                 // the record that is the last one wanted, 0 for the newest
}

// gap says that a journal lacks a record.
func gap(seq uint64) error {
	return fmt.Errorf("%w: a record is missing: it lacks record %d", runtime.ErrDamaged, seq)
}

// readRun reads a run. skip leaves out as many of the newest checkpoints: the journal is the truth,
// a checkpoint only saves reading it. Of a trimmed journal the truth begins with its keyframe.
func readRun(s runtime.Store, run string, skip int) (*saved, error) {
	return readRunTo(s, run, skip, 0)
}

// readRunTo reads a run as it was after a record that was the last of its commit.
func readRunTo(s runtime.Store, run string, skip int, upTo uint64) (*saved, error) {
	return readSaved(s, saved{run: run, upTo: upTo}, skip)
}

// readSaved reads a run as what is known of it beforehand has it.
func readSaved(s runtime.Store, known saved, skip int) (*saved, error) {
	run := known.run
	for before := uint64(0); ; {
		sv := new(saved)
		*sv = known
		err := sv.read(s, skip)
		if !errors.Is(err, runtime.ErrDamaged) {
			return sv, unreadable(run, err)
		}
		h, failed := readHorizon(s, run) // was it trimmed while it was read? A record, or the keyframe that it began with, is gone then
		if failed != nil || h == nil || h.seq == before || h.seq == sv.begins {
			return nil, unreadable(run, err)
		}
		before = h.seq
	}
}

func (sv *saved) read(s runtime.Store, skip int) error {
	_, head, err := s.Head(sv.run)
	if err != nil && !errors.Is(err, runtime.ErrDamaged) {
		return err
	}
	if skip == 0 && sv.upTo == 0 && sv.readHead(s, head) {
		return nil
	}
	h, err := sv.readStart(s)
	if err != nil {
		return err
	}
	sv.state = run.NewState(sv.run)
	if sv.start != nil {
		if err := sv.readCheckpoints(s, head, skip); err != nil {
			return err
		}
	}
	if h != nil && sv.state.Seq == 0 {
		if err := sv.readKeyframe(s, h); err != nil {
			return err
		}
	}
	if err := sv.readTail(s); err != nil {
		return err
	}
	if sv.state.Seq == 0 && len(sv.tail) == 0 {
		return runtime.Refusef(runtime.ErrUnknownRun, "no run %q", sv.run)
	}
	return nil
}

// readStart finds what the run was started with: in its first record, or at its horizon.
func (sv *saved) readStart(s runtime.Store) (*horizon, error) {
	first, err := firstRecord(s, sv.run)
	if err == nil {
		sv.start = first
		return nil, nil
	}
	h, failed := readHorizon(s, sv.run)
	switch {
	case failed != nil:
		return nil, failed
	case h != nil:
		sv.start, sv.begins = &h.start, h.seq
		return h, nil
	case errors.Is(err, runtime.ErrNoKey):
		return nil, nil // readTail tells whether there is anything
	}
	return nil, fmt.Errorf("its first record: %w", err)
}

func firstRecord(s runtime.Store, run string) (*journal.Record, error) {
	v, err := s.Get(journal.SeqKey(journal.PrefixJournal, run, 1))
	if err == nil {
		v, err = journal.Open(v)
	}
	if err != nil {
		return nil, err
	}
	r, _, err := journal.Read(v, 1)
	return &r, err
}

func (sv *saved) readTail(s runtime.Store) error {
	next := sv.state.Seq + 1
	end := journal.AfterPrefix([]byte(journal.PrefixJournal + sv.run))
	if sv.upTo > 0 {
		end = journal.SeqKey(journal.PrefixJournal, sv.run, sv.upTo+1)
	}
	return s.Scan(journal.SeqKey(journal.PrefixJournal, sv.run, next), end, func(k, v []byte) error {
		records, err := journal.Unseal(v, journal.SeqOf(k))
		if err != nil {
			return err
		}
		if journal.SeqOf(k) != next {
			return gap(next)
		}
		next += uint64(len(records))
		sv.length.Bytes += len(v)
		sv.length.Records += len(records)
		sv.tail = append(sv.tail, records...)
		return nil
	})
}

// fold brings the state up to the newest record.
func (sv *saved) fold() *run.State {
	for i := range sv.tail {
		sv.state.Apply(&sv.tail[i])
	}
	sv.tail = nil
	return sv.state
}

// needsNoMachine tells whether no machine is needed: the run has ended, or is quarantined.
func (sv *saved) needsNoMachine() bool {
	aside := sv.state.Gates[runtime.GateQuarantine] != nil
	for i := range sv.tail {
		switch r := &sv.tail[i]; {
		case journal.EndsRun(r):
			return true
		case r.Step == runtime.GateQuarantine && (r.Type == journal.GateOpened || r.Type == journal.GateDecided): // and not a signal that was refused there
			aside = r.Type == journal.GateOpened
		}
	}
	return aside || sv.state.Status.Ended()
}

// load brings the run into memory: state and machine as the last durable record left them. Attempts
// that were in flight when the last process died are cut: what becomes of them is decided in the
// turn that follows.
func (a *actor) load() (fresh bool, err error) {
	if a.s != nil {
		return false, nil
	}
	sv, err := readSaved(a.e.store, saved{run: a.run, origins: a.e.programs.origins.of}, 0)
	if err != nil {
		return false, err
	}
	poison := ""
	a.m, a.unjournaled, a.incompatible, a.host = nil, nil, nil, a.e.hosted(&run.Host{Run: a.run})
	if !sv.needsNoMachine() {
		poison, err = a.restore(sv)
	}
	if poison != "" {
		if err = a.quarantine(poison); err == nil {
			return a.load()
		}
	}
	if a.m == nil && err == nil {
		a.keep(sv.fold(), sv)
	}
	return true, err
}

// keep takes a state that was read.
func (a *actor) keep(s *run.State, sv *saved) {
	a.asked = asked(s)
	a.s, a.points, a.sought, a.tail, a.saved, a.row, a.kept = s, sv.points, sv.sought, sv.length, sv.saved, s.SummaryRow(), max(a.kept, sv.begins)
}

// restore makes state and machine. A run that cannot be served here (this build's builtins behave
// in another way) is left as it is, incompatible; one whose machine fails, or says something else
// than the journal does, or whose program or settings are damaged, is poison.
func (a *actor) restore(sv *saved) (poison string, err error) {
	h, err := a.e.hostOf(sv)
	if errors.Is(err, runtime.ErrDamaged) {
		return err.Error(), nil
	}
	if err != nil {
		a.incompatible = err
		return "", nil
	}
	if poison, err = a.countRecovery(sv); poison != "" || err != nil {
		return poison, err
	}
	h.Lend = a.lender()
	a.reserve(len(sv.machine))
	err = guarded(func() error { return a.rebuild(h, sv) })
	if errors.Is(err, runtime.ErrDamaged) {
		return "", unreadable(a.run, err)
	}
	if err != nil {
		a.m = nil
		a.e.log("run %s: %+v", a.run, err)
		return err.Error(), nil
	}
	return "", nil
}

// rebuild restores the machine from the newest checkpoint that serves, in the end from the journal
// alone, and replays what is behind it.
func (a *actor) rebuild(h *run.Host, sv *saved) error {
	r, sv, err := a.e.rebuild(h, sv)
	if err != nil {
		return err
	}
	a.m, a.host, a.unjournaled = r.Machine, h, r.Rest
	a.keep(sv.state, sv)
	a.yielded = a.m.Runnable() || len(a.s.Decided) > 0
	return nil
}

// rebuild makes the machine of a run, and says what it was made of.
func (e *Local) rebuild(h *run.Host, sv *saved) (run.Rebuilt, *saved, error) {
	for skip := 1; ; skip++ {
		last := sv.state.Seq == sv.begins
		r, err := sv.rebuild(h, e.now())
		if err == nil || last {
			return r, sv, err
		}
		e.log("run %s: %v; going back to an older checkpoint", sv.run, err)
		if sv, err = readRunTo(e.store, sv.run, skip, sv.upTo); err != nil {
			return run.Rebuilt{}, nil, err
		}
	}
}

func (sv *saved) rebuild(h *run.Host, now time.Time) (run.Rebuilt, error) {
	r, err := h.Rebuild(sv.state, sv.machine, sv.tail, now)
	if !sv.headed {
		sv.length.Steps = r.Began
	}
	return r, err
}

// recovery is what a run is told that was just loaded, nil for one that was in memory.
func (a *actor) recovery(fresh bool) *run.Recovered {
	if !fresh {
		return nil
	}
	in := &run.Recovered{Rest: a.unjournaled, Flying: map[string]bool{}}
	a.unjournaled = nil
	for step := range a.flights {
		in.Flying[step] = true
	}
	if parent, step, child := journal.CutParent(a.s.Parent); child && a.e.orphaned(parent, step, a.run) {
		in.Orphan = parent
	}
	return in
}

// maxRecoveries is how often a run may bring its process down before it is quarantined.
const maxRecoveries = 3

// countRecovery counts, durably and before any of its code runs, that a run is being recovered; the
// count goes away with the turn that follows. A run at rest whose checkpoint is all there is to
// read runs no code.
func (a *actor) countRecovery(sv *saved) (poison string, err error) {
	if sv.state.Status == runtime.Suspended && len(sv.tail) == 0 {
		return "", nil
	}
	key := []byte(journal.PrefixRecovery + a.run)
	n := byte(0)
	if v, err := a.e.store.Get(key); err == nil && len(v) == 1 {
		n = v[0]
	}
	if n >= maxRecoveries {
		return fmt.Sprintf("%d recoveries in a row ended without a commit", n), nil
	}
	err = a.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{{Key: key, Value: []byte{n + 1}}}})
	a.recovered = err == nil
	return "", err
}

// unrecovered takes back what countRecovery counted, of a turn that was abandoned and not broken
// off.
func (a *actor) unrecovered() {
	if !a.recovered {
		return
	}
	err := a.e.commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.PrefixRecovery + a.run), Value: nil}}})
	a.recovered = err != nil
}

// quarantine lets the run rest at the gate !quarantine: no more of its code runs until somebody
// decides.
func (a *actor) quarantine(why string) error {
	sv, err := readRun(a.e.store, a.run, 0)
	if err != nil {
		return err
	}
	a.m, a.recovered, a.host = nil, true, a.e.hosted(&run.Host{Run: a.run})
	a.keep(sv.fold(), sv)
	t := &run.Turn{State: a.s, Host: a.host, Now: a.e.now(), Had: &a.row}
	err = a.commit(t.Quarantine(why))
	a.s = nil
	return err
}

// hostOf finds what a run needs of its program, and its settings as they are now: a replay asks
// nothing of them but the machine's limits, which never change.
func (p *programs) hostOf(r *reader, sv *saved) (*run.Host, error) {
	s := sv.first()
	for i := range sv.tail {
		if r := &sv.tail[i]; r.Type == journal.RunPinned {
			s.Apply(r)
		}
	}
	return p.host(r, s)
}

func (e *Local) hostOf(sv *saved) (*run.Host, error) {
	h, err := e.programs.hostOf(&e.reader, sv)
	if err != nil {
		return nil, err
	}
	return e.hosted(h), nil
}

// first is the state that replay begins with, with the program that the run has moved to since: all
// that was journaled before has been replayed with it.
func (sv *saved) first() *run.State {
	if len(sv.tail) == 0 {
		return sv.state
	}
	s := *sv.state
	for i := range sv.tail {
		if r := &sv.tail[i]; r.Type == journal.RunMoved || r.Seq == 1 {
			s.Apply(r)
		}
	}
	return &s
}

func (r *reader) settings(hash string) (*effect.Settings, error) {
	if hash == "" {
		return &effect.Settings{}, nil
	}
	b, err := r.needed(hash)
	if err != nil {
		return nil, err
	}
	return run.SettingsOf(b)
}

// readOrigin takes what the run has in common with others from those, or has it ready for them.
func (sv *saved) readOrigin(s runtime.Store, st *run.State) bool {
	if sv.origins == nil || st.OriginRef == nil {
		return false
	}
	o, err := sv.origins(string(st.OriginRef), func() (o run.Origin, err error) {
		first, err := firstRecord(s, sv.run)
		if err != nil {
			return o, err
		}
		o = run.OriginOf(first.View())
		if !bytes.Equal(o.Name(), st.OriginRef) {
			err = fmt.Errorf("%w: run %s was not started like its head says", runtime.ErrDamaged, sv.run)
		}
		return o, err
	})
	if err == nil {
		st.Origin = o
	}
	return err == nil
}

// This file finds the newest checkpoint of a run that serves: its head, or one of those that are
// kept.

// readHead takes the head: then it is all that there is to read, but for the first record where no
// other run is known that was started alike.
func (sv *saved) readHead(s runtime.Store, head []byte) bool {
	if len(head) == 0 {
		return false
	}
	st, snap, err := readCheckpoint(sv.run, head)
	if err != nil {
		return false
	}
	if !sv.readOrigin(s, st) {
		if _, err := sv.readStart(s); err != nil || sv.start == nil || st.Seq <= sv.begins {
			return false
		}
	}
	sv.load(st, snap, len(head))
	sv.headed, st.TailStats.Size = true, len(head)
	sv.length = st.TailStats
	return true
}

// readCheckpoints takes the newest checkpoint that serves, the head or one that is kept, leaving
// out some, and notes which are kept. One whose value cannot be read is as one that was not
// written, and so is one from before the horizon or from behind what is wanted.
func (sv *saved) readCheckpoints(s runtime.Store, head []byte, skip int) error {
	all, err := sv.checkpoints(s)
	for _, c := range all {
		sv.points = append(sv.points, c.point)
	}
	sv.sought = err == nil
	if head != nil {
		all = append(all, stored{body: head})
	}
	for i := len(all) - 1 - skip; i >= 0 && err == nil; i-- {
		st, snap, err := readCheckpoint(sv.run, all[i].body)
		if err == nil && st.Seq > sv.begins && (sv.upTo == 0 || st.Seq <= sv.upTo) {
			sv.load(st, snap, len(all[i].body))
			break
		}
	}
	return err
}

// stored is a checkpoint as the store has it.
type stored struct {
	point
	body []byte
}

// checkpoints reads all that are kept, the newest last.
func (sv *saved) checkpoints(s runtime.Store) (all []stored, err error) {
	err = journal.ScanEach(s, journal.PrefixCheckpoint+sv.run, func(rest string, v []byte, _ error) error {
		if len(rest) != 10 {
			return fmt.Errorf("%w: run %s has a malformed checkpoint key", runtime.ErrDamaged, sv.run)
		}
		seq := binary.BigEndian.Uint64([]byte(rest))
		if n := len(all); n == 0 || all[n-1].seq != seq {
			all = append(all, stored{point: point{seq: seq}})
		}
		last := &all[len(all)-1]
		last.parts++
		last.body = append(last.body, v...)
		return nil
	})
	return all, err
}

// load begins with what a checkpoint or a keyframe has, completed by what the run was started with.
func (sv *saved) load(st *run.State, machine []byte, size int) {
	sv.state, sv.machine, sv.saved = st, machine, st.Seq
	sv.length = run.Tail{Size: size}
	at := *st
	if sv.start != nil {
		st.Begun(sv.start, sv.start.View())
	}
	if at.Moved {
		st.Script, st.Bundle, st.Program = at.Script, at.Bundle, at.Program
	}
	if st.Settings == "" {
		st.Settings = st.Original
	}
}

func readCheckpoint(id string, b []byte) (*run.State, []byte, error) {
	b, err := journal.Open(b)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, errors.New("checkpoint: malformed length")
	}
	v, err := effect.Payload(b[w : w+int(n)]).View()
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	return run.StateOf(id, v), b[w+int(n):], nil
}
