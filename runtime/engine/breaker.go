package engine

import (
	"encoding/json"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// breakers are those of all backends, read from the store when they are first asked for. They learn
// from commits only.
type breakers struct {
	store runtime.Store

	mu    sync.Mutex // guards what follows
	known map[string]run.Breaker
}

func (bs *breakers) Breaker(backend string) run.Breaker {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.of(backend)
}

// of is called with mu held.
func (bs *breakers) of(backend string) run.Breaker {
	b, ok := bs.known[backend]
	if !ok {
		if row, err := bs.store.Get([]byte(journal.PrefixBreaker + backend)); err == nil {
			_ = json.Unmarshal(row, &b) // what cannot be read is a backend that has not failed
		}
		bs.known[backend] = b
	}
	return b
}

// probe lets one call through to a backend whose pause is over, and keeps the others waiting for as
// long again.
func (bs *breakers) Probe(backend string, now time.Time) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.of(backend)
	if b.Open(now) {
		return false
	}
	b.Until = now.Add(run.BreakerPause)
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

// rows are what a commit writes that has learned something. Of two commits at the same moment each
// writes what it has learned itself: the next one that learns writes all.
func (bs *breakers) rows(lessons []run.Lesson, now time.Time) (writes []runtime.Write) {
	if len(lessons) == 0 {
		return nil
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	after := map[string]run.Breaker{}
	for _, l := range lessons {
		b, ok := after[l.Backend]
		if !ok {
			b = bs.of(l.Backend)
		}
		after[l.Backend] = b.Learn(l.Failed, now)
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
func (bs *breakers) learn(lessons []run.Lesson, now time.Time) {
	if len(lessons) == 0 {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, l := range lessons {
		bs.known[l.Backend] = bs.of(l.Backend).Learn(l.Failed, now)
	}
}
