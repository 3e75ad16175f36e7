package runtime

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"starling/lang/effect"
)

// Options of a local engine. The zero Options are good for tests.
type Options struct {
	Log   func(format string, args ...any) // what operators should know; nil drops it
	Grace time.Duration                    // how long Close waits for attempts in flight, default 5 s
}

// Local is the Engine of this process: it owns a store and drives its runs.
type Local struct {
	reader
	env      *effect.Environment
	opts     Options
	programs programs
	macKey   []byte
	ctx      context.Context
	stop     context.CancelCauseFunc
	leaving  atomic.Bool
	flying   sync.WaitGroup // attempts in flight

	mu      sync.Mutex // guards what follows
	actors  map[string]*actor
	carried map[string]map[string]string // run to the variables its carrier brought
	moving  map[string]bool              // child runs: whether they are in motion, as their parents have been told
	resting []string                     // loaded runs at rest, oldest first
	alarms  alarms
	starts  map[string]chan struct{} // start keys in progress
	active  int                      // actors that take events, and what they have left to goroutines
	quiet   *sync.Cond               // active has come down to 0
	shut    bool                     // nothing new is begun
}

// Open makes an engine of a store that is open for writing. The engine closes the store.
func Open(store Store, env *effect.Environment, opts Options) (*Local, error) {
	if opts.Grace == 0 {
		opts.Grace = 5 * time.Second
	}
	key, err := macKey(store)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	e := &Local{env: env, opts: opts, macKey: key, ctx: ctx, stop: stop, actors: map[string]*actor{}, carried: map[string]map[string]string{},
		moving: map[string]bool{}, starts: map[string]chan struct{}{}}
	e.reader = newReader(store)
	e.reader.carried = e.carries
	e.programs = programs{made: map[string]*program{}, env: env}
	e.alarms.ring = e.ring
	e.quiet = sync.NewCond(&e.mu)
	return e, nil
}

// macKey reads the store's secret, or makes it.
func macKey(store Store) ([]byte, error) {
	key, err := store.Get([]byte(keyMAC))
	if !errors.Is(err, ErrNoKey) {
		return key, err
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key, store.Commit(context.Background(), &Batch{Writes: []Write{{[]byte(keyMAC), key}}})
}

// errShut: the engine is closing and takes nothing more.
var errShut = refuse(ErrOwnerUnreachable, "the engine is leaving")

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
	if e.active--; e.active == 0 {
		e.quiet.Broadcast()
	}
}

func (e *Local) now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (e *Local) log(format string, args ...any) {
	if e.opts.Log != nil {
		e.opts.Log(format, args...)
	}
}

// lockPath is where the children of a step hold their lock, so that two attempts never run at once, not even those of two owners.
func (e *Local) lockPath(run, step string) string {
	dir := e.store.Info().Path
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "locks", hashOf([]byte(run + "/" + step))[:32])
}

// actor returns the run's actor, making one when the run is not in memory.
func (e *Local) actor(run string) *actor {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.actors[run]
	if a == nil {
		a = &actor{e: e, run: run, flights: map[string]flight{}}
		e.actors[run] = a
	}
	return a
}

// post hands a run an event.
func (e *Local) post(run string, ev event) {
	for !e.actor(run).post(ev) { // it has just been evicted: the next one is a new actor
	}
}

