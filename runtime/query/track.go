package query

import (
	"context"
	"encoding/json"
	"slices"

	"starling/runtime"
	"starling/runtime/journal"
)

// The kinds of events and the statuses that make tracks.
const (
	trackKind, stageKind = "track", "track.stage"

	stageWaiting, stageStarted, stageAttempt = "waiting", "started", "attempt"
)

// Tracks lists the tracks that a run has told of behind a record, in the order in which they began.
// It reads the journal from there on.
func Tracks(ctx context.Context, e runtime.Engine, run string, after uint64) ([]runtime.Track, error) {
	tracks := []runtime.Track{}
	emits := runtime.WatchRequest{Run: run, After: after, Types: []string{journal.OutputEmit.String()}}
	err := e.Watch(ctx, emits, func(ev runtime.Event) error {
		tracks = tracked(tracks, &ev)
		return nil
	})
	return tracks, err
}

// tracked folds one event into tracks.
func tracked(tracks []runtime.Track, ev *runtime.Event) []runtime.Track {
	var said struct {
		Kind   string
		Fields struct {
			Track, ID, Status string
			Stages            []string
		}
	}
	if json.Unmarshal(ev.Data, &said) != nil || said.Kind != trackKind && said.Kind != stageKind {
		return tracks // somebody else's events may have fields of other types
	}
	at := slices.IndexFunc(tracks, func(t runtime.Track) bool { return t.Track == said.Fields.Track })
	if at < 0 {
		at, tracks = len(tracks), append(tracks, runtime.Track{Track: said.Fields.Track, Stages: []runtime.Stage{}})
	}
	t := &tracks[at]
	if said.Kind == stageKind {
		tellTrack(t, said.Fields.ID, said.Fields.Status)
		return tracks
	}
	t.Status = said.Fields.Status
	if t.Status == stageStarted {
		t.Done, t.Stages = 0, []runtime.Stage{}
		for _, id := range said.Fields.Stages {
			t.Stages = append(t.Stages, runtime.Stage{ID: id, Status: stageWaiting})
		}
	}
	return tracks
}

// tellTrack notes how a stage stands.
func tellTrack(t *runtime.Track, id, status string) {
	i := slices.IndexFunc(t.Stages, func(s runtime.Stage) bool { return s.ID == id })
	if i < 0 {
		i, t.Stages = len(t.Stages), append(t.Stages, runtime.Stage{ID: id})
	}
	if status != stageAttempt {
		t.Stages[i].Status = status
	}
	t.Done = 0
	for _, s := range t.Stages {
		if s.Status != stageWaiting && s.Status != stageStarted {
			t.Done++
		}
	}
}
