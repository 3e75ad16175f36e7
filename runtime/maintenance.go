package runtime

import (
	"context"
	"time"
)

// Maintenance is looking after a store as a whole. Whoever owns the store serves it, while runs go
// on.
type Maintenance interface {
	// Maintain does one thing for the store. It takes the capability admin.
	Maintain(ctx context.Context, r MaintenanceRequest) (*MaintenanceReport, error)
}

// Motion tells whether an engine has anything to do.
type Motion interface {
	// Moving tells whether a run that the engine carries is in motion, or due within a time.
	Moving(soon time.Duration) bool
}

// Fenced tells whether an engine still owns its store.
type Fenced interface {
	// Lost is closed when another process has become the owner of the store. By then no attempt
	// goes on any more, or is about to end, and every call is refused.
	Lost() <-chan struct{}
}

// MaintenanceTask is what can be done for a store.
type MaintenanceTask string

// The tasks of [Maintenance].
const (
	MaintenanceInfo   MaintenanceTask = "info"   // tell what is there
	MaintenanceCheck  MaintenanceTask = "check"  // read all of it and say what is damaged
	MaintenanceGC     MaintenanceTask = "gc"     // drop contents that nothing names, and give back the space of large values that nothing needs
	MaintenanceBackup MaintenanceTask = "backup" // write all of it, as it is at one moment, to a file
	MaintenancePrune  MaintenanceTask = "prune"  // forget runs that have ended before a time
	MaintenanceTrim   MaintenanceTask = "trim"   // drop the older part of the journals of runs that have not ended
)

// MaintenanceRequest asks for a task.
type MaintenanceRequest struct {
	Task MaintenanceTask `json:"task"`
	Path string          `json:"path,omitempty"` // of the backup, absolute: a file that does not exist

	Before  time.Time `json:"before,omitzero"`   // prune: runs that ended before
	Damaged bool      `json:"damaged,omitempty"` // prune: runs that cannot be read instead
	Keep    int       `json:"keep,omitempty"`    // trim: how many records of each run stay at least, from 1
	DryRun  bool      `json:"dry_run,omitempty"` // prune, trim: tell and do not forget
}

// MaintenanceReport says what was found and done.
type MaintenanceReport struct {
	Schema   string         `json:"schema"`
	Store    string         `json:"store"` // its directory or its address
	ID       string         `json:"id"`
	Format   uint32         `json:"format"`
	Epoch    uint64         `json:"epoch"`
	Owner    int            `json:"owner,omitempty"` // info: the process of this machine that owns it
	Sequence uint64         `json:"sequence"`        // batches ever committed
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
	// Damaged calls fn for each key whose value cannot be read, and tells how many values were
	// read.
	Damaged(ctx context.Context, fn func(key []byte, err error)) (read int, err error)
	// GC gives back the space of large values that were deleted, and tells of how many files.
	GC(ctx context.Context) (files int, err error)
	// Backup writes the store as it is at one moment to a file that does not exist, durably and
	// whole or not at all.
	Backup(ctx context.Context, path string) (keys int, bytes int64, err error)
}
