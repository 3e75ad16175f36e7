package runtime

import (
	"context"
	"encoding/json"
	"fmt"
)

// Reruns makes use of what journals hold: a run can be executed again, made into another from one
// of its steps on, and moved to another program. Nothing here ever changes the run that it starts
// from, but for Move, which adds one record. A replay that says something else than the journal is
// refused with diverged, whose data is a engine.Divergence. It is served by engine.Local and by a
// client of its socket; what reads a store serves Replay.
type Reruns interface {
	// Replay executes a run again from its start with the recorded outcomes, and holds all that it
	// asks and says, and its end, against the journal, byte by byte. No effect is performed.
	Replay(ctx context.Context, r ReplayRequest) (*Replayed, error)

	// Move replays a run's journal with another program. A suspended run goes on with that program
	// from then on; of one that has ended it is only told that it could have been its program; one
	// in motion is refused with not_open.
	Move(ctx context.Context, r MoveRequest) (*Replayed, error)

	// Fork makes a new run of the part of a run's journal that stands before a step, and carries it
	// from there. The original may be in any state.
	Fork(ctx context.Context, r ForkRequest) (*Run, error)
}

// ReplayRequest names a run to execute again.
type ReplayRequest struct {
	Run string `json:"run"`
}

// MoveRequest asks to move a run to another program.
type MoveRequest struct {
	Key    string `json:"key"`
	Run    string `json:"run"`
	Bundle []byte `json:"bundle"` // the script and all it loads, encoded
	Script string `json:"script"` // how people know the script
}

// ForkRequest asks for a run that is made of another.
type ForkRequest struct {
	Key  string            `json:"key"` // idempotency; "" means the request is not repeatable
	Kind LineageKind       `json:"kind"`
	Run  string            `json:"run"`
	Step string            `json:"step"`          // the first step that is done again: its address, or a suffix that is not ambiguous
	Set  []string          `json:"set,omitempty"` // NAME=TEXT or NAME:=JSON: inputs of a fork, arguments of the step of a rerun
	Env  map[string]string `json:"env,omitempty"` // values of the declared variables; kept in memory only

	// AcceptDrift makes the run though the workspace's repository stands at another commit than the
	// original began at.
	AcceptDrift bool `json:"accept_drift,omitempty"`
}

// Replayed is a replay that said what the journal says.
type Replayed struct {
	Schema  string `json:"schema"`
	Run     string `json:"run"`
	Status  Status `json:"status"`
	Records int    `json:"records"`
	Steps   int    `json:"steps"`   // requests among them
	Journal string `json:"journal"` // hash of the records
	Program string `json:"program"` // hash of the program that was executed
	Moved   bool   `json:"moved"`   // the run goes on with this program
}

// Divergence is a replay that did not say what the journal says.
type Divergence struct {
	Run  string   `json:"run"`
	Seq  uint64   `json:"seq"` // the record that differs
	Got  Emission `json:"replay"`
	Want Emission `json:"journal"`
}

// Emission is what one side of a divergence says.
type Emission struct {
	What  string          `json:"what"`            // a record's type and step; "nothing", "the end of the journal"
	Kind  string          `json:"kind,omitempty"`  // of a request
	Where string          `json:"where,omitempty"` // file:line:col of the call
	Data  json.RawMessage `json:"data,omitempty"`  // arguments, output, error: what differs
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("run %s: replay differs from the journal at record %d: got %s, want %s", d.Run, d.Seq, d.Got, d.Want)
}

func (e Emission) String() string {
	text := e.What
	if e.Kind != "" {
		text += " (" + e.Kind + ")"
	}
	if len(e.Data) > 0 {
		text += " with " + string(e.Data)
	}
	return text
}
