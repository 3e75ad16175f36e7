// Package timetable is what the command line says of schedules: flags in, rows out.
package timetable

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"starling/cmd/starling/plain"
	"starling/cmd/starling/table"
	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
)

// Flags are those of a schedule that is made.
type Flags struct {
	cron, every, zone, jitter, timeInput, overlap, catchUp string

	labels []string
}

// Add declares the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.cron, "cron", "", "minute, hour, day of month, month and day of week: `TIMES` such as '30 7 * * 1-5', or @hourly, @daily, @weekly, @monthly")
	flags.StringVar(&f.every, "every", "", "an interval instead: `DURATION`, such as 6h")
	flags.StringVar(&f.zone, "zone", "", "the `ZONE` of --cron, such as Europe/Zurich (default UTC)")
	flags.StringVar(&f.jitter, "jitter", "", "put each time off by less than `DURATION`")
	flags.StringVar(&f.timeInput, "time-input", "", "give the input `NAME` the time that a run is for, as RFC 3339")
	flags.StringArrayVar(&f.labels, "label", nil, "a label of its runs: `NAME=VALUE`, several times for several")
	flags.StringVar(&f.overlap, "overlap", string(runtime.OverlapSkip), "when the run before is still at work: `WHAT`, skip, queue, cancel (that one) or allow")
	flags.StringVar(&f.catchUp, "catch-up", string(runtime.CatchUpLast), "of times at which nobody carried the store, or it was paused, make up for `WHICH`: last, all or none")
}

// TimeInput is the name of the input that is given the time, "" for none.
func (f *Flags) TimeInput() string { return f.timeInput }

// Request is what the flags ask for; the engine checks it.
func (f *Flags) Request(name string) (r runtime.ScheduleRequest, err error) {
	r = runtime.ScheduleRequest{Name: name, TimeInput: f.timeInput, Overlap: runtime.Overlap(f.overlap), CatchUp: runtime.CatchUp(f.catchUp)}
	r.Cron, r.Zone = f.cron, f.zone
	if r.Labels, err = effect.ParseLabels(f.labels); err != nil {
		return r, runtime.Refusef(runtime.ErrUsage, "--label: %v", err)
	}
	for _, d := range []struct {
		flag, text string
		into       *time.Duration
	}{{"--every", f.every, &r.Every}, {"--jitter", f.jitter, &r.Jitter}} {
		if d.text == "" {
			continue
		}
		if *d.into, err = contract.ParseDuration(d.text); err != nil {
			return r, runtime.Refusef(runtime.ErrUsage, "%s: %s", d.flag, strings.TrimPrefix(err.Error(), "duration: "))
		}
	}
	return r, nil
}

// ParseTime reads a time of a flag: RFC 3339, or a day in UTC.
func ParseTime(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, runtime.Refusef(runtime.ErrUsage, "%s: got %q, want a time such as 2026-11-21 or 2026-11-21T15:04:05Z", flag, text)
}

// times says in words when a schedule fires.
func times(s *runtime.Schedule) string {
	text := s.Cron
	if s.Every > 0 {
		text = "every " + length(s.Every)
	}
	if s.Zone != "" {
		text += " " + s.Zone
	}
	return text
}

// length is a duration as flags write it, without units of which there are none.
func length(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// next is the next time in a row.
func next(p table.Paper, s *runtime.Schedule) string {
	switch {
	case s.Paused && s.Reason != "":
		return "paused: " + s.Reason
	case s.Paused:
		return "paused"
	case len(s.Next) == 0:
		return "-"
	}
	return p.Time(s.Next[0])
}

// last is what became of the last time.
func last(s *runtime.Schedule) string {
	switch l := s.Last; {
	case l == nil:
		return "-"
	case l.Refused != "":
		first, _, _ := strings.Cut(l.Refused, "\n")
		return "refused: " + first
	default:
		return l.Run
	}
}

// List prints a row for each schedule.
func List(out plain.Output, p table.Paper, list []runtime.Schedule) error {
	t := table.New(p, "SCHEDULE", "SCRIPT", "TIMES", "NEXT", "LAST")
	for i := range list {
		s := &list[i]
		t.Row(s.Name, s.Script, times(s), next(p, s), last(s))
	}
	return t.Write(out)
}

// Show prints all of a schedule.
func Show(out io.Writer, p table.Paper, s *runtime.Schedule) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("schedule", "%s, by %s, %s", s.Name, s.By, p.Time(s.At))
	row("script", "%s", s.Script)
	row("times", "%s", times(s))
	if s.Jitter > 0 {
		row("jitter", "less than %s", length(s.Jitter))
	}
	if len(s.Inputs) > 0 {
		row("inputs", "%s", s.Inputs)
	}
	if len(s.Labels) > 0 {
		row("labels", "%s", s.Labels)
	}
	if s.TimeInput != "" {
		row("time input", "%s", s.TimeInput)
	}
	row("overlap", "%s", s.Overlap)
	row("catch-up", "%s", s.CatchUp)
	row("runs", "%d started, %d waiting, %d skipped, %d refused", s.Started, s.Waiting, s.Skipped, s.Refused)
	if s.Last != nil {
		row("last", "for %s: %s", p.Time(s.Last.For), last(s))
	}
	row("next", "%s", next(p, s))
	for _, t := range s.Next[min(1, len(s.Next)):] {
		if !s.Paused {
			row("", "%s", p.Time(t))
		}
	}
	return w.Flush()
}
