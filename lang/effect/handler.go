package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

// Handler is the world's side of one kind of request. Its functions are called concurrently.
type Handler struct {
	// Resolve completes a request once, when the script makes it and before it is recorded: looks a
	// role name up, fills the policy's defaults, sets Returns and Resolved. It reads nothing but
	// its arguments. An error settles the step at once. Nil leaves the request as it is.
	Resolve func(s *Settings, r *Request) *Error

	// Perform performs exactly one attempt and returns when it is over or ctx ends: ctx carries the
	// attempt's deadline and its cancellation. Retrying, asking again and falling back are decided
	// by the runtime, which journals each attempt before it starts.
	Perform func(ctx context.Context, a *Attempt) Reply

	// Question is what somebody is given who comes for an attempt instead of being called, see
	// [Request.Pulls]. Nil where nobody can.
	Question func(a *Attempt) (starlark.Value, *Error)

	// Workspace tells that attempts work in the workspace of the run, or read it.
	Workspace bool
}

// Attempt is one try of a request.
type Attempt struct {
	Run      string
	Step     string
	Branch   string
	Kind     string
	Number   int                  // from 1; also the fence: only the newest attempt's reply counts
	Backend  int                  // which of the request's backends is to serve, from 0
	Key      string               // idempotency key: the same for every attempt of the step
	Args     starlark.Value       // a fresh copy of the arguments
	Resolved starlark.Value       // a fresh copy of what Resolve added
	Returns  string               // contract of the reply, canonical text
	Feedback []contract.Violation // why the previous reply was not accepted
	Rejected string               // the reply of which Feedback is, as text and whole; "" where that is not known
	Session  string               // of the backend, as its previous reply to this step named it, or with GoesOn one to a call before; "" for none
	Cut      bool                 // the attempt before was cut in the middle of Session: what was asked stands there, and part of it may have been done
	GoesOn   bool                 // the conversation is that of calls before, which name the same session: it has not been asked this
	Memory   starlark.Value       // for agents: what was said in the chat that the call names, a list of dicts with by, to and text; nil without one
	Deadline time.Time            // zero when there is none
	Messages []string             // what the agent was told while it worked and may not have had: they stand first in its input
	Told     <-chan Steer         // what it is told from now on; only for a backend that is steered live
	Settings *Settings
	Artifact func(hash string) (name string, content []byte, err *Error)      // what a step of the run has left, by its SHA-256
	Env      func(name string) (value string, ok bool)                        // variables that the project declares, as the client that carries the run has them
	Wait     func(ctx context.Context, d time.Duration) bool                  // lets a time pass by the engine's clock, and tells whether it was left to: false when ctx ends, or Told has something
	Journal  func(l Look) (starlark.Value, *Error)                            // what the run's journal says up to the request, as plain values
	Known    func(s Survey) (*Known, *Error)                                  // what the engine keeps beside the run
	Emit     func(kind string, data starlark.Value)                           // journals an event of the attempt, before the reply
	Ask      func(ctx context.Context, l Leave) (bool, error)                 // has people decide at a gate of the step; nil where nobody can be asked
	Token    string                                                           // by which whoever works for the attempt is known to the engine while it is in flight; a secret
	Share    func(ctx context.Context, args Payload) (starlark.Value, *Error) // does what the request of a function of memory.vars with these arguments asks for; what it changes is durable when it returns. Nil where there are no variables
	Schedule func(ctx context.Context, args View) (starlark.Value, *Error)    // does what the request of a function of the module schedule with these arguments asks for, in the name of who started the run; nil where there are no schedules
	Store    string                                                           // path of the store's folder on this machine, which nothing that a script asks for touches; "" without one
	Tree     string                                                           // path of the branch in whose working tree, Settings.Workspace, it is done; "" for the run's own workspace
	Trees    string                                                           // path of the folder of the trees of the run's branches, which need not be there
	Enlisted func(w Worker) (dismiss func())                                  // see Enlist; nil for nobody
	Owns     []string                                                         // of the closing of a branch's tree: what the agents asked in it may change; nil where none has said
}

