package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
)

// Engine runs scripts and keeps them. The one in this process is engine.Local; a client of an
// owner's socket is an Engine too, and so will be whatever runs them on more than one machine:
// callers see no difference, and one conformance suite holds for all.
//
// Who calls is taken from the context (see [WithCaller]), set by whoever owns the connection and
// never by an argument. Every refusal is a [*Refusal]. Each mutating request carries a key: sent
// again with the same key it has no second effect and gives the same answer. All methods may be
// called concurrently.
type Engine interface {
	// Start makes a run durable and begins it. It returns before the run has done anything; the
	// engine carries the run from then on.
	Start(ctx context.Context, r StartRequest) (*Run, error)

	// Signal brings something to a run: the answer of a gate, a message, a chunk of a session. The
	// receipt is given when it is durable.
	Signal(ctx context.Context, s Signal) (*Receipt, error)

	// Cancel ends a run and all it started.
	Cancel(ctx context.Context, c CancelRequest) (*Receipt, error)

	// Resume makes the engine drive runs: perform their requests, fire their timers. It returns
	// when the runs are loaded, naming those that are carried now.
	Resume(ctx context.Context, c ResumeRequest) ([]string, error)

	// Get returns one run as it is now. The address is an id, a unique prefix of one, or "@last".
	Get(ctx context.Context, run string) (*Run, error)

	// List returns what the query asks for: runs, the newest first, open gates, work, or queues.
	List(ctx context.Context, q Query) (*Listing, error)

	// Watch calls fn for the events of a run in order, each after it is durable. With Follow it
	// goes on until the run has ended, ctx ends or fn fails; the error of fn is returned as it is.
	// ErrStopWatch ends it with nil.
	Watch(ctx context.Context, w WatchRequest, fn func(Event) error) error

	// Blob returns content by its hash.
	Blob(ctx context.Context, hash string) ([]byte, error)

	// Close stops: it starts nothing new, gives calls in flight their grace, writes down what is in
	// memory.
	Close() error
}

// StartRequest asks for a new run.
type StartRequest struct {
	Key        string            `json:"key"`               // idempotency; "" means the request is not repeatable
	Bundle     []byte            `json:"bundle"`            // the script and all it loads, encoded
	Script     string            `json:"script"`            // how people know the script: its path or registered name
	Inputs     json.RawMessage   `json:"inputs,omitempty"`  // an object
	Session    bool              `json:"session,omitempty"` // a REPL session: the program grows chunk by chunk
	Settings   effect.Settings   `json:"settings"`
	Labels     effect.Labels     `json:"labels,omitempty"`   // for good; a run that another has started has that one's, unless its step says otherwise
	Env        map[string]string `json:"env,omitempty"`      // values of the declared variables; kept in memory only
	Timeout    time.Duration     `json:"timeout,omitempty"`  // of the whole run, 0 for none
	OnDeadline OnDeadline        `json:"overtime,omitempty"` // what becomes of a run whose deadline has passed; "" is DeadlineFail
}

// OnDeadline says what becomes of a run whose deadline has passed.
type OnDeadline string

// What may become of it.
const (
	DeadlineFail    OnDeadline = "fail"    // it fails with the kind deadline
	DeadlineCancel  OnDeadline = "cancel"  // it is cancelled
	DeadlineSuspend OnDeadline = "suspend" // it is held at the gate !deadline until somebody decides
)

// SignalKind says what a signal brings.
type SignalKind string

// The kinds of signal.
const (
	SignalAnswer  SignalKind = "answer"  // decides a gate
	SignalMessage SignalKind = "message" // goes into the run's mailbox under Name
	SignalChunk   SignalKind = "chunk"   // source text for a session

	SignalInterrupt SignalKind = "interrupt" // ends the chunk that a session is running, with an error

	SignalClaim     SignalKind = "claim"     // takes work that an agent comes for; with no Run the oldest that the caller may take
	SignalHeartbeat SignalKind = "heartbeat" // keeps a claim, and tells of events
	SignalSubmit    SignalKind = "submit"    // brings the result of a claim

	SignalSteer SignalKind = "steer" // tells the agent at Step something while it works: Reason
	SignalStop  SignalKind = "stop"  // ends the agent at Step; its Result has the status stopped
)

