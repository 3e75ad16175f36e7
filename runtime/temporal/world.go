package temporal

import (
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/journal"
	"starling/runtime/run"
)

var (
	_ run.World   = world{}
	_ run.Commons = nothingShared{}
	_ run.Quotas  = (*quotas)(nil)
)

// world is what a turn may ask of the process that takes it.
type world struct {
	env    *effect.Environment
	getenv func(string) (string, bool)
	past   *engine.Past
	book   *book // nil of a run that has ended, and of one that is being started
}

// unsupported refuses a kind of request.
func unsupported(what string) *effect.Error {
	return effect.Errorf(effect.KindRefused, "%s is not there for runs on Temporal in this version", what)
}

// Handler performs requests of a kind. What needs one machine is refused.
func (w world) Handler(kind string) *effect.Handler {
	if kind == effect.KindWorkspace || kind == effect.KindSchedule {
		return &effect.Handler{Resolve: func(*effect.Settings, *effect.Request) *effect.Error { return unsupported(kind) }}
	}
	return w.env.Handlers[kind]
}

// Equip completes nothing: no attempt is performed where turns are taken.
func (w world) Equip(at *effect.Attempt) { at.Env = w.getenv }

func (world) Worktrees(*effect.Settings) string { return "" }

func (world) Elsewhere(*effect.Settings) string { return "" }

func (world) Machine() string { return "" }

// Variable is one of the worker's.
func (w world) Variable(_, name string) (string, bool) { return w.getenv(name) }

func (w world) Draining(string) bool { return w.book == nil || w.book.draining }

func (w world) Status(run string) (runtime.Status, error) {
	if w.book == nil {
		return "", runtime.ErrNoKey
	}
	status, ok := w.book.kids[run]
	if !ok {
		return "", runtime.ErrNoKey
	}
	return status, nil
}

func (world) Starter(string) string { return "" }

func (w world) LookupKey(run, key string) (journal.Keyed, bool) { return w.past.LookupKey(run, key) }

func (w world) ClosedGate(run, address string, deep bool) (run.ClosedGate, bool) {
	return w.past.ClosedGate(run, address, deep)
}

func (world) Random() io.Reader { return rand.Reader }

// nothingShared are the commons of runs that share nothing.
type nothingShared struct{}

var errNothingShared = errors.New("queues and memory.project are not there for runs on Temporal in this version")

func (nothingShared) Lock()   {}
func (nothingShared) Unlock() {}

func (nothingShared) Get([]byte) ([]byte, error) { return nil, errNothingShared }

func (nothingShared) Scan(string, func(string, []byte) error) error { return errNothingShared }

func (nothingShared) Items(string, func(uint64, []byte) error) error { return errNothingShared }

func (nothingShared) Returned(string, uint64) {}

func (nothingShared) Ended(string) bool { return false }

// quotas are those of a worker: nothing is bounded over all runs, and each worker has circuit
// breakers of its own.
type quotas struct {
	mu    sync.Mutex // guards what follows
	known map[string]run.Breaker
}

func (q *quotas) Breaker(backend string) run.Breaker {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known[backend]
}

func (q *quotas) Probe(backend string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.known[backend]
	if b.Open(now) {
		return false
	}
	b.Until = now.Add(run.BreakerPause)
	q.known[backend] = b
	return true
}

// learn takes what a turn has learned. One that is taken twice, because a worker died in between,
// has learned it on two workers.
func (q *quotas) learn(lessons []run.Lesson, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range lessons {
		q.known[l.Backend] = q.known[l.Backend].Learn(l.Failed, now)
	}
}

func (*quotas) Bounded() bool { return false }

func (*quotas) Acquire(string) bool { return true }

func (*quotas) Wait(string, bool) {}

func (*quotas) Others(string, string) runtime.Usage { return runtime.Usage{} }
