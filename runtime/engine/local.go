package engine

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/ledger"
	"starling/runtime/pool"
	"starling/runtime/run"
	"starling/runtime/tally"
)

// Options of a local engine. The zero Options are good for tests.
type Options struct {
	// Project gives the settings under which scripts of others run: the owner's own project file as
	// it is now. Nil is no project.
	Project func() (*effect.Settings, error)

	// Named gives the digests of the files that the commands of a project name, by their paths. Nil
	// keeps no project from changing: it is for engines that nobody else calls.
	Named func(*effect.Settings) map[string]string

	// Reserves tells whether a project keeps the name of a definition from somebody, because it
	// grants something to the name. Nil keeps none.
	Reserves func(s *effect.Settings, name, by string) bool

	// Head tells at which commit a folder's repository stands now, "" where there is none. Nil is
	// nowhere.
	Head func(folder string) string

	// Folder is the store's folder on this machine. The locks of attempts lie there, so that what
	// one owner has left at work is ended before the next begins it again; worktrees of branches
	// lie beside it; and nothing that a script asks for touches it. "" is where the store lies,
	// which is none for a store that is in memory or elsewhere.
	Folder string

	// Machine is what this machine is called in a store that others own too, so that a run which
	// works in a folder of one is not carried on in that of another; "" for a store of one machine.
	Machine string

	Log   func(format string, args ...any) // what operators should know; nil drops it
	Grace time.Duration                    // how long Close waits for attempts in flight, default 5 s
	Clock func() time.Time                 // what the clock on the wall shows, which may jump; default time.Now

	// After calls a function on its own goroutine or the caller's once Clock has moved on by a
	// time, unless stop comes first. Nil is the time of this process, and Clock is looked at again
	// at least twice a minute. With it the engine takes no time but Clock's, so that whoever moves
	// the clock plays days in a moment; see [Local.Settle].
	After func(d time.Duration, do func()) (stop func() bool)

	// Env has the variables of whoever owns the store, for telling of runs that nobody carries any
	// more. Nil is none.
	Env func(name string) (string, bool)

	// Enlist learns of every process that is started for an attempt, and that all that descends
	// from it works for that. Nil learns nothing.
	Enlist func(w effect.Worker) (dismiss func())

	// Doubt is why this machine cannot tell for certain who calls, "" where it can: each attempt
	// that starts a process warns of it.
	Doubt string

	// Random is where ids, uuid() and random() come from, read by several goroutines; default
	// crypto/rand.
	Random io.Reader

	// Keep is how many records of its journal a run that has not ended keeps at least; when there
	// are twice as many, the older ones are trimmed. 0 keeps all.
	Keep int

	// Agents is how many agents may be at work at once in all runs; a run with no agent at work may
	// always start one. 0 is any number.
	Agents int

	// Memory is how many bytes the machines of all runs may hold at once, by their own count; one
	// of them always goes on, up to its limit. 0 is any number.
	Memory int64
}

// Local is the Engine of this process: it owns a store and drives its runs.
type Local struct {
	reader
	env      *effect.Environment
	opts     Options
	programs programs
	breakers breakers
	ledger   *ledger.Ledger
	*tally.Tally
	macKey      []byte
	ctx         context.Context
	stop        context.CancelCauseFunc
	leaving     atomic.Bool
	closing     atomic.Bool   // somebody closes it
	left        chan struct{} // closed when that is done
	failing     error         // of closing, behind left
	lost        chan struct{} // closed when the store has another owner
	maintenance maintenance
	notices     notifier
	schedules   schedules
	slots       slots
	pool        *pool.Pool
	shared      sharedRows
	contents    sync.RWMutex // held for reading by commits that name contents, for writing while some are dropped
	keeping     sync.RWMutex // held for writing while something is dropped; for reading while a run is made of contents or of a journal that are there

	mu       sync.Mutex // guards what follows
	actors   map[string]*actor
	carried  map[string]variables      // run to those that its carrier brought
	moves    map[string]struct{}       // carried runs that are in motion
	awaiting map[string][]string       // carried runs that wait for items, with the queues
	bearers  map[string]runtime.Caller // who brings the secret of an attempt in flight
	stored   map[string]struct{}       // hashes of contents that are known to be in the store
	marked   map[string]struct{}       // of those that commits have named since a sweep began; nil while there is none
	resting  list.List                 // loaded actors at rest, those that have been longest first
	alarms   *alarms
	starts   map[string]chan struct{} // start keys in progress
	asleep   int                      // of active: attempts that wait for the clock
	active   int                      // actors that take events, and what they have left to goroutines: attempts in flight, children to look after
	quiet    *sync.Cond               // active has come down to 0, or to asleep
	shut     bool                     // nothing new is begun
}

