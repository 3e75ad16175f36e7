package query

import (
	"bytes"
	"context"
	"encoding/json"

	"starling/runtime"
	"starling/runtime/journal"
)

// Compare compares two runs. It reads their whole journals.
func Compare(ctx context.Context, e runtime.Engine, a, b string) (*runtime.Diff, error) {
	var sides [2]*side
	for i, address := range []string{a, b} {
		run, err := e.Get(ctx, address)
		if err != nil {
			return nil, err
		}
		sides[i] = &side{run: run, at: map[string]*told{}}
		if err := e.Watch(ctx, runtime.WatchRequest{Run: run.ID}, sides[i].add); err != nil {
			return nil, err
		}
	}
	return compare(sides[0], sides[1]), nil
}

// side is one of the runs.
type side struct {
	run   *runtime.Run
	steps []string
	at    map[string]*told
}

// told is what a step asked and what came of it; nil for nothing yet.
type told struct{ request, result json.RawMessage }

func (s *side) add(ev runtime.Event) error {
	switch ev.Type {
	case journal.StepRequested.String(), journal.StepAnswered.String():
		var data struct{ Kind, Args, Value, Error json.RawMessage }
		_ = json.Unmarshal(ev.Data, &data) // an engine's own, here and below
		request, _ := json.Marshal(map[string]json.RawMessage{"kind": data.Kind, "args": orNull(data.Args)})
		s.steps = append(s.steps, ev.Step)
		s.at[ev.Step] = &told{request: request}
		if ev.Type == journal.StepAnswered.String() {
			s.at[ev.Step].result = outcomeOf(ev.Data)
		}
	case journal.StepSettled.String():
		if at := s.at[ev.Step]; at != nil {
			at.result = outcomeOf(ev.Data)
		}
	}
	return nil
}

// outcomeOf is a value, or an error without where it was raised.
func outcomeOf(data json.RawMessage) json.RawMessage {
	var o struct {
		Value json.RawMessage
		Error *struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		}
	}
	_ = json.Unmarshal(data, &o)
	if o.Error != nil {
		text, _ := json.Marshal(map[string]any{"error": o.Error})
		return text
	}
	return orNull(o.Value)
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return []byte("null")
	}
	return text
}

func pair(a, b json.RawMessage) runtime.Pair {
	a, b = orNull(a), orNull(b)
	return runtime.Pair{Same: bytes.Equal(a, b), A: a, B: b}
}

func textPair(a, b string) runtime.Pair {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return pair(x, y)
}

func compare(a, b *side) *runtime.Diff {
	d := &runtime.Diff{Schema: runtime.Schema, Program: textPair(a.run.Details.Program, b.run.Details.Program), Inputs: pair(a.run.Inputs, b.run.Inputs),
		Status: textPair(string(a.run.Status), string(b.run.Status)), Output: pair(a.run.Output, b.run.Output), Steps: []runtime.StepDiff{}}
	d.Same = d.Program.Same && d.Inputs.Same && d.Status.Same && d.Output.Same
	for _, name := range a.steps {
		s := runtime.StepDiff{Step: name, Outcome: runtime.StepMissing, In: "a"}
		if other := b.at[name]; other != nil {
			s = a.at[name].against(name, other)
		}
		d.Steps = append(d.Steps, s)
		d.Same = d.Same && s.Outcome == runtime.StepEqual
	}
	for _, name := range b.steps {
		if a.at[name] == nil {
			d.Steps = append(d.Steps, runtime.StepDiff{Step: name, Outcome: runtime.StepMissing, In: "b"})
			d.Same = false
		}
	}
	return d
}

func (t *told) against(name string, other *told) runtime.StepDiff {
	s := runtime.StepDiff{Step: name, Outcome: runtime.StepEqual, In: "both"}
	if p := pair(t.request, other.request); !p.Same {
		s.Outcome, s.Request = runtime.StepDifferent, &p
	}
	if p := pair(t.result, other.result); !p.Same {
		s.Outcome, s.Result = runtime.StepDifferent, &p
	}
	return s
}
