package api

import (
	"errors"
	"fmt"
	"time"

	"starling/runtime"
)

// Protocol is the number of the protocol that this build speaks. It moves when a request or an
// answer changes its meaning; /hello and /stop never do.
const Protocol = 1

// Bounds, in bytes.
const (
	MaxRequest = 64 << 20  // body of a request: the largest is a start, with the sources of a script and its project
	MaxAnswer  = 256 << 20 // answer or event: the largest is a run, with an output of 16 MB
)

// DefaultKeepAlive is the time between two comments of a stream in which nothing else happens.
const DefaultKeepAlive = 15 * time.Second

const (
	headerProtocol = "Starling-Protocol"
	headerOwner    = "Starling-Owner" // the State, on answers that the engine did not give
	typeJSON       = "application/json"
	typeStream     = "text/event-stream"
	typeBytes      = "application/octet-stream"
)

// Events of a stream beside records.
const (
	eventEnd     = "end"
	eventError   = "error"
	eventLeaving = "leaving"
)

// State is where an owner is in its life.
type State string

// The states, in the order they come. Gone is never said by an owner: it is what a client makes of
// a connection that breaks.
const (
	Starting State = "starting" // it holds the lock, the store is not open yet
	Serving  State = "serving"
	Leaving  State = "leaving" // it takes no more requests and puts away what it has
	Gone     State = "gone"
)

// Hello is how an owner introduces itself, in every protocol.
type Hello struct {
	Protocol  int           `json:"protocol"`
	Build     string        `json:"build"` // version of the program, for people
	PID       int           `json:"pid"`
	Store     string        `json:"store"` // real path of the directory
	State     State         `json:"state"`
	KeepAlive time.Duration `json:"keep_alive"`        // nanoseconds between the comments of a silent stream
	Passing   bool          `json:"passing,omitempty"` // it leaves by itself when its command is done; an owner that has come to stay does not
}

// Away means that no engine took the request to its end: nothing listens, the connection broke, or
// the owner is starting or leaving. It may or may not have had its effect; one that carries a key
// can be sent again, to this owner or to the next.
type Away struct {
	State State // Starting, Leaving or Gone
	Err   error // what broke, nil if the owner said it
}

// Error says what happened.
func (a *Away) Error() string {
	if a.Err != nil {
		return fmt.Sprintf("the owner of the store is %s: %v", a.State, a.Err)
	}
	return fmt.Sprintf("the owner of the store is %s", a.State)
}

// Unwrap returns what broke.
func (a *Away) Unwrap() error { return a.Err }

// IsAway tells whether err is or wraps an [*Away].
func IsAway(err error) bool {
	var a *Away
	return errors.As(err, &a)
}

// refusalBody is the body of an answer that is no.
type refusalBody struct {
	Error *runtime.Refusal `json:"error"`
}

// otherProtocol is the refusal of an owner, or by an owner, that speaks another protocol.
func otherProtocol(owner, asker string) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrOwnerUnreachable,
		"run `starling stop`: it ends an owner of any version, and the next command of this version takes its place",
		"the owner of the store speaks protocol %s, this command protocol %s", owner, asker)
}
