// Package crontab reads cron expressions, for whoever keeps time by them and for whoever says
// beforehand what is wrong with one. It has no clock.
//
// Expressions are those of crontab(5), read by github.com/robfig/cron, with 7 for Sunday as well:
// where a zone's clocks are put forward, a time within the hour that is left out is none; where
// they are put back, one within the hour that comes twice is its first.
package crontab

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// interval is what every of a schedule takes.
var interval = regexp.MustCompile(`^([0-9]+[dhms])+$`)

// Problem says what is wrong with an expression or with a zone.
type Problem struct {
	Got, Want string
	Hint      string // what to write, "" where nobody knows
}

// Error is all of it in a line.
func (p *Problem) Error() string {
	text := "got " + p.Got + ", want " + p.Want
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Times are those of an expression in a zone. It never changes.
type Times struct{ spec *cron.SpecSchedule }

// Next is the first time after another, the zero time for none.
func (t *Times) Next(after time.Time) time.Time { return t.spec.Next(after).UTC() }

// Read reads an expression that is to hold in a zone, UTC for "". One that never comes after a
// moment is wrong, too. The error is a *[Problem].
func Read(text, zone string, after time.Time) (*Times, error) {
	at, err := Zone(zone)
	if err != nil {
		return nil, err
	}
	if zoned(text) { // which that reader takes, and panics where nothing follows
		return nil, judge(text)
	}
	read, err := cron.ParseStandard(sundays(text))
	spec, ok := read.(*cron.SpecSchedule)
	if err != nil || !ok || spec.Location != time.Local { // "@every": there is a field for it
		return nil, judge(text)
	}
	spec.Location = at
	if spec.Next(after).IsZero() {
		return nil, &Problem{Got: fmt.Sprintf("cron %q, which never comes", text), Want: "a day that its months have"}
	}
	return &Times{spec}, nil
}

// Zone is the one of a name, UTC for "".
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(cmp.Or(name, "UTC"))
	if err == nil && name != "Local" {
		return zone, nil
	}
	return nil, &Problem{Got: fmt.Sprintf("the zone %q", name), Want: "an IANA name such as Europe/Zurich", Hint: nearest(name)}
}

// nearest says which zone is meant by a name that is none: of cities that are written as people do.
func nearest(name string) string {
	plain := strings.NewReplacer(" ", "_", "ä", "a", "ö", "o", "ü", "u", "é", "e", "ã", "a", "ó", "o").Replace(strings.TrimSpace(name))
	parts := strings.FieldsFunc(strings.ToLower(plain), func(c rune) bool { return c == '/' })
	for i, part := range parts {
		words := strings.Split(part, "_")
		for j, w := range words {
			if w != "" && w != "of" && w != "es" && w != "au" {
				words[j] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	whole := strings.Join(parts, "/")
	candidates := []string{plain, whole, strings.ToUpper(plain)}
	if len(parts) == 1 {
		for _, region := range []string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic"} {
			candidates = append(candidates, region+"/"+whole)
		}
	}
	for _, c := range candidates {
		if _, err := time.LoadLocation(c); err == nil && c != "" && c != "Local" && c != "LOCAL" {
			return fmt.Sprintf("write %q", c)
		}
	}
	return ""
}

// zoned tells whether a text begins with a zone, as some readers of cron have it.
func zoned(text string) bool {
	return strings.HasPrefix(text, "CRON_TZ=") || strings.HasPrefix(text, "TZ=")
}

// field is one of the five.
type field struct {
	name        string
	least, most int
	words       []string // names of its values, from least on
	counted     string   // how it is counted
}

func fields() [5]field {
	return [5]field{
		{"minute", 0, 59, nil, "minutes go from 0 to 59"},
		{"hour", 0, 23, nil, "hours go from 0 to 23: midnight is 0"},
		{"day of month", 1, 31, nil, "days of a month are counted from 1"},
		{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec"), "months are counted from 1: January is 1, December 12"},
		{"day of week", 0, 7, strings.Fields("sun mon tue wed thu fri sat"), "Sunday is 0 or 7, Saturday 6"},
	}
}

// wanted is what an expression is.
const wanted = `minute, hour, day of month, month and day of week, such as "30 7 * * 1-5"`

// judge says what is wrong with an expression that cannot be read.
func judge(text string) *Problem {
	wrong := &Problem{Got: fmt.Sprintf("cron %q", text), Want: wanted}
	parts := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "@every "):
		wrong.Want, wrong.Hint = "five fields, or @daily and the like", fmt.Sprintf("an interval is not cron: every = %q", strings.TrimSpace(strings.TrimPrefix(text, "@every ")))
		return wrong
	case zoned(text):
		_, zone, _ := strings.Cut(parts[0], "=")
		wrong.Want, wrong.Hint = "five fields, or @daily and the like", fmt.Sprintf("the zone stands for itself: zone = %q", zone)
		return wrong
	case strings.HasPrefix(text, "@"):
		wrong.Want = "@hourly, @daily, @weekly, @monthly, @yearly or five fields"
		return wrong
	case len(parts) == 1 && interval.MatchString(text):
		wrong.Hint = fmt.Sprintf("an interval is not cron: every = %q", text)
		return wrong
	case len(parts) == 6:
		wrong.Hint = fmt.Sprintf("there are six fields, and no seconds: %q", strings.Join(parts[1:], " "))
		return wrong
	case len(parts) != 5:
		wrong.Hint = fmt.Sprintf("there are %d fields", len(parts))
		return wrong
	}
	for i, f := range fields() {
		if hint := f.judge(parts[i]); hint != "" {
			wrong.Hint = f.name + ": " + hint
			break
		}
	}
	return wrong
}

// judge says what is wrong with the text of a field, "" for nothing.
func (f *field) judge(text string) string {
	for part := range strings.SplitSeq(text, ",") {
		days, step, stepped := strings.Cut(part, "/")
		if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
			return fmt.Sprintf("got the step %q, want a number from 1 on", step)
		}
		if days == "*" || days == "?" {
			continue
		}
		first, last, ranged := strings.Cut(days, "-")
		from, hint := f.value(first)
		switch {
		case hint != "":
			return hint
		case !ranged && stepped && from > f.highest():
			return fmt.Sprintf("got %q, want 0 for the Sunday that a week begins with", part)
		case !ranged:
			continue
		}
		to, hint := f.value(last)
		if hint != "" {
			return hint
		}
		if to < from {
			return fmt.Sprintf("got %q, which ends before it begins: %s-%d,%d-%s", days, first, f.highest(), f.least, last)
		}
	}
	return ""
}

// highest is the last value that is not another one's second name.
func (f *field) highest() int {
	if len(f.words) > 0 {
		return f.least + len(f.words) - 1
	}
	return f.most
}

// value reads a number or a name, or says what is wrong with it.
func (f *field) value(text string) (n int, hint string) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.least + i, ""
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && len(text) > 3 && slices.Contains(f.words, strings.ToLower(text)[:3]):
		return 0, fmt.Sprintf("got %q, want %s", text, text[:3])
	case err != nil && len(f.words) > 0:
		return 0, fmt.Sprintf("got %q, want a number from %d to %d, or %s to %s", text, f.least, f.most, f.words[0], f.words[len(f.words)-1])
	case err != nil:
		return 0, fmt.Sprintf("got %q, want a number from %d to %d", text, f.least, f.most)
	case n < f.least || n > f.most:
		return 0, fmt.Sprintf("got %s, want %d to %d: %s", text, f.least, f.most, f.counted)
	}
	return n, ""
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
