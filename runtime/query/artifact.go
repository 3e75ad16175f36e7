package query

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// The artifacts that follow from the journal.
const (
	outputArtifact = "output.json"
	eventsArtifact = "events.jsonl"
	callsArtifact  = "tool-calls.jsonl"

	toolKinds = "tool" // begins the kinds of events that tell of tools
)

// Artifacts lists what the steps of a run have left, in the order of their requests; with a step,
// its address or a suffix that is not ambiguous, only what that one has. It reads the run's whole
// journal.
func Artifacts(ctx context.Context, e runtime.Engine, run, step string) ([]runtime.Artifact, error) {
	l := artifactList{at: map[string]*stepArtifacts{}}
	err := e.Watch(ctx, runtime.WatchRequest{Run: run}, func(ev runtime.Event) error {
		l.add(&ev)
		return nil
	})
	if err != nil {
		return nil, err
	}
	only := ""
	if step != "" {
		if only, err = l.find(run, step); err != nil {
			return nil, err
		}
	}
	found := []runtime.Artifact{}
	for _, name := range l.steps {
		if only == "" || name == only {
			found = append(found, l.at[name].artifacts(name)...)
		}
	}
	return found, nil
}

// artifactList folds events into what steps have left.
type artifactList struct {
	steps []string
	at    map[string]*stepArtifacts
}

// stepArtifacts is what one step has left so far.
type stepArtifacts struct {
	kind   string
	output []byte
	events []byte
	calls  []byte
	blobs  map[string]blobRow
}

type blobRow struct {
	Hash string
	Size int
}

// BlobsOf are those that an attempt has left, as the event of its end names them.
func BlobsOf(ev *runtime.Event) map[string]blobRow {
	var data struct{ Blobs map[string]blobRow }
	_ = json.Unmarshal(ev.Data, &data) // an engine's own
	return data.Blobs
}

func (l *artifactList) add(ev *runtime.Event) {
	if ev.Type == journal.StepRequested.String() {
		var data struct{ Kind string }
		_ = json.Unmarshal(ev.Data, &data) // an engine's own, here and below
		l.steps = append(l.steps, ev.Step)
		l.at[ev.Step] = &stepArtifacts{kind: data.Kind, blobs: map[string]blobRow{}}
	}
	at := l.at[ev.Step]
	if at == nil {
		return
	}
	switch ev.Type {
	case journal.AttemptEnded.String():
		maps.Copy(at.blobs, BlobsOf(ev))
	case journal.AgentEvent.String():
		at.event(ev)
	case journal.StepSettled.String():
		at.settled(ev)
	}
}

// event adds a line, without when it was, so that the same events give the same hash.
func (at *stepArtifacts) event(ev *runtime.Event) {
	var data struct {
		Kind    string          `json:"kind"`
		Attempt int             `json:"attempt"`
		Data    json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(ev.Data, &data)
	line, _ := json.Marshal(data)
	line = append(line, '\n')
	at.events = append(at.events, line...)
	if strings.HasPrefix(data.Kind, toolKinds) {
		at.calls = append(at.calls, line...)
	}
}

// settled takes the value of a step: of an agent what it replied, not what the runtime says about
// it.
func (at *stepArtifacts) settled(ev *runtime.Event) {
	var data struct{ Value json.RawMessage }
	_ = json.Unmarshal(ev.Data, &data)
	value := data.Value
	if journal.AgentKind(at.kind) {
		var reply struct{ Output, Text json.RawMessage }
		_ = json.Unmarshal(value, &reply)
		value = reply.Output
		if value == nil || bytes.Equal(value, []byte("null")) {
			value = reply.Text
		}
	}
	if value != nil {
		at.output = append(slices.Clone(value), '\n')
	}
}

func (at *stepArtifacts) artifacts(step string) []runtime.Artifact {
	var found []runtime.Artifact
	derive := func(name string, content []byte) {
		if content != nil {
			found = append(found, runtime.Artifact{Step: step, Name: name, Size: len(content), Hash: journal.HashOf(content), Derived: content})
		}
	}
	derive(outputArtifact, at.output)
	derive(eventsArtifact, at.events)
	derive(callsArtifact, at.calls)
	for _, name := range slices.Sorted(maps.Keys(at.blobs)) {
		found = append(found, runtime.Artifact{Step: step, Name: name, Size: at.blobs[name].Size, Hash: at.blobs[name].Hash})
	}
	return found
}

// find finds the step that an address means.
func (l *artifactList) find(id, address string) (string, error) {
	address = strings.TrimSuffix(address, "#1")
	if l.at[address] != nil {
		return address, nil
	}
	var fits []string
	for _, name := range l.steps {
		if strings.HasSuffix(name, "/"+address) {
			fits = append(fits, name)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return "", run.UnknownStep(id, address, l.steps)
	}
	return "", runtime.Refusef(runtime.ErrAmbiguous, "step %q of run %s is ambiguous: it matches %s", address, id, strings.Join(fits, ", ")).WithHelp("give more of the address").WithData(fits)
}
