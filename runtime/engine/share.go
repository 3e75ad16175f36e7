package engine

import (
	"context"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// An attempt may read and change the run's variables while it works, as the script does with
// memory.vars: see [effect.Attempt.Share]. A change is a record of its own, so that the state stays a
// fold of the journal; the machine never hears of it, for what the script reads is recorded where it
// reads it.

// sharer is effect.Attempt.Share for one attempt.
func (a *actor) sharer(step string, attempt int) func(context.Context, effect.Payload) (
	starlark.Value, *effect.Error) {
	return func(ctx context.Context, args effect.Payload) (starlark.Value, *effect.Error) {
		in := &remembered{step: step, attempt: attempt, args: args}
		if err := a.e.send(ctx, a.run, event{in: in}); err != nil {
			return nil, effect.Errorf(effect.KindCancelled, "%s: the run's variables: %v", step, err)
		}
		if in.outcome.Err != nil {
			return nil, in.outcome.Err
		}
		v, err := in.outcome.Value.Value()
		if err != nil {
			return nil, effect.Errorf(effect.KindRefused, "%s: the run's variables: %v", step, err)
		}
		return orNone(v), nil
	}
}

// share does a function of memory.vars for an attempt that is in flight.
func (t *turn) share(step string, attempt int, args effect.Payload) effect.Outcome {
	if st := t.flying(step, attempt); st == nil || st.Stopped {
		return effect.Outcome{Err: effect.Errorf(effect.KindCancelled, "%s: the attempt has ended", step)}
	}
	r := &effect.Request{Step: step, Kind: kindVars, Args: args}
	out := t.s.memory.answer(r)
	if change := changes(r, out); change != nil {
		var b effect.Object
		t.record(journal.MemoryChanged, step, b.Int("attempt", int64(attempt)).Text("kind", kindVars).
			Raw("change", change).Payload())
	}
	return out
}
