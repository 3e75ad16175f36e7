package runtime

// Trimmed tells of a run whose journal was trimmed.
type Trimmed struct {
	Run     string `json:"run"`
	Horizon uint64 `json:"horizon"` // the newest record that was dropped
	Records uint64 `json:"records"` // how many were dropped
}
