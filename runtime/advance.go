package runtime

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/vm"
)

// This file decides. A turn takes what came in (a reply, a timer, a signal), decides what follows, runs the machine as far as it goes, and gathers
// everything in one list of records that is committed as one: the outcome of a step and the requests that follow from it share a commit, hence a sync.
// A turn does nothing in the world. What is to be performed is listed and begun by the actor after the commit (law 2); what is to be answered
// is answered after the commit (law 3). When the commit fails the turn, the state and the machine are thrown away together.
//
// A turn is a function of the state, the machine, what came in and the clock it was given; the same turn gives the same records anywhere.

// turn is what one commit carries.
type turn struct {
	s        *state
	m        *vm.Machine
	host     *host
	now      time.Time
	records  []Record
	size     int              // of the records\' data, bytes
	start    []*step          // attempts to begin after the commit
	abort    []string         // steps whose attempt in flight is to be stopped after the commit
	due      []immediate      // outcomes that are known at once, settled in order
	children []*step          // child runs to start, or to look after again, after the commit
	orphans  []string         // steps whose child run is to be cancelled after the commit
	writes   []Write          // further rows
	yielded  bool             // the machine has more to do
	keys     map[string]keyed // idempotency keys to write
}

// immediate is an outcome that needs nobody to perform anything.
type immediate struct {
	step string
	out  effect.Outcome
	took string // mailbox name of a message that was taken
}

// The kinds of request that the runtime serves itself.
const (
	kindGate    = "gate"
	kindSleep   = "sleep"
	kindMailbox = "mailbox.take"
	kindRun     = "run"
)

// native tells whether a kind of request needs no attempt: it waits for a signal, a timer or a child run.
func native(kind string) bool {
	return kind == kindGate || kind == kindSleep || kind == kindMailbox || kind == kindRun
}

// record appends a record to the turn and folds it into the state.
func (t *turn) record(typ RecordType, step string, data effect.Payload) uint64 {
	t.records = append(t.records, Record{Seq: t.s.Seq + 1, Time: t.now, Type: typ, Step: step, Data: data})
	t.size += len(data)
	t.s.apply(&t.records[len(t.records)-1])
	return t.s.Seq
}

// slice runs the machine to its next stop and records what it emitted; then settles what is known at once, until nothing is.
func (t *turn) slice() {
	t.run()
	for len(t.due) > 0 && !t.s.Status.Ended() && !t.yielded {
		next := t.due[0]
		t.due = t.due[1:]
		if t.s.Steps[next.step] != nil {
			t.settleRecord(next.step, next.out, next.took)
			t.run()
		}
	}
}

func (t *turn) run() {
	if t.m == nil {
		return
	}
	stop := t.m.Run(t.answer)
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
		t.record(StepAnswered, e.Step, answerPayload(e.Request, e.Outcome))
	case vm.Said:
		t.record(outputTypes[e.Request.Kind], e.Step, e.Request.Args)
	case vm.Requested:
		t.request(e.Request)
	case vm.Withdrawn:
		t.withdraw(e.Step)
	case vm.Ruled:
		t.verdict(e)
	}
}

var outputTypes = map[string]RecordType{"print": OutputPrint, "log": OutputLog, "emit": OutputEmit}

func answerPayload(r *effect.Request, o effect.Outcome) effect.Payload {
	var b effect.Object
	return b.Text("kind", r.Kind).Raw("value", o.Value).Raw("error", o.Err.Payload()).Payload()
}

// request records a request and does what its kind needs at once.
func (t *turn) request(r *effect.Request) {
	refused := t.host.resolve(r)
	var b effect.Object
	t.record(StepRequested, r.Step, b.Text("kind", r.Kind).Int("class", int64(r.Class)).Text("where", r.Where).Raw("args", r.Args).
		Raw("resolved", r.Resolved).Text("returns", r.Returns).Raw("policy", policyPayload(r.Policy)).Payload())
	if refused != nil {
		t.s.Steps[r.Step].Ready = false
		t.due = append(t.due, immediate{step: r.Step, out: failure(t.s.Steps[r.Step], refused, nil)})
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
		t.takeMail(r)
	case kindRun:
		t.children = append(t.children, t.s.Steps[r.Step])
		if r.Policy.Timeout > 0 {
			t.timer(timerChild, r.Step, t.now.Add(r.Policy.Timeout))
		}
	}
}

// timer sets a durable timer.
func (t *turn) timer(purpose, step string, due time.Time) {
	var b effect.Object
	t.record(TimerSet, step, b.Text("purpose", purpose).Int("due", due.UnixMicro()).Payload())
}

// withdraw drops an open step: its branch was cancelled.
func (t *turn) withdraw(name string) {
	st := t.s.Steps[name]
	if st == nil {
		return
	}
	t.drop(st)
	t.record(StepWithdrawn, name, nil)
}

