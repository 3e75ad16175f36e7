package runtime

import (
	"context"
	"encoding/json"
	"slices"
)

// A Track is how far a run has come with something of several stages, as its script tells whoever follows it:
//
//	emit("track", track = NAME, status = "started", stages = [ID, …])     it begins, with the stages that are known
//	emit("track.stage", track = NAME, id = ID, status = "started")        a stage begins; any other status is its end, but for "attempt"
//	emit("track", track = NAME, status = "success")                       it has ended; any status but "started"
//
// A stage that is told of and was not known is one more. A track that begins again is told of anew.
type Track struct {
	Track  string  `json:"track"`
	Status string  `json:"status"`
	Done   int     `json:"done"` // stages that have ended, however
	Stages []Stage `json:"stages"`
}

// Stage is one stage of a [Track].
type Stage struct {
	ID     string `json:"id"`
	Status string `json:"status"` // "waiting" until it is told of
}

// The kinds of events and the statuses that make tracks.
const (
	trackKind, stageKind = "track", "track.stage"

	stageWaiting, stageStarted, stageAttempt = "waiting", "started", "attempt"
)

// Tracks lists the tracks that a run has told of behind a record, in the order in which they began. It reads the journal from there on.
func Tracks(ctx context.Context, e Engine, run string, after uint64) ([]Track, error) {
	tracks := []Track{}
	emits := WatchRequest{Run: run, After: after, Types: []string{OutputEmit.String()}}
	err := e.Watch(ctx, emits, func(ev Event) error {
		tracks = tracked(tracks, &ev)
		return nil
	})
	return tracks, err
}

// tracked folds one event into tracks.
func tracked(tracks []Track, ev *Event) []Track {
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
	at := slices.IndexFunc(tracks, func(t Track) bool { return t.Track == said.Fields.Track })
	if at < 0 {
		at, tracks = len(tracks), append(tracks, Track{Track: said.Fields.Track, Stages: []Stage{}})
	}
	t := &tracks[at]
	if said.Kind == stageKind {
		tellTrack(t, said.Fields.ID, said.Fields.Status)
		return tracks
	}
	t.Status = said.Fields.Status
	if t.Status == stageStarted {
		t.Done, t.Stages = 0, []Stage{}
		for _, id := range said.Fields.Stages {
			t.Stages = append(t.Stages, Stage{ID: id, Status: stageWaiting})
		}
	}
	return tracks
}

// tellTrack notes how a stage stands.
func tellTrack(t *Track, id, status string) {
	i := slices.IndexFunc(t.Stages, func(s Stage) bool { return s.ID == id })
	if i < 0 {
		i, t.Stages = len(t.Stages), append(t.Stages, Stage{ID: id})
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
