package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The Test Anything Protocol: https://testanything.org/tap-version-14-specification.html, whose
// subtests producers of version 13 write too.
var (
	tapPoint     = pattern(`^(not )?ok\b *([0-9]*) *(?:- ?)?(.*)$`)
	tapPlan      = pattern(`^1\.\.([0-9]+)\s*(#.*)?$`)
	tapDirective = pattern(`(?i)(?:^|\s)#\s*(skip|todo)(?:ped)?(?:\b|$).*$`)
	tapCoverage  = pattern(`^# coverage: ([0-9.]+)%`)
	// tape writes the name of a test as a comment above its assertions.
	tapeStream = pattern(`^\s*TAP version 13\n(?:# .*\n)+(?:not )?ok 1 [^-]`)
	tapeSkips  = pattern(`^(SKIP|TODO) `)
)

// tapLevel is the points of one depth that no parent has taken yet.
type tapLevel struct {
	points []tapPoints
	seen   int
	plan   int // -1 before it is known
}

type tapPoints struct {
	id string
	o  outcome
}

// tapRun reads line by line. Points of a subtest come before the point that names it.
type tapRun struct {
	levels []*tapLevel
	block  int  // the indentation of a YAML block that is passed over, -1 for none
	group  bool // whether the block has said already that its point is that of a group
	bytes  int
	cover  []float64
	tape   bool   // comments name tests
	test   string // the one that a comment has named last, with " > ", or ""
}

// readTAP reads a TAP stream. The plan must be there, at the top and in each subtest, and what it
// promises: a stream without the end of it was cut. "not ok # TODO" is skipped, and so is "ok #
// TODO". An id is a description, never the number of a point: those change when one comes before.
func readTAP(text string, t *tally) error {
	if files := proveFiles(text); files >= 0 {
		return readProve(text, files, t)
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); proveFile().MatchString(strings.TrimRight(first, "\r")) {
		return unreadable("prove has no line \"Files=N\" at the end: it was cut")
	}
	r := tapRun{block: -1, tape: tapeStream().MatchString(text) && !strings.Contains(text, "\n# Subtest: ")}
	for line := range strings.Lines(text) {
		if err := r.take(strings.TrimRight(line, " \t\r\n")); err != nil {
			return err
		}
	}
	if len(r.levels) == 0 {
		return unreadable("there is neither a plan nor a test point")
	}
	if err := r.close(1); err != nil {
		return err
	}
	if err := r.levels[0].whole(); err != nil {
		return err
	}
	for _, p := range r.levels[0].points {
		t.add(p.id, p.o)
	}
	t.coverage = append(t.coverage, r.cover...)
	return nil
}

func (r *tapRun) take(line string) error {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	if r.block >= 0 {
		return r.inBlock(indent, rest)
	}
	if rest == "---" && indent%4 == 2 {
		r.block, r.group = indent, false
		return nil
	}
	if m := tapCoverage().FindStringSubmatch(line); m != nil {
		if share, err := strconv.ParseFloat(m[1], 64); err == nil && share <= 100 {
			r.cover = append(r.cover, share)
		}
	}
	if strings.HasPrefix(rest, "Bail out!") {
		return unreadable("the run gave up: %s", tidy(rest))
	}
	if indent%4 != 0 {
		return nil
	}
	if name, ok := strings.CutPrefix(line, "# "); ok && r.tape {
		return r.name(tidy(name))
	}
	return r.point(indent/4, rest)
}

// inBlock takes a line of a YAML block, of which what node says of groups counts.
func (r *tapRun) inBlock(indent int, line string) error {
	switch {
	case indent != r.block:
	case line == "...":
		r.block = -1
	case !r.group && (line == "type: 'suite'" || line == "failureType: 'subtestsFailed'"):
		r.group = true
		r.regroup((r.block-2)/4, line[0] == 't')
	}
	return nil
}

