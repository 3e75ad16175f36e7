package measure

import (
	"slices"
	"strconv"
	"strings"
)

// The text of node's reporter spec: https://nodejs.org/api/test.html#test-reporters and
// lib/internal/test_runner/reporter/{spec,utils}.js of node 18 to 24. It is what node --test
// writes on a terminal, and from node 23 on also into a pipe.
var (
	specResult = pattern(`(?s)^(.+) \([0-9.]+ms\)(?: # (.*))?$`)
	specSum    = pattern(`^ℹ (tests|suites|fail|cancelled) ([0-9]{1,8})$`)
)

// specRun reads line by line. What is in a test comes before its own line, as with TAP.
type specRun struct {
	tapRun
	head   string // a line that begins a result, whose name goes on in the next
	sums   map[string]int
	lines  int
	failed int
}

// readSpec reads the reporter spec. Its sums at the end must be there and count as many tests and
// suites as have a line: a test that prints such a line, or a stream that is cut, is refused. A
// group has failed if it is marked so, or, with node 18 that marks none, if one in it has.
func readSpec(text string, t *tally) error {
	r := specRun{tapRun: tapRun{block: -1}, sums: map[string]int{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := specSum().FindStringSubmatch(line); m != nil {
			if _, twice := r.sums[m[1]]; twice {
				return unreadable("two lines say how many %s there were; name --test-reporter=tap", m[1])
			}
			r.sums[m[1]], _ = strconv.Atoi(m[2])
		} else if err := r.line(line); err != nil {
			return err
		}
	}
	if err := r.whole(); err != nil {
		return err
	}
	for _, p := range r.levels[0].points {
		t.add(p.id, p.o)
	}
	return nil
}

// line takes a result. Behind the sums those that have failed are told again.
func (r *specRun) line(line string) error {
	if _, ended := r.sums["tests"]; ended {
		return nil
	}
	begins := strings.HasPrefix(strings.TrimLeft(line, " "), "▶") || specSign(line) != ""
	switch {
	case begins:
		r.head = line
	case r.head == "" || strings.Count(r.head, "\n") > 8:
		return nil // no name of a test has so many lines
	default:
		r.head += "\n" + line
	}
	rest := strings.TrimLeft(r.head, " ")
	depth := (len(r.head) - len(rest)) / 2
	sign, rest, _ := strings.Cut(rest, " ")
	m := specResult().FindStringSubmatch(rest)
	if m == nil {
		return nil // a group begins, or the name has several lines
	}
	r.head = ""
	return r.end(depth, tidy(m[1]), specOutcome(sign, m[2]), sign == "▶")
}

// specSign is the sign of a result at the beginning of a line.
func specSign(line string) string {
	for _, sign := range []string{"✔", "✖", "﹣", "⚠"} {
		if strings.HasPrefix(strings.TrimLeft(line, " "), sign+" ") {
			return sign
		}
	}
	return ""
}

// specOutcome goes by sign and remark: one that passed or failed has a remark if it is to be done.
func specOutcome(sign, remark string) outcome {
	switch {
	case sign == "﹣", remark != "":
		return skipped
	case sign == "✖":
		return failed
	}
	return passed
}

// end takes what has ended at a depth, and all that was in it.
func (r *specRun) end(depth int, id string, o outcome, unmarked bool) error {
	if depth >= maxDepth {
		return unreadable("groups are more than %d deep", maxDepth)
	}
	if r.lines++; o == failed {
		r.failed++
	}
	for len(r.levels) <= depth {
		r.levels = append(r.levels, &tapLevel{})
	}
	if bad := func(p tapPoints) bool { return p.o == failed }; unmarked && depth+1 < len(r.levels) &&
		slices.ContainsFunc(r.levels[depth+1].points, bad) {
		o = failed
	}
	return r.within(r.levels[depth], depth, id, o)
}

// whole wants the sums, and no more nor less than they say.
func (r *specRun) whole() error {
	for _, sum := range []string{"tests", "suites", "fail", "cancelled"} {
		if _, ok := r.sums[sum]; !ok {
			return unreadable(`there is no line "ℹ %s N" at the end: it was cut, `+
				`or node is older than 18.17`, sum)
		}
	}
	all, bad := r.sums["tests"]+r.sums["suites"], r.sums["fail"]+r.sums["cancelled"]
	if all != r.lines || bad > r.failed {
		return unreadable("%d tests and suites have ended, %d of them failed, and %d, %d are told of; "+
			"tests that print need --test-reporter=tap", all, bad, r.lines, r.failed)
	}
	if len(r.levels) == 0 {
		return ErrNothing
	}
	return r.close(1)
}
