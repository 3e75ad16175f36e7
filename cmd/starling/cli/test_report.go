package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"starling/cmd/starling/annotation"
	"starling/cmd/starling/coverage"
	"starling/cmd/starling/junit"
	"starling/cmd/starling/shell"
	"starling/cmd/starling/snapshot"
	"starling/cmd/starling/suite"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// testDocument is what test prints with --json.
type testDocument struct {
	Schema string              `json:"schema"`
	Passed int                 `json:"passed"`
	Failed int                 `json:"failed"`
	Files  []testFileDocument  `json:"files"`
	Cover  []coverage.Document `json:"coverage,omitempty"` // by file, with --cover
	Strays []string            `json:"strays,omitempty"`   // files of snapshots whose tests are gone
	Error  *runtime.Refusal    `json:"error"`              // null if all have passed
}

type testFileDocument struct {
	File        string           `json:"file"`
	Diagnostics diagnostic.List  `json:"diagnostics"` // why the file could not be read
	Tests       []*suite.Result  `json:"tests"`
	Snapshots   snapshot.Written `json:"snapshots,omitzero"`
}

// answerTest reports on all files and sets the exit code: that of a check where a file is wrong,
// else that of a run where a test has failed.
func (c *call) answerTest(files []*testFile, v *testVerb) error {
	d := testDocument{Schema: runtime.Schema, Files: []testFileDocument{}, Strays: v.strays}
	wrong := 0
	for _, f := range files {
		if f.fault != nil {
			return f.fault
		}
		if len(f.wrong) > 0 {
			wrong++
		}
		d.add(f)
	}
	switch {
	case wrong > 0:
		d.Error = runtime.Refusef(runtime.ErrCheckFailed, "%d of %d files cannot be tested", wrong, len(files))
	case d.Failed > 0:
		d.Error = runtime.Refusef(runtime.ErrRunFailed, "%d of %d tests failed%s",
			d.Failed, d.Failed+d.Passed, v.mutate.Unless())
	case d.Passed == 0:
		return noTests(files, v)
	}
	if d.Error != nil {
		c.code = d.Error.Kind.ExitCode()
	}
	if err := writeJUnit(v.junit, files); err != nil {
		return usage("", "test: --junit: %v", err)
	}
	if err := d.cover(files, &v.cover); err != nil {
		return err
	}
	if c.json {
		return c.answerJSON(d)
	}
	for _, f := range files {
		c.printTests(f, v.verbose)
	}
	for _, path := range v.strays {
		c.print("stray %s  its tests are gone; rename or remove it, too", path)
	}
	if v.pace.Annotates() {
		annotate(c.stdout, files)
	}
	if v.cover.table || v.cover.lines {
		coverage.Print(c.stdout, d.Cover, v.cover.lines)
	}
	if d.Error != nil {
		c.notice("error: %s", d.Error.Message)
	}
	return nil
}

// noTests says why none was played: --run has left all of them out, or there is none.
func noTests(files []*testFile, v *testVerb) error {
	var names []string
	for _, f := range files {
		if f.unplayed > 0 {
			return usage("", "test: --run %s: no test has such a name", shell.Word(v.run))
		}
		names = append(names, f.name)
	}
	return usage("a test is a function without parameters whose name begins with test_", "test: there is no test in %s", strings.Join(names, ", "))
}

// cover adds what the tests have reached, if that is wanted.
func (d *testDocument) cover(files []*testFile, flags *coverFlags) error {
	if !flags.wanted() {
		return nil
	}
	all := coverageOf(files)
	for _, c := range all {
		d.Cover = append(d.Cover, c.Document())
	}
	if flags.lcov == "" {
		return nil
	}
	if err := coverage.WriteLCOV(flags.lcov, all); err != nil {
		return usage("", "test: --lcov: %v", err)
	}
	return nil
}

func (d *testDocument) add(f *testFile) {
	doc := testFileDocument{File: f.name, Diagnostics: append(diagnostic.List{}, f.wrong...), Tests: append([]*suite.Result{}, f.results...), Snapshots: f.written}
	for _, r := range f.results {
		if r.Passed {
			d.Passed++
		} else {
			d.Failed++
		}
	}
	d.Files = append(d.Files, doc)
}

// printTests tells people of one file: a line for each test that failed, with what was wrong, and
// one for the file.
func (c *call) printTests(f *testFile, verbose bool) {
	failed := 0
	for _, r := range f.results {
		if !r.Passed {
			failed++
		}
		if verbose || !r.Passed {
			c.printTest(r)
		}
	}
	switch {
	case len(f.wrong) > 0:
		c.print("FAIL  %s  cannot be tested", f.name)
		fmt.Fprint(c.stdout, check.Render(f.wrong...))
	case f.suite == nil:
		c.print("left  %s  not begun", f.name)
	case len(f.results) == 0:
		c.print("none  %s  no tests", f.name)
	case failed > 0:
		c.print("FAIL  %s  %d of %d tests failed, %s", f.name, failed, len(f.results), f.took.Round(time.Millisecond))
	default:
		c.print("ok    %s  %d tests, %s", f.name, len(f.results), f.took.Round(time.Millisecond))
	}
	for _, line := range f.written.Lines() {
		c.print("      %s", line)
	}
}

func (c *call) printTest(r *suite.Result) {
	verdict := "pass"
	if !r.Passed {
		verdict = "FAIL"
	}
	line := fmt.Sprintf("%s  %s: %s  %s", verdict, r.File, r.Name, r.Took.Round(time.Millisecond))
	if r.Virtual > 0 {
		line += fmt.Sprintf(", %s of its clock", r.Virtual)
	}
	if r.Crashes > 0 {
		line += fmt.Sprintf(", %d crashes", r.Crashes)
	}
	c.print("%s", line)
	for _, text := range r.Printed {
		c.print("      %s", strings.ReplaceAll(text, "\n", "\n      "))
	}
	fmt.Fprint(c.stdout, r.Findings.Render())
}

func writeJUnit(path string, files []*testFile) error {
	var all junit.Suites
	for _, f := range files {
		s := junit.Suite{Name: f.name, Tests: len(f.results), Time: junit.Seconds(f.took)}
		for _, r := range f.results {
			fault := junit.FaultOf(r.Findings)
			if fault != nil {
				s.Failures++
			}
			if r.Ended != "" {
				fault.Type = "limit: " + r.Ended
			}
			s.Cases = append(s.Cases, junit.Case{Name: r.Name, Class: f.name, File: f.name, Line: r.Line, Time: junit.Seconds(r.Took), Failure: fault, Output: strings.Join(r.Printed, "\n")})
		}
		if fault := junit.FaultOf(f.wrong); fault != nil {
			s.Errors++
			s.Cases = append(s.Cases, junit.Case{Name: f.name, Class: f.name, File: f.name, Time: junit.Seconds(0), Error: fault})
		}
		all.Suites = append(all.Suites, s)
	}
	return all.Write(path)
}

// annotate marks the lines where something is wrong.
func annotate(out io.Writer, files []*testFile) {
	for _, f := range files {
		annotation.Write(out, f.root, "tests", f.wrong)
		for _, r := range f.results {
			annotation.Write(out, f.root, r.Name, r.Findings)
		}
	}
}
