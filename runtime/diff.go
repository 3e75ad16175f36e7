package runtime

import (
	"encoding/json"
)

// Diff is how two runs differ.
type Diff struct {
	Schema  string     `json:"schema"`
	Same    bool       `json:"same"`
	Program Pair       `json:"program"`
	Inputs  Pair       `json:"inputs"`
	Status  Pair       `json:"status"`
	Output  Pair       `json:"output"`
	Steps   []StepDiff `json:"steps"` // in the order of the first run, then what only the second has
}

// Pair is one thing in both runs.
type Pair struct {
	Same bool            `json:"same"`
	A    json.RawMessage `json:"a"`
	B    json.RawMessage `json:"b"`
}

// StepDiff is a step of two runs. Attempts, times and who performed it do not count: what was asked
// and what came of it do.
type StepDiff struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"` // equal, different, missing in one of the two
	In      string `json:"in"`      // a, b or both
	Request *Pair  `json:"request,omitempty"`
	Result  *Pair  `json:"result,omitempty"`
}

// The outcomes of a step in two runs.
const (
	StepEqual     = "equal"
	StepDifferent = "different"
	StepMissing   = "missing"
)