// drop stops what an open step has going: its attempt, its gates.
func (t *turn) drop(st *step) {
	if st.InFlight {
		t.abort = append(t.abort, st.Step)
	}
	if st.Kind == kindRun {
		t.orphans = append(t.orphans, st.Step)
	}
	for _, g := range t.s.openGates() {
		if g.Step == st.Step || g.Name == uncertainGate(st.Step) {
			t.record(GateWithdrawn, g.Name, nil)
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
	var b effect.Object
	t.record(StepSettled, name, b.Raw("value", o.Value).Raw("error", o.Err.Payload()).Flag("took", took != "").Text("mail", took).Payload())
	if t.m != nil {
		t.m.Settle(name, o)
	}
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
	t.record(RunCompleted, "", b.Raw("output", out).Payload())
}

// fail ends the run with an error that nothing caught.
func (t *turn) fail(err *effect.Error) {
	t.close()
	var b effect.Object
	t.record(RunFailed, "", b.Raw("error", err.Payload()).Payload())
}

// close stops everything the run has going, before its last record.
func (t *turn) close() {
	for _, st := range t.s.inOrder() {
		t.drop(st)
	}
	for _, g := range t.s.openGates() {
		t.record(GateWithdrawn, g.Name, nil)
	}
	t.due, t.start = nil, nil
}

// The classes of an ended attempt, as attempt.ended names them.
const (
	classOK          = "ok"
	classRetryable   = "retryable"
	classInvalid     = "invalid"
	classFinal       = "final"
	classUncertain   = "uncertain"
	classInterrupted = "interrupted"
)

// maxBackoff bounds the wait before another attempt.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// reply takes what an attempt came to. Only the newest attempt that is in flight counts; any other is refused and recorded.
func (t *turn) reply(name string, attempt int, r effect.Reply) {
	st := t.s.Steps[name]
	if st == nil || !st.InFlight || st.Attempt != attempt {
		var b effect.Object
		t.record(AttemptRefused, name, b.Int("attempt", int64(attempt)).Text("reason", "a newer attempt, a deadline or a cancel was first").Payload())
		return
	}
	r, violations := t.checked(st, r)
	switch {
	case r.Err == nil:
		t.ended(st, classOK, r, nil)
		t.settle(st, success(st, r))
	case r.Class == effect.Cut:
		t.uncertain(st, r.Err.Message)
	case r.Class == effect.Retryable && st.Failures < st.Policy.Retries:
		t.ended(st, classRetryable, r, nil)
		t.timer(timerBackoff, name, t.now.Add(backoff(st.Failures-1, r.After)))
	case r.Class == effect.Invalid && len(violations) > 0 && st.Reasks < st.Policy.Reasks:
		t.ended(st, classInvalid, r, violations)
	default:
		t.ended(st, classFinal, r, nil)
		t.settle(st, failure(st, r.Err, &r))
	}
}

// checked holds a reply against the contract of its step. The value that goes on is the checked one, defaults filled in.
func (t *turn) checked(st *step, r effect.Reply) (effect.Reply, []contract.Violation) {
	if r.Err != nil || st.Returns == "" || r.Status != "" {
		return r, nil
	}
	c, err := contract.Parse("output", st.Returns)
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindInvalid, "the contract of %s cannot be read: %v", st.Step, err)}, nil
	}
	v, violations := c.Check(orNone(r.Value))
	if len(violations) == 0 {
		r.Value = v
		return r, nil
	}
	r.Class = effect.Invalid
	r.Err = effect.Errorf(effect.KindInvalid, "%s: the reply breaks its contract: %s", st.Step, violationText(violations))
	r.Err.Data = violationPayload(violations)
	return r, violations
}

// backoff is how long to wait after some failures: half a second, then twice as long each time.
func backoff(failures int, least time.Duration) time.Duration {
	return max(min(firstBackoff<<min(failures, 10), maxBackoff), least)
}

// ended records the end of an attempt and whether another follows at once.
func (t *turn) ended(st *step, class string, r effect.Reply, violations []contract.Violation) {
	var b effect.Object
	b.Int("attempt", int64(st.Attempt)).Text("class", class).Text("backend", r.Backend).Raw("error", r.Err.Payload())
	if r.Usage != nil {
		b.Raw("usage", effect.MustEncode(r.Usage))
	}
	if violations != nil {
		b.Flag("again", true).Raw("feedback", violationPayload(violations))
	}
	t.record(AttemptEnded, st.Step, b.Payload())
}

// interrupted takes back an attempt that this process stopped because it is leaving: it is not charged to the retries.
func (t *turn) interrupted(name string, attempt int) {
	if st := t.s.Steps[name]; st != nil && st.InFlight && st.Attempt == attempt {
		var b effect.Object
		t.record(AttemptEnded, name, b.Int("attempt", int64(attempt)).Text("class", classInterrupted).Flag("again", true).Payload())
	}
}

