package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"starling/runtime"
)

// A lease is what makes this process the owner, and for how long.
type lease struct {
	s      *Store
	length time.Duration
	lost   chan struct{}

	mu      sync.Mutex // guards what is below
	renewal time.Time  // when what renewed it last was sent
	told    time.Time  // the renewal of which was told how long it holds
	over    error      // why it is lost
	failed  error      // of the last renewal
}

func newLease(s *Store, length time.Duration, sent time.Time) *lease {
	l := &lease{s: s, length: length, lost: make(chan struct{})}
	l.renewed(sent)
	return l
}

// often is how often the lease is renewed where no commit does it.
func (l *lease) often() time.Duration { return l.length / 5 }

// ends is when this process must own the store no more: a while before others take it, in which
// attempts are ended.
func (l *lease) ends() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewal.Add(l.length - l.length/4)
}

// renewed notes that what was sent at a time has moved the beat.
func (l *lease) renewed(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = nil
	if l.over != nil || !sent.After(l.renewal) {
		return
	}
	l.renewal = sent
	if sent.Sub(l.told) >= l.often()/4 { // commits come by the thousand
		l.told = sent
		l.s.options.Held(time.Until(sent.Add(l.length - l.length/4)))
	}
}

// lose ends the lease for good, and tells why. The first reason stays.
func (l *lease) lose(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over == nil {
		l.over = fmt.Errorf("%s: %w", l.s.Name(), err)
		l.s.options.Held(0)
		close(l.lost)
		l.s.options.Warn("%v", l.over)
	}
	return l.over
}

// err is why the lease is lost, nil while it is not. Where its time is over it is lost now.
func (l *lease) err() error {
	l.mu.Lock()
	over, failed := l.over, l.failed
	l.mu.Unlock()
	if over == nil && !time.Now().Before(l.ends()) {
		over = l.lose(fmt.Errorf("%w: the lease could not be renewed for %v: %s", runtime.ErrLost, l.length-l.length/4, whyNot(failed)))
	}
	return over
}

func whyNot(err error) string {
	if err == nil {
		return "the server did not answer"
	}
	_, _, said := reason(err)
	return said
}

// run renews the lease until it is lost or the store is closed.
func (l *lease) run() {
	for l.err() == nil && l.s.life.Err() == nil {
		l.mu.Lock()
		wait := time.Until(l.renewal.Add(l.often()))
		if l.failed != nil {
			wait = max(wait, l.often()/10)
		}
		l.mu.Unlock()
		if wait > 0 {
			sleep(l.s.life, wait)
			continue
		}
		l.renew()
	}
}

// renew moves the beat once.
func (l *lease) renew() {
	ctx, cancel := context.WithTimeout(l.s.life, min(l.often(), time.Until(l.ends())))
	defer cancel()
	sent := time.Now()
	renewed, err := l.s.writes.exec(ctx, "update starling_store set beat = beat + 1 where epoch = $1", l.s.info.Epoch)
	switch {
	case err != nil:
		l.mu.Lock()
		l.failed = err
		l.mu.Unlock()
	case renewed == 0:
		l.lose(l.s.superseded())
	default:
		l.renewed(sent)
	}
}

// superseded is the error of an owner whose epoch is not that of the store.
func (s *Store) superseded() error {
	ctx, cancel := context.WithTimeout(s.life, connectWithin)
	defer cancel()
	r, err := readRow(ctx, s.writes)
	if err != nil {
		return fmt.Errorf("%w: the epoch is not %d any more", runtime.ErrLost, s.info.Epoch)
	}
	return fmt.Errorf("%w: the epoch is %d, this owner's is %d", runtime.ErrLost, r.epoch, s.info.Epoch)
}

// giveBack lets the next owner in at once. Where that fails it waits for the end of the lease.
func (l *lease) giveBack() {
	ctx, cancel := context.WithTimeout(l.s.life, l.often())
	defer cancel()
	l.mu.Lock()
	l.s.options.Held(0)
	l.mu.Unlock()
	_, _ = l.s.writes.exec(ctx, "update starling_store set holder = '', address = '', beat = beat + 1 where epoch = $1", l.s.info.Epoch)
}
