package vm

import (
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// Status says why a slice ended.
type Status uint8

// The reasons.
const (
	Waiting Status = iota // every fiber waits for an outcome
	Done                  // the script has returned: Stop.Value
	Failed                // an error that nothing caught: Stop.Err
	Yielded               // there is more to do: commit what was emitted and Run again
	Idle                  // of a session: the chunk has ended, with Stop.Value (its last expression, None without one) or Stop.Err
)

// EmissionKind says what the machine did in its slice that somebody else must know.
type EmissionKind uint8

// The kinds of emission.
const (
	Answered     EmissionKind = iota // an Answer request with the outcome it got
	Said                             // an Output request
	Requested                        // a Waiting or Open request
	Withdrawn                        // nobody waits for this step any more: its branch was cancelled
	Ruled                            // on_event has said stop or steer
	BranchFailed                     // a branch has ended with an error
)

// Emission is one of them. A slice gives them in the order in which they happened, which is part of
// what replay checks.
type Emission struct {
	Kind    EmissionKind
	Step    string          // address of the step; for BranchFailed that of the branch
	Request *effect.Request // for Answered, Said and Requested; Step, Branch and Where are set
	Outcome effect.Outcome  // for Answered and BranchFailed
	Verdict *effect.Record  // for Ruled: a Verdict record
}

// Stop is the end of a slice.
type Stop struct {
	Status    Status
	Emissions []Emission
	Value     starlark.Value
	Err       *effect.Error // kind, message, where, backtrace

	cause *Error
}

// Cause is the error of a Stop as the machine had it, with its stack of calls; nil without one.
func (s *Stop) Cause() *Error { return s.cause }