// Open makes an engine of a store that is open for writing. The engine closes the store.
func Open(store runtime.Store, env *effect.Environment, opts Options) (*Local, error) {
	if opts.Grace == 0 {
		opts.Grace = 5 * time.Second
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	key, err := macKey(store)
	if err != nil {
		return nil, err
	}
	r := newReader(store)
	if err := errors.Join(r.sweep(), r.reindex()); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	e := &Local{env: env, opts: opts, macKey: key, ctx: ctx, stop: stop, actors: map[string]*actor{}, carried: map[string]variables{}, moves: map[string]struct{}{}, awaiting: map[string][]string{}, bearers: map[string]runtime.Caller{},
		stored: map[string]struct{}{}, starts: map[string]chan struct{}{}}
	e.reader = r
	e.left, e.lost, e.reader.lose = make(chan struct{}), make(chan struct{}), sync.OnceFunc(e.disown)
	e.reader.carried, e.reader.clock = e.carries, opts.Clock
	e.breakers = breakers{store: store, known: map[string]run.Breaker{}}
	e.ledger, e.Tally = ledger.New(store), new(tally.Tally)
	e.shared = sharedRows{reader: &e.reader, turn: make(chan struct{}, 1)}
	e.programs.env = env
	e.pool = pool.New(opts.Memory, e.log)
	e.reader.needs = e.pool.Needed
	e.slots.e, e.slots.limit = e, opts.Agents
	e.alarms = e.newAlarms(e.ring)
	e.quiet = sync.NewCond(&e.mu)
	if err := errors.Join(e.adoptOrphans(), e.removeStaleTrees()); err != nil {
		return e, err
	}
	e.maintenance.begin(e)
	e.notices.e, e.schedules.e = e, e
	e.schedules.alarms = e.newAlarms(e.schedules.turn)
	if s, ok := store.(runtime.Fenced); ok {
		go e.follow(s)
	}
	return e, e.notices.resume()
}

// follow ends the engine when its store says that it is lost, though nothing is committed.
func (e *Local) follow(s runtime.Fenced) {
	select {
	case <-s.Lost():
		e.halt(runtime.ErrLost)
		e.reader.lose()
	case <-e.left:
	}
}

// macKey reads the store's secret, or makes it.
func macKey(store runtime.Store) ([]byte, error) {
	key, err := store.Get([]byte(journal.KeyMAC))
	if !errors.Is(err, runtime.ErrNoKey) {
		return key, err
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key, store.Commit(context.Background(), &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.KeyMAC), Value: key}}})
}

// enter counts one more that Close waits for, unless Close has found everything quiet.
func (e *Local) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.shut {
		e.active++
	}
	return !e.shut
}

func (e *Local) exit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.active--; e.active == e.asleep {
		e.quiet.Broadcast()
	}
}

func (e *Local) folder() string { return cmp.Or(e.opts.Folder, e.store.Info().Path) }

func (e *Local) now() time.Time { return e.clock().UTC().Truncate(time.Microsecond) }

func (e *Local) log(format string, args ...any) {
	if e.opts.Log != nil {
		e.opts.Log(format, args...)
	}
}

// actor returns the run's actor, making one when the run is not in memory.
func (e *Local) actor(run string) *actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.actors[run]
	if a == nil {
		a = &actor{e: e, run: run, flights: map[string]flight{}}
		a.loan = pool.Loan{Run: run, Leave: a.makeRoom}
		e.actors[run] = a
	}
	return a
}

// post hands a run an event.
func (e *Local) post(run string, ev event) {
	for !e.actor(run).post(ev) { // it has just been evicted: the next one is a new actor
	}
}

// send posts an event to a run and waits until its turn is durable, and the event's own done has
// been called. It fails with the refusal of an input that the run has refused.
func (e *Local) send(ctx context.Context, id string, ev event) error {
	if e.ctx.Err() != nil {
		return runtime.ErrShuttingDown // who comes when the grace is over would keep Close waiting
	}
	done, own := make(chan error, 1), ev.done
	ev.done = func(err error) {
		if own != nil {
			own(err)
		}
		if in, ok := ev.in.(run.Answered); ok && err == nil {
			err = in.Refusal()
		}
		done <- err
	}
	for !e.actor(id).postInline(ev) {
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // an answer that has come counts, also when the caller's time is over
		return err
	default:
		return ctx.Err()
	}
}

