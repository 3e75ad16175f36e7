package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/plain"
	"starling/runtime"
	"starling/runtime/query"
)

// diffVerb is a call of the verb diff.
type diffVerb struct{ call *call }

// diffCommand is the verb diff.
func diffCommand(c *call) *cobra.Command {
	v := &diffVerb{call: c}
	cmd := &cobra.Command{
		Use:     "diff RUN_A RUN_B",
		Short:   "Compare two runs: inputs, program, steps, output",
		GroupID: "look",
		Long: `Compare two runs: their program, inputs, status, output, and what each step asked and came to. Times, attempts and who performed a step do not
count. The exit code is 0 whether they differ or not; --json has "same".`,
		Args: operands(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return v.diff(cmd.Context(), args[0], args[1]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (v *diffVerb) diff(ctx context.Context, a, b string) error {
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	d, err := query.Compare(ctx, s, a, b)
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(d)
	}
	for _, p := range []struct {
		name string
		pair *runtime.Pair
	}{{"program", &d.Program}, {"inputs", &d.Inputs}, {"status", &d.Status}} {
		v.printPair(p.name, p.pair)
	}
	for _, step := range d.Steps {
		v.printStepDiff(&step)
	}
	v.printPair("output", &d.Output)
	return nil
}

// printPair prints a thing that both runs have: a word when it is the same.
func (v *diffVerb) printPair(name string, p *runtime.Pair) {
	if p == nil {
		return
	}
	if p.Same {
		v.call.print("%s: equal", name)
		return
	}
	v.call.print("%s: different", name)
	for _, line := range plain.Diff(strings.Split(indent(p.A, ""), "\n"), strings.Split(indent(p.B, ""), "\n")) {
		v.call.print("  %s", line)
	}
}

func (v *diffVerb) printStepDiff(s *runtime.StepDiff) {
	switch s.Outcome {
	case runtime.StepMissing:
		v.call.print("step %s: only in %s", s.Step, s.In)
	case runtime.StepEqual:
		v.call.print("step %s: equal", s.Step)
	default:
		v.printPair("step "+s.Step+": request", s.Request)
		v.printPair("step "+s.Step+": result", s.Result)
	}
}
