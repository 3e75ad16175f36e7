package contract

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// DurationHint is what was probably meant by a text that is no duration, "" where nobody knows.
func DurationHint(s string) string { return cmp.Or(WithUnit(s), inWords(s)) }

var wordDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+)\s*(s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?$`)
})

// inWords is the hint for a duration that is written in words, or in weeks.
func inWords(s string) string {
	m := wordDuration().FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > 10_000 {
		return ""
	}
	unit := m[2][:1]
	if unit == "w" {
		n, unit = 7*n, "d"
	}
	return fmt.Sprintf("did you mean \"%d%s\"?", n, unit)
}

// WithUnit is the hint for a number without a unit, "" for anything else.
func WithUnit(s string) string {
	if _, err := ParseDuration(s + "s"); err != nil {
		return ""
	}
	return fmt.Sprintf("write %q for seconds, %q for minutes", s+"s", s+"m")
}
