package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

var (
	_, _ runtime.Maintenance = (*Local)(nil), (*readOnly)(nil)
	_    runtime.Motion      = (*Local)(nil)
)

// Maintain looks after the store of this engine.
func (r *reader) Maintain(ctx context.Context, c runtime.MaintenanceRequest) (*runtime.MaintenanceReport, error) {
	return r.maintain(ctx, c, r.inspect)
}

// Maintain looks after the store of this engine.
func (e *Local) Maintain(ctx context.Context, c runtime.MaintenanceRequest) (*runtime.MaintenanceReport, error) {
	return e.maintain(ctx, c, e.maintainOwned)
}

func (r *reader) maintain(ctx context.Context, c runtime.MaintenanceRequest, do func(context.Context, runtime.MaintenanceRequest, *runtime.MaintenanceReport) error) (*runtime.MaintenanceReport, error) {
	if err := need(ctx, runtime.CanAdmin, "maintain the store"); err != nil {
		return nil, err
	}
	info := r.store.Info()
	out := &runtime.MaintenanceReport{Schema: runtime.Schema, Store: info.Name, ID: info.ID, Format: info.Format, Epoch: info.Epoch, Sequence: info.Sequence}
	err := do(ctx, c, out)
	if k, ok := r.store.(runtime.Keeper); ok && err == nil {
		out.Usage, err = k.Usage()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// inspect does what changes nothing.
func (r *reader) inspect(ctx context.Context, c runtime.MaintenanceRequest, out *runtime.MaintenanceReport) (err error) {
	switch c.Task {
	case runtime.MaintenanceGC, runtime.MaintenancePrune, runtime.MaintenanceTrim:
		return errReadOnly
	case runtime.MaintenanceInfo:
		out.Runs = map[runtime.Status]int{}
		return journal.ScanEach(r.store, journal.PrefixRun, func(run string, row []byte, damage error) error {
			out.Runs[r.summaryFrom(run, row, damage).Status]++
			return nil
		})
	}
	k, ok := r.store.(runtime.Keeper)
	switch {
	case c.Task != runtime.MaintenanceCheck && c.Task != runtime.MaintenanceBackup:
		return runtime.Refusef(runtime.ErrUsage, "got the task %q, want info, check, gc, backup, prune or trim", c.Task)
	case !ok:
		return runtime.Refusef(runtime.ErrUsage, "a store in memory needs no maintenance")
	case c.Task == runtime.MaintenanceCheck:
		return checkStore(ctx, out, k)
	case !filepath.IsAbs(c.Path):
		return runtime.Refusef(runtime.ErrUsage, "the path of a backup is %q, want an absolute one", c.Path)
	}
	out.Backup = c.Path
	if out.Keys, out.Bytes, err = k.Backup(ctx, c.Path); errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return runtime.Refusef(runtime.ErrUsage, "%v", err)
	}
	return err
}

// maintainOwned does what drops something, too: one thing at a time.
func (e *Local) maintainOwned(ctx context.Context, c runtime.MaintenanceRequest, out *runtime.MaintenanceReport) error {
	switch c.Task {
	case runtime.MaintenanceTrim:
		return e.trimAll(ctx, c, out)
	case runtime.MaintenancePrune:
		e.keeping.Lock()
		defer e.keeping.Unlock()
		err := e.prune(ctx, c, out)
		if err == nil && len(out.Pruned) > 0 && !c.DryRun {
			out.Contents, err = e.sweepIdle(ctx)
		}
		if errors.Is(err, runtime.ErrDamaged) { // of another run
			addProblem(out, "", "contents", err)
			err = nil
		}
		return err
	case runtime.MaintenanceGC:
		return e.collect(ctx, out)
	}
	return e.inspect(ctx, c, out)
}

// checkStore reads everything: the files, then each value, then what the values mean.
func checkStore(ctx context.Context, out *runtime.MaintenanceReport, k runtime.Keeper) error {
	if err := k.Verify(ctx); err != nil {
		addProblem(out, "", "files", err)
	}
	var err error
	out.Checked, err = k.Damaged(ctx, func(key []byte, err error) { addProblem(out, runOf(string(key)), fmt.Sprintf("value of %q", key), err) })
	if err != nil {
		return err
	}
	checkContents(out, k)
	return journal.ScanEach(k, journal.PrefixRun, func(run string, _ []byte, _ error) error { // a row that cannot be read was found before
		checkRun(out, k, run)
		return ctx.Err()
	})
}

func addProblem(out *runtime.MaintenanceReport, run, what string, err error) {
	out.Problems = append(out.Problems, runtime.Problem{Run: run, What: what, Error: err.Error()})
}

// runOf is the run that a key belongs to, "" where it is shared.
func runOf(key string) string {
	if len(key) < 2+journal.RunIDLength || !strings.Contains(journal.PrefixRun+journal.PrefixJournal+journal.PrefixCheckpoint+journal.PrefixHorizon+journal.PrefixKeyframe+journal.PrefixGate+journal.PrefixInbox+journal.PrefixWork+journal.PrefixNotice+journal.PrefixKey+journal.PrefixRecovery, key[:2]) {
		return ""
	}
	return key[2 : 2+journal.RunIDLength]
}

// checkContents holds contents against their hashes.
func checkContents(out *runtime.MaintenanceReport, k runtime.Keeper) {
	_ = journal.ScanWhole(k, journal.PrefixBlob, func(hash string, v []byte) error {
		if journal.HashOf(v) != hash {
			addProblem(out, "", "content "+hash, fmt.Errorf("%w: it does not have its hash", runtime.ErrDamaged))
		}
		return nil
	}) // a value that cannot be read was found before
}

// checkRun reads the journal, the keyframe and the checkpoints of a run.
func checkRun(out *runtime.MaintenanceReport, k runtime.Keeper, id string) {
	whole := &saved{run: id, state: run.NewState(id)}
	h, err := whole.readStart(k)
	if err == nil && h != nil {
		checkKeyframe(out, k, id, h)
		err = whole.readKeyframe(k, h)
	}
	if err == nil {
		err = whole.readTail(k)
	}
	if err != nil {
		addProblem(out, id, "journal", err)
	}
	if whole.start == nil {
		return
	}
	sv := &saved{run: id, state: run.NewState(id), start: whole.start, begins: whole.begins}
	all, err := sv.checkpoints(k)
	at, head, failed := k.Head(id)
	if head != nil {
		all = append(all, stored{point: point{seq: at}, body: head})
	}
	for _, c := range all {
		if _, _, err := readCheckpoint(id, c.body); err != nil && c.seq > sv.begins {
			addProblem(out, id, "checkpoint", fmt.Errorf("%w; the run is rebuilt from its journal", err))
		}
	}
	for _, err := range []error{err, failed} {
		if err != nil {
			addProblem(out, id, "checkpoint", err)
		}
	}
}

// checkKeyframe reads both copies.
func checkKeyframe(out *runtime.MaintenanceReport, k runtime.Keeper, run string, h *horizon) {
	for i := range copies {
		b, err := h.frame(k, run, i)
		if err == nil {
			_, _, err = readCheckpoint(run, b)
		}
		if err != nil {
			addProblem(out, run, "keyframe", err)
		}
	}
}
