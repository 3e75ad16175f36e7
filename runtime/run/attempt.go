package run

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime/journal"
)

// An attempt is one try of a request. It is journaled before it starts and again when it has ended;
// what follows is decided here: the step is settled, or tried again at once, after a while, or when
// somebody has said so.

// begin starts the attempts that are wanted. Where none could be started because every backend of a
// step is left alone, the script goes on with that first.
func (t *Turn) begin() {
	for t.beginReady(); len(t.State.Decided) > 0 && t.canAcceptOutcome(); t.beginReady() {
		if t.full() {
			t.Yielded = true
			return
		}
		t.slice()
	}
	t.waitForSlot()
}

// beginReady starts attempts as far as the ceiling admits, in the order of their requests.
func (t *Turn) beginReady() {
	if t.Machine == nil || t.State.Status.Ended() || t.State.held() || t.Host.Draining() || t.unserved() || t.State.ready.Len() == 0 || t.needs() {
		return
	}
	for t.State.ready.Len() > 0 && t.State.Flying < maxInFlight {
		st := t.State.ready.First()
		if st.Foreign {
			if !t.serve(st) {
				return
			}
			continue
		}
		if journal.AgentKind(st.Kind) && t.halt(st) || t.leave(st) {
			continue
		}
		if st.pulled() {
			t.offer(st)
			continue
		}
		if t.away(st) {
			return
		}
		if t.State.throttled(st) || !t.takeSlot(st) {
			continue
		}
		t.wake()
		var b effect.Object
		t.record(journal.AttemptStarted, st.Step, b.Int("attempt", int64(st.Attempt+1)).Payload())
		t.Effects.Start = append(t.Effects.Start, st)
	}
}

// maxInFlight is the ceiling of attempts in flight in one run; further requests wait in order,
// which scripts cannot observe.
const maxInFlight = 64

// maxBackoff bounds the wait before another attempt.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// reply takes what an attempt came to. Only the newest attempt that is in flight counts; any other
// is refused and recorded.
func (t *Turn) reply(name string, attempt int, r effect.Reply) {
	st := t.flying(name, attempt)
	if st == nil {
		var b effect.Object
		t.record(journal.AttemptRefused, name, b.Int("attempt", int64(attempt)).Text("reason", "a newer attempt, a deadline or a cancel was first").Payload())
		return
	}
	r, violations := checked(st, r)
	t.judge(st, r)
	switch {
	case r.Err == nil:
		t.ended(st, journal.ClassOK, r, nil)
		t.settle(st, success(st, r))
	case r.Class == effect.Cut:
		t.uncertain(st, r.Err.Message)
		t.slice()
	case r.Class == effect.Retryable && st.Failures < st.Policy.Retries:
		t.ended(st, journal.ClassRetryable, r, nil)
		t.timer(timerBackoff, name, t.Now.Add(backoff(st.Failures-1, r.After)))
	case r.Class == effect.Missing && st.Serving+1 < len(st.Backends):
		t.ended(st, journal.ClassMissing, r, nil)
	case r.Class == effect.Invalid && len(violations) > 0 && st.Reasks < st.Policy.Reasks:
		t.ended(st, broken(r), r, violations)
	case r.Degraded:
		t.ended(st, journal.ClassDegraded, r, nil)
		t.settle(st, failure(st, r.Err, &r))
	default:
		t.ended(st, journal.ClassFinal, r, nil)
		t.settle(st, failure(st, r.Err, &r))
	}
}

// broken is the class of a reply that is not taken for its contract.
func broken(r effect.Reply) string {
	if r.Degraded {
		return journal.ClassDegraded
	}
	return journal.ClassInvalid
}

