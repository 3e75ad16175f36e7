package runtime

import (
	"context"
	"strings"
	"time"
)

// Pages is what an engine tells of a run whose documents may be long, a piece at a time: it costs
// what the piece has, and not what the run has behind it.
type Pages interface {
	// StepPage lists some of a run's steps, each as it stands now.
	StepPage(ctx context.Context, q StepQuery) (*StepPage, error)

	// Declared tells which variables the carrier of a run is to bring.
	Declared(ctx context.Context, run string) (*Declared, error)
}

// StepQuery selects steps of a run. By itself it begins with the oldest.
type StepQuery struct {
	Run    string `json:"run"`              // id, unique prefix, @last
	After  uint64 `json:"after,omitempty"`  // those that were requested behind the record with this number
	Limit  int    `json:"limit,omitempty"`  // at most so many, 0 for all
	Newest bool   `json:"newest,omitempty"` // the newest of them, and as many older ones at most that are open
}

// StepPage is a piece of a run's steps, in the order of their requests.
type StepPage struct {
	Run    string         `json:"run"`
	Steps  []Step         `json:"steps"`
	Failed []FailedBranch `json:"failed_branches,omitempty"` // in the order of their ends; one counts as a step does

	Next    uint64 `json:"next,omitempty"`    // the After of the page behind this one, 0 where there is none
	Earlier bool   `json:"earlier,omitempty"` // of the newest: there are older ones that are not listed
}

// FailedBranch is a branch of a parallel that has ended with an error. Those of a run that an
// earlier build has begun are not known.
type FailedBranch struct {
	Branch  string    `json:"branch"` // its address
	Kind    string    `json:"kind"`   // of the error
	Message string    `json:"message"`
	Where   string    `json:"where,omitempty"` // in the script
	At      time.Time `json:"at"`
}

// Why is its error for people, on one line.
func (f *FailedBranch) Why() string {
	return f.Kind + ": " + strings.Join(strings.Fields(f.Message), " ")
}

// Declared are the variables that a run's project declares.
type Declared struct {
	Run string   `json:"run"` // its id
	Env []string `json:"env,omitempty"`
}
