package runtime

import (
	"cmp"
	"encoding/json"
	"time"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Schema names the version of every JSON document.
const Schema = "starling/v1"

// Status is where a run is in its life.
type Status string

// The statuses: pending → running ⇄ suspended → completed | failed | cancelled.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Suspended Status = "suspended" // nothing is in motion: only signals and timers can move it
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"

	// Damaged: the run's journal cannot be read. It stands still, and only a backup or an export
	// has it whole.
	Damaged Status = "damaged"
)

// Ended tells whether a run in this status is over.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Statuses lists all of them.
func Statuses() []Status {
	return []Status{Pending, Running, Suspended, Completed, Failed, Cancelled, Damaged}
}

// Run is one run as it is now.
type Run struct {
	Schema  string          `json:"schema"`
	ID      string          `json:"id"`
	Status  Status          `json:"status"`
	Script  string          `json:"script"`
	Inputs  json.RawMessage `json:"inputs"`
	Output  json.RawMessage `json:"output"`           // null until completed
	Error   *RunError       `json:"error"`            // null unless failed or cancelled
	Gates   []Gate          `json:"gates"`            // the open ones, in the order they opened
	Work    []Work          `json:"work,omitempty"`   // what agents come for, in the order of the requests
	Awaits  []Await         `json:"awaits,omitempty"` // what steps wait for that somebody sends, in the order of the requests
	Details *Details        `json:"details,omitempty"`

	// Decisions are how the gates of a run that has ended were decided, in their order; the newest
	// 1000.
	Decisions []Decided `json:"decisions,omitempty"`
}

// Details is what a run is beside its outcome. Its steps are told by query.Steps.
type Details struct {
	Program   string    `json:"program"` // hash
	StartedBy string    `json:"started_by"`
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Seq       uint64    `json:"seq"`               // of the newest record
	Horizon   uint64    `json:"horizon,omitempty"` // of the newest record that was trimmed: the journal begins behind it
	Carried   bool      `json:"carried"`           // somebody drives it
	InFlight  int       `json:"in_flight"`         // attempts in flight

	// NeedsMemory is for how many bytes the run waits that other runs hold; 0 where it does not.
	NeedsMemory int64 `json:"needs_memory,omitempty"`

	// NeedsWorker is which worker the run waits for, as the rest of a sentence that begins with
	// "until"; "" where it waits for none.
	NeedsWorker string `json:"needs_worker,omitempty"`

	NextDue   *time.Time      `json:"next_due"`           // the earliest timer
	Deadline  *time.Time      `json:"deadline,omitempty"` // of the whole run
	Parent    string          `json:"parent,omitempty"`   // RUN@STEP of the run that started it
	Lineage   *Lineage        `json:"lineage,omitempty"`  // of which run it was made, and how
	Imported  json.RawMessage `json:"imported,omitempty"` // of a run from another store: {store, by, at, journal}
	Session   bool            `json:"session,omitempty"`
	Labels    effect.Labels   `json:"labels,omitempty"`
	Workspace string          `json:"workspace,omitempty"`
	Env       []string        `json:"env,omitempty"` // declared variables
	Project   *Project        `json:"project,omitempty"`
}

// Project is the project that a run works under.
type Project struct {
	File string      `json:"file,omitempty"` // path of starling.toml, "" without one
	From ProjectFrom `json:"from"`
}

// ProjectFrom says how a run came to its project.
type ProjectFrom string

// The ways. All but the first are of runs that came from another store, and of those made of them.
const (
	ProjectOwn    ProjectFrom = "own"                  // it was started under it
	ProjectLocal  ProjectFrom = effect.ImportedLocal   // it is that of this machine
	ProjectExport ProjectFrom = effect.ImportedTrusted // it came with the run, and was trusted
	ProjectKept   ProjectFrom = "kept"                 // it came with the run, before builds asked
)

// RunError is why a run failed.
type RunError struct {
	Kind      string          `json:"kind"`
	Message   string          `json:"message"`
	Where     string          `json:"where"`
	Backtrace string          `json:"backtrace"`
	Data      json.RawMessage `json:"data,omitempty"`
	// Diagnostics say the same with the source lines that the run was started with: the error
	// first, then a note for each call that was in progress. They are missing where the source
	// cannot be read.
	Diagnostics diagnostic.List `json:"diagnostics,omitempty"`
}

