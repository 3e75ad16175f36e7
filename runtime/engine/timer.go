package engine

import (
	"slices"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// timer is a durable timer: it was set by a record and is gone when it has fired or its step is settled. There is at most one of a purpose and a step.
type timer struct {
	Purpose string
	Step    string
	Due     time.Time
	rank    int
}

// Purposes of timers.
const (
	timerSleep    = "sleep"
	timerGate     = "gate"
	timerEscalate = "escalate"
	timerBackoff  = "backoff"
	timerMailbox  = "mailbox"
	timerDeadline = "deadline" // of the whole run
	timerChild    = "child"
	timerLease    = "lease"   // of a claim
	timerAttempt  = "attempt" // deadline of a claimed attempt
	timerTake     = "take"    // an item of a queue did not come in time
	timerLook     = "look"    // the lease of an item is over
)

// stepPurposes are those of timers that belong to a step.
var stepPurposes = [...]string{timerSleep, timerGate, timerEscalate, timerBackoff, timerMailbox, timerChild, timerLease, timerAttempt, timerTake, timerLook}

// attemptPurposes are those of timers that belong to an attempt of a step.
var attemptPurposes = [...]string{timerBackoff, timerLease, timerAttempt}

// timerID names a timer: "gate:review", "sleep:sleep#2".
func timerID(purpose, step string) string { return purpose + ":" + step }

func (t *timer) place() *int { return &t.rank }

func (t *timer) before(u *timer) bool {
	if c := t.Due.Compare(u.Due); c != 0 {
		return c < 0
	}
	return timerID(t.Purpose, t.Step) < timerID(u.Purpose, u.Step)
}

// timers are the timers of one run, the earliest at hand. The zero timers are none.
type timers struct {
	byID map[string]*timer
	heap heap[*timer]
}

func (ts *timers) set(t timer) {
	if ts.byID == nil {
		ts.byID = map[string]*timer{}
	}
	id := timerID(t.Purpose, t.Step)
	old := ts.byID[id]
	if old == nil {
		old = &t
		ts.byID[id] = old
	}
	old.Due = t.Due
	ts.heap.push(old)
}

func (ts *timers) remove(id string) {
	if t := ts.byID[id]; t != nil {
		delete(ts.byID, id)
		ts.heap.remove(t)
	}
}

// drop removes the timers of a step.
func (ts *timers) drop(step string) {
	if len(ts.byID) == 0 {
		return
	}
	for _, purpose := range stepPurposes {
		ts.remove(timerID(purpose, step))
	}
}

// next is the earliest timer's time, the zero time when there is none.
func (ts *timers) next() time.Time {
	if ts.heap.len() == 0 {
		return time.Time{}
	}
	return ts.heap.first().Due
}

// of is the time of one timer, the zero time when it is not set.
func (ts *timers) of(purpose, step string) time.Time {
	if t := ts.byID[timerID(purpose, step)]; t != nil {
		return t.Due
	}
	return time.Time{}
}

// due is the earliest timer, if its time has come.
func (ts *timers) due(now time.Time) (*timer, bool) {
	if ts.heap.len() == 0 || ts.heap.first().Due.After(now) {
		return nil, false
	}
	return ts.heap.first(), true
}

// all lists the timers, the earliest first.
func (ts *timers) all() []*timer {
	out := slices.Clone(ts.heap.list)
	slices.SortFunc(out, func(t, u *timer) int {
		if t.before(u) {
			return -1
		}
		return 1
	})
	return out
}

// timer sets a durable timer.
func (t *turn) timer(purpose, step string, due time.Time) {
	var b effect.Object
	t.record(journal.TimerSet, step, b.Text("purpose", purpose).Int("due", due.UnixMicro()).Payload())
}

// deadline sets the timer of a request that has one.
func (t *turn) deadline(purpose string, r *effect.Request) {
	if r.Policy.Timeout > 0 {
		t.timer(purpose, r.Step, t.now.Add(r.Policy.Timeout))
	}
}

// fire takes a timer that is due.
func (t *turn) fire(tm *timer) {
	var b effect.Object
	t.record(journal.TimerFired, tm.Step, b.Text("purpose", tm.Purpose).Payload())
	st := t.s.Steps[tm.Step]
	switch {
	case tm.Purpose == timerDeadline:
		t.overtime()
	case st == nil || tm.Purpose == timerBackoff:
	case tm.Purpose == timerSleep:
		t.settle(st, effect.Outcome{})
	case tm.Purpose == timerGate:
		t.gateTimedOut(st)
	case tm.Purpose == timerEscalate:
		t.escalate(st)
	case tm.Purpose == timerChild:
		t.effects.orphans = append(t.effects.orphans, st.Step)
		t.settle(st, failure(st, effect.Errorf(effect.KindTimeout, "%s: the child run did not end within %s", st.Step, st.Policy.Timeout), nil))
	case tm.Purpose == timerLease:
		t.expired(st)
	case tm.Purpose == timerAttempt:
		t.overdueWork(st)
	case tm.Purpose == timerLook:
		st.foundNothing = false
		t.slice()
	case tm.Purpose == timerTake:
		t.settle(st, failure(st, effect.Errorf(effect.KindTimeout, "%s: no item came in time", st.Step), nil))
	case tm.Purpose == timerMailbox:
		t.settle(st, failure(st, effect.Errorf(effect.KindTimeout, "%s: no message came in time", st.Step), nil))
	}
}

// overtime is what becomes of a run whose deadline has passed.
func (t *turn) overtime() {
	const passed = "the run's deadline has passed"
	switch t.s.Overtime {
	case runtime.OvertimeSuspend:
		t.openSystemGate(runtime.GateDeadline, "", "The run's deadline has passed, and it is held: nothing new is started, and its gates take no answers. Retry gives it "+
			"as much time again, skip lets it go on without a deadline, fail ends it.")
	case runtime.OvertimeCancel:
		t.expire()
		t.cancelRun([]string{"system"}, passed)
	default:
		t.expire()
		t.fail(effect.Errorf(effect.KindDeadline, passed))
	}
}

// expire withdraws the open gates as such that waited too long.
func (t *turn) expire() {
	for _, g := range t.s.openGates() {
		t.withdrawGate(g, "timeout")
	}
}

// decideOvertime carries out what somebody said of a run that was held at its deadline.
func (t *turn) decideOvertime(choice string) {
	switch choice {
	case "retry":
		t.timer(timerDeadline, "", t.now.Add(t.s.Deadline.Sub(t.s.Started)))
	case "fail":
		t.expire()
		t.fail(effect.Errorf(effect.KindDeadline, "the run's deadline has passed"))
	}
}

// held tells whether the run rests at its deadline.
func (s *state) held() bool { return s.Gates[runtime.GateDeadline] != nil }

// due is when the run's next timer fires, the zero time for never. Of a run that is held, or has no machine to give anything to, only the deadline does.
func (s *state) due(stuck bool) time.Time {
	if !stuck && !s.held() && s.Gates[runtime.GateQuarantine] == nil {
		return s.timers.next()
	}
	return s.timers.of(timerDeadline, "")
}

// overdue fires the timers whose time has come, the earliest first. The run's own deadline can be met at any time, the others when the machine stands still.
func (t *turn) overdue() {
	for !t.s.Status.Ended() && !t.full() {
		tm, ok := t.s.timers.due(t.now)
		if ok && (!t.canAcceptOutcome() || t.s.held()) {
			tm, ok = t.s.timers.byID[timerID(timerDeadline, "")]
			ok = ok && !tm.Due.After(t.now)
		}
		if !ok {
			return
		}
		t.fire(tm)
	}
}
