package runtime

import (
	"encoding/json"

	"starling/lang/effect"
)

// LineageKind says how a run was made of another.
type LineageKind string

// The kinds of lineage.
const (
	LineageFork  LineageKind = "fork"  // from a step on, possibly with other inputs
	LineageRerun LineageKind = "rerun" // from a step on, which may be set otherwise
	LineageOnly  LineageKind = "only"  // one step, with the recorded outcomes of all others
)

// Lineage tells of which run another was made, and how. It is recorded with run.started and never
// changes.
type Lineage struct {
	Kind LineageKind     `json:"kind"`
	Run  string          `json:"run"`           // the original, which stays as it was
	Step string          `json:"step"`          // the first step that is done again
	Seq  uint64          `json:"seq"`           // of its request in the original's journal: what stands before it came along
	Set  json.RawMessage `json:"set,omitempty"` // an object: arguments of the step that count instead of the script's

	// Head is the commit at which the workspace stood when the new run was made, where that is
	// another than the original's; "" where it is the same.
	Head string `json:"head,omitempty"`

	// Copied is the newest record that came along: what stands behind it is the new run's own.
	Copied uint64 `json:"copied"`

	Changed effect.Payload `json:"-"` // the same as Set, as the engine has it
}
