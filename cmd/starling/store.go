package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/badger"
)

// storeCommand is the verb store, with a verb of its own for each thing that can be done.
func (c *call) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "store",
		Short:   "Look after the store: info, check, gc, backup, restore",
		GroupID: "store",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(
		c.careCommand(runtime.MaintenanceInfo, "info", "Tell what the store holds and what it takes of the disk", c.printInfo),
		c.careCommand(runtime.MaintenanceCheck, "check", "Read the whole store and say what of it is damaged", c.printCheck),
		c.careCommand(runtime.MaintenanceGC, "gc", "Drop contents that no run names any more, and give back the space of large values", c.printGC),
		c.careCommand(runtime.MaintenanceBackup, "backup FILE", "Write the store to a file, while its runs go on", c.printBackup),
		c.restoreCommand())
	return cmd
}

// careCommand is a verb that whoever owns the store carries out.
func (c *call) careCommand(task runtime.MaintenanceTask, use, short string, show func(*runtime.MaintenanceReport) error) *cobra.Command {
	n := 0
	if task == runtime.MaintenanceBackup {
		n = 1
	}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  operands(n, n),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := runtime.MaintenanceRequest{Task: task}
			for _, path := range args {
				r.Path, _ = filepath.Abs(path) // only fails where there is no current directory, which was found before
			}
			report, err := c.maintain(cmd.Context(), r)
			if err != nil {
				return err
			}
			if c.json {
				return errors.Join(c.answerJSON(report), damageOf(report))
			}
			return show(report)
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// maintain asks whoever owns the store; with no owner a reader does it, but for what writes.
func (c *call) maintain(ctx context.Context, r runtime.MaintenanceRequest) (*runtime.MaintenanceReport, error) {
	enter := c.door().OpenReader
	if r.Task == runtime.MaintenanceGC || r.Task == runtime.MaintenancePrune || r.Task == runtime.MaintenanceTrim {
		enter = c.staying(false)
	}
	s, f, err := openFor[runtime.Maintenance](ctx, c, enter)
	if err != nil {
		return nil, err
	}
	defer c.leave(s)
	return f.Maintain(ctx, r)
}

func (c *call) printInfo(r *runtime.MaintenanceReport) error {
	c.print("store    %s", r.Store)
	c.print("id       %s", r.ID)
	c.print("format   %d", r.Format)
	c.print("owners   %d so far", r.Epoch)
	c.print("commits  %d", r.Sequence)
	u := r.Usage
	c.print("disk     %s (tables %s, logs %s, large values %s)", megabytes(u.Total()), megabytes(u.Tables), megabytes(u.Logs), megabytes(u.Values))
	for _, status := range slices.Sorted(maps.Keys(r.Runs)) {
		c.print("%-8s %d %s", "runs", r.Runs[status], status)
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (c *call) printCheck(r *runtime.MaintenanceReport) error {
	for _, p := range r.Problems {
		where := p.What
		if p.Run != "" {
			where = "run " + p.Run + ", " + where
		}
		c.print("%s: %s", where, p.Error)
	}
	if err := damageOf(r); err != nil {
		return err
	}
	c.print("%d values, all as they were written", r.Checked)
	return nil
}

// damageOf refuses a store of which something is damaged.
func damageOf(r *runtime.MaintenanceReport) error {
	if len(r.Problems) == 0 {
		return nil
	}
	return runtime.Refuse(runtime.ErrKindDamaged, "the other runs are served; restore the damaged ones from a backup", "%s: %d things are damaged", r.Store, len(r.Problems))
}

func (c *call) printGC(r *runtime.MaintenanceReport) error {
	if r.Contents > 0 {
		c.print("%d contents dropped that nothing names", r.Contents)
	}
	c.print("%d files given back; the store takes %s", r.Files, megabytes(r.Usage.Total()))
	return nil
}

func (c *call) printBackup(r *runtime.MaintenanceReport) error {
	c.print("%s: %d keys, %s", r.Backup, r.Keys, megabytes(r.Bytes))
	return nil
}

// restoredDocument is what store restore prints.
type restoredDocument struct {
	Schema string `json:"schema"`
	Store  string `json:"store"`
	Keys   int    `json:"keys"`
}

func (c *call) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a store of a backup, where there is none",
		Long:  "Make a store of a backup. The store's directory must not exist, or be empty. The runs of the store that was backed up would go on twice: restore where the other one is gone.",
		Args:  operands(1, 1),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.restore(cmd.Context(), args[0]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *call) restore(ctx context.Context, path string) error {
	keys, err := badger.Restore(ctx, path, c.place.store)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usage("", "there is no backup %s", path)
	case errors.Is(err, os.ErrExist):
		return usage("restore into another one with --store DIR", "%v", err)
	case err != nil:
		return err
	case c.json:
		return c.answerJSON(restoredDocument{runtime.Schema, c.place.store, keys})
	}
	c.print("%s: %d keys", c.place.store, keys)
	return nil
}
