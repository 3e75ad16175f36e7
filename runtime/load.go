package runtime

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"starling/lang/effect"
)

// saved is a run as the store has it: the newest checkpoint that reads, and the records behind it.
type saved struct {
	state       *state
	machine     []byte // the machine's snapshot, nil when there is none
	tail        []Record
	tailBytes   int
	checkpoints []uint64
}

// readRun reads a run. skip leaves out as many of the newest checkpoints: the journal is the truth, a checkpoint only saves reading it.
func readRun(s Store, run string, skip int) (*saved, error) {
	out := &saved{state: newState(run)}
	var bodies [][]byte
	err := scan(s, prefixCheckpoint+run, func(rest string, v []byte) error {
		out.checkpoints = append(out.checkpoints, binary.BigEndian.Uint64([]byte(rest)))
		bodies = append(bodies, slices.Clone(v))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := len(bodies) - 1 - skip; i >= 0; i-- {
		if st, snap, err := readCheckpoint(run, bodies[i]); err == nil {
			out.state, out.machine = st, snap
			break
		}
	}
	if err := out.readTail(s, run); err != nil {
		return nil, err
	}
	if out.state.Seq == 0 && len(out.tail) == 0 {
		return nil, refuse(ErrUnknownRun, "no run %q", run)
	}
	return out, nil
}

func (s *saved) readTail(st Store, run string) error {
	next := s.state.Seq + 1
	from := seqKey(prefixJournal, run, next)
	err := st.Scan(from, afterPrefix([]byte(prefixJournal+run)), func(k, v []byte) error {
		records, err := unseal(v, seqOf(k))
		if err != nil {
			return err
		}
		if len(records) > 0 && records[0].Seq != next {
			return fmt.Errorf("%w: run %s lacks record %d", ErrDamaged, run, next)
		}
		next += uint64(len(records))
		s.tailBytes += len(v)
		s.tail = append(s.tail, records...)
		return nil
	})
	return err
}

// fold brings the state up to the newest record.
func (s *saved) fold() *state {
	for i := range s.tail {
		s.state.apply(&s.tail[i])
	}
	s.state.timerOps = nil
	return s.state
}

// load brings the run into memory: state and machine as the last durable record left them. Attempts that were in flight when the last process died
// are cut: what becomes of them is decided in the next turn.
func (a *actor) load() (fresh bool, err error) {
	if a.s != nil {
		return false, nil
	}
	sv, err := readRun(a.e.store, a.run, 0)
	if err != nil {
		return false, err
	}
	if err := a.adopt(sv); err != nil {
		return false, err
	}
	if a.s.Status == Running && a.m != nil {
		return true, a.countRecovery()
	}
	return true, nil
}

// adopt makes state and machine from what was read. A checkpoint whose machine cannot be restored is passed over for an older one, in the end
// for the journal alone.
func (a *actor) adopt(sv *saved) error {
	head := newState(a.run)
	*head = *sv.state
	if head.Seq == 0 {
		head.apply(&sv.tail[0])
	}
	h, err := a.e.hostOf(a.run, head)
	if err != nil {
		return err
	}
	a.host, a.checkpoints = h, sv.checkpoints
	for skip := 0; ; skip++ {
		m, state, err := h.rebuild(sv)
		if err == nil {
			a.m, a.s = m, state
			break
		}
		if sv.state.Seq == 0 && !errors.Is(err, errBadSnapshot) {
			return err
		}
		a.e.log("run %s: %v; going back to an older checkpoint", a.run, err)
		if sv, err = readRun(a.e.store, a.run, skip+1); err != nil {
			return err
		}
	}
	a.tail = tail{records: len(sv.tail), bytes: sv.tailBytes}
	a.row = string(a.s.summary())
	a.yielded = a.m != nil && a.m.Runnable()
	return nil
}

// recover is the first event after a load, before whatever it was loaded for.
func (a *actor) recover(t *turn) {
	if t.s.Status.Ended() {
		return
	}
	if parent, step, child := cutParent(t.s.Parent); child && t.host.e.abandoned(parent, step) {
		t.cancelRun("run:"+parent, "its parent ended")
		return
	}
	for _, st := range t.s.inOrder() {
		if _, flying := a.flights[st.Step]; st.InFlight && !flying {
			t.uncertain(st, "the process that ran it ended")
		}
	}
	for _, st := range t.s.inOrder() {
		if st.Kind == kindRun {
			t.children = append(t.children, st)
		}
	}
	t.closeNeeds()
	t.overdue()
}

// maxRecoveries is how often a run may bring its process down before it is set aside.
const maxRecoveries = 3

// countRecovery counts, durably and before the first slice, that this run is being recovered; the count goes away with the next commit of the run.
func (a *actor) countRecovery() error {
	key := []byte(prefixRecovery + a.run)
	n := byte(0)
	if v, err := a.e.store.Get(key); err == nil && len(v) == 1 {
		n = v[0]
	}
	if n >= maxRecoveries {
		a.s, a.m = nil, nil
		if err := a.quarantine(fmt.Sprintf("%d recoveries in a row ended without a commit", n)); err != nil {
			return err
		}
		_, err := a.load()
		return err
	}
	if err := a.e.store.Commit(context.Background(), &Batch{Writes: []Write{{key, []byte{n + 1}}}}); err != nil {
		return err
	}
	a.recovered = true
	return nil
}

// quarantine sets the run aside: it rests at the gate !quarantine and no more of its code runs until somebody decides.
func (a *actor) quarantine(why string) error {
	sv, err := readRun(a.e.store, a.run, 0)
	if err != nil {
		return err
	}
	a.s = sv.fold()
	a.host, a.checkpoints, a.recovered = &host{e: a.e, run: a.run}, sv.checkpoints, true
	t := &turn{s: a.s, host: a.host, now: a.e.now()}
	if t.s.Gates[gateQuarantine] == nil && !t.s.Status.Ended() {
		t.openSystemGate(gateQuarantine, "", "The run was set aside: "+why+". Retry lets it go on, skip cancels it, fail ends it as failed.")
		t.rest()
	}
	err = a.commit(t)
	a.s, a.m = nil, nil
	return err
}

func appendMicros(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixMicro()))
}

// readSummary reads the row of a run.
func readSummary(run string, row []byte) (Summary, error) {
	if len(row) < 8 {
		return Summary{}, fmt.Errorf("%w: the row of run %s is too short", ErrDamaged, run)
	}
	v, err := effect.Payload(row[8:]).View()
	if err != nil {
		return Summary{}, fmt.Errorf("%w: the row of run %s: %v", ErrDamaged, run, err)
	}
	s := summaryOf(run, v)
	s.UpdatedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(row))).UTC()
	return s, nil
}