// send posts an event to a run and waits until its turn is durable.
func (e *Local) send(ctx context.Context, run string, apply func(t *turn)) error {
	done := make(chan error, 1)
	ev := event{apply: apply, done: func(err error) { done <- err }}
	e.post(run, ev)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxResting bounds the runs at rest that stay loaded.
const maxResting = 256

// evict is called when an actor has nothing to do: it says whether the actor leaves memory now. A resting run stays for a while, an ended one does not.
func (e *Local) evict(a *actor) bool {
	if len(a.flights) > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.s == nil || a.s.Status.Ended() {
		delete(e.actors, a.run)
		return true
	}
	if a.s.Status != Suspended {
		return false
	}
	if i := slices.Index(e.resting, a.run); i >= 0 {
		e.resting = slices.Delete(e.resting, i, i+1)
	}
	e.resting = append(e.resting, a.run)
	if len(e.resting) > maxResting {
		oldest := e.resting[0]
		e.resting = e.resting[1:]
		if b := e.actors[oldest]; b != nil && b != a {
			go b.unload()
		}
	}
	return false
}

// unload writes a resting run down and drops it from memory.
func (a *actor) unload() {
	a.post(event{apply: func(t *turn) {}, done: func(error) {
		if a.s == nil || a.s.Status != Suspended || len(a.flights) > 0 || a.writeDown() != nil {
			return
		}
		a.s, a.m = nil, nil // evict sees it and lets the actor go
	}})
}

// writeDown commits a checkpoint of the run as it is, when the newest one is older.
func (a *actor) writeDown() error {
	if a.s == nil || a.s.Status.Ended() || a.s.Session || a.m == nil || a.tail.records == 0 {
		return nil
	}
	b := &Batch{Fences: []Fence{{Run: a.run, Expect: a.s.Seq, Next: a.s.Seq}}}
	if err := a.addCheckpoint(b, false); err != nil {
		return err
	}
	return a.e.store.Commit(context.Background(), b)
}

// wake tells watchers and timers that a run has committed.
func (e *Local) wake(run string, s *state) {
	e.mu.Lock()
	parent, step, child := cutParent(s.Parent)
	now := s.Status == Running
	was, told := e.moving[run]
	if child {
		e.moving[run] = now
	}
	if s.Status.Ended() {
		delete(e.moving, run)
	}
	_, carried := e.carried[run]
	if s.Status.Ended() {
		delete(e.carried, run)
	}
	due := s.nextDue()
	if !carried {
		due = time.Time{}
	}
	e.alarms.set(run, due)
	e.mu.Unlock()
	e.notify(run, s.Seq)
	if child && (!told || was != now || s.Status.Ended()) {
		e.childChanged(parent, step, s)
	}
}

// ring fires the timers of a run that are due.
func (e *Local) ring(run string) {
	go func() {
		err := e.send(e.ctx, run, func(t *turn) { t.overdue() })
		if err != nil && e.ctx.Err() == nil {
			e.log("run %s: its timers: %v", run, err)
		}
	}()
}

// Start makes a run durable and begins it.
func (e *Local) Start(ctx context.Context, r StartRequest) (*Run, error) {
	if CallerOf(ctx).Name == "" || CallerOf(ctx).Agent != "" {
		return nil, refuse(ErrDenied, "%s may not start runs", orUnknown(CallerOf(ctx)))
	}
	return e.start(ctx, r, "", 0)
}

func orUnknown(c Caller) string {
	if c.Agent != "" {
		return fmt.Sprintf("the agent %q", c.Agent)
	}
	if c.Name == "" {
		return "an unknown caller"
	}
	return c.Name
}

func (e *Local) start(ctx context.Context, r StartRequest, parent string, depth int) (*Run, error) {
	if r.Key != "" {
		release := e.hold(r.Key)
		defer release()
		if id, err := e.started(r); id != "" || err != nil {
			if err == nil {
				err = e.carryOne(ctx, id, r.Env)
			}
			if err != nil {
				return nil, err
			}
			return e.Get(ctx, id)
		}
	}
	p, inputs, err := e.accept(&r)
	if err != nil {
		return nil, err
	}
	id := newRunID()
	if err := e.begin(ctx, id, r, p, inputs, parent, depth); err != nil {
		return nil, err
	}
	return e.Get(ctx, id)
}

// hold makes starts with one key wait for each other.
func (e *Local) hold(key string) (release func()) {
	for {
		e.mu.Lock()
		busy := e.starts[key]
		if busy == nil {
			mine := make(chan struct{})
			e.starts[key] = mine
			e.mu.Unlock()
			return func() {
				e.mu.Lock()
				delete(e.starts, key)
				e.mu.Unlock()
				close(mine)
			}
		}
		e.mu.Unlock()
		<-busy
	}
}

// started finds the run that a start key has made.
func (e *Local) started(r StartRequest) (string, error) {
	v, err := e.store.Get([]byte(prefixStartKey + r.Key))
	if errors.Is(err, ErrNoKey) {
		return "", nil
	}
	var k keyed
	if err == nil {
		err = json.Unmarshal(v, &k)
	}
	if err != nil {
		return "", err
	}
	if k.Digest != r.digest() {
		return "", refuse(ErrKeyConflict, "the key %q was used to start another run", r.Key).help("use a new key for a new run")
	}
	return k.Run, nil
}

func (r StartRequest) digest() string {
	text, _ := json.Marshal([]any{hashOf(r.Bundle), r.Script, r.Inputs, r.Session, r.Settings}) // plain data
	return hashOf(text)
}

// accept compiles the program and holds the inputs against it. Nothing exists yet that a refusal could leave behind.
func (e *Local) accept(r *StartRequest) (*program, effect.Payload, error) {
	p, err := e.programs.of(hashOf(r.Bundle), r.Bundle)
	if err != nil {
		return nil, nil, checkFailed(err)
	}
	var given []byte
	if len(r.Inputs) > 0 {
		given = r.Inputs
	}
	bound, err := p.code.BindInputs(given, nil)
	if err != nil {
		return nil, nil, refuse(ErrBadInput, "%v", err).with(err)
	}
	inputs, err := effect.Encode(bound)
	if err != nil {
		return nil, nil, refuse(ErrBadInput, "inputs: %v", err)
	}
	return p, inputs, nil
}

// checkFailed refuses a script that does not compile.
func checkFailed(err error) *Refusal { return refuse(ErrCheckFailed, "%v", err).with(err) }

// begin makes the first turn of a run.
func (e *Local) begin(ctx context.Context, id string, r StartRequest, p *program, inputs effect.Payload, parent string, depth int) error {
	settings := settingsPayload(&r.Settings)
	bundleHash, settingsHash := hashOf(r.Bundle), hashOf(settings)
	hash := p.code.Hash
	e.carry(id, r.Env)
	a := e.actor(id)
	a.s, a.host = newState(id), &host{e: e, run: id, program: p, settings: &r.Settings}
	err := e.send(ctx, id, func(t *turn) {
		var b effect.Object
		b.Text("script", r.Script).Text("bundle", bundleHash).Text("program", fmt.Sprintf("%x", hash)).Text("settings", settingsHash).Raw("inputs", inputs).
			Text("by", CallerOf(ctx).Name).Text("parent", parent).Int("depth", int64(depth)).Flag("session", r.Session).Int("behaviour", int64(e.env.Behaviour))
		if r.Timeout > 0 {
			b.Int("deadline", micros(t.now.Add(r.Timeout)))
		}
		t.record(RunStarted, "", b.Payload())
		if r.Timeout > 0 {
			t.timer(timerDeadline, "", t.now.Add(r.Timeout))
		}
		t.writes = append(t.writes, Write{[]byte(prefixBlob + bundleHash), r.Bundle}, Write{[]byte(prefixBlob + settingsHash), settings})
		if r.Key != "" {
			text, _ := json.Marshal(keyed{Digest: r.digest(), Run: id}) // plain data
			t.writes = append(t.writes, Write{[]byte(prefixStartKey + r.Key), text})
		}
		t.launch(a)
	})
	if err != nil {
		e.uncarry(id)
	}
	return err
}

// launch makes the machine of a new run and lets it go.
func (t *turn) launch(a *actor) {
	m, err := t.host.start(t.s)
	if err != nil {
		t.fail(scriptError(err))
		return
	}
	t.m, a.m = m, m
	t.slice()
}

func scriptError(err error) *effect.Error {
	var e *effect.Error
	if errors.As(err, &e) {
		return e
	}
	return effect.Errorf(effect.KindScript, "%v", err)
}

// Signal brings something to a run. The signal carries the run.
func (e *Local) Signal(ctx context.Context, s Signal) (*Receipt, error) {
	top, err := e.resolveRun(s.Run)
	if err != nil {
		return nil, err
	}
	run, gate, err := e.address(top, s.Gate)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(s.Gate, gate) // of the steps that started the child run whose gate this is
	s.Run, s.Gate = run, gate
	for _, id := range slices.Compact([]string{top, run}) {
		if err := e.carryOne(ctx, id, s.Env); err != nil {
			return nil, err
		}
	}
	var receipt *Receipt
	var refused *Refusal
	err = e.send(ctx, run, func(t *turn) {
		receipt, refused = t.signal(CallerOf(ctx), s, e.known(run), e.past(run))
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	if run != top {
		if err := e.settled(ctx, run, top); err != nil {
			return nil, err
		}
		seen := *receipt
		seen.Run, seen.Gate = top, path+receipt.Gate
		receipt = &seen
	}
	return receipt, nil
}

func (e *Local) known(run string) func(string) (keyed, bool) {
	return func(key string) (keyed, bool) {
		var k keyed
		v, err := e.store.Get([]byte(prefixKey + run + "/" + key))
		return k, err == nil && json.Unmarshal(v, &k) == nil
	}
}

// Cancel ends a run and all it started.
func (e *Local) Cancel(ctx context.Context, c CancelRequest) (*Receipt, error) {
	run, err := e.resolveRun(c.Run)
	if err != nil {
		return nil, err
	}
	who, refused := identify(CallerOf(ctx), c.As)
	if refused == nil && CallerOf(ctx).Agent != "" {
		refused = refuse(ErrDenied, "%s may not cancel runs", orUnknown(CallerOf(ctx)))
	}
	if refused != nil {
		return nil, refused
	}
	var receipt *Receipt
	err = e.send(ctx, run, func(t *turn) { receipt, refused = t.cancelled(who, c, e.known(run)) })
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return receipt, nil
}

func (t *turn) cancelled(who []string, c CancelRequest, known func(string) (keyed, bool)) (*Receipt, *Refusal) {
	digest := hashOf([]byte("cancel " + c.Reason + " " + c.As))
	if k, ok := known(c.Key); ok && c.Key != "" {
		return t.repeated(Signal{Key: c.Key}, k, digest)
	}
	if t.s.Status.Ended() {
		return nil, refuse(ErrClosed, "run %s is %s already", t.s.ID, t.s.Status)
	}
	t.cancelRun(who[0], c.Reason)
	r := &Receipt{Schema: Schema, Accepted: true, Run: t.s.ID, Seq: t.s.Seq, Status: t.s.Status}
	if c.Key != "" {
		t.keys[c.Key] = keyed{Digest: digest, Receipt: r}
	}
	return r, nil
}

// Close stops: it starts nothing new, gives calls in flight their grace, takes back those that did not end, and writes down what is in memory.
// Then it closes the store. A second Close is harmless.
func (e *Local) Close() error {
	if e.leaving.Swap(true) {
		return nil
	}
	e.alarms.stop()
	landed := make(chan struct{})
	go func() {
		e.flying.Wait()
		close(landed)
	}()
	timer := time.NewTimer(e.opts.Grace)
	defer timer.Stop()
	select {
	case <-landed:
	case <-timer.C:
		e.stop(errLeaving)
		<-landed
	}
	e.mu.Lock()
	for e.active > 0 {
		e.quiet.Wait()
	}
	e.shut = true
	e.mu.Unlock()
	var errs []error
	for _, a := range e.loaded() {
		errs = append(errs, a.writeDown())
	}
	e.stop(errLeaving)
	e.close()
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

// cutParent splits the address of the step that started a child run.
func cutParent(parent string) (run, step string, ok bool) { return strings.Cut(parent, "@") }
