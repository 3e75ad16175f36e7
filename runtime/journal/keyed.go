package journal

import "starling/runtime"

// Keyed is what is remembered under an idempotency key: which request it was, and what was
// answered.
type Keyed struct {
	Digest  string           `json:"digest"`
	Receipt *runtime.Receipt `json:"receipt,omitempty"`
	Run     string           `json:"run,omitempty"` // of a start
	At      int64            `json:"at,omitempty"`  // when it was remembered, microseconds since 1970
}

// AnyClaim stands where the run's id stands in the keys of signals that name one. No id has such
// letters.
const AnyClaim = "claim/"
