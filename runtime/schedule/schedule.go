// Package schedule reckons with timetables: when a time comes, and which have come meanwhile. It
// knows nothing of runs and has no clock. Cron expressions are read by lang/crontab.
package schedule

import (
	"fmt"
	"hash/fnv"
	"time"

	"starling/lang/crontab"
	"starling/runtime"
)

// Times are those of one schedule. It is used concurrently.
type Times struct {
	name   string
	cron   *crontab.Times // nil for an interval
	every  time.Duration
	anchor time.Time // from which intervals are counted
	jitter time.Duration
}

// leastEvery is the shortest interval.
const leastEvery = time.Second

// Read makes the times of the schedule of a name. Intervals are counted from anchor. The errors
// say what was got and wanted.
func Read(name string, t runtime.Timetable, anchor time.Time) (*Times, error) {
	out := &Times{name: name, every: t.Every, anchor: anchor, jitter: t.Jitter}
	switch {
	case (t.Cron == "") == (t.Every == 0):
		return nil, fmt.Errorf("got cron %q and every %v, want one of them", t.Cron, t.Every)
	case t.Jitter < 0:
		return nil, fmt.Errorf("got the jitter %v, want 0 or more", t.Jitter)
	case t.Cron == "" && t.Every < leastEvery:
		return nil, fmt.Errorf("got every %v, want %v at least", t.Every, leastEvery)
	case t.Cron == "" && t.Zone != "":
		return nil, fmt.Errorf("got the zone %q with an interval, which has none", t.Zone)
	case t.Cron == "":
		return out, nil
	}
	read, err := crontab.Read(t.Cron, t.Zone, anchor)
	if err != nil {
		return nil, err
	}
	out.cron = read
	return out, nil
}

// Next is the first time after another, the zero time for none.
func (t *Times) Next(after time.Time) time.Time {
	if t.cron != nil {
		return t.cron.Next(after)
	}
	if after.Before(t.anchor) {
		return t.anchor.Add(t.every)
	}
	n := after.Sub(t.anchor)/t.every + 1
	return t.anchor.Add(n * t.every)
}

// Due is when the run for a time begins.
func (t *Times) Due(at time.Time) time.Time {
	if t.jitter <= 0 {
		return at
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", t.name, at.UnixNano())
	return at.Add(time.Duration(h.Sum64() % uint64(t.jitter)))
}

// Between are the times after one and before or at another that are due by then, the newest most of
// them; passed is how many came before those.
func (t *Times) Between(after, until time.Time, most int) (list []time.Time, passed uint64) {
	late := t.jitter + time.Duration(most)*t.every // of what is on the list and not due at its time
	if t.cron == nil && until.Sub(after) > late+t.every {
		early := until.Add(-late - t.every)
		passed = uint64(t.Next(early).Sub(t.Next(after)) / t.every)
		after = t.Next(early).Add(-t.every)
	}
	for at := t.Next(after); !at.IsZero() && !t.Due(at).After(until); at = t.Next(at) {
		if list = append(list, at); len(list) > most {
			list = list[1:]
			passed++
		}
	}
	return list, passed
}
