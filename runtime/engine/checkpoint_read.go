package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// This file finds the newest checkpoint of a run that serves: its head, or one of those that are kept.

// readHead takes the head: then it is all that there is to read, but for the first record where no other run is known that was started alike.
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

// readCheckpoints takes the newest checkpoint that serves, the head or one that is kept, leaving out some, and notes which are kept. One whose value cannot be read is as one that was not
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
