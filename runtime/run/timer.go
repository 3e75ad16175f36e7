package run

import (
	"slices"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/heap"
	"starling/runtime/journal"
)

// timer is a durable timer: it was set by a record and is gone when it has fired or its step is
// settled. There is at most one of a purpose and a step.
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

func (t *timer) Place() *int { return &t.rank }

func (t *timer) Before(u *timer) bool {
	if c := t.Due.Compare(u.Due); c != 0 {
		return c < 0
	}
	return timerID(t.Purpose, t.Step) < timerID(u.Purpose, u.Step)
}

// timers are the timers of one run, the earliest at hand. The zero timers are none.
type timers struct {
	byID map[string]*timer
	heap heap.Heap[*timer]
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
	ts.heap.Push(old)
}

func (ts *timers) remove(id string) {
	if t := ts.byID[id]; t != nil {
		delete(ts.byID, id)
		ts.heap.Remove(t)
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
	if ts.heap.Len() == 0 {
		return time.Time{}
	}
	return ts.heap.First().Due
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
	if ts.heap.Len() == 0 || ts.heap.First().Due.After(now) {
		return nil, false
	}
	return ts.heap.First(), true
}

// all lists the timers, the earliest first.
func (ts *timers) all() []*timer {
	out := slices.Clone(ts.heap.List)
	slices.SortFunc(out, func(t, u *timer) int {
		if t.Before(u) {
			return -1
		}
		return 1
	})
	return out
}

// timer sets a durable timer.
func (t *Turn) timer(purpose, step string, due time.Time) {
	var b effect.Object
	t.record(journal.TimerSet, step, b.Text("purpose", purpose).Int("due", due.UnixMicro()).Payload())
}

// deadline sets the timer of a request that has one.
func (t *Turn) deadline(purpose string, r *effect.Request) {
	if r.Policy.Timeout > 0 {
		t.timer(purpose, r.Step, t.Now.Add(r.Policy.Timeout))
	}
}

// fire takes a timer that is due.
func (t *Turn) fire(tm *timer) {
	var b effect.Object
	t.record(journal.TimerFired, tm.Step, b.Text("purpose", tm.Purpose).Payload())
	st := t.State.Steps[tm.Step]
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
		t.Effects.Orphans = append(t.Effects.Orphans, st.Step)
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
func (t *Turn) overtime() {
	const passed = "the run's deadline has passed"
	switch t.State.OnDeadline {
	case runtime.DeadlineSuspend:
		t.openSystemGate(runtime.GateDeadline, "", "The run's deadline has passed, and it is held: nothing new is started, and its gates take no answers. Retry gives it "+
			"as much time again, skip lets it go on without a deadline, fail ends it.")
	case runtime.DeadlineCancel:
		t.expire()
		t.cancelRun([]string{"system"}, passed)
	default:
		t.expire()
		t.fail(effect.Errorf(effect.KindDeadline, passed))
	}
}

// expire withdraws the open gates as such that waited too long.
func (t *Turn) expire() {
	for _, g := range t.State.OpenGates() {
		t.withdrawGate(g, "timeout")
	}
}

// decideOvertime carries out what somebody said of a run that was held at its deadline.
func (t *Turn) decideOvertime(choice string) {
	switch choice {
	case "retry":
		t.timer(timerDeadline, "", t.Now.Add(t.State.Deadline.Sub(t.State.Started)))
	case "fail":
		t.expire()
		t.fail(effect.Errorf(effect.KindDeadline, "the run's deadline has passed"))
	}
}

// held tells whether the run rests at its deadline.
func (s *State) held() bool { return s.Gates[runtime.GateDeadline] != nil }

// NextDue is when the run's next timer fires, the zero time for never. Of a run that is held, or
// has no machine to give anything to, only the deadline does.
func (s *State) NextDue(stuck bool) time.Time {
	if !stuck && !s.held() && s.Gates[runtime.GateQuarantine] == nil {
		return s.timers.next()
	}
	return s.timers.of(timerDeadline, "")
}

// overdue fires the timers whose time has come, the earliest first. The run's own deadline can be
// met at any time, the others when the machine stands still.
func (t *Turn) overdue() {
	for !t.State.Status.Ended() && !t.full() {
		tm, ok := t.State.timers.due(t.Now)
		if ok && (!t.canAcceptOutcome() || t.State.held()) {
			tm, ok = t.State.timers.byID[timerID(timerDeadline, "")]
			ok = ok && !tm.Due.After(t.Now)
		}
		if !ok {
			return
		}
		t.fire(tm)
	}
}
