package main

import (
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// pruneCommand is the verb prune.
func (c *call) pruneCommand() *cobra.Command {
	var older string
	var dry bool
	cmd := &cobra.Command{
		Use:     "prune --older DURATION",
		Short:   "Forget runs that have ended long ago",
		GroupID: "store",
		Long: `Forget the runs that have ended longer ago than DURATION, with the child runs that they started: journals, decisions and idempotency keys. What has not ended stays.
To keep a run elsewhere, export it first.`,
		Example: "  starling prune --older 30d --dry-run",
		Args:    operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == "" {
				return usage("starling prune --older 30d", "prune: say how long ago a run must have ended")
			}
			age, err := parseDuration("--older", older)
			if err != nil {
				return err
			}
			report, err := c.care(cmd.Context(), runtime.CareRequest{Task: runtime.CarePrune, Before: time.Now().Add(-age), DryRun: dry})
			if err != nil {
				return err
			}
			return c.printPruned(report, dry)
		},
	}
	cmd.Flags().StringVar(&older, "older", "", "runs that ended longer ago than this `DURATION`, such as 30d")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	c.jsonFlag(cmd)
	return cmd
}

func (c *call) printPruned(r *runtime.CareReport, dry bool) error {
	if c.json {
		return c.answerJSON(r)
	}
	for _, s := range r.Pruned {
		c.print("%s %s %s", s.ID, s.Status, s.Script)
	}
	what := "forgotten"
	if dry {
		what = "would be forgotten"
	}
	c.notice("%d runs %s", len(r.Pruned), what)
	return nil
}
