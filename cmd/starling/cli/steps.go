package cli

import (
	"context"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/listing"
	"starling/runtime"
	"starling/runtime/query"
)

// stepsVerb is a call of the verb steps.
type stepsVerb struct{ call *call }

// stepsCommand is the verb steps.
func stepsCommand(c *call) *cobra.Command {
	v := &stepsVerb{call: c}
	var tree, track bool
	var p stepPage
	cmd := &cobra.Command{
		Use:     "steps RUN",
		Short:   "List a run's steps",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if track {
				return v.tracks(cmd.Context(), args[0])
			}
			return v.steps(cmd.Context(), args[0], tree, p)
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "by branches, each with the attempts of its steps")
	p.flags(cmd)
	cmd.Flags().BoolVar(&track, "track", false, "how far it is with what has several stages, as its script tells")
	c.jsonFlag(cmd)
	return cmd
}

// tracksDocument is what steps --track prints.
type tracksDocument struct {
	Schema string          `json:"schema"`
	Run    string          `json:"run"`
	Tracks []runtime.Track `json:"tracks"`
}

func (v *stepsVerb) tracks(ctx context.Context, address string) error {
	return v.call.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		tracks, err := query.Tracks(ctx, s, r.ID, r.Details.Horizon)
		switch {
		case err != nil:
			return err
		case v.call.json:
			return v.call.answerJSON(tracksDocument{runtime.Schema, r.ID, tracks})
		}
		return listing.Tracks(v.call.stdout, tracks)
	})
}

// stepsDocument is what steps prints.
type stepsDocument struct {
	Schema string                 `json:"schema"`
	Run    string                 `json:"run"`
	Steps  []runtime.Step         `json:"steps"`
	Failed []runtime.FailedBranch `json:"failed_branches,omitempty"`
	Next   uint64                 `json:"next,omitempty"` // the --after of the next page
}

func (v *stepsVerb) steps(ctx context.Context, address string, tree bool, p stepPage) error {
	if err := p.check(); err != nil {
		return err
	}
	return v.call.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		page, err := p.behind(ctx, s, r)
		switch {
		case err != nil:
			return err
		case v.call.json:
			return v.call.answerJSON(stepsDocument{runtime.Schema, r.ID, page.Steps, page.Failed, page.Next})
		}
		defer v.call.moreSteps(page.Next)
		if tree {
			return listing.StepTree(v.call.stdout, r, page)
		}
		return listing.Steps(v.call.stdout, page)
	})
}

// stepPage says which piece of a run's steps is wanted.
type stepPage struct {
	limit int
	after uint64
}

func (p *stepPage) limitFlag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 200, "at most `N` steps, 0 for all")
}

func (p *stepPage) flags(cmd *cobra.Command) {
	p.limitFlag(cmd)
	cmd.Flags().Uint64Var(&p.after, "after", 0, "those that were asked for behind the record with this `NUMBER`")
}

func (p *stepPage) check() error {
	if p.limit < 0 {
		return usage("", "--limit: got %d, want 0 or more", p.limit)
	}
	return nil
}

// newest are the newest steps of a run that are wanted.
func (p *stepPage) newest(ctx context.Context, s connect.Session, r *runtime.Run) (*runtime.StepPage, error) {
	return query.PageOfSteps(ctx, s, runtime.StepQuery{Run: r.ID, After: r.Details.Horizon, Limit: p.limit, Newest: true})
}

// behind are the steps of a run that are wanted, the oldest first.
func (p *stepPage) behind(ctx context.Context, s connect.Session, r *runtime.Run) (*runtime.StepPage, error) {
	return query.PageOfSteps(ctx, s, runtime.StepQuery{Run: r.ID, After: p.after, Limit: p.limit})
}

// moreSteps tells people how to see the steps behind a page.
func (c *call) moreSteps(next uint64) {
	if next > 0 {
		c.notice("there are more steps: --after %d shows the next ones, --limit 0 all", next)
	}
}