// Lock is the path of the step's lock file, below the store's folder; "" without one. Children of
// an attempt hold it, so that two attempts never run at once, not even those of two owners.
func (a *Attempt) Lock() string {
	if a.Store == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(a.Run + "/" + a.Step))
	return a.Store + "/locks/" + hex.EncodeToString(sum[:16])
}

// KindSchedule is the kind of the requests that make and change schedules.
const KindSchedule = "schedule"

// Worker is a process that works for an attempt, with all that descends from it.
type Worker struct {
	Run, Step string
	Number    int    // of the attempt
	Agent     string // as whom it acts, "" for nobody
	PID       int
	Started   uint64 // when it was started, as the kernel tells it: both never come again together
}

// Enlist tells whoever answers for the attempt that a process works for it, as an agent or, with
// "", as nobody. Dismiss is to be called when it is gone, and all that descends from it.
func (a *Attempt) Enlist(agent string, pid int, started uint64) (dismiss func()) {
	if a.Enlisted == nil {
		return func() {}
	}
	return a.Enlisted(Worker{a.Run, a.Step, a.Number, agent, pid, started})
}

// Warn journals a warning of the attempt, which people are shown.
func (a *Attempt) Warn(text string) {
	if a.Emit == nil {
		return
	}
	var o Object
	if v, err := o.Text("text", text).Payload().Value(); err == nil {
		a.Emit("warning", v)
	}
}

// Look says what of a run's journal is wanted.
type Look struct {
	Child  string   // address of a step of the run that has started a child run, to look into that; "" for the run itself
	Events bool     // all events, in place of the steps
	Types  []string // of events: only these; empty for all
}

// Survey says what is wanted of what the engine keeps beside the run that asks.
type Survey struct {
	Workflows []string // scripts that are defined, as run takes their names
	Names     bool     // whether the fault of one that is not there names those that are
	Past      bool     // what agents have spent in other runs, the newest ones
}

// Known is what the engine says to a [Survey].
type Known struct {
	Workflows []Workflow       // in the order of the survey
	Past      map[string]Spent // by agent; those that nobody has asked are not in it
}

// Workflow is a script that is defined under a name, or why there is none.
type Workflow struct {
	Fault   string             // why it cannot be run, "" where it can
	Address string             // NAME@VERSION
	Inputs  *contract.Contract // of its main, nil where it says nothing of them
}

// Spent is what calls of an agent have come to; what its backend does not tell is 0.
type Spent struct {
	Calls        int64 // requests that were sent
	MicroUSD     int64 // millionths of a dollar
	InputTokens  int64
	OutputTokens int64
}

// Steer is a message for an agent that is at work.
type Steer struct {
	Message string
	Taken   func() // says that the agent has it; until then it is put first into the input of further attempts
}

// Leave is what an agent asks leave for while it works. It is asked for once: what was decided
// holds for further attempts of the step that ask the same, and the time of an attempt does not
// pass while people decide. Where ctx ends first, the question is taken back and the error is that
// of ctx.
type Leave struct {
	Prompt string
	Data   starlark.Value // a plain value that says what exactly
	Same   string         // what tells it from other questions: two with the same one are one; "" for all of it
}

// Settings are what a run is started with beside its program and inputs. They are pinned: recorded
// at the start and changed only by a recorded event.
type Settings struct {
	Workspace   string   // directory the run works in
	ProjectFile string   // path of starling.toml, "" without one
	Project     []byte   // its contents
	FakeFile    string   // path of the script of scripted agents, "" without one
	Fake        []byte   // its bundle, as lang.Bundle encodes it
	FakeGiven   bool     // whoever started the run named the fake, and not the project file
	Cassettes   string   // what becomes of the cassettes of agents: CassettesRecord, CassettesPlay, "" for nothing; the same for the whole life of a run
	Env         []string // names of the environment variables that the project declares
	Optional    []string // those of them that a run does not wait for
	MaxSteps    int64    // of the machine between two outcomes, 0 for the default; the same for the whole life of a run
	MaxMemory   int64    // of the machine, bytes, 0 for the default; the same for the whole life of a run
	Head        string   // the commit at which the repository of the workspace stood when the run was started, "" where there is none
	Notify      []Notice // who is told what happens
	Grant       string   // for a script that is not the project's own: the name to which the project must have granted what it uses; "" for its own, which may use all

	// Imported says of a run that came from another store, and of runs made of it, whose project it
	// works under: ImportedLocal or ImportedTrusted. "" is every other run. Requests to start a run
	// are told apart by their settings as JSON, hence the tag.
	Imported string `json:",omitempty"`

	// Machine is where Workspace is, in a store that machines share, as its owner there called
	// itself; "" for a store of one machine.
	Machine string `json:",omitempty"`

	Budgets []Ceiling `json:",omitempty"` // of the project, over all that the run's agents do
}

