package suite

import (
	"sync"
	"time"
)

// clock is a clock that stands still until it is moved to its next timer. It may be used
// concurrently.
type clock struct {
	mu     sync.Mutex // guards what follows
	now    time.Time
	timers []*timer
}

type timer struct {
	due time.Time
	do  func()
}

// beginning is the time at which every test begins.
func beginning() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After has do called when the clock has moved on by d.
func (c *clock) After(d time.Duration, do func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), do}
	c.timers = append(c.timers, t)
	return func() bool { return c.remove(t) }
}

func (c *clock) remove(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.timers {
		if other == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return true
		}
	}
	return false
}

// advance moves the clock to the next timer, of several the one that was set first, and calls what
// waits for it. It reports false when nothing waits.
func (c *clock) advance() bool {
	c.mu.Lock()
	var next *timer
	for _, t := range c.timers {
		if next == nil || t.due.Before(next.due) {
			next = t
		}
	}
	if next != nil && next.due.After(c.now) {
		c.now = next.due
	}
	c.mu.Unlock()
	if next == nil || !c.remove(next) {
		return false
	}
	next.do()
	return true
}
