package runtime

import (
	"encoding/json"
	"sync"
	"time"

	"starling/lang/effect"
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
	Until    time.Time `json:"until"` // it is left alone until then
}

func (b breaker) open(now time.Time) bool {
	return b.Failures >= breakerFailures && now.Before(b.Until)
}

// breakers are those of all backends, read from the store when they are first asked for. The memory is ahead of the store by what is being committed.
type breakers struct {
	store Store

	mu    sync.Mutex // guards what follows
	known map[string]breaker
}

func (bs *breakers) of(backend string) breaker {
	b, ok := bs.known[backend]
	if !ok {
		if row, err := bs.store.Get([]byte(prefixBreaker + backend)); err == nil {
			_ = json.Unmarshal(row, &b) // what cannot be read is a backend that has not failed
		}
		bs.known[backend] = b
	}
	return b
}

// pass tells whether a call may go to a backend. One that is let through when the pause is over keeps the others waiting for as long again.
func (bs *breakers) pass(backend string, now time.Time) (breaker, bool) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(backend)
	if b.Failures < breakerFailures {
		return b, true
	}
	if b.open(now) {
		return b, false
	}
	b.Until = now.Add(breakerPause)
	bs.known[backend] = b
	return b, true
}

// learn takes what a call came to, and gives the row that is to be written, if anything has changed.
func (bs *breakers) learn(backend string, failed bool, now time.Time) (Write, bool) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(backend)
	key := []byte(prefixBreaker + backend)
	switch {
	case !failed && b.Failures == 0:
		return Write{}, false
	case !failed:
		bs.known[backend] = breaker{}
		return Write{key, nil}, true
	}
	b.Failures++
	if b.Failures >= breakerFailures {
		b.Until = now.Add(breakerPause)
	}
	bs.known[backend] = b
	row, _ := json.Marshal(b) // plain data
	return Write{key, row}, true
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
	b, ok := t.host.e.breakers.pass(name, t.now)
	if ok {
		return false
	}
	err := effect.Errorf(effect.KindAgent, "%s: the backend %q has failed %d times in a row and is left alone until %s", st.Step, name, b.Failures, b.Until.Format(timeFormat))
	var o effect.Object
	t.record(AttemptSkipped, st.Step, o.Text("backend", name).Raw("error", err.Payload()).Payload())
	return true
}

// judge tells the breaker of a step's backend what an attempt came to. What the backend said, and what was wrong with the question, is no failure of the backend.
func (t *turn) judge(st *step, r effect.Reply) {
	name := st.guarded()
	failed := r.Err != nil && (r.Class == effect.Retryable || r.Class == effect.Missing || r.Err.Kind == effect.KindTimeout)
	if name == "" || !failed && r.Err != nil && r.Class != effect.Invalid {
		return
	}
	if row, changed := t.host.e.breakers.learn(name, failed, t.now); changed {
		t.writes = append(t.writes, row)
	}
}
