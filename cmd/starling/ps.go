package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// psCommand is the verb ps.
func (c *call) psCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "ps",
		Short:   "List the runs",
		GroupID: "look",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.ps(cmd.Context(), all) },
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "those that have ended too")
	c.jsonFlag(cmd)
	return cmd
}

// summariesDocument is what ps prints, with its list even when that is empty.
type summariesDocument struct {
	Schema string            `json:"schema"`
	Runs   []runtime.Summary `json:"runs"`
}

// ps lists runs, the newest first. It starts nothing and fires no timer: what is overdue is named instead.
func (c *call) ps(ctx context.Context, all bool) error {
	s, err := c.door().Look(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	l, err := s.List(ctx, runtime.Query{All: all})
	if err != nil {
		return err
	}
	if c.json {
		return c.answerJSON(summariesDocument{runtime.Schema, append([]runtime.Summary{}, l.Runs...)})
	}
	w := tabwriter.NewWriter(plain{c.stdout}, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tSTARTED\tSCRIPT\tNOTES")
	for _, r := range l.Runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Status, stamp(r.StartedAt), r.Script, c.notes(r))
	}
	return w.Flush()
}

// notes says what a list's reader should know of a run beside its status.
func (c *call) notes(r runtime.Summary) string {
	var notes []string
	if r.Gates == 1 {
		notes = append(notes, "1 gate")
	} else if r.Gates > 1 {
		notes = append(notes, fmt.Sprintf("%d gates", r.Gates))
	}
	if r.NextDue != nil && r.Overdue {
		notes = append(notes, "overdue since "+stamp(*r.NextDue))
	} else if r.NextDue != nil {
		notes = append(notes, "due "+stamp(*r.NextDue))
	}
	if !r.Carried && (r.Status == runtime.Running || r.Overdue) {
		notes = append(notes, "not carried: "+c.command("resume", r.ID))
	}
	if r.Error != "" {
		notes = append(notes, clip(strings.SplitN(r.Error, "\n", 2)[0]))
	}
	return strings.Join(notes, ", ")
}
