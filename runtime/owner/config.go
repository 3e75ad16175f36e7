package owner

import (
	"context"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

// Config says which store it is, and how this process would own it.
type Config struct {
	Dir   string // the store; it need not exist
	Build string // version of this program, for people

	// Prepare makes the directory ready for a store if it is not one yet, or refuses it. It is
	// called before the lock is there.
	Prepare func(dir string) error
	// Open opens the store as its next owner, and an engine on it, whose Close closes both. Called
	// with the lock held.
	Open func(dir string) (runtime.Engine, error)
	// OpenReader opens the store for reading only, and an engine that reads.
	OpenReader func(dir string) (runtime.Engine, error)
	// Identify tells which agent a process acts for, this one included; nil: none does.
	Identify api.Identify
	// Doubt is why this machine cannot tell for certain who calls (see api.Doubt); "" where it can.
	Doubt string
	// Shared is for a store that processes of other machines own too, nil for one of this machine
	// alone. Only a Keeper opens such a store, which sees to it that nobody else owns it; everybody
	// else is a client of a keeper here, or refused with what Shared says. A reader keeps nobody
	// from it.
	Shared func(ctx context.Context) error
	// Host starts an owner that outlives this process and returns when it serves (see [Spawn]).
	// Only a Guest needs it.
	Host func(ctx context.Context) error
	// Token is the secret in whose name calls are made, "" for the user's own. It bounds what the
	// callers of a session may do, not what the owner does for its clients.
	Token string
	// TokenVariable names the environment variable that Token was found in. An owner that is
	// started to outlive this process is the user's: it does not inherit it.
	TokenVariable string
}

// Role is what a process wants of a store.
type Role int

// The roles.
const (
	// Reader prints and leaves. It is a client where there is an owner, and reads alone where there
	// is none.
	Reader Role = iota
	// Participant is owner or client, as the lock decides: run, signal, wait, repl, logs -f.
	Participant
	// Keeper is the owner or is refused: serve. It waits a while for a participant that is the
	// owner, which leaves when its command is done.
	Keeper
	// Guest is always a client: where there is no owner it has one started that outlives it, with
	// Config.Host: mcp.
	Guest
)

// Soon is how near a timer must be for its run to count as in motion.
const Soon = time.Minute

// Times of an election.
const (
	patience     = 5 * time.Second       // for an owner that does not answer: on a crowded machine it takes its time
	reelection   = 5 * time.Second       // when an owner was lost
	lingering    = 5 * time.Second       // of a keeper, for an owner that leaves when its command is done
	answerWithin = 2 * time.Second       // for one try to connect
	pause        = 20 * time.Millisecond // between two tries
	lag          = 2 * time.Second       // of the store's own lock behind ours, when its process was killed
)