// checked holds a reply against the contract of its step. The value that goes on is the checked
// one, defaults filled in. One that only stands in for a reply is degraded: it keeps its value, for
// scripts that take it all the same.
func checked(st *Step, r effect.Reply) (effect.Reply, []contract.Violation) {
	if r.Err != nil || st.Returns == "" || r.Status != "" {
		return r, nil
	}
	c, err := contract.Parse("output", st.Returns)
	if err != nil {
		return effect.Reply{Err: effect.Errorf(effect.KindInvalid, "the contract of %s cannot be read: %v", st.Step, err)}, nil
	}
	v, violations := c.Check(OrNone(r.Value))
	wrong := "breaks its contract"
	if len(violations) == 0 {
		r.Value = v
		if violations = c.Placeholders(v); len(violations) == 0 {
			return r, nil
		}
		r.Degraded, wrong = true, "meets its contract by placeholders only"
	}
	r.Class = effect.Invalid
	r.Err = effect.Errorf(effect.KindInvalid, "%s: the reply %s: %s", st.Step, wrong, violationText(violations))
	r.Err.Data = violationPayload(violations)
	return r, violations
}

// backoff is how long to wait after some failures: half a second, then twice as long each time.
func backoff(failures int, least time.Duration) time.Duration {
	return max(min(firstBackoff<<min(failures, 10), maxBackoff), least)
}

// ended records the end of an attempt and whether another follows at once.
func (t *Turn) ended(st *Step, class string, r effect.Reply, violations []contract.Violation) {
	var b effect.Object
	b.Int("attempt", int64(st.Attempt)).Text("class", class).Text("backend", r.Backend).Text("session", r.Session).Raw("error", r.Err.Payload())
	if r.Usage != nil {
		b.Raw("usage", effect.MustEncode(r.Usage))
	}
	b.Raw("blobs", t.keepAll(r.Blobs))
	switch {
	case class == journal.ClassMissing, class == journal.ClassExpired, class == journal.ClassSteered, class == journal.ClassInterrupted:
		b.Flag("again", true)
	case violations != nil && st.Claim > 0:
		b.Flag("kept", true).Raw("feedback", violationPayload(violations)) // whoever has claimed it tries again
	case violations != nil:
		b.Flag("again", true).Raw("feedback", violationPayload(violations))
	}
	t.record(journal.AttemptEnded, st.Step, b.Payload())
}

// interrupted takes back an attempt that this process stopped because it is leaving: it is not
// charged to the retries.
func (t *Turn) interrupted(name string, attempt int, usage starlark.Value) {
	if st := t.flying(name, attempt); st != nil {
		t.ended(st, journal.ClassInterrupted, effect.Reply{Usage: usage}, nil)
	}
}

// uncertain decides about an attempt that was cut: nobody knows whether it took effect. Where the
// policy says to fail, the step is decided with this record.
func (t *Turn) uncertain(st *Step, why string) {
	if why == "" {
		why = "nobody knows why"
	}
	again := st.Policy.OnUncertain == effect.Retry || st.Policy.Idempotent
	var b effect.Object
	b.Int("attempt", int64(st.Attempt)).Text("class", journal.ClassUncertain).Text("reason", why)
	t.record(journal.AttemptEnded, st.Step, b.Flag("again", again).Payload())
	if !again && st.Policy.OnUncertain == effect.Ask {
		t.openSystemGate(uncertainGate(st.Step), st.Step, fmt.Sprintf("%s was interrupted in flight (%s); it may have taken effect. Retry sends it again with "+
			"the same idempotency key; skip goes on without its result; fail raises an error.", st.Step, why))
	}
}

// uncertainError is what is raised for a step of which nobody knows whether it took effect.
func uncertainError(step, why string) *effect.Error {
	if why != "" {
		why = " (" + why + ")"
	}
	return effect.Errorf(effect.KindUncertain, "%s was interrupted in flight%s; it may have taken effect", step, why)
}

// keepAll keeps the blobs of an attempt, and gives the dict of their hashes and sizes that its
// record has.
func (t *Turn) keepAll(blobs map[string][]byte) effect.Payload {
	if len(blobs) == 0 {
		return nil
	}
	var all effect.Object
	room := effect.MaxBlobs
	for _, name := range sortedKeys(blobs) {
		content := blobs[name]
		if effect.CheckName(name) != nil || len(content) > room {
			continue
		}
		room -= len(content)
		hash := journal.HashOf(content)
		t.keep(hash, content)
		t.size += len(content)
		var b effect.Object
		all.Raw(name, b.Text("hash", hash).Int("size", int64(len(content))).Payload())
	}
	return all.Payload()
}
