package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"starling/lang/contract"
	"starling/runtime"
	"starling/runtime/journal"
)

// A run that loops for months would have a journal without end. Retention trims it: what is older
// than the records that are to stay is dropped, and a keyframe (keyframe.go) stands for it. The
// keyframe is made by replaying what is dropped, so that it is what the journal came to, and not
// what somebody remembers of it; the run itself goes on meanwhile. What was dropped is refused when
// it is asked for (ErrTrimmed), and so is whatever needs the whole journal: replay, fork, rerun,
// export.
//
//  1. The keyframe is written, twice, read back, and a machine made of it.
//  2. One commit writes the horizon: from here on the journal begins there.
//  3. The journal is deleted up to there, the oldest first, with the rows of gates and idempotency keys that lead into it.
//
// A crash before 2 leaves copies that nothing names, a crash after 2 records that nobody asks for;
// the next trim of the run removes both.

// keysLast is how long an idempotency key is remembered at least, also when what it led to is
// trimmed.
const keysLast = 24 * time.Hour

// trimSoon lets the journal be trimmed when it has become long.
func (a *actor) trimSoon() {
	keep := uint64(a.e.opts.Keep)
	if keep == 0 || a.s.Session || a.s.Status.Ended() || a.e.leaving.Load() || !a.longer(2*keep) {
		return
	}
	a.kept = a.s.Seq - keep
	a.e.enter() // an actor is active: the engine is not shut
	go func() {
		defer a.e.exit()
		if _, err := a.e.trim(a.e.ctx, a.run, int(keep), false); err != nil && a.e.ctx.Err() == nil {
			a.e.log("run %s: its journal stays as long as it is: %v", a.run, err)
		}
	}()
}

// longer tells whether the journal has at least so many records. Where it begins is looked up when
// it matters: a run that was loaded from its head does not know.
func (a *actor) longer(than uint64) bool {
	if a.s.Seq-a.kept < than {
		return false
	}
	if h, err := readHorizon(a.e.store, a.run); err == nil && h != nil {
		a.kept = max(a.kept, h.seq)
	}
	return a.s.Seq-a.kept >= than
}

// trimAll trims the journals of all runs that have not ended.
func (e *Local) trimAll(ctx context.Context, c runtime.MaintenanceRequest, out *runtime.MaintenanceReport) error {
	if c.Keep < 1 {
		return runtime.Refusef(runtime.ErrUsage, "got %d records to keep of each run, want at least 1", c.Keep)
	}
	out.Trimmed = []runtime.Trimmed{}
	live, err := e.list(runtime.Query{}, contract.People)
	if err != nil {
		return err
	}
	for _, row := range live.Runs {
		t, err := e.trim(ctx, row.ID, c.Keep, c.DryRun)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			addProblem(out, row.ID, "journal", err)
		case t != nil:
			out.Trimmed = append(out.Trimmed, *t)
		}
	}
	return nil
}

