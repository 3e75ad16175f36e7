package engine

import (
	"context"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime/run"
)

// An attempt may read and change the run's variables while it works, as the script does with
// memory.vars: see [effect.Attempt.Share]. A change is a record of its own, so that the state stays a
// fold of the journal; the machine never hears of it, for what the script reads is recorded where it
// reads it.

// sharer is effect.Attempt.Share for one attempt.
func (a *actor) sharer(step string, attempt int) func(context.Context, effect.Payload) (
	starlark.Value, *effect.Error) {
	return func(ctx context.Context, args effect.Payload) (starlark.Value, *effect.Error) {
		in := &run.Remembered{Step: step, Attempt: attempt, Args: args}
		if err := a.e.send(ctx, a.run, event{in: in}); err != nil {
			return nil, effect.Errorf(effect.KindCancelled, "%s: the run's variables: %v", step, err)
		}
		if in.Outcome.Err != nil {
			return nil, in.Outcome.Err
		}
		v, err := in.Outcome.Value.Value()
		if err != nil {
			return nil, effect.Errorf(effect.KindRefused, "%s: the run's variables: %v", step, err)
		}
		return run.OrNone(v), nil
	}
}
