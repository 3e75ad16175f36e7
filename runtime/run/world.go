package run

import (
	"io"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// What a run decides follows from its state, its machine, what came in and the time of the turn.
// What else it has to know it asks through the three interfaces here, and through nothing else;
// TestRunsAreFunctions holds that. Whoever drives runs implements them: the engine for those of
// this process.

// World is what a turn may ask of the process that drives its run. Asking changes nothing. Its
// methods are used concurrently.
type World interface {
	// Handler performs requests of a kind; nil where nothing here does.
	Handler(kind string) *effect.Handler
	// Equip completes an attempt with what it may use of this process: its variables, its store,
	// what others have done.
	Equip(at *effect.Attempt)
	// Worktrees is the folder below which each run has its worktrees.
	Worktrees(s *effect.Settings) string
	// Elsewhere says where a workspace is that is not on this machine, as the rest of a sentence
	// that begins with the workspace; "" for one that is.
	Elsewhere(s *effect.Settings) string
	// Machine is what this machine is called in settings, "" where the store is its own.
	Machine() string
	// Variable is the value of a variable that whoever drives the run has brought.
	Variable(run, name string) (value string, ok bool)
	// Draining tells whether no attempt of a run may begin any more.
	Draining(run string) bool
	// Status is how another run stands since its newest commit.
	Status(run string) (runtime.Status, error)
	// Starter is who has started a run: of a child run, the one at the top. It is "" where that
	// cannot be read.
	Starter(run string) string
	// LookupKey is what an idempotency key of a run stands for; ok is false for a new one.
	LookupKey(run, key string) (k journal.Keyed, ok bool)
	// ClosedGate finds a closed gate of a run by the end of its name; deep looks where no row tells
	// of it.
	ClosedGate(run, address string, deep bool) (g ClosedGate, ok bool)
	// Random is where ids and numbers that a script asks for come from. It never fails.
	Random() io.Reader
}

// Commons are the rows that runs share: queues, and the variables of memory.project. A turn asks
// for them between lock and the moment when its commit is durable or discarded; so it sees what
// every turn before it has committed, and none sees what it has not.
type Commons interface {
	Lock()
	Unlock()
	// Get reads a row. It fails with ErrNoKey where there is none.
	Get(key []byte) ([]byte, error)
	// Scan calls fn with each row under a prefix, in the order of their keys, until it returns an
	// error; ErrStopScan is none.
	Scan(prefix string, fn func(key string, row []byte) error) error
	// Items is Scan for the items of a queue, the oldest first.
	Items(queue string, fn func(id uint64, row []byte) error) error
	// Returned tells that an item comes back into its queue with the turn's commit.
	Returned(queue string, id uint64)
	// Ended tells whether a run has ended or is not there any more.
	Ended(run string) bool
}

// Quotas are what runs have to share out: calls to a backend that fails, agents at work, money. Its
// methods are used concurrently. What a turn was given and has not begun when it is discarded is
// given back by whoever drives it.
type Quotas interface {
	// Breaker is the circuit breaker of a backend, as of all commits so far.
	Breaker(backend string) Breaker
	// Probe has one call go to a backend whose breaker is not open any more, and tells whether it
	// may.
	Probe(backend string, now time.Time) bool
	// Bounded tells whether slots are bounded at all.
	Bounded() bool
	// Acquire gives a run a slot for an agent, unless it has to wait for one.
	Acquire(run string) bool
	// Wait has a run wait for a slot, or not wait any more.
	Wait(run string, wants bool)
	// Others is what all other runs have spent under a daily budget, by the key of the budget and
	// the day.
	Others(key, run string) runtime.Usage
}
