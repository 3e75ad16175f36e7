package run

import (
	"cmp"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// This file decides. A turn takes what came in (a reply, a timer, a signal), decides what follows,
// runs the machine as far as it goes, and gathers everything in one list of records that is
// committed as one: the outcome of a step and the requests that follow from it share a commit,
// hence a sync. A turn does nothing in the world. It lists effects; the actor performs them after
// the commit (law 2), and answers after the commit (law 3). When the commit fails the turn, the
// state and the machine are thrown away together.
//
// A turn is a function of the state, the machine, what came in, the clock it was given, and what it
// asks (world.go); the same turn gives the same records anywhere.
//
// The machine is given an outcome only when it stands still: replay gives it each outcome where the
// journal has it, after all that it said before. A machine that has yielded does not stand still,
// and a run that is quarantined has none; until then nothing is settled, and what came in waits.

// Turn decides what one commit carries.
type Turn struct {
	State   *State
	Machine *vm.Machine // nil while the run is quarantined, or has ended
	Host    *Host
	Now     time.Time
	Had     *SummaryRow // what the store has the summary of

	MaxBytes int // of records after which the rest is for the next turn, 0 for what a store takes

	Commit            // what it leaves
	size         int  // of the commit, bytes
	Yielded      bool // the machine has more to do, or an outcome is known that it has not been given
	HoldsCommons bool // it holds the commons
	keys         map[string]journal.Keyed
	again        []*runtime.Receipt // those that repeat one of this turn
	work         map[string]bool    // steps whose row of pulled work may have changed
	shut         []shutGate         // gates that were closed
	asking       Step               // the one whose request is being written down
}

// Commit is all that a turn leaves: what is to be durable, and what is to be done when it is.
type Commit struct {
	At      time.Time
	Records []journal.Record
	Rows    []runtime.Write          // beside the records, in the same transaction
	Later   []runtime.Write          // of an index, behind it: there are too many of them
	Blobs   map[string][]byte        // contents by their hash, to be stored unless they are
	Row     SummaryRow               // what rows has the summary of
	Moved   bool                     // the machine is that of another program: no older checkpoint serves
	Lessons []Lesson                 // for the circuit breakers of backends
	Spent   map[string]runtime.Usage // all that the run has spent under daily budgets, by their keys; nil for none
	Given   Given
	Effects Effects
}

// Given is what quotas have given a turn, and is taken back where nothing begins with it.
type Given struct {
	Slots  []*Step  // attempts that have a slot of all runs
	Probes []string // backends to which a call goes to see
}

// Effects are what is to be done once a commit is durable, in their order.
type Effects struct {
	Abort      []string   // steps whose attempt in flight is to be stopped
	Deliveries []Delivery // messages for attempts in flight
	Notices    []*Notice  // what somebody is to be told
	Granted    []Granted  // decisions for attempts in flight
	Start      []*Step    // attempts to begin
	Children   []*Step    // child runs to start, or to look after again
	Orphans    []string   // steps whose child run is to be cancelled
	Inputs     []Input    // for a further turn
	Pushed     string     // queue that has got an item
}

// Empty tells whether there is nothing to make durable.
func (c *Commit) Empty() bool { return len(c.Records) == 0 && len(c.Rows) == 0 }

// What ends a turn: the rest is for the next one, so that no commit grows beyond what a store
// takes, and whoever waits for an answer gets it.
const (
	maxTurnBytes   = 4 << 20
	MaxTurnRecords = 4000
)

func (t *Turn) full() bool {
	return t.size >= cmp.Or(t.MaxBytes, maxTurnBytes) || len(t.Records) >= MaxTurnRecords
}

// canAcceptOutcome tells whether the machine can be given something.
func (t *Turn) canAcceptOutcome() bool { return t.Machine != nil && !t.Yielded }

// native tells whether a kind of request needs no attempt: it waits for a signal, a timer or a
// child run, or the turn performs it.
func native(kind string) bool { return journal.Waits(kind) || kind == journal.KindRun || sharing(kind) }

// record appends a record to the turn and folds it into the state.
func (t *Turn) record(typ journal.RecordType, step string, data effect.Payload) uint64 {
	if t.Records == nil {
		t.Records = make([]journal.Record, 0, 4) // as many as an outcome and the next request make
	}
	t.Records = append(t.Records, journal.Record{Seq: t.State.Seq + 1, Time: t.Now, Type: typ, Step: step, Data: data})
	t.size += len(data)
	t.touch(step)
	if typ == journal.GateDecided || typ == journal.GateWithdrawn {
		if g := t.State.Gates[step]; g != nil {
			t.shut = append(t.shut, shutGate{step, g})
		}
	}
	t.State.Apply(&t.Records[len(t.Records)-1])
	return t.State.Seq
}

// touch notes that the row of a step's pulled work may change.
func (t *Turn) touch(step string) {
	if st := t.State.Steps[step]; st == nil || len(st.Pulls) == 0 {
		return
	}
	if t.work == nil {
		t.work = map[string]bool{}
	}
	t.work[step] = true
}

// keep stores content by its hash.
func (t *Turn) keep(hash string, content []byte) {
	if t.Blobs == nil {
		t.Blobs = map[string][]byte{}
	}
	t.Blobs[hash] = content
}

// arrivals are inputs that wait, in their order.
type arrivals interface {
	// Next is the first of them, and whether it needs no machine; nil when none waits.
	Next() (in Input, urgent bool)
	// Taken tells that the first of them was applied.
	Taken()
}

// Process does all that a turn does: a recovery first, timers before signals, and where the machine
// has yielded its next slice before all that needs it. Of a run that this build cannot serve,
// incompatible, it only takes what is urgent.
func (t *Turn) Process(in arrivals, recovery *Recovered, incompatible bool) *Commit {
	yielded := t.Yielded
	if recovery != nil && !incompatible {
		recovery.apply(t)
	}
	t.overdue()
	t.applyAll(in)
	if yielded && t.Yielded {
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

// Quarantine lets the run rest at the gate !quarantine: no more of its code runs until somebody
// decides.
func (t *Turn) Quarantine(why string) *Commit {
	t.openSystemGate(runtime.GateQuarantine, "", "The run is quarantined: "+why+". Retry lets it go on, skip cancels it, fail ends it as failed.")
	t.recordIdle()
	return t.finish()
}

// applyAll applies what waits as far as there is room for it.
func (t *Turn) applyAll(in arrivals) {
	for {
		next, urgent := in.Next()
		if next == nil || t.full() || t.Yielded && !urgent {
			return
		}
		next.apply(t)
		in.Taken()
	}
}

// slice runs the machine to its next stop and records what it emitted; then settles what is known,
// until nothing is.
func (t *Turn) slice() {
	t.run()
	for !t.Yielded && !t.State.Status.Ended() {
		st, out, took := t.State.nextSettled()
		if st == nil {
			st, out = t.serveShared()
		}
		if st == nil {
			return
		}
		if t.full() {
			t.Yielded = true
			return
		}
		t.settleRecord(st.Step, out, took)
		t.run()
	}
}

func (t *Turn) run() {
	if t.Machine == nil || t.State.Status.Ended() {
		return
	}
	t.stopped(t.Machine.Run(t.answer))
}

// stopped records what the machine emitted in a slice, and how that ended.
func (t *Turn) stopped(stop vm.Stop) {
	for i := range stop.Emissions {
		t.emit(&stop.Emissions[i])
	}
	t.Yielded = false
	switch stop.Status {
	case vm.Yielded:
		t.Yielded = true
	case vm.Done:
		t.complete(stop.Value)
	case vm.Failed:
		t.fail(stop.Err)
	case vm.Idle:
		t.endChunk(stop)
	}
}

// emit records one thing that the machine asked or said.
func (t *Turn) emit(e *vm.Emission) {
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
	case vm.BranchFailed:
		t.record(journal.BranchFailed, journal.Within(e.Step), branchPayload(e.Outcome.Err))
	}
}

var outputTypes = map[string]journal.RecordType{"print": journal.OutputPrint, "log": journal.OutputLog, "emit": journal.OutputEmit}

func answerPayload(r *effect.Request, o effect.Outcome) effect.Payload {
	var b effect.Object
	return b.Text("kind", r.Kind).Raw("value", o.Value).Raw("error", o.Err.Payload()).Raw("change", changes(r, o)).Payload()
}

// maxBranchError bounds what is kept of the error of a branch, in bytes: the script has all of it,
// and there may be as many of them as branches.
const maxBranchError = 1 << 10

// branchPayload is the error of a branch for those who look: what, and where in the script.
func branchPayload(e *effect.Error) effect.Payload {
	message := e.Message
	if len(message) > maxBranchError {
		message = strings.ToValidUTF8(message[:maxBranchError], "") + "..."
	}
	var all, err effect.Object
	return all.Raw("error", err.Text("kind", string(e.Kind)).Text("message", message).Text("where", e.Where).Payload()).Payload()
}

// request records a request and does what its kind needs at once. One that cannot be served is
// recorded with the reason, and is settled with it.
func (t *Turn) request(r *effect.Request) {
	refused := t.resolved(r)
	t.ceilings(r)
	foreign := refused != nil && t.asksForMore()
	if refused == nil || foreign {
		refused = t.State.cannotReuse(r)
	}
	if refused == nil {
		refused = t.State.overlaps(r)
	}
	if refused == nil {
		refused = t.State.conversing(r)
	}
	if refused == nil && r.Kind == journal.KindRun && len(r.Ceilings) > 0 {
		refused = effect.Errorf(effect.KindRefused, "%s: a child run cannot be started under budget(): what it spends is counted in the child; put budget() into its script", r.Step)
	}
	if refused == nil && r.Kind == journal.KindGate && len(t.State.Gates) >= maxOpenGates {
		refused = effect.Errorf(effect.KindRefused, "the limit of %d open gates of a run is reached", maxOpenGates)
	}
	st := &t.asking
	*st = Step{asked: askedOf(r), Refused: refused.Payload(), Heard: t.State.memory.heard(r), Foreign: foreign}
	t.record(journal.StepRequested, r.Step, putAll(&effect.Object{}, st, requestFields).Ints("among", r.Among).Payload())
	if refused != nil || t.State.Steps[r.Step].Reused != nil {
		return
	}
	switch r.Kind {
	case journal.KindGate:
		t.openGate(r)
	case journal.KindSleep:
		args, _ := r.Args.View()
		d, _ := contract.ParseDuration(args.Text("duration")) // checked when the call was made
		t.timer(timerSleep, r.Step, t.Now.Add(d))
	case journal.KindMailbox:
		t.deadline(timerMailbox, r)
	case journal.KindQueue:
		t.deadline(timerTake, r)
	case journal.KindRun:
		t.Effects.Children = append(t.Effects.Children, t.State.Steps[r.Step])
		t.deadline(timerChild, r)
	}
}

// withdraw drops an open step: its branch was cancelled.
func (t *Turn) withdraw(name string) {
	if st := t.State.Steps[name]; st != nil {
		t.drop(st)
		t.record(journal.StepWithdrawn, name, nil)
	}
}

// drop stops what an open step has going: its attempt, its child run, its gates.
func (t *Turn) drop(st *Step) {
	t.touch(st.Step)
	if st.InFlight {
		t.Effects.Abort = append(t.Effects.Abort, st.Step)
	}
	t.release(st)
	if st.Kind == journal.KindRun {
		t.Effects.Orphans = append(t.Effects.Orphans, st.Step)
	}
	for _, name := range []string{st.Step, uncertainGate(st.Step), permissionGate(st.Step)} {
		if g := t.State.Gates[name]; g != nil {
			t.withdrawGate(g, "")
		}
	}
}

// settle gives an open step its outcome, lets the machine go on from there and records what
// follows.
func (t *Turn) settle(st *Step, o effect.Outcome) {
	t.settleRecord(st.Step, o, "")
	t.slice()
}

func (t *Turn) settleRecord(name string, o effect.Outcome, took string) {
	t.wake()
	if len(t.State.Gates) > 0 && t.State.Gates[permissionGate(name)] != nil {
		t.withdrawGate(t.State.Gates[permissionGate(name)], "")
	}
	var b effect.Object
	t.record(journal.StepSettled, name, b.Raw("value", o.Value).Raw("error", o.Err.Payload()).Flag("took", took != "").Text("mail", took).Payload())
	t.Machine.Settle(name, o)
}

// complete ends the run with the value that main returned.
func (t *Turn) complete(v starlark.Value) {
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
func (t *Turn) fail(err *effect.Error) {
	t.close()
	var b effect.Object
	t.record(journal.RunFailed, "", b.Raw("error", err.Payload()).Payload())
}

// close stops everything the run has going, before its last record.
func (t *Turn) close() {
	for _, st := range t.State.InOrder() {
		t.drop(st)
	}
	for _, g := range t.State.OpenGates() {
		t.withdrawGate(g, "")
	}
	t.Effects.Start, t.Yielded = nil, false
}

// wake records that a resting run is in motion again.
func (t *Turn) wake() {
	if t.State.Status == runtime.Suspended {
		t.record(journal.RunResumed, "", nil)
	}
}

// recordIdle records whether the run is in motion after all this.
func (t *Turn) recordIdle() {
	switch {
	case t.State.Status.Ended():
	case t.moving():
		t.wake()
	case t.State.Status != runtime.Suspended:
		t.record(journal.RunSuspended, "", t.State.resting().Int("next_due", journal.Micros(t.State.NextDue(t.Machine == nil))).Payload())
	}
}

// maxNamed bounds the open gates that a run.suspended names. Of more it says how many there are:
// each answer of a run with thousands would write down the names of all others.
const maxNamed = 64

// resting says which gates a run rests at.
func (s *State) resting() *effect.Object {
	var all, names effect.Object
	if n := len(s.Gates); n > maxNamed {
		return all.Int("open", int64(n))
	}
	for _, g := range s.OpenGates() {
		names.Flag(g.Name, true)
	}
	return all.Raw("gates", names.Payload())
}

// moving tells whether anything but a signal or a timer can move the run: the machine, an attempt,
// a child run.
func (t *Turn) moving() bool {
	if t.Machine == nil {
		return t.State.Gates[runtime.GateQuarantine] == nil // it was let go on, and is about to be loaded with its machine
	}
	return t.Yielded || t.State.Flying > 0 || (t.State.ready.Len() > 0 || t.State.awaitsSlot()) && !t.State.held() && !t.State.lacks() || t.childMoves()
}

// OrNone is a value, None for nil.
func OrNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}
