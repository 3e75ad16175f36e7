package crontab_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"starling/lang/crontab"
)

// What is wrong is said with the field that it is in, and what to write.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"0 9 1 0 *":       "month: got 0, want 1 to 12: months are counted from 1: January is 1, December 12",
		"0 9 1 13 *":      "month: got 13, want 1 to 12",
		"61 7 * * *":      "minute: got 61, want 0 to 59",
		"0 24 * * *":      "hour: got 24, want 0 to 23: hours go from 0 to 23: midnight is 0",
		"0 9 * * monday":  "day of week: got \"monday\", want mon",
		"0 9 * * fri-mon": "day of week: got \"fri-mon\", which ends before it begins: fri-6,0-mon",
		"0 9 * * 7/2":     "want 0 for the Sunday",
		"0 9 x * *":       "day of month: got \"x\", want a number from 1 to 31",
		"*/x 9 * * *":     "minute: got the step \"x\", want a number from 1 on",
		"0 30 7 * * 1":    "there are six fields, and no seconds: \"30 7 * * 1\"",
		"30 7 * *":        "there are 4 fields",
		"15m":             `an interval is not cron: every = "15m"`,
		"1h30m":           `an interval is not cron: every = "1h30m"`,
		"@every 6h":       "an interval is not cron: every = \"6h\"",
		"@reboot":         "want @hourly, @daily",
		"TZ=Asia/Tokyo @": "zone = \"Asia/Tokyo\"",
		"TZ=Asia/Tokyo":   "zone = \"Asia/Tokyo\"",
		"CRON_TZ=":        "zone = \"\"",
		"0 0 30 2 *":      "which never comes",
		"":                "there are 0 fields",
	} {
		_, err := crontab.Read(text, "", time.Unix(0, 0))
		if p := (*crontab.Problem)(nil); !errors.As(err, &p) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	for name, want := range map[string]string{"Europe/Zürich": `write "Europe/Zurich"`, "america/new york": `write "America/New_York"`, "berlin": `write "Europe/Berlin"`,
		"utc": `write "UTC"`, "port of spain": `write "America/Port_of_Spain"`, "Local": "IANA", "nowhere": "IANA", "../etc": "IANA"} {
		if _, err := crontab.Zone(name); name == "utc" && err == nil {
			continue // on a file system that does not know upper case
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

// What is read is what the reader of cron reads, whatever is written, and what is not has a reason.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"30 7 * * 1-5", "*/15 0-6/2,22 1,15 jan-mar SUN", "0 9 1 0 *", "@daily", "TZ= 1", "1,,2 * * * *", "*-5 * * * *", "@every", "? ? ? ? ?"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := crontab.Read(text, "", time.Unix(0, 0))
		if err != nil && err.Error() == "" {
			t.Errorf("%q: no reason", text)
		}
		if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
			if err == nil {
				t.Errorf("%q: there is a field for the zone", text)
			}
			return // that reader panics where nothing follows
		}
		if strings.Contains(text, "7") { // Sunday, which that reader does not know
			return
		}
		read, failed := cron.ParseStandard(text)
		spec, ok := read.(*cron.SpecSchedule)
		if good := failed == nil && ok && spec.Location == time.Local && !spec.Next(time.Unix(0, 0)).IsZero(); good != (err == nil) {
			t.Errorf("%q: got %v, the reader %v", text, err, failed)
		}
	})
}
