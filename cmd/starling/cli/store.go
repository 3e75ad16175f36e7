package cli

import (
	"cmp"
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

// storeVerb is a call of the verb store.
type storeVerb struct{ call *call }

// storeCommand is the verb store, with a verb of its own for each thing that can be done.
func storeCommand(c *call) *cobra.Command {
	v := &storeVerb{call: c}
	cmd := &cobra.Command{
		Use:     "store",
		Short:   "Look after the store: info, check, gc, backup, restore, copy",
		GroupID: "store",
		Args:    unknownVerb,
		RunE:    showHelp,
	}
	cmd.AddCommand(
		maintenanceCommand(c, runtime.MaintenanceInfo, "info", "Tell what the store holds and what it takes of the disk", v.printInfo),
		maintenanceCommand(c, runtime.MaintenanceCheck, "check", "Read the whole store and say what of it is damaged", v.printCheck),
		maintenanceCommand(c, runtime.MaintenanceGC, "gc", "Drop contents that no run names any more, and give back the space of large values", v.printGC),
		maintenanceCommand(c, runtime.MaintenanceBackup, "backup FILE", "Write the store to a file, while its runs go on", v.printBackup),
		restoreCommand(c), copyCommand(c))
	return cmd
}

// maintenanceCommand is a verb that whoever owns the store carries out.
func maintenanceCommand(c *call, task runtime.MaintenanceTask, use, short string, show func(*runtime.MaintenanceReport) error) *cobra.Command {
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
	report, err := f.Maintain(ctx, r)
	if err == nil && r.Task == runtime.MaintenanceInfo {
		report.Owner = max(s.Owner(), 0)
	}
	return report, err
}

func (v *storeVerb) printInfo(r *runtime.MaintenanceReport) error {
	v.call.print("store    %s", r.Store)
	v.call.print("id       %s", r.ID)
	v.call.print("format   %d", r.Format)
	v.call.print("owners   %d so far", r.Epoch)
	if r.Owner != 0 {
		v.call.print("owner    process %d", r.Owner)
	}
	v.call.print("commits  %d", r.Sequence)
	u := r.Usage
	v.call.print("disk     %s (tables %s, logs %s, large values %s)", megabytes(u.Total()), megabytes(u.Tables), megabytes(u.Logs), megabytes(u.Values))
	for _, status := range slices.Sorted(maps.Keys(r.Runs)) {
		v.call.print("%-8s %d %s", "runs", r.Runs[status], status)
	}
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (v *storeVerb) printCheck(r *runtime.MaintenanceReport) error {
	for _, p := range r.Problems {
		where := p.What
		if p.Run != "" {
			where = "run " + p.Run + ", " + where
		}
		v.call.print("%s: %s", where, p.Error)
	}
	if err := damageOf(r); err != nil {
		return err
	}
	v.call.print("%d values, all as they were written", r.Checked)
	return nil
}

// damageOf refuses a store of which something is damaged.
func damageOf(r *runtime.MaintenanceReport) error {
	if len(r.Problems) == 0 {
		return nil
	}
	return runtime.Refuse(runtime.ErrKindDamaged, "the other runs are served; restore the damaged ones from a backup", "%s: %d things are damaged", r.Store, len(r.Problems))
}

func (v *storeVerb) printGC(r *runtime.MaintenanceReport) error {
	if r.Contents > 0 {
		v.call.print("%d contents dropped that nothing names", r.Contents)
	}
	v.call.print("%d files given back; the store takes %s", r.Files, megabytes(r.Usage.Total()))
	return nil
}

func (v *storeVerb) printBackup(r *runtime.MaintenanceReport) error {
	v.call.print("%s: %d keys, %s", r.Backup, r.Keys, megabytes(r.Bytes))
	return nil
}

// restoredDocument is what store restore prints.
type restoredDocument struct {
	Schema string `json:"schema"`
	Store  string `json:"store"`
	Keys   int    `json:"keys"`
}

func restoreCommand(c *call) *cobra.Command {
	v := &storeVerb{call: c}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a store of a backup, where there is none",
		Long:  "Make a store of a backup. The store's directory must not exist, or be empty. The runs of the store that was backed up would go on twice: restore where the other one is gone.",
		Args:  operands(1, 1),
		RunE:  func(cmd *cobra.Command, args []string) error { return v.restore(cmd.Context(), args[0]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (v *storeVerb) restore(ctx context.Context, path string) error {
	if v.call.place.Database != "" || v.call.place.Err != nil {
		return cmp.Or(v.call.place.Err, error(usage("restore it with pg_restore, or restore into a folder with --store DIR and copy that", "store restore: %s is a database", v.call.place.Name())))
	}
	keys, err := badger.Restore(ctx, path, v.call.place.Store)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usage("", "there is no backup %s", path)
	case errors.Is(err, os.ErrExist):
		return usage("restore into another one with --store DIR", "%v", err)
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(restoredDocument{runtime.Schema, v.call.place.Store, keys})
	}
	v.call.print("%s: %d keys", v.call.place.Store, keys)
	return nil
}
