package effect

import (
	"fmt"
	"strings"
)

// FoldBacktrace shortens a backtrace: of a line that repeats, as deep recursion makes it, two are
// kept.
func FoldBacktrace(trace string) string {
	var out []string
	last, n := "", 0
	flush := func() {
		if n > 2 {
			out = append(out, fmt.Sprintf("  ... and %d more of these", n-2))
		}
	}
	for line := range strings.SplitSeq(trace, "\n") {
		if line == last {
			n++
		} else {
			flush()
			last, n = line, 1
		}
		if n <= 2 {
			out = append(out, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}
