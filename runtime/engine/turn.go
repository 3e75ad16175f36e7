package engine

import (
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// This file decides. A turn takes what came in (a reply, a timer, a signal), decides what follows, runs
// the machine as far as it goes, and gathers everything in one list of records that is committed as one:
// the outcome of a step and the requests that follow from it share a commit, hence a sync. A turn does
// nothing in the world. It lists effects; the actor performs them after the commit (law 2), and answers
// after the commit (law 3). When the commit fails the turn, the state and the machine are thrown away
// together.
//
// A turn is a function of the state, the machine, what came in, the clock it was given, and what it asks
// (world.go); the same turn gives the same records anywhere.
//
// The machine is given an outcome only when it stands still: replay gives it each outcome where the
// journal has it, after all that it said before. A machine that has yielded does not stand still, and a
// run that is quarantined has none; until then nothing is settled, and what came in waits.

// turn decides what one commit carries.
type turn struct {
	s    *state
	m    *vm.Machine // nil while the run is quarantined, or has ended
	host *host
	now  time.Time
	had  *row // what the store has the summary of

	commit            // what it leaves
	size         int  // of the commit, bytes
	yielded      bool // the machine has more to do, or an outcome is known that it has not been given
	holdsCommons bool // it holds the commons
	keys         map[string]keyed
	again        []*runtime.Receipt // those that repeat one of this turn
	work         map[string]bool    // steps whose row of pulled work may have changed
	shut         []shutGate         // gates that were closed
	asking       step               // the one whose request is being written down
}

// commit is all that a turn leaves: what is to be durable, and what is to be done when it is.
type commit struct {
	at      time.Time
	records []journal.Record
	rows    []runtime.Write          // beside the records, in the same transaction
	later   []runtime.Write          // of an index, behind it: there are too many of them
	blobs   map[string][]byte        // contents by their hash, to be stored unless they are
	row     row                      // what rows has the summary of
	moved   bool                     // the machine is that of another program: no older checkpoint serves
	lessons []lesson                 // for the circuit breakers of backends
	spent   map[string]runtime.Usage // all that the run has spent under daily budgets, by their keys; nil for none
	given   given
	effects effects
}

// given is what quotas have given a turn, and is taken back where nothing begins with it.
type given struct {
	slots  []*step  // attempts that have a slot of all runs
	probes []string // backends to which a call goes to see
}

// effects are what is to be done once a commit is durable, in their order.
type effects struct {
	abort      []string   // steps whose attempt in flight is to be stopped
	deliveries []delivery // messages for attempts in flight
	notices    []*notice  // what somebody is to be told
	granted    []granted  // decisions for attempts in flight
	start      []*step    // attempts to begin
	children   []*step    // child runs to start, or to look after again
	orphans    []string   // steps whose child run is to be cancelled
	inputs     []input    // for a further turn
	pushed     string     // queue that has got an item
}

// empty tells whether there is nothing to make durable.
func (c *commit) empty() bool { return len(c.records) == 0 && len(c.rows) == 0 }

// What ends a turn: the rest is for the next one, so that no commit grows beyond what a store takes, and whoever waits for an answer gets it.
const (
	maxTurnBytes   = 4 << 20
	maxTurnRecords = 4000
)

func (t *turn) full() bool { return t.size >= maxTurnBytes || len(t.records) >= maxTurnRecords }

// canAcceptOutcome tells whether the machine can be given something.
func (t *turn) canAcceptOutcome() bool { return t.m != nil && !t.yielded }

// The kinds of request that the runtime serves itself.
const (
	kindGate    = "gate"
	kindSleep   = "sleep"
	kindMailbox = "mailbox.take"
	kindRun     = "run"
)

// native tells whether a kind of request needs no attempt: it waits for a signal, a timer or a child run, or the turn performs it.
func native(kind string) bool { return waits(kind) || kind == kindRun || sharing(kind) }

// waits tells whether a kind of request does nothing but wait.
func waits(kind string) bool { return kind == kindGate || kind == kindSleep || kind == kindMailbox }

// record appends a record to the turn and folds it into the state.
func (t *turn) record(typ journal.RecordType, step string, data effect.Payload) uint64 {
	if t.records == nil {
		t.records = make([]journal.Record, 0, 4) // as many as an outcome and the next request make
	}
	t.records = append(t.records, journal.Record{Seq: t.s.Seq + 1, Time: t.now, Type: typ, Step: step, Data: data})
	t.size += len(data)
	t.touch(step)
	if typ == journal.GateDecided || typ == journal.GateWithdrawn {
		if g := t.s.Gates[step]; g != nil {
			t.shut = append(t.shut, shutGate{step, g})
		}
	}
	t.s.apply(&t.records[len(t.records)-1])
	return t.s.Seq
}

// touch notes that the row of a step's pulled work may change.
func (t *turn) touch(step string) {
	if st := t.s.Steps[step]; st == nil || len(st.Pulls) == 0 {
		return
	}
	if t.work == nil {
		t.work = map[string]bool{}
	}
	t.work[step] = true
}

// keep stores content by its hash.
func (t *turn) keep(hash string, content []byte) {
	if t.blobs == nil {
		t.blobs = map[string][]byte{}
	}
	t.blobs[hash] = content
}

// arrivals are inputs that wait, in their order.
type arrivals interface {
	// next is the first of them, and whether it needs no machine; nil when none waits.
	next() (in input, urgent bool)
	// taken tells that the first of them was applied.
	taken()
}

// process does all that a turn does: a recovery first, timers before signals, and where the machine has
// yielded its next slice before all that needs it. Of a run that this build cannot serve, incompatible, it only
// takes what is urgent.
func (t *turn) process(in arrivals, recovery *recovered, incompatible bool) *commit {
	yielded := t.yielded
	if recovery != nil && !incompatible {
		recovery.apply(t)
	}
	t.overdue()
	t.applyAll(in)
	if yielded && t.yielded {
		t.wake() // it was interrupted in the middle of its work
		t.slice()
		t.overdue()
		t.applyAll(in)
	}
	if !incompatible {
		t.begin()
		t.recordIdle()
	}
	return t.finish()
}

// quarantine lets the run rest at the gate !quarantine: no more of its code runs until somebody decides.
func (t *turn) quarantine(why string) *commit {
	t.openSystemGate(runtime.GateQuarantine, "", "The run is quarantined: "+why+". Retry lets it go on, skip cancels it, fail ends it as failed.")
	t.recordIdle()
	return t.finish()
}

// applyAll applies what waits as far as there is room for it.
func (t *turn) applyAll(in arrivals) {
	for {
		next, urgent := in.next()
		if next == nil || t.full() || t.yielded && !urgent {
			return
		}
		next.apply(t)
		in.taken()
	}
}

// slice runs the machine to its next stop and records what it emitted; then settles what is known, until nothing is.
func (t *turn) slice() {
	t.run()
	for !t.yielded && !t.s.Status.Ended() {
		st, out, took := t.s.nextSettled()
		if st == nil {
			st, out = t.serveShared()
		}
		if st == nil {
			return
		}
		if t.full() {
			t.yielded = true
			return
		}
		t.settleRecord(st.Step, out, took)
		t.run()
	}
}

func (t *turn) run() {
	if t.m == nil || t.s.Status.Ended() {
		return
	}
	t.stopped(t.m.Run(t.answer))
}

// stopped records what the machine emitted in a slice, and how that ended.
func (t *turn) stopped(stop vm.Stop) {
	for i := range stop.Emissions {
		t.emit(&stop.Emissions[i])
	}
	t.yielded = false
	switch stop.Status {
	case vm.Yielded:
		t.yielded = true
	case vm.Done:
		t.complete(stop.Value)
	case vm.Failed:
		t.fail(stop.Err)
	case vm.Idle:
		t.endChunk(stop)
	}
}

// emit records one thing that the machine asked or said.
func (t *turn) emit(e *vm.Emission) {
	switch e.Kind {
	case vm.Answered:
		t.record(journal.StepAnswered, e.Step, answerPayload(e.Request, e.Outcome))
	case vm.Said:
		t.record(outputTypes[e.Request.Kind], journal.Within(e.Request.Branch), e.Request.Args)
	case vm.Requested:
		t.request(e.Request)
	case vm.Withdrawn:
		t.withdraw(e.Step)
	case vm.Ruled:
		t.verdict(e)
	}
}

var outputTypes = map[string]journal.RecordType{"print": journal.OutputPrint, "log": journal.OutputLog, "emit": journal.OutputEmit}

func answerPayload(r *effect.Request, o effect.Outcome) effect.Payload {
	var b effect.Object
	return b.Text("kind", r.Kind).Raw("value", o.Value).Raw("error", o.Err.Payload()).Raw("change", changes(r, o)).Payload()
}

// request records a request and does what its kind needs at once. One that cannot be served is recorded with the reason, and is settled with it.
func (t *turn) request(r *effect.Request) {
	refused := t.resolved(r)
	t.ceilings(r)
	foreign := refused != nil && t.asksForMore()
	if refused == nil || foreign {
		refused = t.s.cannotReuse(r)
	}
	if refused == nil {
		refused = t.s.overlaps(r)
	}
	if refused == nil {
		refused = t.s.conversing(r)
	}
	if refused == nil && r.Kind == kindRun && len(r.Ceilings) > 0 {
		refused = effect.Errorf(effect.KindRefused, "%s: a child run cannot be started under budget(): what it spends is counted in the child; put budget() into its script", r.Step)
	}
	if refused == nil && r.Kind == kindGate && len(t.s.Gates) >= maxOpenGates {
		refused = effect.Errorf(effect.KindRefused, "the limit of %d open gates of a run is reached", maxOpenGates)
	}
	st := &t.asking
	*st = step{asked: askedOf(r), Refused: refused.Payload(), Heard: t.s.memory.heard(r), Foreign: foreign}
	t.record(journal.StepRequested, r.Step, putAll(&effect.Object{}, st, requestFields).Payload())
	if refused != nil || t.s.Steps[r.Step].Reused != nil {
		return
	}
	switch r.Kind {
	case kindGate:
		t.openGate(r)
	case kindSleep:
		args, _ := r.Args.View()
		d, _ := contract.ParseDuration(args.Text("duration")) // checked when the call was made
		t.timer(timerSleep, r.Step, t.now.Add(d))
	case kindMailbox:
		t.deadline(timerMailbox, r)
	case kindQueue:
		t.deadline(timerTake, r)
	case kindRun:
		t.effects.children = append(t.effects.children, t.s.Steps[r.Step])
		t.deadline(timerChild, r)
	}
}

// withdraw drops an open step: its branch was cancelled.
func (t *turn) withdraw(name string) {
	if st := t.s.Steps[name]; st != nil {
		t.drop(st)
		t.record(journal.StepWithdrawn, name, nil)
	}
}

// drop stops what an open step has going: its attempt, its child run, its gates.
func (t *turn) drop(st *step) {
	t.touch(st.Step)
	if st.InFlight {
		t.effects.abort = append(t.effects.abort, st.Step)
	}
	t.release(st)
	if st.Kind == kindRun {
		t.effects.orphans = append(t.effects.orphans, st.Step)
	}
	for _, name := range []string{st.Step, uncertainGate(st.Step), permissionGate(st.Step)} {
		if g := t.s.Gates[name]; g != nil {
			t.withdrawGate(g, "")
		}
	}
}

// settle gives an open step its outcome, lets the machine go on from there and records what follows.
func (t *turn) settle(st *step, o effect.Outcome) {
	t.settleRecord(st.Step, o, "")
	t.slice()
}

func (t *turn) settleRecord(name string, o effect.Outcome, took string) {
	t.wake()
	if len(t.s.Gates) > 0 && t.s.Gates[permissionGate(name)] != nil {
		t.withdrawGate(t.s.Gates[permissionGate(name)], "")
	}
	var b effect.Object
	t.record(journal.StepSettled, name, b.Raw("value", o.Value).Raw("error", o.Err.Payload()).Flag("took", took != "").Text("mail", took).Payload())
	t.m.Settle(name, o)
}

// complete ends the run with the value that main returned.
func (t *turn) complete(v starlark.Value) {
	out, err := effect.EncodeOutput(v)
	if err != nil {
		t.fail(effect.Errorf(effect.KindScript, "the run's output: %v", err))
		return
	}
	t.close()
	var b effect.Object
	t.record(journal.RunCompleted, "", b.Raw("output", out).Payload())
}

// fail ends the run with an error that nothing caught.
func (t *turn) fail(err *effect.Error) {
	t.close()
	var b effect.Object
	t.record(journal.RunFailed, "", b.Raw("error", err.Payload()).Payload())
}

// close stops everything the run has going, before its last record.
func (t *turn) close() {
	for _, st := range t.s.inOrder() {
		t.drop(st)
	}
	for _, g := range t.s.openGates() {
		t.withdrawGate(g, "")
	}
	t.effects.start, t.yielded = nil, false
}

// wake records that a resting run is in motion again.
func (t *turn) wake() {
	if t.s.Status == runtime.Suspended {
		t.record(journal.RunResumed, "", nil)
	}
}

// recordIdle records whether the run is in motion after all this.
func (t *turn) recordIdle() {
	switch {
	case t.s.Status.Ended():
	case t.moving():
		t.wake()
	case t.s.Status != runtime.Suspended:
		t.record(journal.RunSuspended, "", t.s.resting().Int("next_due", micros(t.s.due(t.m == nil))).Payload())
	}
}

// maxNamed bounds the open gates that a run.suspended names. Of more it says how many there are: each
// answer of a run with thousands would write down the names of all others.
const maxNamed = 64

// resting says which gates a run rests at.
func (s *state) resting() *effect.Object {
	var all, names effect.Object
	if n := len(s.Gates); n > maxNamed {
		return all.Int("open", int64(n))
	}
	for _, g := range s.openGates() {
		names.Flag(g.Name, true)
	}
	return all.Raw("gates", names.Payload())
}

// moving tells whether anything but a signal or a timer can move the run: the machine, an attempt, a child run.
func (t *turn) moving() bool {
	if t.m == nil {
		return t.s.Gates[runtime.GateQuarantine] == nil // it was let go on, and is about to be loaded with its machine
	}
	return t.yielded || t.s.flying > 0 || (t.s.ready.len() > 0 || t.s.awaitsSlot()) && !t.s.held() && !t.s.lacks() || t.childMoves()
}

func orNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}
