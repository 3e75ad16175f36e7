package effect

import (
	"time"

	"go.starlark.net/starlark"
)

// Request is one thing that a script asks of the world. A builtin fills the first group, the
// machine the second, the resolver of its kind the third.
type Request struct {
	Class   Class   // how the machine treats it; the builtin's class unless its Request function says otherwise
	Kind    string  // which handler performs it: "agent", "gate", "http", "sleep", "print"
	Name    string  // step name within its branch: [A-Za-z0-9][A-Za-z0-9._-]*
	Args    Payload // the arguments, copied when the call was made
	Policy  Policy
	Returns string            // contract that a reply must meet, in canonical text; "" admits anything
	OnEvent starlark.Callable // called on the calling fiber for each event; stays in the machine, never encoded
	Events  []string          // kinds of events that OnEvent wants beside the usual ones
	Await   string            // for Await: the step that is waited for

	Step   string // address within the run: branch path, name, "#n" from the second on
	Branch string // path of the branch, "" for the root
	Where  string // file:line:col of the call
	Tree   string // path of the innermost branch with a working tree of its own in which the call stands, "" for the workspace

	Ceilings []Ceiling // budgets that the call stands under, the innermost first
	Overlaps []Overlap // what the calls of parallel that it is below say, other than to refuse
	Among    []int     // how many branches each of them has, the innermost first

	Resolved Payload    // what the world's side added when it was asked: the role's definition, never a credential
	Backends []string   // names of those that may serve, in order of preference: when one is missing the next is asked; nil for one that has no name
	Models   []string   // those that Backends have, in their order, "" for one that nobody names; nil for none. Not recorded
	Steers   []Steering // how each of Backends is steered, in their order; SteerNone where there are fewer
	Pulls    []string   // those of Backends that are not called but come for their work
	Breaker  bool       // a backend that fails again and again is left alone for a while
	Limit    int        // how many requests to this agent may be at work at once in the run, 0 for any number
	Total    int        // how many to agents with a total may be, 0 for any number
	Changes  []string   // patterns of the paths of the workspace that it may change, see [Claims]; nil for none
}

// Policy says what the runtime does about failed attempts.
type Policy struct {
	Timeout     time.Duration // of one attempt; for a gate, of the whole wait; 0 means none
	Retries     int           // further attempts after a retryable failure
	Reasks      int           // further attempts after a reply that broke the contract
	OnError     OnError
	OnUncertain OnUncertain
	Idempotent  bool // a repeated attempt does no harm
}

// Steering is how a backend takes what an agent is told while it works.
type Steering string

// The ways. A message that a backend cannot take is put first into the input of the next attempt,
// if there is one.
const (
	SteerNone   Steering = "none"   // not at all
	SteerLive   Steering = "live"   // before the agent's next step
	SteerResume Steering = "resume" // it is ended, and goes on with the conversation
)

// OnError says what a failed step does to the script.
type OnError uint8

// The two ways to learn of a failure.
const (
	Raise  OnError = iota // the error is raised at the call
	Return                // the call returns a value that is not ok
)

// OnUncertain says what becomes of an attempt that a crash cut: nobody knows whether it took
// effect.
type OnUncertain uint8

// What may be done about an uncertain attempt.
const (
	Retry       OnUncertain = iota // again, with the same idempotency key
	Ask                            // open the system gate !uncertain:STEP
	FailAttempt                    // settle the step with an error of kind "uncertain"
)

// ParseOnUncertain reads "retry", "ask" or "fail".
func ParseOnUncertain(s string) (OnUncertain, bool) {
	switch s {
	case "retry":
		return Retry, true
	case "ask":
		return Ask, true
	case "fail":
		return FailAttempt, true
	}
	return 0, false
}
