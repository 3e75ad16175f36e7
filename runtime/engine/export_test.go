package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"starling/runtime"
	"starling/runtime/archive"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// Keyframes makes a keyframe of a run at every stride-th commit but the last, reads it, and goes on
// from it to the end of the journal. What comes of it, state and machine, must be what comes of the
// whole journal. Nothing is dropped.
func (e *Local) Keyframes(ctx context.Context, id string, stride int) (made int, err error) {
	whole, err := readRun(e.store, id, 99)
	if err != nil || len(whole.tail) == 0 {
		return 0, err
	}
	start, records := whole.start, whole.tail
	h, err := e.hostOf(whole)
	if err != nil {
		return 0, err
	}
	want, err := e.written(h, whole)
	if err != nil {
		return 0, fmt.Errorf("the whole journal: %w", err)
	}
	copied := uint64(0)
	if l := whole.state.Lineage; l != nil {
		copied = l.Copied
	}
	var ends []uint64
	err = e.commits(id, 0, func(_ []byte, records []journal.Record) error {
		ends = append(ends, records[len(records)-1].Seq)
		if slices.ContainsFunc(records, func(r journal.Record) bool { return journal.EndsRun(&r) }) {
			return runtime.ErrStopScan // what comes behind it are refusals
		}
		return nil
	})
	for i := stride - 1; i < len(ends)-1 && err == nil; i += stride {
		at := ends[i]
		if at <= copied {
			continue
		}
		var frame *horizon
		if frame, err = e.keyframe(ctx, id, at); err != nil {
			return made, fmt.Errorf("a keyframe at record %d: %w", at, err)
		}
		sv := &saved{run: id, state: run.NewState(id), start: start, begins: at, tail: records[at:]}
		if err = sv.readKeyframe(e.store, frame); err != nil {
			return made, err
		}
		var got []byte
		if got, err = e.written(h, sv); err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("what comes of it is not what comes of the whole journal:\ngot  %.2000q\nwant %.2000q", got, want)
		}
		if err != nil {
			return made, fmt.Errorf("from the keyframe at record %d: %w", at, err)
		}
		made++
	}
	return made, err
}

// Reindex makes the index anew, as an owner does that does not find it good.
func (e *Local) Reindex() error { return e.rebuildIndex(0) }

// written is what a run comes to, written down.
func (e *Local) written(h *run.Host, sv *saved) ([]byte, error) {
	r, err := sv.rebuild(h, e.now())
	if err != nil {
		return nil, err
	}
	if sv.state.Status.Ended() {
		return sv.state.Summary(), nil
	}
	c, err := e.checkpoint(sv.state, r.Machine, nil)
	if err != nil {
		return nil, err
	}
	return c.bytes, nil
}

// Forge changes the journals of an export, that of the run that was exported first, and seals it.
func Forge(file []byte, change func(run int, records []journal.Record) []journal.Record) ([]byte, error) {
	in, err := archive.Read(file)
	if err != nil {
		return nil, err
	}
	w := archive.NewWriter(in.Runs[0].ID, in.Store, 0)
	for _, content := range in.Contents {
		w.Content(content)
	}
	for i, r := range in.Runs {
		var values [][]byte
		for _, value := range (&adopted{id: r.ID, records: number(change(i, r.Records))}).journal() {
			values = append(values, value.Value)
		}
		w.Run(r.ID, r.Parent, values)
	}
	return w.File(), nil
}
