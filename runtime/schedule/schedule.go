// Package schedule reckons with timetables: when a time comes, and which have come meanwhile. It
// knows nothing of runs and has no clock.
//
// Cron expressions are those of crontab(5), read by github.com/robfig/cron, with 7 for Sunday as
// well: where a zone's clocks are put forward, a time within the hour that is left out is none;
// where they are put back, one within the hour that comes twice is its first.
package schedule

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"starling/runtime"
)

// Times are those of one schedule. It is used concurrently.
type Times struct {
	name   string
	cron   cron.Schedule // nil for an interval
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
	zone, err := time.LoadLocation(cmp.Or(t.Zone, "UTC"))
	if err != nil || t.Zone == "Local" {
		return nil, fmt.Errorf("got the zone %q, want an IANA name such as Europe/Zurich", t.Zone)
	}
	read, err := cron.ParseStandard(sundays(t.Cron))
	if err != nil {
		return nil, fmt.Errorf("got cron %q, want minute, hour, day of month, month and day of week, such as \"30 7 * * 1-5\": %v", t.Cron, err)
	}
	spec, ok := read.(*cron.SpecSchedule)
	if !ok || spec.Location != time.Local { // "@every", and zones in the text: there is a field for each
		return nil, fmt.Errorf("got cron %q, want five fields, or @daily and the like", t.Cron)
	}
	spec.Location = zone
	if out.cron = spec; spec.Next(anchor).IsZero() {
		return nil, fmt.Errorf("got cron %q, which never comes", t.Cron)
	}
	return out, nil
}

// sundays is a cron expression in which Sunday is 0 where it was 7, which crontab(5) allows, also
// as the end of a range.
func sundays(text string) string {
	fields := strings.Fields(text)
	if len(fields) != 5 || !strings.Contains(fields[4], "7") {
		return text
	}
	parts := strings.Split(fields[4], ",")
	for i, part := range parts {
		parts[i] = sunday(part)
	}
	fields[4] = strings.Join(parts, ",")
	return strings.Join(fields, " ")
}

// sunday is one part of the days of a week: a day, or a range with or without a step.
func sunday(part string) string {
	days, step, stepped := strings.Cut(part, "/")
	first, last, ranged := strings.Cut(days, "-")
	switch {
	case part == "7" || ranged && first == "7" && last == "7":
		return "0"
	case !ranged || last != "7":
		return part
	}
	n := 1
	if stepped {
		n, _ = strconv.Atoi(step) // what is no step is refused as it stands
	}
	if n < 1 {
		return part
	}
	from := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(first))
	if from < 0 {
		from, _ = strconv.Atoi(first)
	}
	rest := first + "-6" + strings.TrimPrefix(part, days)
	if (7-from)%n == 0 {
		rest += ",0"
	}
	return rest
}

// Next is the first time after another, the zero time for none.
func (t *Times) Next(after time.Time) time.Time {
	if t.cron != nil {
		return t.cron.Next(after).UTC()
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
