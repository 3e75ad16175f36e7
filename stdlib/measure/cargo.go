package measure

import (
	"strconv"
	"strings"
)

// The text of libtest: https://doc.rust-lang.org/rustc/tests/index.html. Its JSON is unstable.
var (
	cargoTest    = pattern(`^test (.+) \.\.\. (ok|FAILED|ignored(?:, .*)?|bench: .*)$`)
	cargoRunning = pattern(`^running ([0-9]+) tests?$`)
	cargoPlace   = pattern(` \(line [0-9]+\)`)
	cargoPanic   = pattern(` - (should panic|compile fail|compile|ignored)$`)
)

// readCargo reads what cargo test has written to its standard output. Each binary says first how
// many tests it runs, and so many must have ended. The line of a test in documentation is not part
// of its id, which is numbered where there are several: lines move.
func readCargo(text string, t *tally) error {
	running, ended, binaries, results := 0, 0, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if m := cargoRunning().FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil || n > 1<<24 {
				return unreadable("%q is no number of tests", m[1])
			}
			running, binaries = running+n, binaries+1
			continue
		}
		if strings.HasPrefix(line, "test result: ") {
			results++
		}
		m := cargoTest().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		ended++
		t.add(cargoPanic().ReplaceAllString(cargoPlace().ReplaceAllString(m[1], ""), ""), cargoOutcome(m[2]))
	}
	switch {
	case binaries == 0:
		return unreadable(`there is no line "running N tests"; it may not have built`)
	case binaries != results || !strings.HasSuffix(text, "\n"):
		return unreadable("it is cut: %d programs were run, %d have a result", binaries, results)
	case running != ended:
		return unreadable("%d tests were begun and %d have a result; leave --nocapture out", running, ended)
	}
	return nil
}

func cargoOutcome(word string) outcome {
	switch {
	case word == "FAILED":
		return failed
	case strings.HasPrefix(word, "ignored"):
		return skipped
	}
	return passed
}
