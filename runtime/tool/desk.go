package tool

import (
	"time"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
)

// DefaultHold is how long a call waits for a run; await may be asked for up to 28 s. Clients give
// up after a minute, some after half of one.
const DefaultHold = 25 * time.Second

// Desk is where tools are called: an engine, and how its runs are begun. It never changes;
// goroutines share it.
type Desk struct {
	Engine  runtime.Engine
	Env     *effect.Environment // for compiling scripts
	Library lang.Source         // serves what scripts load below @std/; nil: nothing

	// Prepare adds to a request what a run is pinned to and the values of the variables that this
	// declares.
	Prepare func(*runtime.StartRequest) error
	// Budgets are those of the project; nil: it has none.
	Budgets func() ([]effect.Ceiling, error)
	Clock   func() time.Time // on the wall; nil: time.Now
	// Values are those of declared variables, for runs that are carried on.
	Values func(names []string) map[string]string
	// Read reads a script's file and all that it loads. nil: the files of this machine are not for
	// the callers.
	Read func(path string) (*lang.Bundle, error)
}
