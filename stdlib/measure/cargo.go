package measure

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The text of libtest: https://doc.rust-lang.org/rustc/tests/index.html.
var (
	cargoTest    = pattern(`^test (.+) \.\.\. (ok|FAILED|ignored(?:, .*)?|bench: .*)$`)
	cargoRunning = pattern(`^running ([0-9]+) tests?$`)
	cargoPlace   = pattern(` \(line [0-9]+\)`)
	cargoPanic   = pattern(` - (should panic|compile fail|compile|ignored)$`)
)

// cargoEvent is a line of libtest's JSON, which has no documentation but its writer,
// library/test/src/formatters/json.rs of rust-lang/rust; cargo-nextest writes the same with
// --message-format libtest-json.
type cargoEvent struct {
	Type      string // suite, test, bench; doctests have a report as well
	Event     string
	Name      string
	TestCount int `json:"test_count"`
}

// cargoRun is what is known while lines are read.
type cargoRun struct {
	*tally
	running, ended, binaries, results int
}

// readCargo reads what cargo test has written to its standard output, text or JSON. Each binary
// says first how many tests it runs, and so many must have ended. The line of a test in
// documentation is not part of its id, which is numbered where there are several: lines move.
func readCargo(text string, t *tally) error {
	r := cargoRun{tally: t}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if err := r.take(line); err != nil {
			return err
		}
	}
	switch {
	case r.binaries == 0:
		return unreadable(`there is neither a line "running N tests" nor a suite of libtest's JSON; it may not have built`)
	case r.binaries != r.results || !strings.HasSuffix(text, "\n"):
		return unreadable("it is cut: %d programs were run, %d have a result", r.binaries, r.results)
	case r.running != r.ended:
		return unreadable("%d tests were begun and %d have a result; leave --nocapture out", r.running, r.ended)
	}
	return nil
}

func (r *cargoRun) take(line string) error {
	if strings.HasPrefix(line, "{") {
		var e cargoEvent
		if json.Unmarshal([]byte(line), &e) == nil {
			return r.event(e)
		}
		return nil // what a test writes past the runner
	}
	if m := cargoRunning().FindStringSubmatch(line); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			n = -1
		}
		return r.begin(n)
	}
	if strings.HasPrefix(line, "test result: ") {
		r.results++
	}
	if m := cargoTest().FindStringSubmatch(line); m != nil {
		r.end(m[1], cargoOutcome(m[2]))
	}
	return nil
}

// event takes a line of JSON. A timeout is a remark about a test that goes on.
func (r *cargoRun) event(e cargoEvent) error {
	switch {
	case e.Type == "suite" && e.Event == "started":
		return r.begin(e.TestCount)
	case e.Type == "suite" && (e.Event == "ok" || e.Event == "failed"):
		r.results++
	case e.Type == "bench", e.Type == "test" && e.Event == "ok":
		r.end(e.Name, passed)
	case e.Type == "test" && e.Event == "failed":
		r.end(e.Name, failed)
	case e.Type == "test" && e.Event == "ignored":
		r.end(e.Name, skipped)
	}
	return nil
}

func (r *cargoRun) begin(n int) error {
	if n < 0 || n > 1<<24 {
		return unreadable("%d is no number of tests", n)
	}
	r.running, r.binaries = r.running+n, r.binaries+1
	return nil
}

func (r *cargoRun) end(name string, o outcome) {
	r.ended++
	r.add(cargoPanic().ReplaceAllString(cargoPlace().ReplaceAllString(name, ""), ""), o)
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
