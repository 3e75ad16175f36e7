package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Care is looking after a store as a whole. Whoever owns the store serves it, while runs go on.
type Care interface {
	// Care does one thing for the store. It takes the capability admin.
	Care(ctx context.Context, r CareRequest) (*CareReport, error)
}

// Motion tells whether an engine has anything to do.
type Motion interface {
	// Moving tells whether a run that the engine carries is in motion, or due within a time.
	Moving(soon time.Duration) bool
}

// CareTask is what can be done for a store.
type CareTask string

// The tasks of [Care].
const (
	CareInfo   CareTask = "info"   // tell what is there
	CareCheck  CareTask = "check"  // read all of it and say what is damaged
	CareGC     CareTask = "gc"     // drop contents that nothing names, and give back the space of large values that nothing needs
	CareBackup CareTask = "backup" // write all of it, as it is at one moment, to a file
	CarePrune  CareTask = "prune"  // forget runs that have ended before a time
	CareTrim   CareTask = "trim"   // drop the older part of the journals of runs that have not ended
)

// CareRequest asks for care.
type CareRequest struct {
	Task CareTask `json:"task"`
	Path string   `json:"path,omitempty"` // of the backup, absolute: a file that does not exist

	Before  time.Time `json:"before,omitzero"`   // prune: runs that ended before
	Damaged bool      `json:"damaged,omitempty"` // prune: runs that cannot be read instead
	Keep    int       `json:"keep,omitempty"`    // trim: how many records of each run stay at least, from 1
	DryRun  bool      `json:"dry_run,omitempty"` // prune, trim: tell and do not forget
}

// CareReport says what was found and done.
type CareReport struct {
	Schema   string         `json:"schema"`
	Store    string         `json:"store"` // directory
	ID       string         `json:"id"`
	Format   uint32         `json:"format"`
	Epoch    uint64         `json:"epoch"`
	Sequence uint64         `json:"sequence"` // batches ever committed
	Usage    StoreUsage     `json:"usage"`
	Runs     map[Status]int `json:"runs,omitempty"`     // info: how many
	Checked  int            `json:"checked,omitempty"`  // check: values that were read
	Problems []Problem      `json:"problems,omitempty"` // check: what is damaged; nothing else is
	Files    int            `json:"files,omitempty"`    // gc: files that were given back
	Contents int            `json:"contents,omitempty"` // gc: contents that nothing named, and were dropped
	Backup   string         `json:"backup,omitempty"`   // backup: the file
	Keys     int            `json:"keys,omitempty"`     // backup: how many it holds
	Bytes    int64          `json:"bytes,omitempty"`    // backup: length of the file
	Pruned   []Summary      `json:"pruned,omitempty"`   // prune: the runs, each parent before its children
	Trimmed  []Trimmed      `json:"trimmed,omitempty"`  // trim: the runs
}

// Problem is something damaged: a file, or a value.
type Problem struct {
	Run   string `json:"run,omitempty"` // the run that is concerned, if it is one alone
	What  string `json:"what"`
	Error string `json:"error"`
}

// StoreUsage is what the files of a store take, in bytes.
type StoreUsage struct {
	Tables int64 `json:"tables"`
	Logs   int64 `json:"logs"`   // write-ahead
	Values int64 `json:"values"` // logs of large values
	Other  int64 `json:"other"`
}

// Total is the sum.
func (u StoreUsage) Total() int64 { return u.Tables + u.Logs + u.Values + u.Other }

// Keeper is a store on disk, as far as it can be looked after.
type Keeper interface {
	Store
	// Usage measures the files.
	Usage() (StoreUsage, error)
	// Verify reads the files that are not checked whenever they are read.
	Verify(ctx context.Context) error
	// Damaged calls fn for each key whose value cannot be read, and tells how many values were read.
	Damaged(ctx context.Context, fn func(key []byte, err error)) (read int, err error)
	// GC gives back the space of large values that were deleted, and tells of how many files.
	GC(ctx context.Context) (files int, err error)
	// Backup writes the store as it is at one moment to a file that does not exist, durably and whole or not at all.
	Backup(ctx context.Context, path string) (keys int, bytes int64, err error)
}

var (
	_, _ Care   = (*Local)(nil), (*readOnly)(nil)
	_    Motion = (*Local)(nil)
)

// Care looks after the store of this engine.
func (r *reader) Care(ctx context.Context, c CareRequest) (*CareReport, error) {
	return r.care(ctx, c, r.inspect)
}

// Care looks after the store of this engine.
func (e *Local) Care(ctx context.Context, c CareRequest) (*CareReport, error) {
	return e.care(ctx, c, e.tend)
}