// maxResting bounds the runs at rest that stay loaded.
const maxResting = 256

// evict is called when an actor has nothing to do: it says whether the actor leaves memory now. A
// resting run stays for a while, an ended one does not.
func (e *Local) evict(a *actor) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unlist(a)
	switch {
	case len(a.flights) > 0 || len(a.parked) > 0:
	case a.s == nil || a.s.Status.Ended():
		delete(e.actors, a.run)
		return true
	case a.s.Status == runtime.Suspended:
		a.rested = e.resting.PushBack(a)
		if e.resting.Len() > maxResting {
			e.drop(e.resting.Front().Value.(*actor))
		}
	}
	return false
}

// unlist takes an actor from those at rest. It is called with mu held, as is drop.
func (e *Local) unlist(a *actor) {
	if a.rested != nil {
		e.resting.Remove(a.rested)
		a.rested = nil
	}
}

// drop lets the actor go that has rested longest, unless somebody has just come for it.
func (e *Local) drop(a *actor) {
	e.unlist(a)
	if !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	switch {
	case a.busy:
	case a.saved < a.s.Seq:
		go a.unload()
	default:
		a.gone = true
		delete(e.actors, a.run)
		if a.borrows {
			e.pool.End(&a.loan, true, false)
		}
	}
}

// unload writes a resting run down and drops it from memory.
func (a *actor) unload() {
	a.post(event{in: run.Woken{}, done: func(err error) {
		if err != nil || a.s == nil || a.s.Status != runtime.Suspended || len(a.flights) > 0 || a.writeDown() != nil {
			return
		}
		a.s, a.m = nil, nil // evict sees it and lets the actor go
	}})
}

// committed tells the alarms what a run waits for; stuck says that it has no machine here. A run
// that has ended is carried no more.
func (e *Local) committed(run string, s *run.State, stuck bool) {
	if s.Status.Ended() {
		e.schedules.ended(run)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.Status.Ended() {
		delete(e.carried, run)
	}
	var due time.Time
	_, carried := e.carried[run]
	if carried {
		due = s.NextDue(stuck)
	}
	e.move(run, carried && s.Status != runtime.Suspended)
	if carried && len(s.Asks) > 0 {
		e.awaiting[run] = s.Awaited()
	} else {
		delete(e.awaiting, run)
	}
	e.alarms.set(run, due)
}

// move notes whether a carried run is in motion. It is called with mu held.
func (e *Local) move(run string, moving bool) {
	if moving {
		e.moves[run] = struct{}{}
	} else {
		delete(e.moves, run)
	}
}

// Moving tells whether a run that the engine carries is in motion, or due within a time. It looks
// at what is in motion, not at every run.
func (e *Local) Moving(soon time.Duration) bool {
	if e.stalled() != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active > 0 || len(e.moves) > 0 || e.alarms.within(soon) || e.schedules.alarms.within(soon)
}

// ring lets a run look at its timers.
func (e *Local) ring(id string) {
	e.post(id, event{in: run.Woken{}, urgent: true, done: func(err error) {
		if err != nil && e.ctx.Err() == nil {
			e.log("run %s: its timers: %v", id, err)
		}
	}})
}

// Signal brings something to a run. The signal carries the run, unless nobody knows whose it is.
func (e *Local) Signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	if s.Kind == runtime.SignalClaim && s.Run == "" {
		return e.claimAny(ctx, s)
	}
	id, gate, top, err := e.goal(s)
	if err != nil {
		if refused := run.DeniedSignal(&s, runtime.CallerOf(ctx)); refused != nil { // who may not send it does not learn what there is
			return nil, refused
		}
		return nil, err
	}
	path := strings.TrimSuffix(s.Gate, gate) // of the steps that started the child run whose gate this is
	s.Run, s.Gate = id, gate
	if _, stranger := run.Identify(runtime.CallerOf(ctx), s.As); stranger == nil && runtime.CallerOf(ctx).May(run.NeededFor(&s)) {
		for _, each := range slices.Compact([]string{top, id}) {
			if err := e.resumeOne(ctx, each, variables{env: s.Env}); err != nil {
				return nil, err
			}
		}
	}
	receipt, err := e.signal(ctx, s)
	if err != nil {
		return nil, e.elsewhere(ctx, id, s.Gate, err)
	}
	if id == top {
		return receipt, nil
	}
	if err := e.settled(ctx, id, top); err != nil {
		return nil, err
	}
	seen := *receipt
	seen.Run, seen.Gate = top, path+receipt.Gate
	return &seen, nil
}

