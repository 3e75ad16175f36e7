package measure

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MaxIDs is how many bytes the ids of one report may have together: a result is one payload.
const MaxIDs = 600 << 10

// maxDepth bounds how deep suites may be within suites.
const maxDepth = 32

// Tests are the results of a run of tests, by id, each list sorted. An id is what the runner calls
// the test, with what is around it: "pkg.TestA/sub", "tests.test_sum.TestSum.test_zero". One that
// comes again is numbered ("adds#2"), so that the loss of one of two shows. Of equal ones those
// that have failed come first, wherever they stand: one that is put before another does not take
// the other's failure over.
type Tests struct {
	Passed  []string
	Failed  []string
	Skipped []string // left out, or expected to fail
	// Coverage is what the same report says of it, nil for nothing.
	Coverage *Coverage
}

// A Format is how a runner writes its results.
type Format struct {
	Name string
	Doc  string // which runners, in a few words
	read func(reports []Report) (*Tests, error)
}

// A Report is a text that a program has written. Errors begin with its name, where it has one: a
// file, or which of several it is.
type Report struct {
	Name string
	Text string
}

// Texts makes reports of texts that have no names; of several each is called by its number.
func Texts(texts []string) []Report {
	reports := make([]Report, len(texts))
	for i, text := range texts {
		if reports[i].Text = text; len(texts) > 1 {
			reports[i].Name = fmt.Sprintf("report %d", i+1)
		}
	}
	return reports
}

// fault is an error of a report, with its name.
func (r Report) fault(err error) error {
	if err == nil || r.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", tidy(r.Name), err)
}

// Formats lists what [Read] knows, sorted by name.
func Formats() []Format {
	return []Format{
		{"cargo", "cargo test, its text or its JSON (-- -Z unstable-options --format json)", each(readCargo)},
		{"go", "go test -json", each(readGo)},
		{"jest", "jest --json, vitest --reporter=json", each(readJest)},
		{"junit", "JUnit's XML: pytest, Maven, Gradle, jest-junit, cargo-nextest, node --test", each(readJUnit)},
		{"spec", "node --test on a terminal, and everywhere from node 23 on", each(readSpec)},
		{"tap", "the Test Anything Protocol, versions 12 to 14, also from prove -v", each(readTAP)},
		{"unittest", "the text of python3 -m unittest -v", each(readUnittest)},
	}
}

// Read reads reports of one format that belong together, such as a file for each class.
func Read(format string, reports []Report) (*Tests, error) {
	for _, f := range Formats() {
		if f.Name != format {
			continue
		}
		t, err := f.read(reports)
		if err == nil && len(t.Passed)+len(t.Failed) == 0 {
			err = ErrNothing
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", format, err)
		}
		return t, nil
	}
	return nil, fmt.Errorf("no format %q; there are %s", format, strings.Join(FormatNames(), ", "))
}

// FormatNames lists the names of all formats.
func FormatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

// each reads reports one after the other into one tally.
func each(read func(text string, t *tally) error) func([]Report) (*Tests, error) {
	return func(reports []Report) (*Tests, error) {
		t := newTally()
		for _, r := range reports {
			err := read(uncoloured(strings.TrimPrefix(r.Text, "\ufeff")), t)
			if err != nil {
				return nil, r.fault(err)
			}
		}
		return t.tests()
	}
}

// colours are the control sequences of a terminal: ECMA-48, 5.4.
var colours = pattern("\x1b\\[[0-?]*[ -/]*[@-~]")

// uncoloured is a text as it is where a runner does not take its output for a terminal.
func uncoloured(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	return colours().ReplaceAllString(text, "")
}

// outcome is what became of a test; of two that an id has, the greater counts.
type outcome int

const (
	skipped outcome = iota
	passed
	failed
)

// tally gathers results.
type tally struct {
	known    map[string]outcome
	equal    map[string][]outcome // of tests of their own that have one id
	bytes    int
	coverage []float64 // of lines, as parts of the report tell it
}

func newTally() *tally { return &tally{known: map[string]outcome{}, equal: map[string][]outcome{}} }

// add notes a result of a test of its own, also when another has its id.
func (t *tally) add(id string, o outcome) {
	id = tidy(id)
	if t.bytes += len(id) + 4; t.bytes <= MaxIDs {
		t.equal[id] = append(t.equal[id], o)
	}
}

// number gives tests with one id ids of their own: failed ones first, then those left out.
func (t *tally) number() {
	first := [...]int{failed: 0, skipped: 1, passed: 2}
	for id, outcomes := range t.equal {
		slices.SortFunc(outcomes, func(a, b outcome) int { return cmp.Compare(first[a], first[b]) })
		for i, o := range outcomes {
			own := id
			if i > 0 {
				own = fmt.Sprintf("%s#%d", id, i+1)
			}
			t.known[own] = max(t.known[own], o)
		}
	}
}

// set notes a result of the test with this id, of which there may be another.
func (t *tally) set(id string, o outcome) {
	had, known := t.known[id]
	if !known {
		t.bytes += len(id) + 4
	}
	if t.bytes <= MaxIDs {
		t.known[id] = max(had, o)
	}
}

// tidy makes an id one line of text.
func tidy(id string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(id, "\uFFFD")), " ")
}

func (t *tally) tests() (*Tests, error) {
	if t.bytes > MaxIDs {
		return nil, fmt.Errorf("%w: the ids of its tests have more than %d bytes", ErrLarge, MaxIDs)
	}
	t.number()
	r := &Tests{Passed: []string{}, Failed: []string{}, Skipped: []string{}}
	lists := map[outcome]*[]string{passed: &r.Passed, failed: &r.Failed, skipped: &r.Skipped}
	for _, id := range slices.Sorted(maps.Keys(t.known)) {
		list := lists[t.known[id]]
		*list = append(*list, id)
	}
	if n := len(t.coverage); n > 0 {
		sum := 0.0
		for _, c := range t.coverage {
			sum += c
		}
		r.Coverage = &Coverage{Line: part(sum/float64(n), true)}
	}
	return r, nil
}

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreadable, fmt.Sprintf(format, args...))
}

// pattern is a regular expression that is compiled when it is used first: every start of the
// program, each guard of a git included, would compile it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
