package engine

import (
	"io"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// What a run decides follows from its state, its machine, what came in and the time of the turn. What else it has to know it asks through the three interfaces here, and
// through nothing else; TestTurnsAreDecidedAlone holds that. Whoever drives runs implements them: [Local] for those of this process.

// world is what a turn may ask of the process that drives its run. Asking changes nothing. Its methods are used concurrently.
type world interface {
	// handler performs requests of a kind; nil where nothing here does.
	handler(kind string) *effect.Handler
	// equip completes an attempt with what it may use of this process: its variables, its store, what others have done.
	equip(at *effect.Attempt)
	// trees is the folder below which each run has its worktrees.
	trees(s *effect.Settings) string
	// variable is the value of a variable that whoever drives the run has brought.
	variable(run, name string) (value string, ok bool)
	// draining tells whether no attempt of a run may begin any more.
	draining(run string) bool
	// status is how another run stands since its newest commit.
	status(run string) (runtime.Status, error)
	// starter is who has started a run: of a child run, the one at the top. It is "" where that cannot be read.
	starter(run string) string
	// known is what an idempotency key of a run stands for; ok is false for a new one.
	lookupKey(run, key string) (k keyed, ok bool)
	// past finds a closed gate of a run by the end of its name; deep looks where no row tells of it.
	closedGate(run, address string, deep bool) (g closedGate, ok bool)
	// random is where ids and numbers that a script asks for come from. It never fails.
	random() io.Reader
}

// commons are the rows that runs share: queues, and the variables of memory.project. A turn asks for them between lock and the moment when its commit is durable or
// discarded; so it sees what every turn before it has committed, and none sees what it has not.
type commons interface {
	lock()
	unlock()
	// get reads a row. It fails with ErrNoKey where there is none.
	get(key []byte) ([]byte, error)
	// scan calls fn with each row under a prefix, in the order of their keys, until it returns an error; ErrStopScan is none.
	scan(prefix string, fn func(key string, row []byte) error) error
	// items is scan for the items of a queue, the oldest first.
	items(queue string, fn func(id uint64, row []byte) error) error
	// returned tells that an item comes back into its queue with the turn's commit.
	returned(queue string, id uint64)
	// ended tells whether a run has ended or is not there any more.
	ended(run string) bool
}

// quotas are what runs have to share out: calls to a backend that fails, agents at work, money. Its methods are used concurrently. What a turn was given and has not begun
// when it is discarded is given back by whoever drives it.
type quotas interface {
	// breaker is the circuit breaker of a backend, as of all commits so far.
	breaker(backend string) breaker
	// probe has one call go to a backend whose breaker is not open any more, and tells whether it may.
	probe(backend string, now time.Time) bool
	// bounded tells whether slots are bounded at all.
	bounded() bool
	// take gives a run a slot for an agent, unless it has to wait for one.
	acquire(run string) bool
	// stand has a run wait for a slot, or not wait any more.
	wait(run string, wants bool)
	// others is what all other runs have spent under a daily budget, by the key of the budget and the day.
	others(key, run string) runtime.Usage
}