// regroup takes the point that came last at a depth for that of a group, which is no result of its
// own: a suite has none, and a test that only its subtests have fail has theirs. A suite that fails
// by itself, or is left out, stands for tests that could not be run.
func (r *tapRun) regroup(depth int, suite bool) {
	if depth >= len(r.levels) || len(r.levels[depth].points) == 0 {
		return
	}
	l := r.levels[depth]
	at := len(l.points) - 1
	group, inside := l.points[at], false
	for _, p := range slices.Backward(l.points[:at]) {
		if !strings.HasPrefix(p.id, group.id+" > ") {
			break
		}
		inside = inside || p.o == failed
	}
	switch {
	case inside, suite && group.o == passed:
		l.points = l.points[:at]
	case suite:
		l.points[at].id += " (suite)"
	}
}

// name takes what tape calls the test whose assertions follow. Of one that it leaves out this is
// all that there is.
func (r *tapRun) name(name string) error {
	directive := tapeSkips().FindString(name)
	name = strings.TrimPrefix(name, directive)
	r.test = name + " > "
	if directive != "SKIP " {
		return nil
	}
	if len(r.levels) == 0 {
		r.levels = append(r.levels, &tapLevel{plan: -1})
	}
	return r.keep(r.levels[0], name, skipped)
}

// point takes a plan or a test point of a depth; any other line says nothing.
func (r *tapRun) point(depth int, line string) error {
	plan, point := tapPlan().FindStringSubmatch(line), tapPoint().FindStringSubmatch(line)
	if plan == nil && point == nil {
		return nil
	}
	if depth >= maxDepth {
		return unreadable("subtests are more than %d deep", maxDepth)
	}
	for len(r.levels) <= depth {
		r.levels = append(r.levels, &tapLevel{plan: -1})
	}
	l := r.levels[depth]
	if plan != nil {
		n, err := strconv.Atoi(plan[1])
		if err != nil || l.plan >= 0 {
			return unreadable("there are two plans, or one that is no number: %s", tidy(line))
		}
		l.plan = n
		return nil
	}
	l.seen++
	id, o := pointOf(point)
	if depth == 0 {
		id = r.test + id
	}
	return r.within(l, depth, id, o)
}

// within keeps a point of a depth, behind those of the subtest that it names.
func (r *tapRun) within(l *tapLevel, depth int, id string, o outcome) error {
	children, err := r.children(depth + 1)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := r.keep(l, id+" > "+c.id, c.o); err != nil {
			return err
		}
	}
	return r.keep(l, id, o)
}

// unnamed is the id of test points without a description.
const unnamed = "(unnamed)"

// pointOf is the id and the outcome of a test point.
func pointOf(m []string) (string, outcome) {
	o := passed
	if m[1] != "" {
		o = failed
	}
	name := strings.ReplaceAll(m[3], `\#`, "\x00") // an escaped # is none
	if at := tapDirective().FindStringIndex(name); at != nil {
		name, o = name[:at[0]], skipped
	}
	if name = tidy(strings.ReplaceAll(name, "\x00", "#")); name == "" {
		name = unnamed
	}
	return strings.ReplaceAll(name, `\\`, `\`), o
}

func (r *tapRun) keep(l *tapLevel, id string, o outcome) error {
	l.points = append(l.points, tapPoints{id, o})
	if r.bytes += len(id); r.bytes > maxDepth*MaxIDs {
		return fmt.Errorf("%w: the names of its tests", ErrLarge)
	}
	return nil
}

// children takes the points below a depth, which belong to the point that comes now.
func (r *tapRun) children(depth int) ([]tapPoints, error) {
	if depth >= len(r.levels) {
		return nil, nil
	}
	if err := r.close(depth + 1); err != nil {
		return nil, err
	}
	l := r.levels[depth]
	r.levels = r.levels[:depth]
	return l.points, l.whole()
}

// close wants nothing open from a depth on: points of a subtest that nothing names were cut.
func (r *tapRun) close(depth int) error {
	if depth < len(r.levels) {
		return unreadable("a subtest has no test point of its own behind it")
	}
	return nil
}

// whole tells whether all that was planned has come.
func (l *tapLevel) whole() error {
	switch {
	case l.plan < 0:
		return unreadable("there is no plan (1..N): it may have been cut")
	case l.plan != l.seen:
		return unreadable("the plan is 1..%d, and there are %d test points", l.plan, l.seen)
	}
	return nil
}
