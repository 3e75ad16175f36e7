package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// pruneVerb is a call of the verb prune.
type pruneVerb struct{ call *call }

// pruneCommand is the verb prune.
func pruneCommand(c *call) *cobra.Command {
	v := &pruneVerb{call: c}
	var older string
	var keep int
	var dry, damaged bool
	cmd := &cobra.Command{
		Use:     "prune --older DURATION | --keep RECORDS | --damaged",
		Short:   "Forget runs that have ended long ago, or the older part of long journals",
		GroupID: "store",
		Long: `Forget the runs that have ended longer ago than DURATION, with the child runs that they started: journals, decisions and idempotency keys. What has not ended stays.
To keep a run elsewhere, export it first.

With --keep, drop the older part of the journals of runs that have not ended: of each, the newest RECORDS stay at least. The run goes on as before. What was dropped cannot be asked for
any more: logs and steps from the start, replay, rerun, fork and export of that run are refused with exit code 10. [store] keep in starling.toml does the same by itself.

With --damaged, forget the runs whose journals cannot be read (starling ps shows them as damaged), with the child runs that they started. Restore a backup or import an export of
them first, where there is one.`,
		Example: "  starling prune --older 30d --dry-run\n  starling prune --keep 10000\n  starling prune --damaged --dry-run",
		Args:    operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := pruning(older, cmd.Flags().Changed("keep"), keep, damaged)
			if err != nil {
				return err
			}
			r.DryRun = dry
			report, err := c.maintain(cmd.Context(), r)
			switch {
			case err != nil:
				return err
			case c.json:
				return errors.Join(c.answerJSON(report), damageOf(report))
			case r.Task == runtime.MaintenanceTrim:
				return v.printTrimmed(report, dry)
			}
			return v.printPruned(report, dry)
		},
	}
	cmd.Flags().StringVar(&older, "older", "", "runs that ended longer ago than this `DURATION`, such as 30d")
	cmd.Flags().IntVar(&keep, "keep", 0, "trim the journals of the others, but for so many `RECORDS` of each")
	cmd.Flags().BoolVar(&damaged, "damaged", false, "runs that cannot be read")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	c.jsonFlag(cmd)
	return cmd
}

// pruning is what the flags ask for: one of three.
func pruning(older string, trim bool, keep int, damaged bool) (runtime.MaintenanceRequest, error) {
	switch {
	case older != "" && !trim && !damaged:
		age, err := parseDuration("--older", older)
		return runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(-age)}, err
	case older == "" && trim && !damaged:
		return runtime.MaintenanceRequest{Task: runtime.MaintenanceTrim, Keep: keep}, nil
	case older == "" && !trim && damaged:
		return runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Damaged: true}, nil
	}
	return runtime.MaintenanceRequest{}, usage("starling prune --older 30d",
		"prune: say how long ago a run must have ended, or with --keep how much of a journal stays, or --damaged")
}

func (v *pruneVerb) printPruned(r *runtime.MaintenanceReport, dry bool) error {
	for _, s := range r.Pruned {
		v.call.print("%s %s %s", s.ID, s.Status, s.Script)
	}
	for _, p := range r.Problems {
		v.call.notice("run %s stays: %s", p.Run, p.Error)
	}
	v.call.notice("%d runs %s", len(r.Pruned), done("forgotten", dry))
	return damageOf(r)
}

func (v *pruneVerb) printTrimmed(r *runtime.MaintenanceReport, dry bool) error {
	for _, t := range r.Trimmed {
		v.call.print("%s begins with record %d", t.Run, t.Horizon+1)
	}
	for _, p := range r.Problems {
		v.call.notice("run %s stays as it is: %s", p.Run, p.Error)
	}
	v.call.notice("%d journals %s", len(r.Trimmed), done("trimmed", dry))
	return damageOf(r)
}

// done says what was done, or would be.
func done(what string, dry bool) string {
	if dry {
		return "would be " + what
	}
	return what
}