// Signal brings something to a run.
type Signal struct {
	Key      string            `json:"key"`
	Kind     SignalKind        `json:"kind"`
	Run      string            `json:"run"`            // id, unique prefix, @last
	Gate     string            `json:"gate,omitempty"` // gate address within the run, or a suffix of it that is not ambiguous
	Name     string            `json:"name,omitempty"` // of a message
	Choice   string            `json:"choice,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Data     json.RawMessage   `json:"data,omitempty"`     // payload of an answer or a message, JSON
	Text     string            `json:"text,omitempty"`     // the payload as it was given, when it is not JSON: it is refused, and the refusal recorded
	Bundle   []byte            `json:"bundle,omitempty"`   // of a chunk: its text is the entry, encoded with what it loads
	As       string            `json:"as,omitempty"`       // act as another; needs the capability act-as
	Override bool              `json:"override,omitempty"` // answer a gate that is for somebody else, in one's own name; needs the capability override, and is recorded
	Env      map[string]string `json:"env,omitempty"`      // declared variables: a signal carries the run that it names

	Step   string        `json:"step,omitempty"`   // of a claim, steer and stop: address of the step, or a suffix of it; of a claim "" for the oldest work of the run
	Claim  int           `json:"claim,omitempty"`  // number of the claim, which heartbeat and submit name with Step
	Lease  time.Duration `json:"lease,omitempty"`  // of a claim or a heartbeat; 0 for DefaultLease, or as it was claimed
	Report *Report       `json:"report,omitempty"` // of a heartbeat or a submit

	Any bool `json:"-"` // of a claim: of whatever run; the engine sets it
}

// CancelRequest asks for the end of a run.
type CancelRequest struct {
	Key    string `json:"key"`
	Run    string `json:"run"`
	Reason string `json:"reason,omitempty"`
	As     string `json:"as,omitempty"`
}

// ResumeRequest names the runs to carry.
type ResumeRequest struct {
	Runs     []string          `json:"runs,omitempty"`
	All      bool              `json:"all,omitempty"`      // every run that has not ended
	Env      map[string]string `json:"env,omitempty"`      // declared variables, for all of them
	Settings *effect.Settings  `json:"settings,omitempty"` // pins the project file anew, as an event

	// Schedules has the engine start what is scheduled, too, with variables of Lookup, until it is
	// closed. It is for whoever stays.
	Schedules bool `json:"-"`

	// Lookup gives declared variables that Env does not have, when they are wanted, so that nobody
	// needs to know before which they are. It is for an engine of this process: no socket carries
	// it. It may be called concurrently.
	Lookup func(name string) (value string, ok bool) `json:"-"`
}

// Receipt tells what became of a signal or a cancel. It is given after the fact is durable.
type Receipt struct {
	Schema   string          `json:"schema"`
	Accepted bool            `json:"accepted"`
	Repeated bool            `json:"repeated,omitempty"` // the key was known: this is the answer given before
	Run      string          `json:"run"`
	Gate     string          `json:"gate,omitempty"`
	Seq      uint64          `json:"seq"`    // of the record that accepted it
	Status   Status          `json:"status"` // of the run at that moment
	Decision json.RawMessage `json:"decision,omitempty"`
	Claim    *Claim          `json:"claim,omitempty"` // of a claim, a heartbeat and a submit
}

// Query selects runs.
type Query struct {
	All    bool     `json:"all,omitempty"`    // ended runs too
	Status []Status `json:"status,omitempty"` // only these
	Target string   `json:"target,omitempty"` // only gates targeted at this name, or at nobody; only work of this agent
	Limit  int      `json:"limit,omitempty"`  // at most so many runs, gates or items, 0 for no bound
	After  string   `json:"after,omitempty"`  // with Limit, of runs and gates: those behind a page, whose [Listing.Next] this is

	// Terms, with Limit, narrow runs down: for each list to those that one of its terms finds, as
	// [Term] writes them. An engine without an index of them, or with one that is not good, passes
	// them over.
	Terms [][]string `json:"terms,omitempty"`
	Facts bool       `json:"facts,omitempty"` // of runs: with what they can be found by

	Cursors bool   `json:"cursors,omitempty"` // with Limit, of runs and gates: the After behind each of them, too
	Gates   bool   `json:"gates,omitempty"`   // list open gates instead of runs
	Work    bool   `json:"work,omitempty"`    // list work that agents come for instead of runs, the oldest first
	Queues  bool   `json:"queues,omitempty"`  // list the queues that hold something instead of runs
	Queue   string `json:"queue,omitempty"`   // list the items of this queue instead of runs, the oldest first, with its summary
}

// WatchRequest selects events.
type WatchRequest struct {
	Run    string `json:"run"`
	After  uint64 `json:"after,omitempty"` // only events with a higher sequence number
	Follow bool   `json:"follow,omitempty"`

	Types []string `json:"types,omitempty"` // only events of these types
}

// Caller is who asks. The zero Caller may do nothing.
type Caller struct {
	Name  string     // "local:USER" for the peer of the local socket and for this process
	Agent string     // set when the caller descends from an attempt: the agent's name
	Run   string     // set with Agent: the run of that attempt, whose own gates it may not answer
	Local bool       // has every capability
	Can   Capability // of the bearer of a token
}

type callerKey struct{}

// WithCaller returns a context in which the caller is c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who calls, the zero Caller when nobody said.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// String names the caller as refusals do.
func (c Caller) String() string {
	switch {
	case c.Agent != "":
		return fmt.Sprintf("the agent %q", c.Agent)
	case c.Name == "":
		return "an unknown caller"
	}
	return c.Name
}

// Audience is whom the caller counts as when contracts hide something from people: who works for an
// attempt is an agent, and so is the bearer of a token that says so.
func (c Caller) Audience() contract.Audience {
	if c.Agent != "" || !c.Local && c.Can&CanSeeHidden != 0 {
		return contract.Agents
	}
	return contract.People
}