// Whose project a run works under that came from another store.
const (
	ImportedLocal   = "local"  // that of this machine; what it does not serve is asked about
	ImportedTrusted = "export" // the one that came with the run, which somebody has trusted
)

// Notice is somebody who is told what happens in runs: how that is done, the handler "notify" knows
// by the name.
type Notice struct {
	Channel string
	On      []string // NoticeGate, NoticeDecision, NoticeEnd, NoticeBudget, NoticeWork
	Targets []string // of gates, and of work, only those for one of these; nil is all

	// StartedBy are names: only what happens in runs that one of these has started, and in the runs
	// below them, is told; nil is all. Requests to start a run are told apart by their settings as
	// JSON, hence the tag.
	StartedBy []string `json:",omitempty"`
}

// What can be told.
const (
	NoticeGate   = "gate"   // a gate has opened, or is for somebody else now
	NoticeEnd    = "end"    // a run has ended that no other waits for
	NoticeBudget = "budget" // a budget is used up

	NoticeDecision = "decision" // a gate is decided, by whomever
	NoticeWork     = "work"     // an agent that comes for its work may come, or again
)

// What a run does with the cassettes that its project gives to agents.
const (
	CassettesRecord = "record" // what is said with an agent is added to its cassette
	CassettesPlay   = "play"   // its cassette replies in its place
)

// After returns s as the settings of a run that has had others: what belongs to the run for life
// stays, its machine's limits, the commit it began at, what it is granted, and a fake that was
// named with it unless s names one. A run that was imported stays so, under the project of this
// machine unless s is the one that came with it.
func (s *Settings) After(had *Settings) *Settings {
	next := *s
	next.MaxSteps, next.MaxMemory, next.Head, next.Grant, next.Cassettes = had.MaxSteps, had.MaxMemory, had.Head, had.Grant, had.Cassettes
	if had.FakeGiven && !s.FakeGiven {
		next.FakeFile, next.Fake, next.FakeGiven = had.FakeFile, had.Fake, true
	}
	if had.Imported != "" && s.Imported == "" {
		next.Imported = ImportedLocal
	}
	return &next
}

// Reply is what an attempt came to. Exactly one of Err and the values counts.
type Reply struct {
	Value    starlark.Value // what the call gives; for agents the output
	Text     string         // for agents: the text of the reply
	Note     string
	Status   string         // for agents: "" for ok, or "stopped", "blocked"
	Backend  string         // which backend served
	Usage    starlark.Value // dict of tokens and cost, nil if unknown
	Degraded bool           // the value meets the contract by placeholders only; found by the runtime, with an Err that says where
	Session  string         // for agents: how the backend calls the conversation, so that another attempt can go on with it

	// Blobs are what the attempt leaves beside its value, by name: "transcript.txt", "diff.patch",
	// "tests.json". They are kept by their hashes as artifacts of the step, also of an attempt that
	// failed. Names are as CheckName wants them; what goes beyond MaxBlobs bytes in all is left
	// out.
	Blobs map[string][]byte

	Err   *Error
	Class Failure       // what Err means for further attempts
	After time.Duration // for Retryable: wait at least this long (Retry-After)
}

// MaxBlobs bounds the blobs of one attempt, in bytes.
const MaxBlobs = 4 << 20

// Failure classifies a failed attempt.
type Failure uint8

// The classes of failure.
const (
	Final     Failure = iota // trying again is pointless
	Retryable                // transport: another attempt may succeed
	Invalid                  // the reply broke its contract: ask again with the violations
	Missing                  // the backend is not there: the next one may be
	Cut                      // the process died or lost its peer: nobody knows whether it took effect
)
