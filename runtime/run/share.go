package run

import (
	"starling/lang/effect"
	"starling/runtime/journal"
)

// share does a function of memory.vars for an attempt that is in flight.
func (t *Turn) share(step string, attempt int, args effect.Payload) effect.Outcome {
	if st := t.flying(step, attempt); st == nil || st.Stopped {
		return effect.Outcome{Err: effect.Errorf(effect.KindCancelled, "%s: the attempt has ended", step)}
	}
	r := &effect.Request{Step: step, Kind: journal.KindVars, Args: args}
	out := t.State.memory.answer(r)
	if change := changes(r, out); change != nil {
		var b effect.Object
		t.record(journal.MemoryChanged, step, b.Int("attempt", int64(attempt)).Text("kind", journal.KindVars).
			Raw("change", change).Payload())
	}
	return out
}
