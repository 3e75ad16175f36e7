package stdlib_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"starling/stdlib/project"
)

const measureProject = `[sh]
allow = ["sh", "nosuch", "./none"]
env = ["SH_KEY"]
`

func newMeasure(t *testing.T) *workplace {
	w := newShell(t)
	w.settings.ProjectFile, w.settings.Project = filepath.Join(w.dir, project.Name), []byte(measureProject)
	return w
}

// measured is a call of measure.tests with a script of sh.
func measured(format, script, further string) string {
	return `measure.tests(["sh", "-c", r'''` + strings.ReplaceAll(script, `\\n`, `\n`) + ` ''', "-", "{reports}"], "` + format + `"` + further + `)`
}

// What was not measured is an error that says why, and never a result without tests.
func TestMeasuredTests(t *testing.T) {
	w := newMeasure(t)
	const ok = `printf '1..1\\nok 1 - a\\n'`
	for name, c := range map[string]struct{ call, want string }{
		"passed":                {measured("tap", ok, ""), `{"passed": ["a"], "failed": [], "skipped": [], "code": 0}`},
		"failed":                {measured("tap", `printf '1..1\\nnot ok 1 - a\\n'; exit 1`, ""), `{"passed": [], "failed": ["a"], "skipped": [], "code": 1}`},
		"failed, and it says 0": {measured("tap", `printf '1..1\\nnot ok 1 - a\\n'`, ""), `{"passed": [], "failed": ["a"], "skipped": [], "code": 0}`},
		"exit code":             {measured("tap", ok+`; echo 'no memory' >&2; exit 3`, ""), `unavailable {"reason": "not_measured", "code": 3} measure.tests: sh: what it measures is not known: it exited with 3, and no test has failed (no memory)`},
		"unreadable":            {measured("go", ok, ""), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: go: cannot be read: there is no event of go test -json`},
		"no test":               {measured("tap", "echo 1..0", ""), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: tap: no test was run`},
		"signal":                {measured("tap", ok+"; kill -SEGV $$", ""), `unavailable {"reason": "not_measured", "code": -1} measure.tests: sh: what it measures is not known: it was ended by SIGSEGV`},
		"127":                   {measured("tap", ok+"; nosuchprogram", ""), `unavailable None measure.tests: sh: it exited with 127`},
		"126":                   {measured("tap", ok+"; exit 126", ""), `unavailable None measure.tests: sh: it exited with 126`},
		"no program":            {`measure.tests(["nosuch"], "tap")`, `unavailable None measure.tests: nosuch: `},
		"not allowed":           {`measure.tests(["make"], "tap")`, `denied {"program": "make", "reason": "not_allowed"} measure.tests: the program "make" is not allowed`},
		"reports in its folder": {measured("junit", `echo "<testsuite><testcase name=\"a\"/></testsuite>" > $1/a.xml; mkdir $1/b; echo "<testsuite><testcase name=\"b\"/></testsuite>" > $1/b/b.xml; `+
			`printf 'SF:a\\nDA:1,1\\nDA:2,0\\nend_of_record\\n' > $1/lcov.info`, ""), `{"passed": ["a", "b"], "failed": [], "skipped": [], "coverage": {"line": 50.0}, "code": 0}`},
		"coverage that cannot be read": {measured("tap", ok+`; printf 'SF:a\\n' > $1/lcov.info`, ""), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: {reports}/lcov.info: cannot be read: it is cut`},
		"coverage of nothing":          {measured("tap", ok+`; echo 'mode: set' > $1/cover`, ""), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: cannot be read: no line is told of`},
		"a test that ends all": {measured("tap", `printf '1..1\\nnot ok 1 - a\\n'; echo 'mode: set' > $1/cover; exit 2`, ""),
			`{"passed": [], "failed": ["a"], "skipped": [], "code": 2}`},
		"a report that is none":           {measured("junit", `echo hello > $1/a.xml`, ""), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: junit: {reports}/a.xml: cannot be read: there is no element testsuite`},
		"one of two reports that is none": {measured("junit", `echo hello > old/c.xml; echo "<testsuite/>" > old/b.xml`, `, reports = ["old/*.xml"]`), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: junit: old/c.xml: cannot be read: there is no element testsuite`},
		"an old report":                   {measured("junit", "true", `, reports = ["old/*.xml"]`), `unavailable {"reason": "not_measured"} measure.tests: sh: what it measures is not known: it has written no report old/*.xml`},
		"a new report":                    {measured("junit", `echo "<testsuite><testcase name=\"c\"/></testsuite>" > old/c.xml`, `, reports = ["old/*.xml"]`), `{"passed": ["c"], "failed": [], "skipped": [], "code": 0}`},
		"the same one written again":      {measured("junit", `cp old/a.xml old/b && cat old/b > old/a.xml`, `, reports = ["old/*.xml"]`), `{"passed": ["stale"], "failed": [], "skipped": [], "code": 0}`},
		"unittest":                        {measured("unittest", "echo 'test_a (t.T.test_a) ... ok' >&2; echo "+strings.Repeat("-", 70)+" >&2; echo 'Ran 1 test in 0.1s' >&2", ""), `{"passed": ["t.T.test_a"], "failed": [], "skipped": [], "code": 0}`},
		"the workspace is not in ids":     {measured("tap", `echo 1..1; echo "ok 1 - $PWD/a"`, ""), `{"passed": ["a"], "failed": [], "skipped": [], "code": 0}`},
		"nor is a key":                    {measured("tap", `echo 1..1; echo "ok 1 - $SH_KEY"`, ""), `{"passed": ["[SH_KEY]"], "failed": [], "skipped": [], "code": 0}`},
	} {
		if err := os.MkdirAll(filepath.Join(w.dir, "old"), 0o755); err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(w.dir, "old", "a.xml")
		if err := os.WriteFile(old, []byte("<testsuite><testcase name=\"stale\"/></testsuite>"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(old, time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		if got := said(w.perform(t, c.call)); !strings.HasPrefix(got, c.want) || strings.HasSuffix(c.want, "}") && got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, "old")); err != nil {
			t.Fatal(err)
		}
	}
}

// All of a long report counts, also what scripts would see the end of only.
func TestLongReport(t *testing.T) {
	w := newMeasure(t)
	r := w.perform(t, measured("tap", `i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "ok $i - t$i"; echo '# ----------------------------------------------------------------'; done; echo 1..6000`, ""))
	if r.Err != nil || len(r.Blobs["stdout.txt"]) < 400_000 || strings.Count(r.Value.String(), "\"t") != 6000 {
		t.Errorf("got %.200s, %d bytes", said(r), len(r.Blobs["stdout.txt"]))
	}
}

func TestMeasuredScan(t *testing.T) {
	w := newMeasure(t)
	const log = `{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "s"}}, "results": [{"ruleId": "R", "level": "error", "message": {"text": "bad $SH_KEY"},
		"locations": [{"physicalLocation": {"artifactLocation": {"uri": "file://$PWD/a.py"}, "region": {"startLine": 2}}}]}]}]}`
	scan := func(script string) string {
		return `measure.scan(["sh", "-c", ` + "'''" + script + "'''" + `, "-", "{reports}"])`
	}
	found := `{"tools": ["s"], "results": [{"tool": "s", "rule": "R", "severity": "HIGH", "file": "a.py", "line": 2, "message": "bad [SH_KEY]"}], "suppressed": 0, "code": 1}`
	for name, c := range map[string]struct{ call, want string }{
		"on standard output":  {scan("cat <<E\n" + log + "\nE\nexit 1"), found},
		"in a file":           {scan("cat > $1/s.sarif <<E\n" + log + "\nE\nexit 1"), found},
		"no report":           {scan("echo all is well"), `unavailable {"reason": "not_measured"} measure.scan: sh: what it measures is not known: cannot be read: SARIF: `},
		"no text":             {scan(`printf '\\377' > $1/s.sarif`), `unavailable {"reason": "not_measured"} measure.scan: sh: what it measures is not known: {reports}/s.sarif is not text in UTF-8`},
		"a file that is none": {scan("echo {} > $1/s.sarif"), `unavailable {"reason": "not_measured"} measure.scan: sh: what it measures is not known: {reports}/s.sarif: cannot be read: SARIF: the version is`},
		"nothing":             {scan("true"), `unavailable {"reason": "not_measured"} measure.scan: sh: what it measures is not known: cannot be read: SARIF: unexpected end`},
	} {
		if got := said(w.perform(t, c.call)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestMeasuredCode(t *testing.T) {
	w := newMeasure(t)
	for name, text := range map[string]string{"a.py": "# a\nif x:\n    y()\n", "sub/b.py": "if x:\n    if y:\n        z()\n", "README.md": "if\n", "sub/c.bin": "\x00\x01"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for call, want := range map[string]string{
		`measure.code(["a.py"])`:                 `{"files": 1, "code": 2, "comments": 1, "blank": 0, "complexity": 1, "densest": [{"path": "a.py", "code": 2, "complexity": 1}]}`,
		`measure.code(["sub/"])`:                 `{"files": 1, "code": 3, "comments": 0, "blank": 0, "complexity": 2, "densest": [{"path": "sub/b.py", "code": 3, "complexity": 2}]}`,
		`measure.code(["**/*.py", "README.md"])`: `{"files": 2, "code": 5, "comments": 1, "blank": 0, "complexity": 3, "densest": [{"path": "sub/b.py", "code": 3, "complexity": 2}, {"path": "a.py", "code": 2, "complexity": 1}]}`,
		`measure.code(["nothing"])`:              `{"files": 0, "code": 0, "comments": 0, "blank": 0, "complexity": 0, "densest": []}`,
	} {
		if got := said(w.perform(t, call)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", call, got, want)
		}
	}
}

// A call that cannot be right raises where it stands.
func TestMeasureRefused(t *testing.T) {
	for call, want := range map[string]string{
		`measure.tests([], "tap")`:                               "argv",
		`measure.tests(["a"], "xunit")`:                          "format",
		`measure.tests(["a"], "tap", reports = ["/a"])`:          "reports",
		`measure.tests(["a"], "tap", env = {"STARLING_X": "1"})`: "env",
		`measure.scan(["a"], dir = "..")`:                        "dir",
		`measure.code([])`:                                       "paths",
		`measure.read([], "tap")`:                                "texts",
		`measure.read("1..1\n", "tap")`:                          "the plan is 1..1",
	} {
		if _, err := newDesk().eval(call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s in it", call, err, want)
		}
	}
}
