package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func read(t *testing.T, table runtime.Timetable) *schedule.Times {
	t.Helper()
	times, err := schedule.Read("n", table, at(t, "2026-01-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// The clocks of Zurich are put forward from 02:00 to 03:00 on 29 March 2026, and back from 03:00 to
// 02:00 on 25 October.
func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		table runtime.Timetable
		after string
		want  string
	}{
		"weekdays":                  {runtime.Timetable{Cron: "30 7 * * 1-5"}, "2026-07-03T07:30:00Z", "2026-07-06T07:30 2026-07-07T07:30"},
		"a word":                    {runtime.Timetable{Cron: "@monthly"}, "2026-07-03T00:00:00Z", "2026-08-01T00:00 2026-09-01T00:00"},
		"a zone":                    {runtime.Timetable{Cron: "0 9 * * *", Zone: "Europe/Zurich"}, "2026-03-28T00:00:00Z", "2026-03-28T08:00 2026-03-29T07:00"},
		"an hour that is left out":  {runtime.Timetable{Cron: "30 2 * * *", Zone: "Europe/Zurich"}, "2026-03-28T12:00:00Z", "2026-03-30T00:30 2026-03-31T00:30"},
		"an hour that comes twice":  {runtime.Timetable{Cron: "30 2 * * *", Zone: "Europe/Zurich"}, "2026-10-24T12:00:00Z", "2026-10-25T00:30 2026-10-25T01:30 2026-10-26T01:30"},
		"an interval":               {runtime.Timetable{Every: 90 * time.Minute}, "2026-01-01T02:00:00Z", "2026-01-01T03:00 2026-01-01T04:30"},
		"an interval, at its time":  {runtime.Timetable{Every: 90 * time.Minute}, "2026-01-01T03:00:00Z", "2026-01-01T04:30"},
		"an interval, before it is": {runtime.Timetable{Every: time.Hour}, "2025-12-31T00:00:00Z", "2026-01-01T01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			times, when := read(t, c.table), at(t, c.after)
			for want := range strings.FieldsSeq(c.want) {
				if when = times.Next(when); when.Format("2006-01-02T15:04") != want {
					t.Fatalf("got %s, want %s", when.Format(time.RFC3339), want)
				}
			}
		})
	}
}

// Sunday is 0, 7 or its name, wherever crontab(5) allows a day. 5 July 2026 is a Sunday.
func TestSundayIsSeven(t *testing.T) {
	for seven, zero := range map[string]string{
		"7": "0", "7-7": "sun", "5,7": "5,0", "6-7": "6,0", "0-7": "*", "1-7": "*", "fri-7": "5,6,0",
		"1-7/2": "1,3,5,0", "2-7/3": "2,5", "Sun-7/7": "0", "mon-7/6": "1,0",
	} {
		got, want := read(t, runtime.Timetable{Cron: "30 7 * * " + seven}), read(t, runtime.Timetable{Cron: "30 7 * * " + zero})
		for when, n := at(t, "2026-07-01T00:00:00Z"), 0; n < 15; n++ {
			next := want.Next(when)
			if is := got.Next(when); !is.Equal(next) {
				t.Errorf("%s: after %s comes %s, want %s as of %s", seven, when, is, next, zero)
			}
			when = next
		}
	}
	for _, day := range []string{"8", "7/2", "1-8", "7-1", "1-7/0", "1-7/x", "x-7", "-7", "17", "9-7"} {
		if _, err := schedule.Read("n", runtime.Timetable{Cron: "30 7 * * " + day}, at(t, "2026-01-01T00:00:00Z")); err == nil {
			t.Errorf("%s is no day, and was taken", day)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, table := range map[string]runtime.Timetable{
		`got cron "" and every 0s, want one of them`:            {},
		`got cron "@daily" and every 1h0m0s, want one of them`:  {Cron: "@daily", Every: time.Hour},
		"got every 10ms, want 1s at least":                      {Every: 10 * time.Millisecond},
		"got every -1h0m0s, want 1s at least":                   {Every: -time.Hour},
		`got the zone "UTC" with an interval, which has none`:   {Every: time.Hour, Zone: "UTC"},
		`got the zone "Europe/Zürich", want an IANA name`:       {Cron: "@daily", Zone: "Europe/Zürich"},
		`got the zone "Local", want an IANA name`:               {Cron: "@daily", Zone: "Local"},
		`got cron "30 7 * *", want minute, hour, day of month`:  {Cron: "30 7 * *"},
		`got cron "61 7 * * *", want minute, hour`:              {Cron: "61 7 * * *"},
		`got cron "@every 1h", want five fields`:                {Cron: "@every 1h"},
		`got cron "CRON_TZ=Asia/Tokyo 0 9 * * *", want five fi`: {Cron: "CRON_TZ=Asia/Tokyo 0 9 * * *"},
		`got cron "0 0 30 2 *", which never comes`:              {Cron: "0 0 30 2 *"},
		"got the jitter -1s, want 0 or more":                    {Cron: "@daily", Jitter: -time.Second},
	} {
		if _, err := schedule.Read("n", table, at(t, "2026-01-01T00:00:00Z")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Jitter puts off, by less than it says, and each time by the same for one schedule.
func TestJitter(t *testing.T) {
	times, other := read(t, runtime.Timetable{Every: time.Hour, Jitter: 10 * time.Minute}), read(t, runtime.Timetable{Every: time.Hour, Jitter: 10 * time.Minute})
	seen := map[time.Duration]bool{}
	for when := range 50 {
		when := at(t, "2026-01-01T00:00:00Z").Add(time.Duration(when) * time.Hour)
		off := times.Due(when).Sub(when)
		if off < 0 || off >= 10*time.Minute || other.Due(when) != times.Due(when) {
			t.Errorf("%s is put off by %v", when, off)
		}
		seen[off] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 times are put off by %d durations", len(seen))
	}
}

// What has come between two moments is the same list, however it is asked for, and its newest part
// where it is long: also over years of seconds.
func TestBetween(t *testing.T) {
	for name, table := range map[string]runtime.Timetable{
		"cron":     {Cron: "*/5 * * * *"},
		"interval": {Every: 7 * time.Second},
		"jitter":   {Every: time.Minute, Jitter: 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			times := read(t, table)
			after, until := at(t, "2026-02-03T04:05:06Z"), at(t, "2026-02-04T04:05:06Z")
			var want []time.Time
			for when := times.Next(after); !times.Due(when).After(until); when = times.Next(when) {
				want = append(want, when)
			}
			for _, most := range []int{1, 2, 10, len(want), len(want) + 1} {
				got, passed := times.Between(after, until, most)
				tail := want[max(0, len(want)-most):]
				if !slices.Equal(got, tail) || int(passed) != len(want)-len(tail) {
					t.Errorf("at most %d: got %d times and %d passed, want %d and %d", most, len(got), passed, len(tail), len(want)-len(tail))
				}
			}
		})
	}
	got, passed := read(t, runtime.Timetable{Every: time.Second}).Between(at(t, "2026-01-01T00:00:00Z"), at(t, "2036-01-01T00:00:00Z"), 3)
	if len(got) != 3 || passed != 315532800-3 || !got[2].Equal(at(t, "2036-01-01T00:00:00Z")) {
		t.Errorf("ten years of seconds: got %v and %d passed", got, passed)
	}
}
