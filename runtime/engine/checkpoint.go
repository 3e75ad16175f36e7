package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// A checkpoint is the state and the machine of a run as they were after one record. It is a cache:
// a run whose checkpoint is missing, damaged or of another format is rebuilt from its journal.
//
//	checksum (as for the journal) · uvarint length, state (a dict as effect.Payload) · machine (vm's snapshot with its own header and MAC)
//
// A small one of a run that rests or leaves memory is the run's head in the store: where the run
// stands and what it goes on from are one value, which the next commit replaces. So it is never
// older than the journal, and a load that finds it looks no further. The others are kept under the
// number of their record, the newest two; when one is due does not depend on how often the run has
// rested, so that no more is replayed if the head is damaged, or if the run's process ends while it
// is in motion.
//
// What a run was started with is in its first record, and not in its checkpoints; a head has the
// inputs and the name of what it shares with runs that were started alike. A gate's arguments are
// those of its step, where it has one. A large one is cut into parts, each a value of its own; it
// is whole when its checksum says so.

// What a checkpoint may take.
const (
	smallCheckpoint = runtime.MaxHead // bytes that may ride along with the commit of a turn
	checkpointPart  = 4 << 20         // bytes of one value
)

// point is a checkpoint that the store holds.
type point struct {
	seq   uint64
	parts int
}

// checkpoint is one in the making; nil is none.
type checkpoint struct {
	seq   uint64
	bytes []byte
	steps uint64 // of the machine
	head  bool   // it becomes the run's head
}

func (c *checkpoint) small() bool { return c != nil && len(c.bytes) <= smallCheckpoint }

// checkpointDue makes a checkpoint if the turn should end with one. That it cannot be made costs
// time when the run is loaded, and nothing else.
func (a *actor) checkpointDue(done *run.Commit, length *run.Tail) *checkpoint {
	if a.s.Status.Ended() || a.s.Session || a.m == nil || len(done.Records) == 0 { // a session is replayed chunk by chunk
		return nil
	}
	long := done.Moved || length.Long(a.m.Steps()) // no older checkpoint serves a run that was moved
	if !long && (a.s.Status != runtime.Suspended || length.Size > smallCheckpoint) {
		return nil
	}
	var head *run.Tail
	if !long {
		head = length
	}
	c, err := a.e.checkpoint(a.s, a.m, head)
	if err != nil {
		a.e.log("%v", err)
		return nil
	}
	length.Size = len(c.bytes)
	if !long && !c.small() {
		return nil
	}
	c.head = !long
	return c
}

// checkpoint encodes a run as its state and its machine have it; head is nil for one that is kept.
func (e *Local) checkpoint(s *run.State, m *vm.Machine, head *run.Tail) (*checkpoint, error) {
	b, err := EncodeCheckpoint(s, m, head, e.macKey)
	return &checkpoint{seq: s.Seq, steps: m.Steps(), bytes: b}, err
}

// EncodeCheckpoint encodes a run as its state and its machine have it; head is what a head of a run
// has beside them, nil for a checkpoint that is kept.
func EncodeCheckpoint(s *run.State, m *vm.Machine, head *run.Tail, macKey []byte) (b []byte, err error) {
	s.KeepCeilings(m.Ceilings())
	st := s.Payload(head)
	b = binary.AppendUvarint(make([]byte, journal.ChecksumSize), uint64(len(st)))
	b = append(b, st...)
	err = guarded(func() error {
		snap, err := m.Snapshot(macKey)
		b = journal.Seal(append(b, snap...))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run %s cannot be written down: %w", s.ID, err)
	}
	return b, nil
}

func pointKey(run string, seq uint64, part int) []byte {
	return binary.BigEndian.AppendUint16(journal.SeqKey(journal.PrefixCheckpoint, run, seq), uint16(part))
}

// ride adds a small checkpoint to the batch of the turn that it ends.
func (c *checkpoint) ride(a *actor, b *runtime.Batch) {
	if c.head {
		b.Fences[len(b.Fences)-1].Head = c.bytes // of the turn's records
	} else {
		b.Writes = append(b.Writes, c.writes(a)...)
	}
}

// writes are the values of a checkpoint that is kept, and the end of the one that is superseded.
func (c *checkpoint) writes(a *actor) []runtime.Write {
	a.findPoints()
	var all []runtime.Write
	for part := range slices.Chunk(c.bytes, checkpointPart) {
		all = append(all, runtime.Write{Key: pointKey(a.run, c.seq, len(all)), Value: part})
	}
	if len(a.points) < 2 {
		return all
	}
	for part := range a.points[0].parts {
		all = append(all, runtime.Write{Key: pointKey(a.run, a.points[0].seq, part), Value: nil})
	}
	return all
}

// checkpointed notes a checkpoint that rode along, or writes down one that was too large for that.
func (a *actor) checkpointed(c *checkpoint) error {
	if c == nil {
		return nil
	}
	if !c.small() {
		if err := a.writeApart(c); err != nil {
			return err
		}
	}
	a.saved = c.seq
	if !c.head {
		a.points = append(a.points, point{c.seq, (len(c.bytes) + checkpointPart - 1) / checkpointPart})
		a.points = a.points[max(0, len(a.points)-2):]
		a.tail = run.Tail{Steps: c.steps, Size: len(c.bytes)}
	}
	return nil
}

// writeApart writes a checkpoint of what is durable already, one value a commit.
func (a *actor) writeApart(c *checkpoint) error {
	for _, w := range c.writes(a) {
		b := &runtime.Batch{Fences: []runtime.Fence{{Run: a.run, Expect: c.seq, Next: c.seq}}, Writes: []runtime.Write{w}}
		if err := a.e.commit(context.Background(), b); err != nil {
			return err
		}
	}
	return nil
}

// writeDown writes a checkpoint of the run as it is, when the newest one is older.
func (a *actor) writeDown() error {
	if a.s == nil || a.m == nil || a.s.Status.Ended() || a.s.Session || a.saved == a.s.Seq {
		return nil
	}
	c, err := a.e.checkpoint(a.s, a.m, &a.tail)
	if err != nil {
		a.e.log("%v", err)
		return nil
	}
	if c.small() {
		err = a.e.commit(context.Background(), &runtime.Batch{Fences: []runtime.Fence{{Run: a.run, Expect: c.seq, Next: c.seq, Head: c.bytes}}})
	} else {
		err = a.writeApart(c)
		a.points, a.sought = nil, false
	}
	if err == nil {
		a.saved = c.seq
	}
	return err
}

// findPoints looks which checkpoints the store has, where the load did not.
func (a *actor) findPoints() {
	if a.sought {
		return
	}
	sv := &saved{run: a.run}
	if err := sv.readCheckpoints(a.e.store, nil, math.MaxInt); err != nil {
		a.e.log("run %s: older checkpoints stay where they are: %v", a.run, err)
	}
	a.points, a.sought = sv.points, true
}
