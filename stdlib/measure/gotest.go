package measure

import (
	"encoding/json"
	"strconv"
	"strings"
)

// goEvent is a line of go test -json: https://pkg.go.dev/cmd/test2json#hdr-Output_Format.
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string
	Output      string
	FailedBuild string
}

var statements = pattern(`coverage: ([0-9.]+)% of statements`)

// readGo reads go test -json. A package that fails without a test that does, such as one that does
// not build, is a failed test; a test that began and never ended has failed.
func readGo(text string, t *tally) error {
	g := goRun{tally: t, open: map[string]string{}, faulty: map[string]bool{}, ended: map[string]bool{}}
	for line := range strings.Lines(text) {
		var e goEvent
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			continue // what a build says, or a test that writes past the runner
		}
		g.events++
		g.take(e)
	}
	if g.events == 0 {
		return unreadable("there is no event of go test -json")
	}
	for id, pkg := range g.open {
		t.set(id, failed)
		g.faulty[pkg] = true
	}
	for pkg := range g.begun {
		if !g.ended[pkg] {
			return unreadable("it is cut: the package %s has no end", pkg)
		}
	}
	return nil
}

// goRun is what is known while the events of a run are read.
type goRun struct {
	*tally
	events int
	open   map[string]string // tests that have begun and not ended, and their packages
	faulty map[string]bool   // packages of which a test has failed
	begun  map[string]bool
	ended  map[string]bool
}

func (g *goRun) take(e goEvent) {
	id := tidy(e.Package + "." + e.Test)
	switch {
	case e.Test != "":
		g.takeTest(e, id)
	case e.Action == "start":
		if g.begun == nil {
			g.begun = map[string]bool{}
		}
		g.begun[e.Package] = true
	case e.Action == "fail":
		g.ended[e.Package] = true
		g.failPackage(e)
	case e.Action == "pass", e.Action == "skip":
		g.ended[e.Package] = true
	}
	if m := statements().FindStringSubmatch(e.Output); m != nil && e.Test == "" {
		if share, err := strconv.ParseFloat(m[1], 64); err == nil && share <= 100 {
			g.coverage = append(g.coverage, share)
		}
	}
}

func (g *goRun) takeTest(e goEvent, id string) {
	switch e.Action {
	case "run":
		g.open[id] = e.Package
		return
	case "pass":
		g.set(id, passed)
	case "fail":
		g.set(id, failed)
		g.faulty[e.Package] = true
	case "skip":
		g.set(id, skipped)
	default:
		return
	}
	delete(g.open, id)
}

// failPackage notes a package that has failed. What has run and not ended is why, if anything has.
func (g *goRun) failPackage(e goEvent) {
	for id, pkg := range g.open {
		if pkg == e.Package {
			g.set(id, failed)
			g.faulty[pkg] = true
			delete(g.open, id)
		}
	}
	switch {
	case e.FailedBuild != "":
		g.set(tidy(e.Package+" (build)"), failed)
	case !g.faulty[e.Package]:
		g.set(tidy(e.Package+" (package)"), failed)
	}
}
