package measure

import (
	"strconv"
	"strings"
)

// The text of Python's runner, https://docs.python.org/3/library/unittest.html, which it writes to
// its standard error. Until 3.10 the name of the method is not repeated in the parentheses.
var (
	unitTest    = pattern(`^( *)([\w.]+) \(([\w.<>]+)\)(.*)$`)
	unitResult  = pattern(`\.\.\. (ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
	unitAlone   = pattern(`^(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
	unitSection = pattern(`^(FAIL|ERROR|UNEXPECTED SUCCESS): ([\w.]+) \(([\w.<>]+)\)`)
	unitRan     = pattern(`^Ran ([0-9]+) tests? in `)
)

// unitRun reads line by line: what a test prints may come between its name and its result.
type unitRun struct {
	*tally
	open     string // the test whose result has not come yet
	ids      map[string]bool
	ran      int  // -1 before it is known
	sections bool // what has failed is told of, one after the other
}

// readUnittest reads python3 -m unittest -v. All that has run must be there by name; without -v
// there is no name of what has passed.
func readUnittest(text string, t *tally) error {
	r := unitRun{tally: t, ids: map[string]bool{}, ran: -1}
	for line := range strings.Lines(text) {
		if err := r.take(strings.TrimRight(line, " \r\n")); err != nil {
			return err
		}
	}
	switch {
	case r.ran < 0:
		return unreadable(`there is no line "Ran N tests": it may not have started, or was cut`)
	case r.ran != len(r.ids):
		return unreadable("%d tests were run and %d are named; want -v, and -b for tests that print", r.ran, len(r.ids))
	case r.open != "":
		return unreadable("%s has no result; want -b for tests that print", r.open)
	}
	return nil
}

func (r *unitRun) take(line string) error {
	if len(line) == 70 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "") {
		r.sections = true
	}
	if r.sections {
		return r.section(line)
	}
	m := unitTest().FindStringSubmatch(line)
	result := unitResult().FindStringSubmatch(line)
	switch {
	case m != nil && m[1] == "" && (m[4] == "" || strings.HasPrefix(m[4], " ...")):
		return r.begin(unitID(m[2], m[3]), result)
	case m != nil && m[1] != "" && r.ids[unitID(m[2], m[3])] && result != nil: // a subtest
		r.set(unitID(m[2], m[3]), unitOutcome(result[1]))
		r.open = ""
	case r.open != "" && result != nil:
		r.end(result[1])
	case r.open != "" && unitAlone().MatchString(line):
		r.end(line)
	}
	return nil
}

// section reads what stands behind the results: who has failed, and how many have run.
func (r *unitRun) section(line string) error {
	if m := unitSection().FindStringSubmatch(line); m != nil {
		id := unitID(m[2], m[3])
		if r.set(id, failed); r.open == id {
			r.open = "" // one of its subtests
		}
	}
	if m := unitRan().FindStringSubmatch(line); m != nil {
		return r.ranAll(m[1])
	}
	return nil
}

func (r *unitRun) ranAll(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || r.ran >= 0 {
		return unreadable("two lines say how many tests were run")
	}
	r.ran = n
	return nil
}

// begin notes a test by name.
func (r *unitRun) begin(id string, result []string) error {
	if r.open != "" {
		return unreadable("%s has no result; want -b for tests that print", r.open)
	}
	r.ids[id], r.open = true, id
	if result != nil {
		r.end(result[1])
	}
	return nil
}

func (r *unitRun) end(word string) {
	r.set(r.open, unitOutcome(word))
	r.open = ""
}

func unitOutcome(word string) outcome {
	switch {
	case word == "ok":
		return passed
	case strings.HasPrefix(word, "skipped"), word == "expected failure":
		return skipped
	}
	return failed
}

// unitID is the dotted name of a test.
func unitID(method, within string) string {
	if within == method || strings.HasSuffix(within, "."+method) {
		return within
	}
	return within + "." + method
}
