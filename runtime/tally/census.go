package tally

import (
	"strings"
	"sync"
	"time"

	"starling/runtime"
	"starling/runtime/journal"
)

// Census is how the runs of a store stand that have not ended. It is taken when it is first asked
// for, and kept from commit to commit from then on. The zero Census was not taken; goroutines may
// share it.
type Census struct {
	taking sync.Mutex // held while it is taken

	mu   sync.Mutex // guards what follows
	runs map[string]stand
	gone map[string]bool // runs that have ended while it is taken; nil at other times
}

// stand is how one run stands.
type stand struct {
	status runtime.Status
	gates  int
	due    time.Time // of its next timer
}

func standOf(s *runtime.Summary) stand {
	at := stand{status: s.Status, gates: s.Gates}
	if s.NextDue != nil {
		at.due = *s.NextDue
	}
	return at
}

// Note takes the rows of a commit that has become durable. Those of one run come in their order.
func (c *Census) Note(writes []runtime.Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		return
	}
	for _, w := range writes {
		run, row := strings.CutPrefix(string(w.Key), journal.PrefixRun)
		if !row {
			continue
		}
		s, err := journal.ReadSummary(run, w.Value)
		if w.Value == nil || err != nil || s.Status.Ended() {
			delete(c.runs, run)
			if c.gone != nil {
				c.gone[run] = true
			}
			continue
		}
		c.runs[run] = standOf(&s)
	}
}

// Count counts the runs. all lists those that have not ended; what a commit has told of one
// meanwhile is newer.
func (c *Census) Count(all func(add func(*runtime.Summary)) error, carried func(run string) bool, now time.Time) (*runtime.Standing, error) {
	if err := c.take(all); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &runtime.Standing{Status: map[runtime.Status]int{}}
	for run, at := range c.runs {
		out.Status[at.status]++
		out.Gates += at.gates
		switch {
		case carried(run):
			out.Carried++
		case !at.due.IsZero() && at.due.Before(now):
			out.Overdue++
		}
	}
	return out, nil
}

// take takes the census, unless it was.
func (c *Census) take(all func(add func(*runtime.Summary)) error) error {
	c.taking.Lock()
	defer c.taking.Unlock()
	c.mu.Lock()
	taken := c.runs != nil
	if !taken {
		c.runs, c.gone = map[string]stand{}, map[string]bool{}
	}
	c.mu.Unlock()
	if taken {
		return nil
	}
	err := all(func(s *runtime.Summary) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, known := c.runs[s.ID]; !known && !c.gone[s.ID] {
			c.runs[s.ID] = standOf(s)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone = nil; err != nil {
		c.runs = nil
	}
	return err
}
