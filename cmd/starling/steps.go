package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"starling/runtime"
)

// stepsCommand is the verb steps.
func (c *call) stepsCommand() *cobra.Command {
	var tree, track bool
	cmd := &cobra.Command{
		Use:     "steps RUN",
		Short:   "List a run's steps",
		GroupID: "look",
		Args:    operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if track {
				return c.tracks(cmd.Context(), args[0])
			}
			return c.steps(cmd.Context(), args[0], tree)
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "by branches, each with the attempts of its steps")
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

func (c *call) tracks(ctx context.Context, address string) error {
	return c.lookAt(ctx, address, func(s session, r *runtime.Run) error {
		tracks, err := runtime.Tracks(ctx, s, r.ID, r.Details.Horizon)
		switch {
		case err != nil:
			return err
		case c.json:
			return c.answerJSON(tracksDocument{runtime.Schema, r.ID, tracks})
		}
		for _, t := range tracks {
			fmt.Fprintf(c.stdout, "%s  %d/%d  %s\n", t.Track, t.Done, len(t.Stages), t.Status)
			for _, stage := range t.Stages {
				fmt.Fprintf(c.stdout, "  %-9s %s\n", stage.Status, stage.ID)
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
}

func (c *call) steps(ctx context.Context, address string, tree bool) error {
	return c.lookAt(ctx, address, func(s session, r *runtime.Run) error {
		steps, err := runtime.Steps(ctx, s, r.ID)
		switch {
		case err != nil:
			return err
		case c.json:
			return c.answerJSON(stepsDocument{runtime.Schema, r.ID, steps})
		case tree:
			return c.showTree(r, steps)
		}
		c.listSteps(steps)
		return nil
	})
}

// showTree prints the tree of a run's steps.
func (c *call) showTree(r *runtime.Run, steps []runtime.Step) error {
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	t := treeWriter{w}
	t.line("", r.ID+"  "+r.Script, string(r.Status), "", r.Details.UpdatedAt.Sub(r.Details.StartedAt))
	t.branch(runtime.Tree(steps), "")
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

func (t treeWriter) branch(b *runtime.Branch, indent string) {
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
	t.line(edge, name, s.Status, attempts(s.Attempts), between(s.StartedAt, s.EndedAt))
	if len(s.Tries) < 2 {
		return
	}
	for _, a := range s.Tries {
		t.line(below+"  ", "attempt "+strconv.Itoa(a.Number), orElse(a.Class, "running"), a.Backend, between(a.StartedAt, a.EndedAt))
	}
}

// between is how long something took, negative while it goes on.
func between(from time.Time, to *time.Time) time.Duration {
	if to == nil {
		return -1
	}
	return to.Sub(from)
}