func (r *reader) care(ctx context.Context, c CareRequest, do func(context.Context, CareRequest, *CareReport) error) (*CareReport, error) {
	if err := need(ctx, CanAdmin, "care for the store"); err != nil {
		return nil, err
	}
	info := r.store.Info()
	out := &CareReport{Schema: Schema, Store: info.Path, ID: info.ID, Format: info.Format, Epoch: info.Epoch, Sequence: info.Sequence}
	err := do(ctx, c, out)
	if k, ok := r.store.(Keeper); ok && err == nil {
		out.Usage, err = k.Usage()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// inspect does what changes nothing.
func (r *reader) inspect(ctx context.Context, c CareRequest, out *CareReport) (err error) {
	switch c.Task {
	case CareGC, CarePrune, CareTrim:
		return errReadOnly
	case CareInfo:
		out.Runs = map[Status]int{}
		return scanEach(r.store, prefixRun, func(run string, row []byte, damage error) error {
			out.Runs[r.summaryFrom(run, row, damage).Status]++
			return nil
		})
	}
	k, ok := r.store.(Keeper)
	switch {
	case c.Task != CareCheck && c.Task != CareBackup:
		return refuse(ErrUsage, "got care task %q, want info, check, gc, backup, prune or trim", c.Task)
	case !ok:
		return refuse(ErrUsage, "a store in memory needs no care")
	case c.Task == CareCheck:
		return checkStore(ctx, out, k)
	case !filepath.IsAbs(c.Path):
		return refuse(ErrUsage, "the path of a backup is %q, want an absolute one", c.Path)
	}
	out.Backup = c.Path
	if out.Keys, out.Bytes, err = k.Backup(ctx, c.Path); errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return refuse(ErrUsage, "%v", err)
	}
	return err
}

// tend does what drops something, too: one thing at a time.
func (e *Local) tend(ctx context.Context, c CareRequest, out *CareReport) error {
	switch c.Task {
	case CareTrim:
		return e.trimAll(ctx, c, out)
	case CarePrune:
		e.keeping.Lock()
		defer e.keeping.Unlock()
		err := e.prune(ctx, c, out)
		if err == nil && len(out.Pruned) > 0 && !c.DryRun {
			out.Contents, err = e.sweepIdle(ctx)
		}
		if errors.Is(err, ErrDamaged) { // of another run
			addProblem(out, "", "contents", err)
			err = nil
		}
		return err
	case CareGC:
		return e.collect(ctx, out)
	}
	return e.inspect(ctx, c, out)
}

// checkStore reads everything: the files, then each value, then what the values mean.
func checkStore(ctx context.Context, out *CareReport, k Keeper) error {
	if err := k.Verify(ctx); err != nil {
		addProblem(out, "", "files", err)
	}
	var err error
	out.Checked, err = k.Damaged(ctx, func(key []byte, err error) { addProblem(out, runOf(string(key)), fmt.Sprintf("value of %q", key), err) })
	if err != nil {
		return err
	}
	checkContents(out, k)
	return scanEach(k, prefixRun, func(run string, _ []byte, _ error) error { // a row that cannot be read was found before
		checkRun(out, k, run)
		return ctx.Err()
	})
}

func addProblem(out *CareReport, run, what string, err error) {
	out.Problems = append(out.Problems, Problem{Run: run, What: what, Error: err.Error()})
}

// runOf is the run that a key belongs to, "" where it is shared.
func runOf(key string) string {
	if len(key) < 2+runIDLength || !strings.Contains(prefixRun+prefixJournal+prefixCheckpoint+prefixHorizon+prefixKeyframe+prefixGate+prefixInbox+prefixWork+prefixNotice+prefixKey+prefixRecovery, key[:2]) {
		return ""
	}
	return key[2 : 2+runIDLength]
}

// checkContents holds contents against their hashes.
func checkContents(out *CareReport, k Keeper) {
	_ = scanWhole(k, prefixBlob, func(hash string, v []byte) error {
		if hashOf(v) != hash {
			addProblem(out, "", "content "+hash, fmt.Errorf("%w: it does not have its hash", ErrDamaged))
		}
		return nil
	}) // a value that cannot be read was found before
}

// checkRun reads the journal, the keyframe and the checkpoints of a run.
func checkRun(out *CareReport, k Keeper, run string) {
	whole := &saved{run: run, state: newState(run)}
	h, err := whole.readStart(k)
	if err == nil && h != nil {
		checkKeyframe(out, k, run, h)
		err = whole.readKeyframe(k, h)
	}
	if err == nil {
		err = whole.readTail(k)
	}
	if err != nil {
		addProblem(out, run, "journal", err)
	}
	if whole.start == nil {
		return
	}
	sv := &saved{run: run, state: newState(run), start: whole.start, begins: whole.begins}
	all, err := sv.checkpoints(k)
	at, head, failed := k.Head(run)
	if head != nil {
		all = append(all, stored{point: point{seq: at}, body: head})
	}
	for _, c := range all {
		if _, _, err := readCheckpoint(run, c.body); err != nil && c.seq > sv.begins {
			addProblem(out, run, "checkpoint", fmt.Errorf("%w; the run is rebuilt from its journal", err))
		}
	}
	for _, err := range []error{err, failed} {
		if err != nil {
			addProblem(out, run, "checkpoint", err)
		}
	}
}

// checkKeyframe reads both copies.
func checkKeyframe(out *CareReport, k Keeper, run string, h *horizon) {
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
