package contract

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"sync"
	"time"
)

// A format is a scalar that is a string of a certain form. The form is a regular expression, so
// that the JSON Schema of a contract can state it; what an expression cannot say (a 31st of
// February, a host that does not parse) is left to further.
type format struct {
	name    string
	source  string                  // what RE2 and ECMA-262 read alike; no alternatives outside of a group
	whole   func() *regexp.Regexp   // source, compiled at first use
	further func(text string) error // may be nil
	example string                  // what a message shows
	keyword string                  // the nearest "format" of JSON Schema; may be empty
}

func newFormat(f format) *format {
	f.whole = sync.OnceValue(func() *regexp.Regexp { return matchWhole(f.source) })
	return &f
}

// formats lists the formats by name. A path is relative with slashes: no segment is empty or "..",
// and there is no backslash, so that it means the same file on every system and none outside of the
// directory it is relative to; one final slash is allowed.
var formats = sync.OnceValue(func() map[string]*format {
	const segment = `(?:[^/.\\\x00-\x1f][^/\\\x00-\x1f]*|\.[^/.\\\x00-\x1f][^/\\\x00-\x1f]*|\.\.[^/\\\x00-\x1f]+|\.)`
	return map[string]*format{
		"url": newFormat(format{
			name:    "url",
			source:  `[A-Za-z][A-Za-z0-9+.-]*://[^/?#\x00-\x20\x7f]+[^\x00-\x20\x7f]*`,
			further: parsesAsURL,
			example: "https://example.org/a?b=c",
			keyword: "uri",
		}),
		"path": newFormat(format{
			name:    "path",
			source:  segment + `(?:/` + segment + `)*/?`,
			example: "src/main.go (relative, without ..)",
		}),
		"duration": newFormat(format{
			name:    "duration",
			source:  `(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|d))+`,
			further: func(text string) error { _, err := ParseDuration(text); return err },
			example: "90s, 2h or 1d",
		}),
		"timestamp": newFormat(format{
			name:    "timestamp",
			source:  `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})`,
			further: func(text string) error { _, err := time.Parse(time.RFC3339, text); return err },
			example: "2026-01-31T09:30:00Z",
			keyword: "date-time",
		}),
	}
})

func (f *format) admits(text string) bool {
	return f.whole().MatchString(text) && (f.further == nil || f.further(text) == nil)
}

func parsesAsURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && u.Host == "" {
		err = fmt.Errorf("no host")
	}
	return err
}

// matchWhole compiles an expression that is known to be right so that it matches whole strings
// only.
func matchWhole(source string) *regexp.Regexp { return regexp.MustCompile(`\A(?:` + source + `)\z`) }

// durationPart is one number with its unit.
var durationPart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)`)
})

// ParseDuration reads a duration as contracts, timeouts and flags write it: Go's form with the unit
// d, a day of 24 hours, such as "90s", "1h30m" or "1.5d". A unit is always needed and a sign never
// allowed; the longest is 292 years.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf(`duration: got %q, want a number with a unit (ns us ms s m h d), such as "90s", "2h" or "1d"`, text)
	var total time.Duration
	rest := text
	for first := true; rest != "" || first; first = false {
		part := durationPart().FindStringSubmatchIndex(rest)
		if part == nil || part[0] != 0 {
			return 0, bad
		}
		d, ok := scale(rest[part[2]:part[3]], rest[part[4]:part[5]])
		if !ok || total > math.MaxInt64-d {
			return 0, fmt.Errorf("duration: got %q, want at most 292 years", text)
		}
		total += d
		rest = rest[part[1]:]
	}
	return total, nil
}

// scale is number times unit, and whether that can be represented. A day is read as hours, which
// time knows.
func scale(number, unit string) (time.Duration, bool) {
	times := time.Duration(1)
	if unit == "d" {
		unit, times = "h", 24
	}
	d, err := time.ParseDuration(number + unit)
	return d * times, err == nil && d <= math.MaxInt64/times
}
