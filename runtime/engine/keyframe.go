package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// A keyframe is what a trimmed journal begins with. It has the bytes of a checkpoint
// (checkpoint.go) and another office: a checkpoint saves reading the journal, a keyframe is all
// that is left of it. So it is written twice, each copy under its own keys; what was written is
// read back and a machine made of it before anything is dropped; and it is never replaced but by a
// later one that has gone the same way.
//
// The horizon names it. It, too, stands there twice:
//
//	checksum (as for the journal) · uvarint seq · uvarint parts of a copy · uvarint microseconds since 1970, of the trim · the record run.started
//
// The commit that writes the horizon is the moment of the trim: records up to seq count as dropped
// from then on, whatever of them is still there.

// copies of a keyframe and its horizon.
const copies = 2

// horizon is where a trimmed journal begins.
type horizon struct {
	seq   uint64 // the newest record that was dropped
	parts int    // of each copy of the keyframe
	at    time.Time
	start journal.Record // what the run was started with
}

func horizonKey(run string, copy int) []byte {
	return append([]byte(journal.PrefixHorizon+run), byte(copy))
}

func frameKey(run string, copy int, seq uint64, part int) []byte {
	k := append([]byte(journal.PrefixKeyframe+run), byte(copy))
	k = binary.BigEndian.AppendUint64(k, seq)
	return binary.BigEndian.AppendUint16(k, uint16(part))
}

func (h *horizon) value() []byte {
	b := binary.AppendUvarint(make([]byte, journal.ChecksumSize), h.seq)
	b = binary.AppendUvarint(b, uint64(h.parts))
	b = binary.AppendUvarint(b, uint64(h.at.UnixMicro()))
	return journal.Seal(journal.Append(b, &h.start))
}

func horizonOf(b []byte) (*horizon, error) {
	b, err := journal.Open(b)
	if err != nil {
		return nil, err
	}
	var numbers [3]uint64
	for i := range numbers {
		n, w := binary.Uvarint(b)
		if w <= 0 {
			return nil, fmt.Errorf("%w: malformed horizon", runtime.ErrDamaged)
		}
		numbers[i], b = n, b[w:]
	}
	records, err := journal.ReadAll(b, 1)
	if err == nil && len(records) != 1 {
		err = fmt.Errorf("%w: a horizon with %d records", runtime.ErrDamaged, len(records))
	}
	if err != nil {
		return nil, err
	}
	return &horizon{seq: numbers[0], parts: int(numbers[1]), at: time.UnixMicro(int64(numbers[2])).UTC(), start: records[0]}, nil
}

// readHorizon reads the horizon of a run from the copy that is whole, nil for a run that was never
// trimmed.
func readHorizon(s runtime.Store, run string) (*horizon, error) {
	var wrong error
	for i := range copies {
		v, err := s.Get(horizonKey(run, i))
		if errors.Is(err, runtime.ErrNoKey) {
			continue
		}
		if err == nil {
			var h *horizon
			if h, err = horizonOf(v); err == nil {
				return h, nil
			}
		}
		wrong = fmt.Errorf("its horizon: %w", err)
	}
	return nil, wrong
}

// frame reads one copy of a keyframe.
func (h *horizon) frame(s runtime.Store, run string, copy int) ([]byte, error) {
	var all []byte
	for part := range h.parts {
		v, err := s.Get(frameKey(run, copy, h.seq, part))
		if err != nil {
			return nil, fmt.Errorf("%w: copy %d of the keyframe at record %d: %v", runtime.ErrDamaged, copy+1, h.seq, err)
		}
		all = append(all, v...)
	}
	return all, nil
}

// readKeyframe begins with the copy of the keyframe that is whole.
func (sv *saved) readKeyframe(s runtime.Store, h *horizon) error {
	var wrong error
	for i := range copies {
		b, err := h.frame(s, sv.run, i)
		if err == nil {
			var st *run.State
			var machine []byte
			if st, machine, err = readCheckpoint(sv.run, b); err == nil {
				sv.load(st, machine, len(b))
				return nil
			}
		}
		wrong = errors.Join(wrong, err)
	}
	return fmt.Errorf("its journal was trimmed up to record %d, and neither copy of the keyframe can be read: %w", h.seq, wrong)
}

// writeKeyframe writes a keyframe, and reads back both copies before it says where the journal may
// begin.
func (e *Local) writeKeyframe(ctx context.Context, h *run.Host, sv *saved, c *checkpoint) (*horizon, error) {
	at := &horizon{seq: c.seq, at: e.now(), start: *sv.start}
	for part := range slices.Chunk(c.bytes, checkpointPart) {
		for i := range copies {
			if err := e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: frameKey(sv.run, i, c.seq, at.parts), Value: part}}}); err != nil {
				return nil, err
			}
		}
		at.parts++
	}
	for i := range copies {
		b, err := at.frame(e.store, sv.run, i)
		if err == nil && !bytes.Equal(b, c.bytes) {
			err = fmt.Errorf("%w: copy %d of the keyframe of run %s is not what was written", runtime.ErrDamaged, i+1, sv.run)
		}
		if err != nil {
			return nil, err
		}
	}
	return at, e.tryKeyframe(h, sv.run, at, c.bytes)
}

// tryKeyframe makes a machine of a keyframe, which must then be written down as it was.
func (e *Local) tryKeyframe(h *run.Host, run string, at *horizon, b []byte) error {
	st, snapshot, err := readCheckpoint(run, b)
	if err != nil {
		return err
	}
	return guarded(func() error {
		m, err := h.Program.Image.Restore(snapshot, e.macKey)
		if err != nil {
			return err
		}
		m.SetLimits(h.Limits())
		again, err := e.checkpoint(st, m, nil)
		if err == nil && (st.Seq != at.seq || !bytes.Equal(again.bytes, b)) {
			err = fmt.Errorf("run %s: the keyframe at record %d is not written down again as it was read", run, at.seq)
		}
		return err
	})
}

// trimmed refuses what asks for records that a trim has dropped.
func (h *horizon) trimmed(run string) *runtime.Refusal {
	return runtime.Refusef(runtime.ErrTrimmed, "the journal of run %s begins with record %d: what was before was trimmed on %s", run, h.seq+1, h.at.Format(time.DateTime+" UTC")).
		WithHelp("what is left: starling logs %s --after %d; the run itself goes on as any other", run, h.seq).
		WithCall("what is left begins after %d; the run itself goes on as any other", h.seq).
		WithData(map[string]any{"run": run, "horizon": h.seq})
}

// missing explains why a journal does not have a record: it was trimmed, or is damaged.
func (r *reader) missing(run string, seq uint64) error {
	h, err := readHorizon(r.store, run)
	switch {
	case err != nil:
		return err
	case h != nil && seq <= h.seq:
		return h.trimmed(run)
	}
	return gap(seq)
}
