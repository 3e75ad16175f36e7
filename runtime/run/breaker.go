package run

import (
	"time"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// A backend that has failed several times in a row is most likely down: every further call would
// wait for its timeout and its retries to learn the same. Its circuit breaker opens then, and calls
// fail at once, or go to the next backend. After a while one call is let through to see. Breakers
// belong to the store and not to a run: they hold for all runs and survive a restart.

const (
	breakerFailures = 5                // in a row, of any runs
	BreakerPause    = 30 * time.Second // until one call is let through
)

// Breaker is what is known of one backend.
type Breaker struct {
	Failures int       `json:"failures"`
	Until    time.Time `json:"until"` // the circuit is open until then
}

// Open tells whether calls are left alone.
func (b Breaker) Open(now time.Time) bool {
	return b.Failures >= breakerFailures && now.Before(b.Until)
}

// Lesson is what a call to a backend came to.
type Lesson struct {
	Backend string
	Failed  bool
}

// Learn is what is known after one more call.
func (b Breaker) Learn(failed bool, now time.Time) Breaker {
	if !failed {
		return Breaker{}
	}
	b.Failures++
	if b.Failures >= breakerFailures {
		b.Until = now.Add(BreakerPause)
	}
	return b
}

// backend is the name of the one that is to serve, "" where none has a name.
func (st *Step) backend() string {
	if st.Serving >= len(st.Backends) {
		return ""
	}
	return st.Backends[st.Serving]
}

// guarded is the backend that is to serve and has a breaker, "" where it has none.
func (st *Step) guarded() string {
	if !st.Breaker || st.pulled() {
		return ""
	}
	return st.backend()
}

// leave tells whether a step's backend is left alone, and records it.
func (t *Turn) leave(st *Step) bool {
	name := st.guarded()
	if name == "" {
		return false
	}
	b, left := t.leftAlone(name)
	if !left {
		return false
	}
	err := effect.Errorf(effect.KindAgent, "%s: the backend %q has failed %d times in a row; its circuit breaker is open until %s", st.Step, name, b.Failures, b.Until.Format(journal.TimeFormat))
	var o effect.Object
	t.record(journal.AttemptSkipped, st.Step, o.Text("backend", name).Raw("error", err.Payload()).Payload())
	return true
}

// leftAlone tells whether no call may go to a backend now. One that may, because the pause is over,
// is noted.
func (t *Turn) leftAlone(backend string) (Breaker, bool) {
	b := t.Host.Quotas.Breaker(backend)
	for _, l := range t.Lessons {
		if l.Backend == backend {
			b = b.Learn(l.Failed, t.Now)
		}
	}
	switch {
	case b.Open(t.Now):
		return b, true
	case b.Failures < breakerFailures:
		return b, false
	case !t.Host.Quotas.Probe(backend, t.Now):
		return t.Host.Quotas.Breaker(backend), true
	}
	t.Given.Probes = append(t.Given.Probes, backend)
	return b, false
}

// judge notes for the breaker of a step's backend what an attempt came to, which learns it with the
// commit. What the backend said, and what was wrong with the question, is no failure of the
// backend.
func (t *Turn) judge(st *Step, r effect.Reply) {
	name := st.guarded()
	failed := r.Err != nil && (r.Class == effect.Retryable || r.Class == effect.Missing || r.Err.Kind == effect.KindTimeout)
	if name == "" || !failed && r.Err != nil && r.Class != effect.Invalid {
		return
	}
	t.Lessons = append(t.Lessons, Lesson{Backend: name, Failed: failed})
}
