package runtime

import (
	"context"
	"time"
)

// Decisions is the record of who has decided what. It is served by engine.Local, by what only reads
// a store, and by a client of an owner's socket.
type Decisions interface {
	// Decisions lists how gates were decided, in runs that have ended and in others, the newest
	// decision first. A gate that was closed without a decision is not among them, and neither is
	// what was pruned or trimmed. It needs the capability read; a run or a cursor that is not known
	// is refused.
	Decisions(ctx context.Context, q DecisionQuery) (*DecisionPage, error)
}

// DecisionQuery selects decisions.
type DecisionQuery struct {
	Run   string    `json:"run,omitempty"`   // of this run and those it has started: id, unique prefix, @last
	Since time.Time `json:"since,omitzero"`  // made then or later
	Until time.Time `json:"until,omitzero"`  // made then or before
	Limit int       `json:"limit,omitempty"` // at most so many; 0, and what is more, is 1000
	After string    `json:"after,omitempty"` // those behind a page, whose [DecisionPage.Next] this is

	Cursors bool `json:"cursors,omitempty"` // the After behind each of them, too
}

// DecisionPage is a piece of the record.
type DecisionPage struct {
	Schema    string     `json:"schema"`
	Decisions []Decision `json:"decisions"`
	Next      string     `json:"next,omitempty"` // the After of the page behind this one, "" where there is none
	Cursors   []string   `json:"cursors,omitempty"`
}

// Decision is one entry of the record. Its gate is addressed from the top run.
type Decision struct {
	Address   string `json:"address"` // RUN/GATE
	Run       string `json:"run"`     // the top run, which no other has started
	Script    string `json:"script"`  // of that run
	StartedBy string `json:"started_by,omitempty"`
	Decided
	Copied bool `json:"copied,omitempty"` // made in the run that this one was made of, by fork or rerun
}
