package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/listing"
	"starling/cmd/starling/stay"
	"starling/runtime"
	"starling/runtime/query"
)

// showVerb is a call of the verb show.
type showVerb struct{ call *call }

// showCommand is the verb show.
func showCommand(c *call) *cobra.Command {
	v := &showVerb{call: c}
	var p stepPage
	var watch bool
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Show a run: inputs, steps, gates, output",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch {
				return v.watch(cmd.Context(), args[0])
			}
			return v.show(cmd.Context(), args[0], p)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "stay, and show what happens until the run has ended")
	p.limitFlag(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// shownDocument is a run's document with the details beside it.
type shownDocument struct {
	*runtime.Run
	Steps   []runtime.Step         `json:"steps"`
	Failed  []runtime.FailedBranch `json:"failed_branches,omitempty"`
	Earlier bool                   `json:"earlier,omitempty"` // there are older steps, which steps lists
	*runtime.Details
}

// show prints all that is known of one run: on a page for people, or the document of run with the
// details beside it.
func (v *showVerb) show(ctx context.Context, address string, p stepPage) error {
	if err := p.check(); err != nil {
		return err
	}
	return v.call.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		page, err := p.newest(ctx, s, r)
		if err != nil {
			return err
		}
		if v.call.json {
			return v.call.answerJSON(shownDocument{v.call.document(r), page.Steps, page.Failed, page.Earlier, r.Details})
		}
		v.showHead(r)
		if len(page.Steps)+len(page.Failed) > 0 {
			v.call.print("")
		}
		if err := listing.Steps(v.call.stdout, page); err != nil {
			return err
		}
		if page.Earlier {
			v.call.print("  these are the newest steps, and what is open: %s", v.call.command("steps", r.ID))
		}
		for _, g := range r.Gates {
			v.call.print("")
			v.call.printGate(g)
		}
		for _, a := range r.Awaits {
			v.call.print("\nwaits for %s\n  %s", a, v.call.sending(r.ID, a))
		}
		v.showDecisions(r.Decisions)
		v.showEnd(r)
		return nil
	})
}

// watch shows what happens in a run until it has ended. Whoever only looks fails with no run.
func (v *showVerb) watch(ctx context.Context, address string) error {
	return v.call.withRun(ctx, v.call.staying(false), address, func(s connect.Session, r *runtime.Run) error {
		show, end := v.call.watching(r)
		f := stay.Follower{Session: s, Run: r.ID, Show: show}
		now, err := f.Stay(ctx, stay.Ended)
		end()
		switch {
		case err != nil:
			return err
		case v.call.json:
			return v.call.answerJSON(v.call.document(now))
		}
		v.showEnd(now)
		return nil
	})
}

// showHead says what the run is and how it stands.
func (v *showVerb) showHead(r *runtime.Run) {
	d, p := r.Details, v.call.paper()
	v.call.print("%s  %s  %s", r.ID, r.Status, r.Script)
	v.call.print("  started  %s by %s", p.Time(d.StartedAt), d.StartedBy)
	v.call.print("  updated  %s, record %d", p.Time(d.UpdatedAt), d.Seq)
	if d.Horizon > 0 {
		v.call.print("  journal  begins with record %d; what was before was trimmed", d.Horizon+1)
	}
	if len(d.Labels) > 0 {
		v.call.print("  labels   %s", strings.ReplaceAll(d.Labels.String(), ",", ", "))
	}
	if d.Parent != "" {
		v.call.print("  parent   %s", d.Parent)
	}
	if l := d.Lineage; l != nil {
		v.call.print("  lineage  %s of %s@%s", l.Kind, l.Run, l.Step)
		if l.Head != "" {
			v.call.print("  drifted  to commit %s", l.Head)
		}
	}
	if of := d.Project; of != nil && (of.File != "" || of.From != runtime.ProjectOwn) {
		v.call.print("  project  %s", projectWords(of))
	}
	if waits := r.WaitsFor(); waits != "" {
		v.call.print("  waits    %s", waits)
	}
	if d.NextDue != nil {
		v.call.print("  due      %s", p.Time(*d.NextDue))
	}
	if r.Status == runtime.Running && !d.Carried {
		v.call.print("  not carried: %s", v.call.command("resume", r.ID))
	}
	if d.Program != "" {
		v.call.print("  program  %s", d.Program[:min(len(d.Program), shownHash)])
	}
	v.call.print("  inputs   %s", indent(r.Inputs, "  "))
}

// showDecisions says how the gates of a run were decided.
func (v *showVerb) showDecisions(list []runtime.Decided) {
	for _, d := range list {
		line := fmt.Sprintf("  decided  %s: %s by %s", query.Name(d.Gate), cmp.Or(d.Choice, "answered"), d.By)
		if d.Through != "" {
			line += ", answered by " + d.Through
		}
		if d.Via != "signal" {
			line += " (" + d.Via + ")"
		}
		if d.Reason != "" {
			line += ": " + d.Reason
		}
		v.call.print("%s", line)
	}
}

// shownHash is how much of a hash people see.
const shownHash = 16

// showEnd says what came of the run, once something has.
func (v *showVerb) showEnd(r *runtime.Run) {
	switch {
	case r.Error != nil:
		v.call.print("")
		v.showError(r.Error)
	case r.Status == runtime.Completed:
		v.call.print("")
		v.call.print("  output   %s", indent(r.Output, "  "))
	}
}

// showError says why a run ended: with its source lines, or with what is known where the source
// cannot be read.
func (v *showVerb) showError(e *runtime.RunError) {
	if len(e.Diagnostics) > 0 {
		v.call.print("  error    %s", e.Kind)
		v.call.print("%s", strings.TrimRight(e.Diagnostics.Render(), "\n"))
		return
	}
	v.call.print("  %s: %s", e.Kind, e.Message)
	v.call.print("%s", strings.TrimRight(cmp.Or(e.Backtrace, e.Where), "\n"))
}
