package runtime

import "context"

// Moments looks into runs at their moments. The run is executed again up to there with what is
// recorded, and what is then asked of it is done in a copy that is thrown away: nothing is
// performed and nothing is written. It is served by engine.Local and by a client of its socket, to
// whoever may run scripts and see what contracts hide.
type Moments interface {
	Look(ctx context.Context, r LookRequest) (*Sight, error)
}

// LookRequest says where to look, and for what.
type LookRequest struct {
	Run string `json:"run"`
	// At is the step before whose request, or as <n> the statement before which; the path of a
	// branch for where that failed, or stands now; "" for where the run stands now.
	At string `json:"at,omitempty"`
	// Chunks are bundles of statements over the variables of the moment, executed one after the
	// other as those of a session. What they ask of the world is refused.
	Chunks [][]byte `json:"chunks,omitempty"`
	Steps  int64    `json:"steps,omitempty"` // bound of each statement's work, 0 for that of the run
}

// Sight is what was seen.
type Sight struct {
	Schema    string     `json:"schema"`
	Run       string     `json:"run"`
	At        string     `json:"at,omitempty"`
	Branch    string     `json:"branch,omitempty"` // instead of At, where that is one
	Variables []Variable `json:"variables"`        // sorted by name; those of a script from where it stands outwards
	Value     *Variable  `json:"value"`            // of the last statement, null where it has none
	Printed   []string   `json:"printed,omitempty"`
	Error     *RunError  `json:"error,omitempty"` // of the last statement
}

// Variable is a value as people see it.
type Variable struct {
	Name   string   `json:"name,omitempty"`
	Type   string   `json:"type"`
	Text   string   `json:"text"`             // as Starlark writes it, of a variable the beginning
	Fields []string `json:"fields,omitempty"` // names behind a dot
	Keys   []string `json:"keys,omitempty"`   // of a dict: the first of those that are texts
	Params string   `json:"params,omitempty"` // of a function of a script
	Doc    string   `json:"doc,omitempty"`    // of a function of a script
	Where  string   `json:"where,omitempty"`  // of a function of a script: file:line:col
}