// trim trims the journal of a run, nil where there is nothing to drop.
func (e *Local) trim(ctx context.Context, run string, keep int, dry bool) (*runtime.Trimmed, error) {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	now, err := readRun(e.store, run, 0)
	if err != nil {
		return nil, err
	}
	s := now.fold()
	if s.Session || s.Status.Ended() || s.Gates[runtime.GateQuarantine] != nil || s.Seq <= uint64(keep) {
		return nil, nil
	}
	first, err := e.commitOf(run, s.Seq+1-uint64(keep))
	at := first - 1
	if err != nil || first < 2 || at <= now.begins || s.Lineage != nil && at <= s.Lineage.Copied {
		return nil, err
	}
	done := &runtime.Trimmed{Run: run, Horizon: at, Records: at - now.begins}
	if dry {
		return done, nil
	}
	h, err := e.keyframe(ctx, run, at)
	if err == nil {
		err = e.cutOff(ctx, run, h)
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// keyframe makes the keyframe of a run as it was after a record, by replay.
func (e *Local) keyframe(ctx context.Context, run string, at uint64) (*horizon, error) {
	sv, err := readRunTo(e.store, run, 0, at)
	if err != nil {
		return nil, err
	}
	h, err := e.hostOf(sv)
	if err != nil {
		return nil, err
	}
	var c *checkpoint
	err = guarded(func() error {
		r, sv, err := e.rebuild(h, sv)
		if err == nil && (r.Rest != nil || sv.state.Seq != at) {
			err = fmt.Errorf("%w: run %s cannot stand at record %d, but at %d", runtime.ErrDamaged, run, at, sv.state.Seq)
		}
		if err == nil {
			c, err = e.checkpoint(sv.state, r.Machine, nil)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return e.writeKeyframe(ctx, h, sv, c)
}

// cutOff lets the journal begin at a horizon, and deletes what is before.
func (e *Local) cutOff(ctx context.Context, run string, h *horizon) error {
	b := &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyGarbage), Value: []byte{}}}}
	for i := range copies {
		b.Writes = append(b.Writes, runtime.Write{Key: horizonKey(run, i), Value: h.value()})
	}
	if err := e.commit(ctx, b); err != nil {
		return err
	}
	for _, drop := range []func(context.Context, string, *horizon) error{e.dropJournal, e.dropKeyframes, e.dropKeys} {
		if err := drop(ctx, run, h); err != nil {
			return err
		}
	}
	return nil
}

// dropper deletes key by key, so many a commit.
type dropper struct {
	r *reader
	b runtime.Batch
}

func (d *dropper) drop(ctx context.Context, keys ...[]byte) error {
	for _, key := range keys {
		d.b.Writes = append(d.b.Writes, runtime.Write{Key: key, Value: nil})
	}
	if len(d.b.Writes) < sweepBatch {
		return nil
	}
	return d.flush(ctx)
}

// dropPrefix drops all keys that begin so.
func (d *dropper) dropPrefix(prefix string) error {
	return journal.ScanRange(d.r.store, []byte(prefix), journal.AfterPrefix([]byte(prefix)), func(key, _ []byte, _ error) error {
		return d.drop(context.Background(), bytes.Clone(key))
	})
}

func (d *dropper) flush(ctx context.Context) error {
	if len(d.b.Writes) == 0 {
		return nil
	}
	b := d.b
	d.b = runtime.Batch{}
	return d.r.commit(ctx, &b)
}

// dropJournal deletes the journal up to a horizon, the oldest records first, with the rows of the
// gates that were decided there.
func (e *Local) dropJournal(ctx context.Context, run string, h *horizon) error {
	d := dropper{r: &e.reader}
	err := journal.ScanRange(e.store, journal.SeqKey(journal.PrefixJournal, run, 0), journal.SeqKey(journal.PrefixJournal, run, h.seq+1), func(k, v []byte, _ error) error {
		records, err := journal.Unseal(v, journal.SeqOf(k)) // damaged or not, it goes
		keys := [][]byte{append([]byte(nil), k...)}
		for i := 0; i < len(records) && err == nil; i++ {
			if r := &records[i]; r.Type == journal.GateDecided || r.Type == journal.GateWithdrawn {
				keys = append(keys, []byte(journal.PrefixGate+run+"/"+r.Step), journal.DecidedKey(r.Time, run, r.Step))
			}
		}
		return d.drop(ctx, keys...)
	})
	if err != nil {
		return err
	}
	return d.flush(ctx)
}

// dropKeyframes deletes the keyframes of earlier horizons, and copies that a crash has left.
func (e *Local) dropKeyframes(ctx context.Context, run string, h *horizon) error {
	d := dropper{r: &e.reader}
	err := journal.ScanEach(e.store, journal.PrefixKeyframe+run, func(rest string, _ []byte, _ error) error {
		if len(rest) == 11 && journal.SeqOf([]byte(rest[:9])) == h.seq {
			return nil
		}
		return d.drop(ctx, []byte(journal.PrefixKeyframe+run+rest))
	})
	if err != nil {
		return err
	}
	return d.flush(ctx)
}

// dropKeys deletes the idempotency keys that lead to what was dropped and are older than keysLast.
func (e *Local) dropKeys(ctx context.Context, run string, h *horizon) error {
	d := dropper{r: &e.reader}
	old := journal.Micros(e.now().Add(-keysLast))
	err := journal.ScanWhole(e.store, journal.PrefixKey+run+"/", func(key string, v []byte) error {
		var k journal.Keyed
		if json.Unmarshal(v, &k) != nil || k.Receipt == nil || k.Receipt.Seq > h.seq || k.At > old {
			return nil
		}
		return d.drop(ctx, []byte(journal.PrefixKey+run+"/"+key))
	})
	if err != nil {
		return err
	}
	return d.flush(ctx)
}
