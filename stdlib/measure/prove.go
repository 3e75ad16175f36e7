package measure

import (
	"strconv"
	"strings"
)

// What prove of Perl's Test::Harness writes around the streams of the files that it runs:
// App::Prove, TAP::Formatter::Console. With -v the streams stand there; without, each file has a
// line.
var (
	proveFile   = pattern(`^(\S.*?) \.{2,} ?(.*)$`)
	proveSum    = pattern(`(?m)^Files=([0-9]{1,6}), Tests=[0-9]+,`)
	proveGaveUp = pattern(`(?m)^Bailout called\..*$`)
	proveOut    = pattern(`^(?:ok|skipped: .*|Dubious, test returned .*|Failed [0-9]+/[0-9]+ subtests ?|All [0-9]+ subtests passed ?|No subtests run ?)$`)
)

// proved is what prove says of one file, with the stream of the file if it was shown.
type proved struct {
	name, says string
	stream     strings.Builder
}

// readProve reads what prove says. A file is a test of its own, which has failed where prove says
// so: a stream that is not what was planned is for prove to judge. Its points come behind it.
func readProve(text string, files int, t *tally) error {
	if why := proveGaveUp().FindString(text); why != "" {
		return unreadable("the run gave up: %s", tidy(why))
	}
	all, good := provedFiles(text), strings.Contains(text, "\nResult: PASS")
	if len(all) != files {
		return unreadable("prove has run %d files, and %d are told of; want -v without -j", files, len(all))
	}
	bad := 0
	for _, f := range all {
		o := f.outcome()
		if t.add(f.name, o); o == failed {
			bad++
		}
		if err := f.points(t, o); err != nil {
			return err
		}
	}
	if good != (bad == 0) {
		return unreadable("prove tells of %d files that fail, and its result is another", bad)
	}
	return nil
}

func provedFiles(text string) []*proved {
	var all []*proved
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "Test Summary Report" || line == "All tests successful." || proveSum().MatchString(line) {
			break
		}
		switch m := proveFile().FindStringSubmatch(line); {
		case m != nil && (m[2] == "" || proveOut().MatchString(m[2])):
			all = append(all, &proved{name: m[1], says: m[2]})
		case len(all) == 0:
		case proveOut().MatchString(line):
			last := all[len(all)-1]
			last.says += line
		default:
			all[len(all)-1].stream.WriteString(line + "\n")
		}
	}
	return all
}

func (f *proved) outcome() outcome {
	switch {
	case f.says == "ok":
		return passed
	case strings.HasPrefix(f.says, "skipped: "):
		return skipped
	}
	return failed
}

// points adds those of the stream. One that is not whole is that of a file that has failed.
func (f *proved) points(t *tally, o outcome) error {
	r := tapRun{block: -1}
	for line := range strings.Lines(f.stream.String()) {
		if err := r.take(strings.TrimRight(line, " \t\r\n")); err != nil {
			return err
		}
	}
	if len(r.levels) == 0 {
		return nil
	}
	if err := r.levels[0].whole(); err != nil && o != failed {
		return err
	}
	for _, p := range r.levels[0].points {
		t.add(f.name+" > "+p.id, p.o)
	}
	return nil
}

// proveFiles is how many files prove says that it has run, -1 where it is not prove that speaks.
func proveFiles(text string) int {
	if m := proveSum().FindStringSubmatch(text); m != nil && strings.Contains(text, "\nResult: ") {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}
