package measure_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/stdlib/measure"
)

// said is what a reader makes of a report, in one line.
func said(t *measure.Tests, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text := fmt.Sprintf("passed %q failed %q skipped %q", t.Passed, t.Failed, t.Skipped)
	if t.Coverage != nil {
		text += fmt.Sprintf(" line %v", *t.Coverage.Line)
	}
	return text
}

func sample(t testing.TB, name string) string {
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// specOf is what node has said of one project, with the files that did not load.
func specOf(files ...string) string {
	return fmt.Sprintf("passed %q failed %q skipped %q", []string{"adds # up", "alone in b", "empty suite", "group > deeper", "group > deeper > inner",
		"group > deeper > inner#2", "group > inner", "group > inner#2", "group#2", "line break", "parent", "parent > child", "parent > child (2ms)"},
		append([]string{"fails", "group", "group > bad"}, files...), []string{"skipped", "skipped bare", "skipped suite", "todo", "todo fails"})
}

// What the runners themselves have written: go 1.26, Python 3.11, node 18 (on a terminal, with its
// colours), 20 and 24, cargo 1.95, pytest 7.2.1, jest 30.5.2, vitest 2.1.9, mocha 12.0.3, ava
// 7.0.0, tape 5.10.2, prove 3.44, Bats 1.8.2, Maven 3.8.7 with Surefire 2.22.3, Gradle 4.4.1. Of
// Java's the properties and what the libraries have in their traces are left out, paths are of
// another folder.
func TestRealReports(t *testing.T) {
	for _, c := range []struct{ format, file, want string }{
		{"go", "go.json", `passed ["example.org/sum.TestAdd/small"] failed ["example.org/sum.TestAdd" "example.org/sum.TestAdd/large" "example.org/sum.TestPanic" ` +
			`"example.org/sum/bad (build)"] skipped ["example.org/sum.TestLater"]`},
		{"unittest", "unittest.txt", `passed ["tests.test_calc.TestCalc.test_ok"] failed ["tests.test_calc.TestCalc.test_err" "tests.test_calc.TestCalc.test_fail" ` +
			`"tests.test_calc.TestCalc.test_sub" "tests.test_calc.TestCalc.test_xpass" "tests.test_calc.TestSetup.setUpClass" "unittest.loader._FailedTest.tests.test_bad"] ` +
			`skipped ["tests.test_calc.TestCalc.test_skip" "tests.test_calc.TestCalc.test_xfail"]`},
		{"unittest", "unittest_ok.txt", `passed ["tests.test_calc.TestCalc.test_ok"] failed [] skipped []`},
		{"tap", "node.tap", `passed ["adds # up" "group > inner" "only"] failed ["fails" "group > bad"] skipped ["skipped" "todo"]`},
		{"tap", "node_groups.tap", `passed ["adds in calc" "calc > adds" "deep > deeper > adds" "own > adds" "own#2" "parent > adds" "up" "up > adds"] failed ["broken (suite)" "calc > clamps" "hooked > never" "own" ` +
			`"own > clamps" "parent > clamps"] skipped ["later (suite)"]`},
		{"junit", "node.xml", `passed ["adds # up" "group > inner" "only"] failed ["fails" "group > bad"] skipped ["skipped" "todo"]`},
		{"spec", "node18.spec", specOf()},
		{"spec", "node24.spec", specOf("test/c.test.mjs")},
		{"cargo", "cargo.json", `passed ["src/lib.rs - add" "tests::panics" "tests::works" "works"] failed ["tests::fails"] skipped ["tests::slow"]`},
		{"junit", "pytest.xml", `passed ["tests.test_calc.TestShare.test_even" "tests.test_calc.test_add[-1-1-0]" "tests.test_calc.test_add[1-2-3]" "tests.test_calc.test_add[a-b-ab]"] failed ["tests.test_calc.TestShare.test_nothing_is_lost" "tests.test_calc.test_with_fixture"] skipped ["tests.test_calc.TestShare.test_zero" "tests.test_calc.test_parse_blank"]`},
		{"junit", "pytest_broken.xml", `passed [] failed ["pytest > tests.test_broken"] skipped []`},
		{"jest", "jest.json", `passed ["mean" "sum > adds [0] to 0" "sum > adds [1,2] to 3"] failed ["broken.test.js (file)" "db > reads" "sum > is 0 of nothing"] skipped ["sum > later" "sum > one day"]`},
		{"jest", "vitest.json", `passed ["sum > adds [0] to 0" "sum > adds [1,2] to 3"] failed ["broken.test.js (file)" "hook.test.js (file)" "sum > is 0 of nothing"] skipped ["db > reads" "sum > later" "sum > one day"]`},
		{"tap", "mocha.tap", `passed ["sum adds" "sum of odd things mean"] failed ["db \"before all\" hook for \"reads\"" "each \"before each\" hook for \"reads\"" "sum is 0 of nothing"] skipped ["sum later" "sum one day"]`},
		{"tap", "ava.tap", `passed ["test › adds"] failed ["hook › before hook" "test › is 0 of nothing"] skipped ["test › later" "test › one day"]`},
		{"tap", "tape.tap", `passed ["adds > named" "adds > should be strictly equal#2" "asserts skip > x" "hello > (unnamed assert)" "inner > should be truthy"] ` +
			`failed ["adds > should be strictly equal"] skipped ["asserts skip > left" "skipped" "todo > later"]`},
		{"tap", "prove.tap", `passed ["t/a.t > (unnamed)#2" "t/a.t > adds" "t/a.t > group" "t/a.t > group > (unnamed)" "t/a.t > group > in" "t/c.t > adds" "t/c.t > c one" "t/d.t" "t/d.t > fine"] ` +
			`failed ["t/a.t" "t/a.t > is two" "t/c.t"] skipped ["t/a.t > (unnamed)" "t/a.t > todo one" "t/b.t"]`},
		{"tap", "prove_short.tap", `passed ["t/d.t"] failed ["t/a.t" "t/c.t"] skipped ["t/b.t"]`},
		{"tap", "bats.tap", `passed ["adds"] failed ["of nothing # 0" "setup_file failed"] skipped ["later"]`},
		{"junit", "surefire.xml", `passed ["org.x.SumTest.adds"] failed ["org.x.SumTest.meanOfNothing" "org.x.SumTest.rounds"] skipped ["org.x.SumTest.later"]`},
		{"junit", "surefire_class.xml", `passed [] failed ["org.x.BrokenTest.org.x.BrokenTest"] skipped []`},
		{"junit", "gradle.xml", `passed ["org.x.SumTest.adds"] failed ["org.x.SumTest.meanOfNothing" "org.x.SumTest.rounds"] skipped ["org.x.SumTest.later"]`},
		{"junit", "gradle_class.xml", `passed [] failed ["org.x.BrokenTest.classMethod"] skipped []`},
		{"cargo", "cargo.txt", `passed ["src/lib.rs - add" "tests::panics" "tests::works"] failed ["tests::fails"] skipped ["tests::slow"]`},
	} {
		if got := said(measure.Read(c.format, measure.Texts([]string{sample(t, c.file)}))); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.file, got, c.want)
		}
	}
}