// uncertain decides about an attempt that was cut: nobody knows whether it took effect.
func (t *turn) uncertain(st *step, why string) {
	var b effect.Object
	b.Int("attempt", int64(st.Attempt)).Text("class", classUncertain).Text("reason", why)
	again := st.Policy.OnUncertain == effect.Retry || st.Policy.Idempotent
	t.record(AttemptEnded, st.Step, b.Flag("again", again).Payload())
	switch {
	case again:
	case st.Policy.OnUncertain == effect.Ask:
		t.openSystemGate(uncertainGate(st.Step), st.Step, fmt.Sprintf("%s was cut while it was in flight (%s): it may have taken effect. Retry sends it again with the same idempotency key; skip goes on without its result; fail raises an error.", st.Step, why))
	default:
		t.settle(st, failure(st, effect.Errorf(effect.KindUncertain, "%s was cut while it was in flight (%s): it may have taken effect", st.Step, why), nil))
	}
}

// fire takes a timer that is due.
func (t *turn) fire(id string) {
	tm, ok := t.s.Timers[id]
	if !ok {
		return // decided in the meantime
	}
	var b effect.Object
	t.record(TimerFired, tm.Step, b.Text("purpose", tm.Purpose).Payload())
	st := t.s.Steps[tm.Step]
	switch {
	case tm.Purpose == timerDeadline:
		t.fail(effect.Errorf(effect.KindDeadline, "the run's deadline has passed"))
	case st == nil || tm.Purpose == timerBackoff:
	case tm.Purpose == timerSleep:
		t.settle(st, effect.Outcome{})
	case tm.Purpose == timerGate:
		t.gateTimedOut(st)
	case tm.Purpose == timerEscalate:
		t.escalate(st)
	case tm.Purpose == timerChild:
		t.orphans = append(t.orphans, st.Step)
		t.settle(st, failure(st, effect.Errorf(effect.KindTimeout, "%s: the child run did not end within %s", st.Step, st.Policy.Timeout), nil))
	case tm.Purpose == timerMailbox:
		t.settle(st, failure(st, effect.Errorf(effect.KindTimeout, "%s: no message came in time", st.Step), nil))
	}
}

// cancelRun ends the run by order.
func (t *turn) cancelRun(by, reason string) {
	t.close()
	err := effect.Errorf(effect.KindCancelled, "cancelled by %s", by)
	if reason != "" {
		err.Message += ": " + reason
	}
	var b effect.Object
	t.record(RunCancelled, "", b.Text("by", by).Text("reason", reason).Raw("error", err.Payload()).Payload())
}

// begin starts the attempts that are wanted, as far as the ceiling admits, in the order of their requests.
func (t *turn) begin() {
	if t.s.Status.Ended() || t.s.Gates[gateQuarantine] != nil || t.host.draining() || t.waitsForEnv() {
		return
	}
	room := maxInFlight - t.s.inFlight()
	for _, st := range t.s.inOrder() {
		if !st.Ready {
			continue
		}
		if room--; room < 0 {
			return
		}
		t.wake()
		var b effect.Object
		t.record(AttemptStarted, st.Step, b.Int("attempt", int64(st.Attempt+1)).Payload())
		t.start = append(t.start, st)
	}
}

// maxInFlight is the ceiling of attempts in flight in one run; further requests wait in order, which scripts cannot observe.
const maxInFlight = 64

// wake records that a resting run is in motion again.
func (t *turn) wake() {
	if t.s.Status == Suspended {
		t.record(RunResumed, "", nil)
	}
}

// rest records whether the run is in motion after all this.
func (t *turn) rest() {
	if t.s.Status.Ended() {
		return
	}
	moving := t.moving()
	if moving {
		t.wake()
	}
	if !moving && t.s.Status != Suspended {
		var b effect.Object
		for _, g := range t.s.openGates() {
			b.Flag(g.Name, true)
		}
		t.record(RunSuspended, "", (&effect.Object{}).Raw("gates", b.Payload()).Int("next_due", micros(t.s.nextDue())).Payload())
	}
}

// moving tells whether anything but a signal or a timer can move the run: the machine, an attempt, a child run.
func (t *turn) moving() bool {
	if t.s.Gates[gateQuarantine] != nil {
		return false
	}
	if t.yielded || t.host.draining() && t.s.Status == Running {
		return true
	}
	for _, st := range t.s.Steps {
		if st.InFlight || st.Ready && !t.waitsForEnv() || st.Kind == kindRun && t.host.childMoving(st.Step) {
			return true
		}
	}
	return false
}

func orNone(v starlark.Value) starlark.Value {
	if v == nil {
		return starlark.None
	}
	return v
}
