package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/query"
)

// stepsVerb is a call of the verb steps.
type stepsVerb struct{ *call }

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
	return v.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		tracks, err := query.Tracks(ctx, s, r.ID, r.Details.Horizon)
		switch {
		case err != nil:
			return err
		case v.json:
			return v.answerJSON(tracksDocument{runtime.Schema, r.ID, tracks})
		}
		for _, t := range tracks {
			fmt.Fprintf(v.stdout, "%s  %d/%d  %s\n", t.Track, t.Done, len(t.Stages), t.Status)
			for _, stage := range t.Stages {
				fmt.Fprintf(v.stdout, "  %-9s %s\n", stage.Status, stage.ID)
			}
		}
		return nil
	})
}

// stepsDocument is what steps prints.
type stepsDocument struct {
	Schema string         `json:"schema"`
	Run    string         `json:"run"`
	Steps  []runtime.Step `json:"steps"`
	Next   uint64         `json:"next,omitempty"` // the --after of the next page
}

func (v *stepsVerb) steps(ctx context.Context, address string, tree bool, p stepPage) error {
	if err := p.check(); err != nil {
		return err
	}
	return v.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		page, err := p.behind(ctx, s, r)
		switch {
		case err != nil:
			return err
		case v.json:
			return v.answerJSON(stepsDocument{runtime.Schema, r.ID, page.Steps, page.Next})
		}
		defer v.moreSteps(page.Next)
		if tree {
			return v.showTree(r, page.Steps)
		}
		v.listSteps(page.Steps)
		return nil
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

// showTree prints the tree of a run's steps.
func (v *stepsVerb) showTree(r *runtime.Run, steps []runtime.Step) error {
	w := tabwriter.NewWriter(v.stdout, 0, 8, 2, ' ', 0)
	t := treeWriter{w}
	t.line("", r.ID+"  "+r.Script, string(r.Status), "", r.Details.UpdatedAt.Sub(r.Details.StartedAt))
	t.branch(query.Tree(steps), "")
	return w.Flush()
}

// treeWriter lays the tree out in columns.
type treeWriter struct{ w *tabwriter.Writer }

func (t treeWriter) line(indent, name, status, tries string, took time.Duration) {
	duration := ""
	if took >= 0 {
		duration = took.Round(time.Millisecond).String()
	}
	columns := strings.TrimRight(strings.Join([]string{indent + name, status, tries, duration}, "\t"), "\t")
	t.w.Write([]byte(columns + "\n"))
}

func (t treeWriter) branch(b *query.Branch, indent string) {
	for i, n := range b.Nodes {
		edge, below := "├─ ", "│  "
		if i == len(b.Nodes)-1 {
			edge, below = "└─ ", "   "
		}
		if n.Branch != nil {
			t.line(indent+edge, n.Branch.Name, "", "", -1)
			t.branch(n.Branch, indent+below)
			continue
		}
		t.step(n.Step, indent+edge, indent+below)
	}
}

// step writes a step, and the attempts of one that took several.
func (t treeWriter) step(s *runtime.Step, edge, below string) {
	name := s.Step[strings.LastIndexByte(s.Step, '/')+1:]
	if s.Kind != name {
		name += " (" + s.Kind + ")"
	}
	t.line(edge, name, s.Stands(), worked(s), between(s.StartedAt, s.EndedAt))
	if len(s.Tries) < 2 {
		return
	}
	for _, a := range s.Tries {
		t.line(below+"  ", "attempt "+strconv.Itoa(a.Number), cmp.Or(a.Class, "running"), a.Backend, between(a.StartedAt, a.EndedAt))
	}
}

// between is how long something took, negative while it goes on.
func between(from time.Time, to *time.Time) time.Duration {
	if to == nil {
		return -1
	}
	return to.Sub(from)
}
