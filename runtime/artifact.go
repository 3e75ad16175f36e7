package runtime

import (
	"context"
)

// An Artifact is something that a step has left: what its attempts kept as blobs, and what follows
// from the journal: output.json, its value, events.jsonl, what its agent said on the way, and
// tool-calls.jsonl, those of the events that tell of tools. It is known by its hash: the same work
// gives the same hash, in a fork as in its original.
type Artifact struct {
	Step string `json:"step"`
	Name string `json:"name"` // "output.json", "transcript.txt"
	Size int    `json:"size"` // bytes
	Hash string `json:"hash"` // SHA-256

	Derived []byte `json:"-"` // content that follows from the journal; nil for a blob
}

// Content reads an artifact.
func (a *Artifact) Content(ctx context.Context, e Engine) ([]byte, error) {
	if a.Derived != nil {
		return a.Derived, nil
	}
	return e.Blob(ctx, a.Hash)
}