// Gate is one open gate.
type Gate struct {
	Address    string          `json:"address"` // RUN/GATE
	Gate       string          `json:"gate"`    // address within the run
	Prompt     string          `json:"prompt"`
	Options    []Option        `json:"options"`          // empty: free form
	Target     string          `json:"target"`           // "" is anybody
	Quorum     int             `json:"quorum,omitempty"` // how many must choose the same, where one is not enough
	Data       json.RawMessage `json:"data"`
	Schema     json.RawMessage `json:"schema"`             // JSON Schema of the payload, null for none
	Contract   string          `json:"contract,omitempty"` // the same as the script has it
	Editable   bool            `json:"editable,omitempty"` // a payload takes the place of the data; without one it stays
	OpenedAt   time.Time       `json:"opened_at"`
	Deadline   *time.Time      `json:"deadline"`
	AnswerWith string          `json:"answer_with"` // the command that answers it
}

// Await is what a step waits for that somebody sends: a message, or an item of a queue.
type Await struct {
	Step    string `json:"step"`
	Message string `json:"message,omitempty"` // the name of the message
	Queue   string `json:"queue,omitempty"`   // the queue
}

// String says for people what is awaited.
func (a Await) String() string {
	if a.Queue != "" {
		return "an item of the queue " + a.Queue
	}
	return "the message " + a.Message
}

// Option is one choice of a gate.
type Option struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Step is one step of a run.
type Step struct {
	Step      string     `json:"step"`
	Kind      string     `json:"kind"`
	Agent     string     `json:"agent,omitempty"` // who was asked
	Status    string     `json:"status"`          // waiting, running, ok, degraded (the script has taken a reply of placeholders), failed (a program, see Exit), error (also with on_error = "return"), blocked, stopped, withdrawn
	Attempts  int        `json:"attempts"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Tries     []Try      `json:"tries,omitempty"` // its attempts, one by one

	// Repeats is the run whose outcome it has, where this run did nothing for it: it was made of
	// that one.
	Repeats string `json:"repeats,omitempty"`

	Exit string `json:"exit,omitempty"` // how a program has ended that failed, for people: "exit 1"
}

// Stands is how a step stands, for people.
func (s *Step) Stands() string { return cmp.Or(s.Exit, s.Status) }

// Try is one attempt of a step.
type Try struct {
	Number    int        `json:"attempt"`
	Class     string     `json:"class"` // how it ended: ok, retryable, invalid, degraded, final, uncertain, interrupted; "" while it is in flight
	Backend   string     `json:"backend,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`   // what it took, as far as the backend tells
	Model     string     `json:"model,omitempty"`   // that served, as the backend tells or the project says
	Claimed   bool       `json:"claimed,omitempty"` // its cost is the program's own word; others are of a price table
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// Listing is the answer of List.
type Listing struct {
	Schema string    `json:"schema"`
	Runs   []Summary `json:"runs,omitempty"`
	Gates  []Gate    `json:"gates,omitempty"`
	Work   []Work    `json:"work,omitempty"`

	// Next is the After of the page behind this one, "" where there is none. What has come to be or
	// ended since is on it, or not, as it stands then; nothing else is missed or told of twice.
	Next    string   `json:"next,omitempty"`
	Cursors []string `json:"cursors,omitempty"` // of each run or gate, where the query asks for them

	Queues []QueueSummary `json:"queues,omitempty"`
	Items  []Item         `json:"items,omitempty"`
}

// Summary is one run in a list.
type Summary struct {
	ID          string     `json:"id"`
	Status      Status     `json:"status"`
	Script      string     `json:"script"`
	StartedAt   time.Time  `json:"started_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	Gates       int        `json:"gates"` // how many are open
	NextDue     *time.Time `json:"next_due"`
	Overdue     bool       `json:"overdue,omitempty"` // NextDue has passed and nobody carries the run
	Carried     bool       `json:"carried"`
	Parent      string     `json:"parent,omitempty"`
	Session     bool       `json:"session,omitempty"`
	Error       string     `json:"error,omitempty"`
	NeedsMemory int64      `json:"needs_memory,omitempty"` // as in [Details]
	StartedBy   string     `json:"started_by,omitempty"`   // who started it; of a run that another has started "run:" and that one's id

	Labels effect.Labels `json:"labels,omitempty"`
	Facts  *Facts        `json:"facts,omitempty"` // where the query asks for them

	Awaits bool `json:"-"` // an item of a queue
}

// Event is one journal record as clients see it.
type Event struct {
	Seq    uint64          `json:"seq"`
	Time   time.Time       `json:"time"`
	Run    string          `json:"run"`
	Branch string          `json:"branch"`
	Step   string          `json:"step"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
}
