package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/query"
)

// diffCommand is the verb diff.
func (c *call) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff RUN_A RUN_B",
		Short:   "Compare two runs: inputs, program, steps, output",
		GroupID: "look",
		Long: `Compare two runs: their program, inputs, status, output, and what each step asked and came to. Times, attempts and who performed a step do not
count. The exit code is 0 whether they differ or not; --json has "same".`,
		Args: operands(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.diff(cmd.Context(), args[0], args[1]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *call) diff(ctx context.Context, a, b string) error {
	s, err := c.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer c.leave(s)
	d, err := query.Compare(ctx, s, a, b)
	if err != nil {
		return err
	}
	if c.json {
		return c.answerJSON(d)
	}
	for _, p := range []struct {
		name string
		pair *runtime.Pair
	}{{"program", &d.Program}, {"inputs", &d.Inputs}, {"status", &d.Status}} {
		c.printPair(p.name, p.pair)
	}
	for _, step := range d.Steps {
		c.printStepDiff(&step)
	}
	c.printPair("output", &d.Output)
	return nil
}

// printPair prints a thing that both runs have: a word when it is the same.
func (c *call) printPair(name string, p *runtime.Pair) {
	if p == nil {
		return
	}
	if p.Same {
		c.print("%s: equal", name)
		return
	}
	c.print("%s: different", name)
	for _, line := range lineDiff(strings.Split(indent(p.A, ""), "\n"), strings.Split(indent(p.B, ""), "\n")) {
		c.print("  %s", line)
	}
}

func (c *call) printStepDiff(s *runtime.StepDiff) {
	switch s.Outcome {
	case runtime.StepMissing:
		c.print("step %s: only in %s", s.Step, s.In)
	case runtime.StepEqual:
		c.print("step %s: equal", s.Step)
	default:
		c.printPair("step "+s.Step+": request", s.Request)
		c.printPair("step "+s.Step+": result", s.Result)
	}
}
