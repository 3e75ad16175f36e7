// Package connect gives the ways from a command to an engine: the owner of a store on this machine,
// a reader of it, a client of the process that owns it, and a server on another machine.
package connect

import (
	"context"
	"time"

	"starling/runtime"
	"starling/runtime/postgres"
)

// Connector are the ways to an engine; [Store] and [Server] are the real ones.
type Connector interface {
	// OpenOwner is for commands that carry a run or stay to watch: the owner of the store, or a
	// client of the process that owns it. With create a store is made where there is none; without
	// it, it is refused as an unknown run.
	OpenOwner(ctx context.Context, create bool) (Session, error)
	// OpenReader is for commands that print and leave: nothing is started, no timer fires, and
	// without an owner the store is only read.
	OpenReader(ctx context.Context) (Session, error)
	// Detach is a client of a process that outlives this one, which is started if there is none.
	Detach(ctx context.Context) (Session, error)
	// Connect is always a client: of a process that outlives this one and is started whenever there
	// is none.
	Connect(ctx context.Context) (Session, error)
	// Serve owns the store until ctx ends, or, with idle above zero, until nothing was in motion
	// and nobody attached for so long.
	Serve(ctx context.Context, s Serving) error
	// Stop asks the owner to leave and waits until it has. It gives the owner's pid, 0 if there was
	// none.
	Stop(ctx context.Context) (pid int, err error)
}

// Session is an open engine.
type Session interface {
	runtime.Engine // Close lets an owner stay for as long as others need it
	// Owner is the pid of the process that owns the store, 0 when it is this one, [Elsewhere] when
	// it is one of another machine.
	Owner() int
}

// Serving says how long a process serves, and whom it tells.
type Serving struct {
	Idle  time.Duration         // leave after so long without a client and without anything in motion; 0 for never
	Ready func(s Session) error // told once the store is owned; of a shared one, each time

	// For a shared store only.
	Address string                // at which others reach this process, "" for nowhere
	Standby func(postgres.Holder) // told who else owns the store, whenever it is another one
}
