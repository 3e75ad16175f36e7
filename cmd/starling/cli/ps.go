package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/listing"
	"starling/cmd/starling/live"
	"starling/runtime"
	"starling/runtime/filter"
)

// psVerb is a call of the verb ps.
type psVerb struct{ call *call }

// psCommand is the verb ps.
func psCommand(c *call) *cobra.Command {
	v := &psVerb{call: c}
	var q selection
	var watch bool
	cmd := &cobra.Command{
		Use:     "ps",
		Short:   "List the runs",
		GroupID: "look",
		Args:    operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return v.watch(cmd.Context(), q)
			}
			return v.ps(cmd.Context(), q)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "stay, and show them as they are now")
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
		Long:    listing.QueryTopic(),
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

// ps lists runs, the newest first. It starts nothing and fires no timer: what is overdue is named
// instead.
func (v *psVerb) ps(ctx context.Context, q selection) error {
	s, f, err := v.selected(ctx, q)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	listed, err := f.Runs(ctx, s, runtime.Query{All: q.all, Limit: q.page.limit, After: q.page.after}, time.Now())
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(summariesDocument{runtime.Schema, listed.List, listed.Next})
	}
	defer v.call.more(listed.Next)
	return listing.Runs(v.call.paper(), listed.List).Write(v.call.stdout)
}

// selected opens the store to look, for the runs of a selection.
func (v *psVerb) selected(ctx context.Context, q selection) (connect.Session, *filter.Filter, error) {
	f, err := filter.Parse(q.filter)
	if err == nil {
		err = q.page.check()
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := v.call.door().OpenReader(ctx)
	return s, f, err
}

// watch shows the list as it is, every second, until somebody interrupts.
func (v *psVerb) watch(ctx context.Context, q selection) error {
	out, ok := v.call.stdout.File()
	if !ok || v.call.json || !live.Able(out, v.call.getenv) {
		return usage("ps --json prints them once; starling logs RUN --follow follows one", "ps --watch draws on a terminal, and there is none")
	}
	return live.Repeat(ctx, out, v.call.getenv, time.Second, func(height int) ([]string, error) {
		s, f, err := v.selected(ctx, q)
		if err != nil {
			return nil, err
		}
		defer v.call.leave(s)
		listed, err := f.Runs(ctx, s, runtime.Query{All: q.all, Limit: height, After: q.page.after}, time.Now())
		if err != nil {
			return nil, err
		}
		return listing.Runs(v.call.paper(), listed.List).Lines(), nil
	})
}
