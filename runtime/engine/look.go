package engine

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/query"
)

// queryJournal is effect.Attempt.Journal: what the journal of a run, or of the child run that one
// of its steps started, says up to the step that asks.
func (r *reader) queryJournal(run, asks string, q effect.Look) (starlark.Value, *effect.Error) {
	of := run
	if q.Child != "" {
		if of = r.childOf(run, q.Child); of == "" {
			return nil, effect.Errorf(effect.KindRefused, "%s: no step %q of this run has started a child run", asks, q.Child)
		}
	}
	var events []runtime.Event
	err := r.journal(of, 0, func(rec *journal.Record) error {
		if of == run && rec.Type == journal.StepRequested && rec.Step == asks {
			return runtime.ErrStopWatch
		}
		events = append(events, rec.Event(of))
		return nil
	})
	if err := unlessStopped(err); err != nil {
		return nil, effect.Errorf(effect.KindEffect, "%s: %v", asks, err)
	}
	return seen(events, q)
}

// artifact is effect.Attempt.Artifact: what a step of a run has kept, by its hash.
func (r *reader) artifact(run, hash string) (name string, content []byte, fault *effect.Error) {
	err := r.journal(run, 0, func(rec *journal.Record) error {
		if rec.Type != journal.AttemptEnded {
			return nil
		}
		ev := rec.Event(run)
		blobs := query.BlobsOf(&ev)
		for _, n := range slices.Sorted(maps.Keys(blobs)) {
			if blobs[n].Hash == hash {
				name = n
				return runtime.ErrStopWatch
			}
		}
		return nil
	})
	if err = unlessStopped(err); err == nil && name == "" {
		return "", nil, effect.Errorf(effect.KindRefused, "no step of this run has left an artifact with this hash")
	}
	if err == nil {
		content, err = r.needed(hash)
	}
	if err != nil {
		return "", nil, effect.Errorf(effect.KindEffect, "%v", err)
	}
	return name, content, nil
}

// seen is what was asked of the events, as plain values.
func seen(events []runtime.Event, q effect.Look) (starlark.Value, *effect.Error) {
	var shown any = stepsOf(events)
	if q.Events {
		shown = slices.DeleteFunc(events, func(ev runtime.Event) bool { return len(q.Types) > 0 && !slices.Contains(q.Types, ev.Type) })
	}
	text, err := json.Marshal(shown)
	if err == nil && len(text) > effect.MaxPayload {
		err = errors.New("the journal says more than one call can give; ask for some types of events only")
	}
	var v starlark.Value
	if err == nil {
		v, err = contract.FromJSON(text)
	}
	if err != nil {
		return nil, effect.Errorf(effect.KindEffect, "%v", err)
	}
	return v, nil
}

// stepsOf folds events into steps.
func stepsOf(events []runtime.Event) []runtime.Step {
	l := query.NewStepList(nil)
	for i := range events {
		l.Add(&events[i])
	}
	return l.Steps
}