// goal is the run and the gate that a signal is for, and the run that it names.
func (e *Local) goal(s runtime.Signal) (run, gate, top string, err error) {
	if top, err = e.resolveRun(s.Run); err == nil {
		run, gate, err = e.address(top, s.Gate)
	}
	return run, gate, top, err
}

// elsewhere has the refusal of a gate that a run does not have, or not yet, name those that are
// open, in its child runs too.
func (e *Local) elsewhere(ctx context.Context, run, gate string, err error) error {
	refused := runtime.AsRefusal(err)
	if !runtime.CallerOf(ctx).May(runtime.CanRead) || refused.Kind != runtime.ErrUnknownGate && refused.Kind != runtime.ErrNotOpen {
		return err
	}
	r, lost := e.get(run, contract.People)
	if lost != nil || len(r.Gates) == 0 {
		return err
	}
	var names []string
	for _, g := range r.Gates {
		names = append(names, g.Gate)
	}
	inside := func(name string) bool { return strings.HasSuffix(name, "/"+gate) }
	if refused.Kind == runtime.ErrNotOpen && (gate == "" || !slices.ContainsFunc(names, inside) || slices.Contains(names, runtime.GateQuarantine)) {
		return err
	}
	own := *refused
	return own.WithHelp("open gates: %s", strings.Join(names, ", ")).WithCall("").WithData(names)
}

func (e *Local) signal(ctx context.Context, s runtime.Signal) (*runtime.Receipt, error) {
	in := &run.Signalled{Caller: runtime.CallerOf(ctx), Signal: s}
	if err := e.send(ctx, s.Run, event{in: in, urgent: s.Kind == runtime.SignalInterrupt}); err != nil {
		return nil, err
	}
	return in.Receipt, nil
}

// Lost implements runtime.Fenced.
func (e *Local) Lost() <-chan struct{} { return e.lost }

// disown ends the engine of an owner that is one no more. Its attempts have no grace: the newer
// owner may begin them again at any moment, and two must not be at work for one step.
func (e *Local) disown() {
	e.log("%v; its attempts are ended, and it leaves", runtime.ErrLost)
	close(e.lost)
	e.leaving.Store(true) // an attempt that ends now must not be begun again
	e.stop(errLeaving)
	go e.Close()
}

// Close stops: it starts nothing new, gives calls in flight their grace, takes back those that did
// not end, and writes down what is in memory. Then it closes the store. A second Close waits for
// the first, and gives what that has given.
func (e *Local) Close() error {
	if !e.closing.Swap(true) {
		e.failing = e.shutDown()
		close(e.left)
	}
	<-e.left
	return e.failing
}

func (e *Local) shutDown() error {
	e.leaving.Store(true)
	e.alarms.stop()
	e.schedules.alarms.stop()
	e.maintenance.close()
	e.notices.close()
	e.pool.Close()
	overtime := time.AfterFunc(e.opts.Grace, func() { e.stop(errLeaving) })
	e.mu.Lock()
	for e.active > 0 {
		e.quiet.Wait()
	}
	e.shut = true
	e.mu.Unlock()
	overtime.Stop()
	var errs []error
	for _, a := range e.loaded() {
		if !errors.Is(e.stalled(), runtime.ErrLost) { // then what is in memory is of no use to anybody
			errs = append(errs, a.writeDown())
		}
	}
	e.stop(errLeaving)
	if e.env.Rest != nil {
		e.env.Rest()
	}
	e.reader.close()
	return errors.Join(append(errs, e.store.Close())...)
}

func (e *Local) loaded() []*actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*actor, 0, len(e.actors))
	for _, a := range e.actors {
		out = append(out, a)
	}
	return out
}

// maxStored bounds the memory for which contents are stored; beyond it they are stored again.
const maxStored = 1 << 12

// unknownBlobs leaves out the contents that the store has.
func (e *Local) unknownBlobs(blobs map[string][]byte) map[string][]byte {
	if len(blobs) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := map[string][]byte{}
	for hash, content := range blobs {
		if _, ok := e.stored[hash]; !ok {
			fresh[hash] = content
		}
		if e.marked != nil {
			e.marked[hash] = struct{}{}
		}
	}
	return fresh
}

func (e *Local) storedBlobs(blobs map[string][]byte) {
	if len(blobs) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.stored) > maxStored {
		clear(e.stored)
	}
	for hash := range blobs {
		e.stored[hash] = struct{}{}
	}
}
