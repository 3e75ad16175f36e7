package cli

import (
	"context"

	"github.com/spf13/pflag"

	"starling/cmd/starling/mutant"
	"starling/cmd/starling/suite"
	"starling/cmd/starling/verdict"
	"starling/lang/effect"
)

// checkMutate refuses flags that mean nothing together, and gives the bounds their values.
func (v *testVerb) checkMutate(flags *pflag.FlagSet) error {
	if err := v.mutate.Check(flags, v.call.clock()); err != nil || !v.mutate.On {
		return err
	}
	if v.cover.wanted() {
		return usage("two calls show both", "test: --mutate and --cover do not go together")
	}
	if !flags.Changed("steps") {
		v.steps = mutant.Steps
	}
	if !flags.Changed("memory") {
		v.memory = mutant.Memory
	}
	return nil
}

// green tells whether all tests could be played, some were, and all have passed.
func green(files []*testFile) bool {
	var all []*suite.Result
	for _, f := range files {
		if f.fault != nil || f.suite == nil {
			return false
		}
		all = append(all, f.results...)
	}
	return mutant.Green(all)
}

// testMutate tries mutants. The tests as they are have been played.
func (v *testVerb) testMutate(ctx context.Context, files []*testFile, settings *effect.Settings) error {
	played := make([]*mutant.Played, len(files))
	for i, f := range files {
		played[i] = &mutant.Played{Root: f.root, Suite: f.suite, Results: f.results,
			Coverage: f.coverage, Environment: v.call.environmentOf(f.name), Snapshots: f.snapshots}
	}
	targets, err := mutant.Targets(played, v.mutate.Of)
	if wrong := verdict.Diagnostics(err); len(wrong) > 0 {
		return v.answerMutants(mutant.Wrong(wrong))
	}
	if err != nil {
		return err
	}
	n := v.mutate.Draw(targets)
	v.call.notice("%s", v.mutate.Plan(n, targets))
	play := mutant.Play{Settings: *settings, Bounds: v.bounds}
	play.TryAll(ctx, targets)
	if ctx.Err() == nil {
		return v.reportMutants(targets)
	}
	tried := 0
	for _, t := range targets {
		tried += t.KeepTried()
	}
	if v.call.notice("ended after %d of %d mutants", tried, n); !v.call.json && tried > 0 {
		_ = v.reportMutants(targets) // why it ended says more than what it lacks
	}
	return context.Cause(ctx)
}

// reportMutants tells what became of mutants.
func (v *testVerb) reportMutants(targets []*mutant.Target) error {
	d, err := v.mutate.Report(targets)
	if err != nil {
		return err
	}
	if err := mutant.WriteJUnit(v.junit, targets); err != nil {
		return usage("", "test: --junit: %v", err)
	}
	return v.answerMutants(d)
}

func (v *testVerb) answerMutants(d *mutant.Document) error {
	if d.Error != nil {
		v.call.code = d.Error.Kind.ExitCode()
	}
	if v.call.json {
		return v.call.answerJSON(d)
	}
	d.Print(v.call.stdout, v.verbose)
	if d.Error != nil {
		v.call.notice("error: %s", d.Error.Message)
	}
	return nil
}
