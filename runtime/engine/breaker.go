package engine

import (
	"encoding/json"
	"sync"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// A backend that has failed several times in a row is most likely down: every further call would wait for its timeout and its retries to learn the same. Its
// circuit breaker opens then, and calls fail at once, or go to the next backend. After a while one call is let through to see. Breakers belong to the store
// and not to a run: they hold for all runs and survive a restart.

const (
	breakerFailures = 5                // in a row, of any runs
	breakerPause    = 30 * time.Second // until one call is let through
)

// breaker is what is known of one backend.
type breaker struct {
	Failures int       `json:"failures"`
	Until    time.Time `json:"until"` // the circuit is open until then
}

func (b breaker) open(now time.Time) bool {
	return b.Failures >= breakerFailures && now.Before(b.Until)
}

// lesson is what a call to a backend came to.
type lesson struct {
	backend string
	failed  bool
}

// learn is what is known after one more call.
func (b breaker) learn(failed bool, now time.Time) breaker {
	if !failed {
		return breaker{}
	}
	b.Failures++
	if b.Failures >= breakerFailures {
		b.Until = now.Add(breakerPause)
	}
	return b
}

// breakers are those of all backends, read from the store when they are first asked for. They learn from commits only.
type breakers struct {
	store runtime.Store

	mu    sync.Mutex // guards what follows
	known map[string]breaker
}

func (bs *breakers) Breaker(backend string) breaker {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.of(backend)
}

// of is called with mu held.
func (bs *breakers) of(backend string) breaker {
	b, ok := bs.known[backend]
	if !ok {
		if row, err := bs.store.Get([]byte(journal.PrefixBreaker + backend)); err == nil {
			_ = json.Unmarshal(row, &b) // what cannot be read is a backend that has not failed
		}
		bs.known[backend] = b
	}
	return b
}

// probe lets one call through to a backend whose pause is over, and keeps the others waiting for as long again.
func (bs *breakers) Probe(backend string, now time.Time) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(backend)
	if b.open(now) {
		return false
	}
	b.Until = now.Add(breakerPause)
	bs.known[backend] = b
	return true
}

// unprobe takes back that a call was let through: it was not made.
func (bs *breakers) unprobe(backend string) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(backend)
	b.Until = time.Time{}
	bs.known[backend] = b
}

// rows are what a commit writes that has learned something. Of two commits at the same moment each writes what it has learned itself: the next one that learns writes all.
func (bs *breakers) rows(lessons []lesson, now time.Time) (writes []runtime.Write) {
	if len(lessons) == 0 {
		return nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	after := map[string]breaker{}
	for _, l := range lessons {
		b, ok := after[l.backend]
		if !ok {
			b = bs.of(l.backend)
		}
		after[l.backend] = b.learn(l.failed, now)
	}
	for backend, b := range after {
		if b == bs.of(backend) {
			continue
		}
		var row []byte // none: it has not failed
		if b.Failures > 0 {
			row, _ = json.Marshal(b) // plain data
		}
		writes = append(writes, runtime.Write{Key: []byte(journal.PrefixBreaker + backend), Value: row})
	}
	return writes
}

// learn takes what a commit has learned.
func (bs *breakers) learn(lessons []lesson, now time.Time) {
	if len(lessons) == 0 {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, l := range lessons {
		bs.known[l.backend] = bs.of(l.backend).learn(l.failed, now)
	}
}

// backend is the name of the one that is to serve, "" where none has a name.
func (st *step) backend() string {
	if st.Serving >= len(st.Backends) {
		return ""
	}
	return st.Backends[st.Serving]
}

// guarded is the backend that is to serve and has a breaker, "" where it has none.
func (st *step) guarded() string {
	if !st.Breaker || st.pulled() {
		return ""
	}
	return st.backend()
}

// leave tells whether a step's backend is left alone, and records it.
func (t *turn) leave(st *step) bool {
	name := st.guarded()
	if name == "" {
		return false
	}
	b, left := t.leftAlone(name)
	if !left {
		return false
	}
	err := effect.Errorf(effect.KindAgent, "%s: the backend %q has failed %d times in a row; its circuit breaker is open until %s", st.Step, name, b.Failures, b.Until.Format(timeFormat))
	var o effect.Object
	t.record(journal.AttemptSkipped, st.Step, o.Text("backend", name).Raw("error", err.Payload()).Payload())
	return true
}

// leftAlone tells whether no call may go to a backend now. One that may, because the pause is over, is noted.
func (t *turn) leftAlone(backend string) (breaker, bool) {
	b := t.host.quotas.Breaker(backend)
	for _, l := range t.lessons {
		if l.backend == backend {
			b = b.learn(l.failed, t.now)
		}
	}
	switch {
	case b.open(t.now):
		return b, true
	case b.Failures < breakerFailures:
		return b, false
	case !t.host.quotas.Probe(backend, t.now):
		return t.host.quotas.Breaker(backend), true
	}
	t.given.probes = append(t.given.probes, backend)
	return b, false
}

// judge notes for the breaker of a step's backend what an attempt came to, which learns it with the commit. What the backend said, and what was wrong with the question, is no failure of the backend.
func (t *turn) judge(st *step, r effect.Reply) {
	name := st.guarded()
	failed := r.Err != nil && (r.Class == effect.Retryable || r.Class == effect.Missing || r.Err.Kind == effect.KindTimeout)
	if name == "" || !failed && r.Err != nil && r.Class != effect.Invalid {
		return
	}
	t.lessons = append(t.lessons, lesson{name, failed})
}
