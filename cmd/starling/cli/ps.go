package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/filter"
)

// psVerb is a call of the verb ps.
type psVerb struct{ *call }

// psCommand is the verb ps.
func psCommand(c *call) *cobra.Command {
	v := &psVerb{call: c}
	var q selection
	cmd := &cobra.Command{
		Use:     "ps",
		Short:   "List the runs",
		GroupID: "look",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.ps(cmd.Context(), q) },
	}
	cmd.Flags().BoolVarP(&q.all, "all", "a", false, "those that have ended too")
	cmd.Flags().StringVar(&q.filter, "filter", "", "only those that `FILTER` means; see starling query --help")
	q.page.flags(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// summariesDocument is what ps prints, with its list even when that is empty.
type summariesDocument struct {
	Schema string            `json:"schema"`
	Runs   []runtime.Summary `json:"runs"`
	Next   string            `json:"next,omitempty"` // the --after of the next page
}

// selection says which runs are to be listed.
type selection struct {
	all    bool
	filter string
	page   page
}

// page says which piece of a long list is wanted.
type page struct {
	limit int
	after string
}

func (p *page) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 100, "at most `N`, 0 for all")
	cmd.Flags().StringVar(&p.after, "after", "", "the page behind one that has said so, by its `CURSOR`")
}

func (p *page) check() error {
	if p.limit < 0 {
		return usage("", "--limit: got %d, want 0 or more", p.limit)
	}
	return nil
}

// more tells people how to see what is behind a page.
func (c *call) more(next string) {
	if next != "" {
		c.notice("there is more: --after %s shows the next page, --limit 0 all", next)
	}
}

// queryCommand is the verb query: ps for those who know what they look for.
func queryCommand(c *call) *cobra.Command {
	v := &psVerb{call: c}
	q := selection{all: true}
	cmd := &cobra.Command{
		Use:     "query FILTER",
		Short:   "List the runs that a filter means, ended ones too",
		GroupID: "look",
		Long:    queryTopic(),
		Example: `  starling query 'status = suspended and target = "reviewer" and age > 2h'`,
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.filter = args[0]
			return v.ps(cmd.Context(), q)
		},
	}
	q.page.flags(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// queryTopic is the page about filters.
func queryTopic() string {
	var b strings.Builder
	b.WriteString(`A filter is made of conditions with and, or, not and brackets: FIELD OPERATOR VALUE, or a field alone that is yes or no. The operators are

  = !=         the whole value        ~ !~      a part of a text, whatever its case; * is anything in between
  < <= > >=    numbers, durations (90s, 2h, 1d) and times (2026-11-21, 2026-11-21T15:04:05Z)
  in (A, B)    one of several

A value with blanks, brackets or signs is quoted. A condition on a gate holds for a run when it holds for one of its open gates.

`)
	b.WriteString(fieldTable(filter.Fields()))
	return b.String()
}

// fieldTable lists fields with an example of each.
func fieldTable(fields []filter.Field) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, f := range fields {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, f.Example, f.Doc)
	}
	w.Flush()
	return b.String()
}

// ps lists runs, the newest first. It starts nothing and fires no timer: what is overdue is named
// instead.
func (v *psVerb) ps(ctx context.Context, q selection) error {
	f, err := filter.Parse(q.filter)
	if err == nil {
		err = q.page.check()
	}
	if err != nil {
		return err
	}
	s, err := v.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.leave(s)
	listed, err := f.Runs(ctx, s, runtime.Query{All: q.all, Limit: q.page.limit, After: q.page.after}, time.Now())
	if err != nil {
		return err
	}
	if v.json {
		return v.answerJSON(summariesDocument{runtime.Schema, listed.List, listed.Next})
	}
	defer v.more(listed.Next)
	w := tabwriter.NewWriter(v.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tSTARTED\tSCRIPT\tNOTES")
	for _, r := range listed.List {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Status, stamp(r.StartedAt), r.Script, v.notes(r))
	}
	return w.Flush()
}

// notes says what a list's reader should know of a run beside its status.
func (v *psVerb) notes(r runtime.Summary) string {
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
	if waits := r.WaitsFor(); waits != "" {
		notes = append(notes, waits)
	}
	if !r.Carried && (r.Status == runtime.Running || r.Overdue) {
		notes = append(notes, "not carried: "+v.command("resume", r.ID))
	}
	if r.Error != "" {
		notes = append(notes, clip(strings.SplitN(r.Error, "\n", 2)[0]))
	}
	return strings.Join(notes, ", ")
}
