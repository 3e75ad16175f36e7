package runtime

// A Track is how far a run has come with something of several stages, as its script tells whoever
// follows it:
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