var samples = map[string]string{"go.json": "go", "unittest.txt": "unittest", "node.tap": "tap", "node.xml": "junit", "cargo.txt": "cargo", "cargo.json": "cargo",
	"node18.spec": "spec", "node24.spec": "spec", "pytest.xml": "junit", "jest.json": "jest", "vitest.json": "jest", "mocha.tap": "tap", "ava.tap": "tap", "tape.tap": "tap", "prove.tap": "tap",
	"surefire.xml": "junit", "gradle.xml": "junit"}

// A test that is put in front of others takes nobody's id, nor the failure of one that is called
// the same: tests that were there keep what they had.
func TestInsertedTests(t *testing.T) {
	for name, c := range map[string]struct{ was, now, want string }{
		"another name":  {"not ok 1 - a\nok 2 - b\n1..2\n", "ok 1 - c\nnot ok 2 - a\nok 3 - b\n1..3\n", `passed ["b" "c"] failed ["a"] skipped []`},
		"the same name": {"not ok 1 - a\n1..1\n", "ok 1 - a\nnot ok 2 - a\n1..2\n", `passed ["a#2"] failed ["a"] skipped []`},
		"no name":       {"not ok 1\nok 2\n1..2\n", "ok 1\nnot ok 2\nok 3\n1..3\n", `passed ["(unnamed)#2" "(unnamed)#3"] failed ["(unnamed)"] skipped []`},
		"left out":      {"ok 1\nok 2\n1..2\n", "ok 1\nok 2 # SKIP\n1..2\n", `passed ["(unnamed)#2"] failed [] skipped ["(unnamed)"]`},
	} {
		before, err := measure.Read("tap", measure.Texts([]string{c.was}))
		after, err2 := measure.Read("tap", measure.Texts([]string{c.now}))
		if got := said(after, err2); got != c.want || err != nil {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
		for _, id := range before.Failed {
			if !slices.Contains(after.Failed, id) {
				t.Errorf("%s: %s no longer fails", name, id)
			}
		}
	}
}

// A report that is cut anywhere is never one of fewer tests: it is refused, or it has all of them.
func TestCutReports(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for file, format := range samples {
		text := sample(t, file)
		whole := said(measure.Read(format, measure.Texts([]string{text})))
		for n := 0; n < len(text); n += 7 {
			if got := said(measure.Read(format, measure.Texts([]string{text[:n]}))); got != whole && !strings.HasPrefix(got, "error: ") {
				rest := strings.TrimLeft(text[n:], "\n")
				if strings.HasPrefix(rest, "running 1 test") || strings.HasPrefix(rest, `{ "type": "suite", "event": "started"`) {
					continue // between two programs nothing tells that another was to come: the exit code does
				}
				t.Errorf("%s cut at %d of %d: got %s", file, n, len(text), got)
			}
		}
	}
}

const surefire = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="org.x.SumTest" tests="4" errors="1" skipped="1" failures="0">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="adds" classname="org.x.SumTest" time="0.01"/>
  <testcase name="late" classname="org.x.SumTest"><skipped message="later"/></testcase>
  <testcase name="throws" classname="org.x.SumTest"><error type="E">at x</error><system-out><![CDATA[<failure/>]]></system-out></testcase>
  <testcase name="flaky" classname="org.x.SumTest"><flakyFailure>once</flakyFailure></testcase>
</testsuite>`

const pytest = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="1" failures="1" skipped="0" tests="4">
<testcase classname="tests.test_sum.TestSum" name="test_add[1-2]" time="0.001"/><testcase classname="tests.test_sum" name="test_zero"><failure message="x">E</failure></testcase>
<testcase classname="" name="tests.test_bad"><error message="collection failure">E</error></testcase></testsuite></testsuites>`

const jest = `{"numTotalTests": 3, "success": false, "testResults": [
 {"name": "/w/a.test.js", "status": "failed", "assertionResults": [{"ancestorTitles": ["sum"], "title": "adds", "status": "passed"},
  {"ancestorTitles": ["sum"], "title": "adds", "status": "failed"}, {"ancestorTitles": [], "title": "later", "status": "pending"}]},
 {"name": "/w/b.test.js", "status": "failed", "message": "SyntaxError", "assertionResults": []}]}`

func TestReports(t *testing.T) {
	for name, c := range map[string]struct {
		format, want string
		texts        []string
	}{
		"several files": {"junit", `passed ["org.x.SumTest.adds" "org.x.SumTest.flaky" "tests.test_sum.TestSum.test_add[1-2]"] failed ["org.x.SumTest.throws" ` +
			`"pytest > tests.test_bad" "tests.test_sum.test_zero"] skipped ["org.x.SumTest.late"]`, []string{surefire, pytest}},
		"jest":                {"jest", `passed ["sum > adds#2"] failed ["b.test.js (file)" "sum > adds"] skipped ["later"]`, []string{jest}},
		"jest that says more": {"jest", `passed [] failed ["b.test.js (file)"] skipped []`, []string{"warning\n" + `{"numTotalTests": 0, "testResults": [{"name": "b.test.js", "status": "failed"}]}`}},
		"no jest":             {"jest", "error: jest: cannot be read: it is no JSON with numTotalTests and testResults", []string{"{}"}},
		"latin1":              {"junit", `passed ["c.é"] failed [] skipped []`, []string{"<?xml version='1.0' encoding='ISO-8859-1'?><testsuite><testcase classname='c' name='\xe9'/></testsuite>"}},
		"another encoding":    {"junit", "error: junit: cannot be read: xml: opening charset \"utf-7\": the encoding utf-7 is not known", []string{"<?xml version='1.0' encoding='utf-7'?><testsuite/>"}},
		"a suite that broke":  {"junit", `passed [] failed ["s (suite)"] skipped []`, []string{`<testsuite name="s" errors="1"/>`}},
		"no suite":            {"junit", "error: junit: cannot be read: the element is html, want testsuites", []string{"<html></html>"}},
		"no XML":              {"junit", "error: junit: cannot be read: there is no element testsuite", []string{""}},
		"no test":             {"junit", "error: junit: no test was run", []string{"<testsuites/>"}},
		"prove, a file lost":  {"tap", "error: tap: cannot be read: prove has run 2 files, and 1 are told of; want -v without -j", []string{"t/a.t .. ok\nAll tests successful.\nFiles=2, Tests=1,  1 wallclock secs\nResult: PASS\n"}},
		"prove, another end":  {"tap", "error: tap: cannot be read: prove tells of 0 files that fail, and its result is another", []string{"t/a.t .. ok\nFiles=1, Tests=1,  1 wallclock secs\nResult: FAIL\n"}},
		"prove gives up":      {"tap", "error: tap: cannot be read: the run gave up: Bailout called. Further testing stopped: no db", []string{"Bailout called.  Further testing stopped:  no db\ne.t .. \nok 1 - x\nFiles=1, Tests=1,  0 wallclock secs\nResult: FAIL\n"}},
		"tape, all left out":  {"tap", `passed ["b > x"] failed [] skipped ["a"]`, []string{"TAP version 13\n# SKIP a\n# b\nok 1 x\n\n1..1\n# tests 1\n# pass  1\n"}},
		"deep, directives": {"tap", `passed ["g > h" "g > h > i" "top > g"] failed ["g" "g > h > j"] skipped ["g > h > k" "g > s" "top"]`,
			[]string{"TAP version 14\n# Subtest: g\n    # Subtest: h\n        ok 1 - i\n        not ok 2 - j\n        ok 3 - k # SKIP\n        1..3\n    ok 1 - h\n    not ok 2 - s # TODO\n    1..2\nnot ok 1 - g\n    ok 1 - g\n    1..1\nok 2 - top # SKIP\n1..2\n"}},
		"a subtest gives up": {"tap", "error: tap: cannot be read: the run gave up: Bail out! now", []string{"1..1\n    ok 1 - a\n    Bail out! now\n"}},
		"only skipped":       {"tap", "error: tap: no test was run", []string{"1..1\nok 1 # SKIP\n"}},
		"nothing at all":     {"tap", "error: tap: no test was run", []string{"1..0 # SKIP no database\n"}},
		"twice one name":     {"tap", `passed ["(unnamed)" "a" "a#2"] failed [] skipped []`, []string{"ok 1 - a\nok 2 - a\nok 3\n1..3\n# coverage: 83.3%\n"}},
		"todo and skip": {"tap", `passed ["kept \\ # 1"] failed ["b"] skipped ["a" "c" "d"]`,
			[]string{"TAP version 14\n1..5\nnot ok 1 - a # TODO later\nnot ok 2 - b\nok 3 c # skip\nok 4 d #Skipped: no\nok 5 - kept \\\\ \\# 1\n"}},
		"a block of YAML":  {"tap", `passed ["a"] failed [] skipped []`, []string{"1..1\nok 1 - a\n  ---\n  not ok 2 - b\nnot ok 3\n  ...\n"}},
		"the plan at last": {"tap", `passed ["a"] failed [] skipped []`, []string{"ok 1 a\n1..1\n"}},
		"no plan":          {"tap", "error: tap: cannot be read: there is no plan (1..N): it may have been cut", []string{"ok 1 - a\n"}},
		"two plans":        {"tap", "error: tap: cannot be read: there are two plans, or one that is no number: 1..1", []string{"1..1\nok 1\n1..1\n"}},
		"too few":          {"tap", "error: tap: cannot be read: the plan is 1..3, and there are 1 test points", []string{"1..3\nok 1 - a\n"}},
		"bail out":         {"tap", "error: tap: cannot be read: the run gave up: Bail out! no database", []string{"1..1\nok 1\nBail out! no database\n"}},
		"a subtest alone":  {"tap", "error: tap: cannot be read: a subtest has no test point of its own behind it", []string{"1..1\nok 1 - a\n    ok 1 - b\n    1..1\n"}},
		"a subtest cut":    {"tap", "error: tap: cannot be read: the plan is 1..2, and there are 1 test points", []string{"1..1\n    1..2\n    ok 1 - b\nok 1 - a\n"}},
		"prose":            {"tap", "error: tap: cannot be read: there is neither a plan nor a test point", []string{"All is well.\nokay\n"}},
		"prose for go":     {"go", "error: go: cannot be read: there is no event of go test -json", []string{"ok  \tx\t0.1s\n"}},
		"no tests in go":   {"go", "error: go: no test was run", []string{`{"Action":"start","Package":"x"}` + "\n" + `{"Action":"skip","Package":"x"}`}},
		"go cut":           {"go", "error: go: cannot be read: it is cut: the package x has no end", []string{`{"Action":"start","Package":"x"}`}},
		"os.Exit in go": {"go", `passed [] failed ["x.TestA"] skipped [] line 75`, []string{`{"Action":"run","Package":"x","Test":"TestA"}` + "\n" +
			`{"Action":"output","Package":"x","Output":"coverage: 75.0% of statements\n"}` + "\n" + `{"Action":"fail","Package":"x"}`}},
		"TestMain in go":       {"go", `passed ["x.TestA"] failed ["x (package)"] skipped []`, []string{`{"Action":"pass","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"x"}`}},
		"twice in go":          {"go", `passed [] failed ["x.TestA"] skipped []`, []string{`{"Action":"fail","Package":"x","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"x","Test":"TestA"}`}},
		"no build":             {"cargo", `error: cargo: cannot be read: there is neither a line "running N tests" nor a suite of libtest's JSON; it may not have built`, []string{"error[E0308]: mismatched types\n"}},
		"noise":                {"cargo", "error: cargo: cannot be read: 2 tests were begun and 1 have a result; leave --nocapture out", []string{"running 2 tests\ntest a ... noise\nok\ntest b ... ok\ntest result: ok.\n"}},
		"cargo, JSON cut":      {"cargo", "error: cargo: cannot be read: it is cut: 1 programs were run, 0 have a result", []string{suite("started", 1) + testEvent("a", "ok")}},
		"cargo, JSON, lost":    {"cargo", "error: cargo: cannot be read: 2 tests were begun and 1 have a result; leave --nocapture out", []string{suite("started", 2) + testEvent("a", "ok") + suite("ok", 0)}},
		"cargo, JSON, noise":   {"cargo", `passed ["a" "a#2"] failed [] skipped ["b"]`, []string{"{ not JSON\n{\"reason\": \"build-finished\"}\n" + suite("started", 3) + testEvent("a", "timeout") + testEvent("a", "ok") + testEvent("a", "ok") + testEvent("b", "ignored") + suite("ok", 0)}},
		"cargo, JSON, odd":     {"cargo", "error: cargo: cannot be read: -1 is no number of tests", []string{suite("started", -1)}},
		"cargo, colours":       {"cargo", `passed ["a"] failed ["b"] skipped []`, []string{"running 2 tests\ntest a ... \x1b[32mok\x1b[m\ntest b ... \x1b[31mFAILED\x1b[0;10m\ntest result: \x1b[31mFAILED\x1b[m.\n"}},
		"unittest, colours":    {"unittest", `passed ["t.T.test_a"] failed [] skipped []`, []string{"test_a (t.T.test_a) ... \x1b[32mok\x1b[0m\n" + rule("-") + "\x1b[1mRan 1 test in 0.0s\x1b[0m\n"}},
		"nextest":              {"junit", `passed ["sum::other.works"] failed ["sum.tests::fails"] skipped []`, []string{nextest}},
		"spec, no end":         {"spec", `error: spec: cannot be read: there is no line "ℹ tests N" at the end: it was cut, or node is older than 18.17`, []string{"✔ a (1.5ms)\n"}},
		"spec, a forged line":  {"spec", "error: spec: cannot be read: 1 tests and suites have ended, 0 of them failed, and 2, 0 are told of; tests that print need --test-reporter=tap", []string{"✔ a (1.5ms)\n✔ b (1ms)\n" + specEnd(1, 0)}},
		"spec, a failure lost": {"spec", "error: spec: cannot be read: 1 tests and suites have ended, 1 of them failed, and 1, 0 are told of; tests that print need --test-reporter=tap", []string{"✔ a (1.5ms)\n" + specEnd(1, 1)}},
		"spec, forged sums":    {"spec", "error: spec: cannot be read: two lines say how many tests there were; name --test-reporter=tap", []string{"ℹ tests 0\n✖ a (1.5ms)\n" + specEnd(1, 1)}},
		"spec, no test":        {"spec", "error: spec: no test was run", []string{specEnd(0, 0)}},
		"spec, only a group":   {"spec", "error: spec: cannot be read: a subtest has no test point of its own behind it", []string{"▶ g\n  ✔ a (1ms)\n" + specEnd(1, 0)}},
		"spec, deep":           {"spec", "error: spec: cannot be read: groups are more than 32 deep", []string{strings.Repeat(" ", 99) + "✔ a (1ms)\n" + specEnd(1, 0)}},
		"two programs":         {"cargo", `passed ["a" "a#2"] failed [] skipped ["b"]`, []string{"running 1 test\ntest a ... ok\ntest result: ok.\nrunning 2 tests\ntest a ... ok\ntest b ... ignored, slow\ntest result: ok.\n"}},
		"no -v":                {"unittest", "error: unittest: cannot be read: 2 tests were run and 0 are named; want -v, and -b for tests that print", []string{"..\n" + rule("-") + "Ran 2 tests in 0.0s\n\nOK\n"}},
		"no unittest":          {"unittest", `error: unittest: cannot be read: there is no line "Ran N tests": it may not have started, or was cut`, []string{"No module named x\n"}},
		"an older Python": {"unittest", `passed ["t.T.test_a"] failed ["t.T.test_b"] skipped []`,
			[]string{"test_a (t.T) ... ok\ntest_b (t.T) ... FAIL\n" + rule("=") + "FAIL: test_b (t.T)\n" + rule("-") + "Ran 2 tests in 0.001s\n"}},
		"a test that prints": {"unittest", "error: unittest: cannot be read: t.T.test_a has no result; want -b for tests that print",
			[]string{"test_a (t.T.test_a) ... hello (world) ... \ntest_b (t.T.test_b) ... ok\n" + rule("-") + "Ran 2 tests in 0.001s\n"}},
		"no format": {"xunit", `error: no format "xunit"; there are cargo, go, jest, junit, spec, tap, unittest`, []string{""}},
	} {
		want := c.want
		if name == "twice one name" {
			want += " line 83.3"
		}
		if got := said(measure.Read(c.format, measure.Texts(c.texts))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// Which of several reports cannot be read is said by its name, or by its number.
func TestReportsByName(t *testing.T) {
	bad := measure.Report{Name: "out/b.xml", Text: "<html>"}
	good := map[string]string{"junit": surefire, "coverage": "mode: set\na.go:1.1,2.2 1 1\n", "SARIF": sarif(`{"tool": {"driver": {"name": "s"}}, "results": []}`)}
	for kind, read := range map[string]func([]measure.Report) error{
		"junit":    func(r []measure.Report) error { _, err := measure.Read("junit", r); return err },
		"coverage": func(r []measure.Report) error { _, err := measure.ReadCoverage(r); return err },
		"SARIF":    func(r []measure.Report) error { _, err := measure.ReadSARIF(r); return err },
	} {
		first := measure.Report{Name: "out/a.xml", Text: good[kind]}
		named, numbered := read([]measure.Report{first, bad}), read(measure.Texts([]string{first.Text, bad.Text}))
		if !errors.Is(named, measure.ErrUnreadable) || !strings.Contains(named.Error(), "out/b.xml: cannot be read: ") || !strings.Contains(numbered.Error(), "report 2: cannot be read: ") {
			t.Errorf("%s: got %v and %v, want out/b.xml and report 2", kind, named, numbered)
		}
		if err := read([]measure.Report{first}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

const nextest = `<?xml version="1.0" encoding="UTF-8"?><testsuites name="nextest-run" tests="2" failures="1" errors="0" uuid="0" time="0.02">
<testsuite name="sum" tests="1" disabled="0" errors="0" failures="1"><testcase name="tests::fails" classname="sum" time="0.01"><failure type="test failure">thread</failure></testcase></testsuite>
<testsuite name="sum::other" tests="1" disabled="0" errors="0" failures="0"><testcase name="works" classname="sum::other"><flakyFailure type="test failure"/></testcase></testsuite></testsuites>`

func suite(event string, tests int) string {
	return fmt.Sprintf("{ \"type\": \"suite\", \"event\": %q, \"test_count\": %d }\n", event, tests)
}

func testEvent(name, event string) string {
	return fmt.Sprintf("{ \"type\": \"test\", \"name\": %q, \"event\": %q }\n", name, event)
}

func specEnd(tests, fail int) string {
	return fmt.Sprintf("ℹ tests %d\nℹ suites 0\nℹ pass 0\nℹ fail %d\nℹ cancelled 0\n", tests, fail)
}

func rule(sign string) string { return strings.Repeat(sign, 70) + "\n" }

// Ids that together are more than a payload holds are refused, not cut.
func TestTooManyIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	var b strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&b, "ok %d - a test %d\n", i, i)
	}
	_, err := measure.Read("tap", measure.Texts([]string{b.String() + "1..70000\n"}))
	if !errors.Is(err, measure.ErrLarge) {
		t.Errorf("got %v", err)
	}
}

func share(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

const cobertura = `<?xml version="1.0" ?><!DOCTYPE coverage SYSTEM "x.dtd"><coverage %s><packages><package name="."><classes><class name="a">
<methods><method name="f" line-rate="0.5"/><method name="g" line-rate="0"/></methods><lines><line number="1" hits="1"/></lines></class></classes></package></packages></coverage>`

func TestCoverage(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"go":               {[]string{sample(t, "go.cover")}, "100 - -"},
		"go, half":         {[]string{"mode: count\na.go:1.1,2.2 1 0\na.go:3.1,4.2 3 7\nb.go:1.1,2.2 4 0\n"}, "37.5 - -"},
		"lcov":             {[]string{"TN:\nSF:a.js\nFN:1,f\nFNF:3\nFNH:1\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nDA:1,5\nDA:2,0\nDA:3,1\nend_of_record\n"}, "66.67 50 33.33"},
		"two files":        {[]string{"SF:a.js\nDA:1,1\nend_of_record\n", "SF:b.js\nDA:1,0\nend_of_record\n"}, "50 - -"},
		"lcov cut":         {[]string{"SF:a.js\nDA:1,1\n"}, "cannot be read: it is cut: there is no end_of_record"},
		"lcov, odd":        {[]string{"SF:a.js\nFNF:many\n"}, "cannot be read: FNF:many is no number"},
		"cobertura":        {[]string{fmt.Sprintf(cobertura, `lines-valid="8" lines-covered="6" branches-valid="4" branches-covered="1" line-rate="0.1"`)}, "75 25 50"},
		"cobertura, rates": {[]string{fmt.Sprintf(cobertura, `line-rate="0.5" branch-rate="0.25"`)}, "50 25 50"},
		"coverage.py":      {[]string{`<coverage lines-valid="2" lines-covered="1" branches-valid="0" branches-covered="0" branch-rate="0"></coverage>`}, "50 - -"},
		"jacoco":           {[]string{sample(t, "jacoco.xml")}, "33.33 50 33.33"},
		"jacoco, twice":    {[]string{sample(t, "jacoco.xml"), `<report name="b"><counter type="LINE" missed="0" covered="3"/></report>`}, "66.67 50 33.33"},
		"jacoco, odd":      {[]string{`<report name="b"><counter type="LINE" missed="-1" covered="3"/></report>`}, `cannot be read: the counter LINE says missed="-1" and covered="3", want two numbers`},
		"jacoco, empty":    {[]string{`<report name="all"></report>`}, "cannot be read: no line is told of"},
		"jacoco, cut":      {[]string{sample(t, "jacoco.xml")[:2000]}, "cannot be read: XML syntax error on line 1: unexpected EOF"},
		"no totals":        {[]string{"<coverage></coverage>"}, "cannot be read: coverage has neither lines-valid nor line-rate"},
		"other XML":        {[]string{"<html/>"}, "cannot be read: the element is html, want coverage (Cobertura) or report (JaCoCo)"},
		"XML cut":          {[]string{`<coverage line-rate="1">`}, "cannot be read: XML syntax error on line 1: unexpected EOF"},
		"prose":            {[]string{"100%"}, "cannot be read: it is neither a cover profile of Go, nor lcov, nor XML of Cobertura or JaCoCo"},
		"nothing to run":   {[]string{"mode: set\n"}, "cannot be read: no line is told of"},
		"go, broken":       {[]string{"mode: set\nnonsense\n"}, `cannot be read: line "nonsense" doesn't match expected format: EOF`},
	} {
		got := ""
		if r, err := measure.ReadCoverage(measure.Texts(c.texts)); err != nil {
			got = err.Error()
		} else {
			got = share(r.Line) + " " + share(r.Branch) + " " + share(r.Function)
		}
		if got != c.want && !(name == "go, broken" && strings.HasPrefix(got, "cannot be read: line")) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func sarif(run string) string { return `{"version": "2.1.0", "runs": [` + run + `]}` }

func TestSARIF(t *testing.T) {
	const rules = `"tool": {"driver": {"name": "scan", "rules": [{"id": "R1", "properties": {"security-severity": "9.1"}}, {"id": "R2", "defaultConfiguration": {"level": "note"}}]},
		"extensions": [{"rules": [{"id": "R3", "properties": {"security-severity": 7}}]}]}`
	for name, c := range map[string]struct{ text, want string }{
		"all levels": {sarif(`{` + rules + `, "results": [{"ruleId": "R1", "message": {"text": "bad"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "file:///w/a%20b.py"}, "region": {"startLine": 3}}}]},
			{"ruleIndex": 1, "message": {"text": "m"}}, {"ruleId": "R3"}, {"level": "error", "ruleId": "x"}, {"ruleId": "y", "properties": {"security-severity": "4.0"}}, {"ruleId": "z"}]}`),
			`[{scan R1 CRITICAL /w/a b.py 3 bad} {scan R2 LOW  0 m} {scan R3 HIGH  0 R3} {scan x HIGH  0 x} {scan y MEDIUM  0 y} {scan z MEDIUM  0 z}] 0`},
		"what does not count": {sarif(`{"tool": {"driver": {"name": "s"}}, "results": [{"level": "none"}, {"kind": "pass"}, {"baselineState": "absent"},
			{"suppressions": [{}]}, {"suppressions": [{"status": "accepted"}]}, {"suppressions": [{"status": "rejected"}], "ruleId": "r"}]}`), `[{s r MEDIUM  0 r}] 2`},
		"clean":           {sarif(`{"tool": {"driver": {"name": "s"}}, "results": [], "invocations": [{"executionSuccessful": true}]}`), `[] 0`},
		"not successful":  {sarif(`{"tool": {"driver": {"name": "s"}}, "results": [], "invocations": [{"executionSuccessful": false}]}`), "cannot be read: SARIF: s says that it did not succeed"},
		"not all":         {sarif(`{"tool": {"driver": {"name": "s"}}, "results": [], "invocations": [{"executionSuccessful": true, "toolExecutionNotifications": [{"level": "warning"}, {"level": "error", "message": {"text": "a.py\ncannot be parsed"}}]}]}`), "cannot be read: SARIF: s has not looked at everything: a.py cannot be parsed"},
		"looked for none": {sarif(`{"tool": {"driver": {"name": "s"}}}`), "cannot be read: SARIF: s has no results: it has looked for nothing"},
		"no run":          {sarif(``), "cannot be read: SARIF: the version is \"2.1.0\" with 0 runs, want 2.1.0 and one at least"},
		"older":           {`{"version": "2.0.0", "runs": [{}]}`, "cannot be read: SARIF: the version is \"2.0.0\" with 1 runs, want 2.1.0 and one at least"},
		"no JSON":         {"no issues", "cannot be read: SARIF: invalid character 'o' in literal null (expecting 'u')"},
	} {
		got := ""
		if s, err := measure.ReadSARIF(measure.Texts([]string{c.text})); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(s.Results, " ", s.Suppressed)
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// A test loses its assertions whatever is left in their place.
func TestCases(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"python": {"test_a.py", "import x\n\nclass T(Case):\n    def test_a(self):\n        # assert nothing\n        self.assertEqual(f(1), 2)\n        with pytest.raises(E):\n            pass\n\n    def helper(self):\n        assert x\n\n" +
			"    def test_b(self):\n        self.assertTrue(True)\n        assert True\n        self.assertEqual(1, 1)\n        assert 1 == 1\n\n    async def test_c(self): assert f() == 1\n", "test_a 2, test_b 0, test_c 1"},
		"go": {"a_test.go", "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Errorf(\"x\")\n\t}\n\trequire.Equal(t, f(), 2)\n}\n\nfunc help(t *testing.T) {\n\tt.Fatal()\n}\n\nfunc FuzzB(f *testing.F) {\n\t_ = 1\n}\n", "TestA 2, FuzzB 0"},
		"js": {"a.test.ts", "describe('g', () => {\n  it('adds', () => {\n    expect(f(1)).toBe(2);\n  });\n  test.only(\"b\", () => { expect(true).toBe(true); assert.ok(true); });\n  it(`c`, () => assert.equal(f(), 1));\n});\n",
			"adds 1, b 0, c 1"},
		"rust":  {"lib.rs", "#[test]\nfn works() {\n    assert_eq!(add(1, 2), 3);\n    assert!(true);\n}\n\nfn other() {}\n", "works 1"},
		"java":  {"ATest.java", "class ATest {\n  @Test\n  public void adds() {\n    assertEquals(2, f());\n  }\n  @Test void empty() {\n  }\n}\n", "adds 1, empty 0"},
		"ruby":  {"a_spec.rb", "it \"adds\" do\n  expect(f).to eq(1)\nend\ndef test_b\n  assert_equal 1, f\nend\n", "adds 1, test_b 1"},
		"shell": {"tests.sh", "try a 1 f\nexit 1\n", " 1"},
		"star":  {"a_test.star", "def test_a():\n    assert.eq(f(), 1)\n    assert.true(True)\n", "test_a 1"},
		"none":  {"a.go", "package a\n", ""},
	} {
		var got []string
		for _, found := range measure.Cases(c.file, c.text) {
			got = append(got, fmt.Sprintf("%s %d", found.Name, found.Assertions))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
	for file, text := range map[string]string{
		"a_test.py": "def test_a():\n    # 7 \"no\"\n    assert f1(5, r'x\\d', 0x1F) == \"\"\"a\nb\"\"\" + '' and 2.5\n",
		"a_test.go": "func TestA(t *testing.T) {\n\t// 7\n\tg(f1(5, `x\\d`, 0x1F), \"a\\n\", 2.5)\n}\n",
		"a.test.js": "test('b', () => { /* 7 */ f1(5, /x\\d/, 0x1F, `a`, 2.5) });\n",
		"a.rs":      "#[test]\nfn a() { assert_eq!(f1(5, r#\"x\"#), 'b', 2.5); }\n",
		"tests.sh":  "try 5 'x y' f1 # \"no\"\n",
	} {
		want := map[string]string{
			"a_test.py": `["x\\d" "a\nb" "5" "0x1F" "2.5"]`, "a_test.go": `["x\\d" "a\\n" "5" "0x1F" "2.5"]`,
			"a.test.js": `["b" "a" "5" "0x1F" "2.5"]`, "a.rs": `["x" "b" "5" "2.5"]`, "tests.sh": `["x y" "5"]`,
		}[file]
		if got := fmt.Sprintf("%q", measure.Cases(file, text)[0].Literals); got != want {
			t.Errorf("%s: got literals %s, want %s", file, got, want)
		}
	}
	// What is added behind the last test of a group or a class leaves it as it was.
	for file, parts := range map[string][3]string{
		"a.test.js":  {"describe('g', () => {\n  it('b', () => {\n    assert(f());\n  });\n", "  it('c', () => {});\n", "});\n"},
		"ATest.java": {"class A {\n  @Test\n  void b() {\n    assertEquals(1, f());\n  }\n", "\n  @Test\n  void c() {\n  }\n", "}\n"},
		"a_spec.rb":  {"describe A do\n  it 'b' do\n    expect(f).to eq(1)\n  end\n", "  it 'c' do\n  end\n", "end\n"},
	} {
		alone, with := measure.Cases(file, parts[0]+parts[2]), measure.Cases(file, parts[0]+parts[1]+parts[2])
		if len(alone) != 1 || len(with) != 2 || alone[0].Digest != with[0].Digest || alone[0].Assertions != 1 {
			t.Errorf("%s: got %v and %v, want the same test", file, alone, with)
		}
	}
	digest := func(text string) string { return measure.Cases("a_test.go", text)[0].Digest }
	if same := "func TestA(t *testing.T) {\n\tt.Error(1)\n}\n"; digest(same) != digest("func TestA(t *testing.T) {\n\n\t// why\n\tt.Error(1)\n}\n") || digest(same) == digest("func TestA(t *testing.T) {\n\tt.Error(2)\n}\n") {
		t.Error("a digest is of the text without comments and empty lines")
	}
}

func TestCode(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.go":      {"package a\n\n// F says.\nfunc F(x int) int {\n\tif x > 1 && x < 3 {\n\t\treturn 1\n\t}\n\treturn 0\n}\n", "{Go 7 1 1 2} true"},
		"b.py":      {"# b\ndef f(x):\n    \"\"\"Says.\"\"\"\n    for y in x:\n        if y: return y\n", "{Python 3 2 0 2} true"},
		"c.py":      {"def f(x):\n    \"\"\" It's f's.\n\n    >>> f('it')  # \"\n    'a'\n    \"\"\"\n    if x:\n        return 1\n\n\ns = r'''if \"x'''  # no \"\"\"\nif s:\n    pass\n", "{Python 6 5 2 2} true"},
		"tool":      {"#!/bin/sh\nif true; then echo; fi\n", "{Shell 1 1 0 1} true"},
		"README.md": {"# if you must\n", "{ 0 0 0 0} false"},
		"x.json":    {"{}", "{ 0 0 0 0} false"},
		"c.xyzzy":   {"if", "{ 0 0 0 0} false"},
		"e.go":      {"", "{Go 0 0 0 0} true"},
	} {
		m, ok := measure.MeasureCode(name, []byte(c.text))
		if got := fmt.Sprint(m, ok); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Time is in proportion to the text, whatever is in it: twice the text never takes ten times as
// long.
func TestReadersAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for name, piece := range map[string]string{
		"tap":      "    not ok 1 - a # skip # todo \\# \\# \\#\n",
		"unittest": "test_a (t.T.test_a) (x) ... ... ... skipped\n",
		"cargo":    "test a (line 1) (line 1) - should panic ... ok\n",
		"junit":    "<testsuite><testcase name='a'>",
		"spec":     "    ✔ a (1ms) (\n",
		"go":       `{"Action":"run","Package":"x","Test":"TestA"}` + "\n",
		"cases":    "it('a' test(\"b\" (((((((((\nif (((( /x[''/*''`\n",
	} {
		took := func(n int) time.Duration {
			text := strings.Repeat(piece, n)
			began := time.Now()
			if name == "cases" {
				measure.Cases("a.js", text)
			} else {
				_, _ = measure.Read(name, measure.Texts([]string{text}))
			}
			return time.Since(began)
		}
		few, many := took(1000), took(2000)
		for tries := 0; tries < 100 && many > 10*few; tries++ { // the machine may be busy with others
			few, many = max(few, took(1000)), min(many, took(2000))
		}
		if many > 10*few {
			t.Errorf("%s: %v, and %v for twice the text", name, few, many)
		}
	}
}

// Whatever a program writes, a reader ends with tests that are each in one list, or with an error.
func FuzzRead(f *testing.F) {
	for file, format := range samples {
		f.Add(format, sample(f, file))
	}
	f.Add("jest", jest)
	f.Add("junit", surefire)
	f.Fuzz(func(t *testing.T, format, text string) {
		r, err := measure.Read(format, measure.Texts([]string{text}))
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, list := range [][]string{r.Passed, r.Failed, r.Skipped} {
			for _, id := range list {
				if known[id] || strings.ContainsAny(id, "\n\r") {
					t.Errorf("the id %q comes twice, or has several lines", id)
				}
				known[id] = true
			}
		}
		if len(r.Passed)+len(r.Failed) == 0 {
			t.Error("it has measured nothing")
		}
	})
}

func FuzzReadCoverage(f *testing.F) {
	f.Add("mode: set\na.go:1.1,2.2 1 0\n")
	f.Add(sample(f, "jacoco.xml"))
	f.Add("SF:a\nDA:1,1\nBRDA:1,0,0,-\nFNF:1\nFNH:2\nend_of_record\n")
	f.Add(fmt.Sprintf(cobertura, `lines-valid="8" lines-covered="6"`))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := measure.ReadCoverage(measure.Texts([]string{text}))
		if err != nil {
			return
		}
		for _, p := range []*float64{r.Line, r.Branch, r.Function} {
			if p != nil && !(*p >= 0 && *p <= 100) {
				t.Errorf("%v per cent", *p)
			}
		}
	})
}

func FuzzReadSARIF(f *testing.F) {
	f.Add(sarif(`{"tool": {"driver": {"name": "s"}}, "results": [{"ruleIndex": 3, "level": "error"}]}`))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := measure.ReadSARIF(measure.Texts([]string{text}))
		if err != nil {
			return
		}
		for _, r := range s.Results {
			if !strings.Contains("CRITICAL HIGH MEDIUM LOW", r.Severity) || r.Severity == "" || r.Line < 0 {
				t.Errorf("got %+v", r)
			}
		}
	})
}

func FuzzSources(f *testing.F) {
	f.Add("a.py", "def test_a():\n    assert True\n")
	f.Add("a.cs", "@\"\\\" /* \"\"\" ' */")
	f.Add("x", "#!/usr/bin/env")
	f.Add("a.ts", "it('a', () => {\n if (false && (x)) {\n }\n return;\n expect(1).toBe(`${'`'}`)\n})")
	f.Add("a.rs", "#[test]\nfn a() {\n  assert_eq!(f::<A, B>(r#\"\"\"#), 2, \"x\");\n}")
	f.Fuzz(func(t *testing.T, name, text string) {
		measure.Cases(name, text)
		asSCC(t, name, []byte(text))
		m, _ := measure.MeasureCode(name, []byte(text))
		if m.Code < 0 || m.Comments < 0 || m.Complexity < 0 || m.Code+m.Comments+m.Blank > strings.Count(text, "\n")+1 {
			t.Errorf("%q: got %+v", text, m)
		}
	})
}
