package stdlib

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/measure"
)

const (
	measureTimeout = 15 * time.Minute // what a command has, unless said otherwise
	maxReport      = 16 << 20         // bytes of a report that a command has written to a file
	maxReportText  = 4 << 20          // bytes of reports that a script hands over
)

// measureModule reads what programs report. What a script hands over is read by pure functions;
// what a command writes is read where it ran, whole, and only what it says goes into the script.
func measureModule() []*effect.Builtin {
	texts := effect.Param{Name: "texts", Type: "string|list|tuple", Doc: "A report, or several that belong together."}
	return []*effect.Builtin{
		{
			FullName: "measure.read", Result: "{passed: list[string], failed: list[string], skipped: list[string], coverage?: dict}", Params: []effect.Param{texts, formatParam()},
			Doc: "Read the results of tests: a dict of passed, failed and skipped, lists of ids, and of coverage where the report tells of it. A report that is cut, is in another format or " +
				"says of no test that it passed or failed is an error.",
			Size: reportSize, Pure: measureRead,
		},
		{
			FullName: "measure.coverage", Result: "dict", Params: []effect.Param{texts},
			Doc: "Read what tests have run of the code: a dict of line, branch and function, in per cent, without what the report does not tell. It reads cover profiles of Go, " +
				"whose statements count as lines, tracefiles of lcov and XML of Cobertura.",
			Size: reportSize, Pure: measureCoverage,
		},
		{
			FullName: "measure.sarif", Result: "{tools: list[string], results: list[dict], suppressed: int}", Params: []effect.Param{texts},
			Doc: "Read what scanners have found, logs of SARIF 2.1.0: a dict of tools; results, dicts of tool, rule, severity, file, line and message; and suppressed, how many " +
				"somebody has marked as not to count. A run that did not succeed, or has not looked at everything, is an error.",
			Size: reportSize, Pure: measureSARIF,
		},
		{
			FullName: "measure.cases", Result: "list",
			Doc: "List the tests of a source file: dicts of name; assertions, how many places can fail it, without those that compare only constants or that a condition such as False, " +
				"a return or a skip hides; digest, of its text without comments, space and messages; and literals, the numbers and texts in it as they are written; with beside also helped, how often it names functions that can fail it. It goes by how tests look, not by a parser. " +
				"A file of a language that it does not know is one test without a name.",
			Params: []effect.Param{
				{Name: "path", Type: "string", Doc: "The file's name; its ending says which language it is."},
				{Name: "text", Type: "string", Doc: "What the file holds."},
				{Name: "beside", Type: "list|tuple", Default: "None", KeywordOnly: true,
					Doc: "What other files hold whose functions the tests may call, in the same language. The file's own functions count with an empty list."},
			},
			Size: func(c *effect.Call) (int64, error) {
				text := c.Text("text", "")
				each := int64(1024)
				if _, with := c.Get("beside").(starlark.Iterable); with {
					each = 1280
				}
				return 20*int64(len(text)) + each*int64(strings.Count(text, "\n")+2), nil
			},
			Pure: measureCases,
		},
		measureBuiltin("tests", "{passed: list[string], failed: list[string], skipped: list[string], coverage?: dict, code: int, output?: string}", "Run a program that [sh] allows, in its sandbox as with sh.run, and read the results of its tests. "+
			"It gives what measure.read gives, and code, the exit code. Python keeps its bytecode in a folder of its own, empty at first. "+
			"What was not measured is an error, of kind unavailable or timeout: a program that did not start or was ended, a report that cannot be read, no test that passed or failed, an exit code other than 0 without a test that failed.",
			append(commandParams([]effect.Param{formatParam()}), effect.Param{Name: "output", Type: "bool", Default: "False", KeywordOnly: true,
				Doc: "Give output as well, the end of what it wrote; where it was not measured it is in data of the error."})...),
		measureBuiltin("scan", "{tools: list[string], results: list[dict], suppressed: int, code: int}", "Run a scanner that [sh] allows, in its sandbox as with sh.run, and read its report. "+
			"It gives what measure.sarif gives, and code, the exit code. Scanners exit with other "+
			"codes than 0 when they have found something; a report that cannot be read is an error of kind unavailable.",
			commandParams(nil)...),
		measureBuiltin("code", "{files: int, code: int, comments: int, blank: int, complexity: int, densest: list}", "Measure source files of the workspace that git does not ignore. "+
			"It gives a dict of files, code, comments, blank, complexity, how often they branch, and densest, up to ten dicts of path, "+
			"code and complexity. Files that are no source code are left out.",
			effect.Param{Name: "paths", Type: "list|tuple", Doc: "Files, folders and patterns such as \"src/**/*.go\"."}),
	}
}

func formatParam() effect.Param {
	var known []string
	for _, f := range measure.Formats() {
		known = append(known, f.Name+" ("+f.Doc+")")
	}
	return effect.Param{Name: "format", Type: "string", OneOf: measure.FormatNames(), Doc: "How the runner reports: " + strings.Join(known, "; ") + "."}
}

// commandParams are those of a command that reports.
func commandParams(further []effect.Param) []effect.Param {
	argv := effect.Param{Name: "argv", Type: "list|tuple",
		Doc: "The program and its arguments. {reports} in them stands for an empty folder: what the program leaves there is read, and gone afterwards."}
	return append(append([]effect.Param{argv}, further...),
		effect.Param{Name: "reports", Type: "list|tuple", Default: "[]", KeywordOnly: true,
			Doc: "Patterns of reports that it writes into the workspace instead, such as \"target/surefire-reports/*.xml\". Those that it has not written anew do not count."},
		effect.Param{Name: "dir", Type: "string", Default: `"."`, KeywordOnly: true, Doc: "The folder of the workspace to run it in."},
		effect.Param{Name: "env", Type: "dict", Default: "{}", KeywordOnly: true, Doc: "Further environment variables. They are recorded."},
		timeoutParam("When it is ended with all that it has started, \"15m\" by default."))
}

func measureBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{
		FullName: "measure." + name, Doc: doc, Params: append(params, nameParam("the function's name")), Result: result, Class: effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) { return measureRequest(c, name) },
	}
}

func measureRequest(c *effect.Call, operation string) (*effect.Request, error) {
	name, err := stepName(c, c.Builtin.FullName)
	if err != nil {
		return nil, err
	}
	var o effect.Object
	o.Text("do", operation)
	if operation == "code" {
		paths, err := patternsOf(c, "paths")
		if err == nil && len(paths) == 0 {
			err = wrong(c, "paths", `got none, want files, folders or patterns; "." is all there is`)
		}
		if err != nil {
			return nil, err
		}
		o.Texts("paths", paths)
		return &effect.Request{Class: effect.Waiting, Kind: "measure", Name: name, Args: o.Payload(), Policy: effect.Policy{Idempotent: true, OnUncertain: effect.Retry}}, nil
	}
	if err := reportArguments(c, &o); err != nil {
		return nil, err
	}
	return &effect.Request{Class: effect.Waiting, Kind: "measure", Name: name, Args: o.Payload(),
		Policy: effect.Policy{Timeout: c.Duration("timeout", measureTimeout), Idempotent: true, OnUncertain: effect.Retry}}, nil
}

func reportArguments(c *effect.Call, o *effect.Object) error {
	for _, err := range []error{checkProgram(c, "argv"), checkFolder(c), checkVariables(c), positive(c, "timeout")} {
		if err != nil {
			return err
		}
	}
	argv, err := texts(c, "argv")
	if err != nil {
		return err
	}
	reports, err := patternsOf(c, "reports")
	if err != nil {
		return err
	}
	o.Texts("argv", argv).Texts("reports", reports).Text("dir", c.Text("dir", "."))
	if c.Builtin.FullName == "measure.tests" {
		o.Text("format", c.Text("format", ""))
		if c.Flag("output", false) {
			o.Flag("output", true)
		}
	}
	if env := c.Get("env"); env != nil {
		given, err := effect.Encode(env)
		if err != nil {
			return wrong(c, "env", "%w", err)
		}
		o.Raw("env", given)
	}
	return nil
}

func patternsOf(c *effect.Call, param string) ([]string, error) {
	patterns, err := texts(c, param)
	for i, p := range patterns {
		if err := jail.CheckPattern(p); err != nil {
			return nil, wrong(c, param, "[%d]: %w", i, err)
		}
	}
	return patterns, err
}

// reportSize bounds what a report can mean: each line, element and dict of it may be an entry.
func reportSize(c *effect.Call) (int64, error) {
	n, all := int64(1<<12), 0
	given, err := reportTexts(c)
	for _, text := range given {
		all += len(text)
		n += 2*int64(len(text)) + 640*int64(strings.Count(text, "\n")+strings.Count(text, "<")+strings.Count(text, "{"))
	}
	if all > maxReportText {
		return 0, effect.Errorf(effect.KindLimit, "%s: reports of %d bytes: the limit is %d; let measure.tests read them", c.Builtin.FullName, all, maxReportText)
	}
	return n, err
}

func reportTexts(c *effect.Call) ([]string, error) {
	if text, ok := c.Get("texts").(starlark.String); ok {
		return []string{string(text)}, nil
	}
	return texts(c, "texts")
}

// readReports reads the argument texts; a report costs some steps for each of its bytes.
func readReports[T any](c *effect.Call, read func([]measure.Report) (T, error)) (T, error) {
	given, err := reportTexts(c)
	if err == nil && len(given) == 0 {
		err = wrong(c, "texts", "got no report")
	}
	if err != nil {
		var none T
		return none, err
	}
	for _, text := range given {
		c.Steps += int64(len(text))
	}
	v, err := read(measure.Texts(given))
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Builtin.FullName, err)
	}
	return v, err
}

func measureRead(c *effect.Call) (starlark.Value, error) {
	t, err := readReports(c, func(given []measure.Report) (*measure.Tests, error) { return measure.Read(c.Text("format", ""), given) })
	if err != nil {
		return nil, err
	}
	return testsValue(t), nil
}

func measureCoverage(c *effect.Call) (starlark.Value, error) {
	r, err := readReports(c, measure.ReadCoverage)
	if err != nil {
		return nil, err
	}
	return coverageValue(r), nil
}

func measureSARIF(c *effect.Call) (starlark.Value, error) {
	s, err := readReports(c, measure.ReadSARIF)
	if err != nil {
		return nil, err
	}
	return scanValue(s), nil
}

func measureCases(c *effect.Call) (starlark.Value, error) {
	text := c.Text("text", "")
	c.Steps += int64(len(text))
	if _, with := c.Get("beside").(starlark.Iterable); with {
		return casesWith(c, text)
	}
	var list []starlark.Value
	for _, found := range measure.Cases(c.Text("path", ""), text) {
		list = append(list, caseValue(found))
	}
	return starlark.NewList(list), nil
}

func casesWith(c *effect.Call, text string) (starlark.Value, error) {
	beside, err := texts(c, "beside")
	if err != nil {
		return nil, err
	}
	for _, b := range beside {
		c.Steps += int64(len(b))
	}
	var list []starlark.Value
	for _, found := range measure.CasesWith(c.Text("path", ""), text, beside) {
		d := caseValue(found.Case)
		set(d, "helped", starlark.MakeInt(found.Helped))
		list = append(list, d)
	}
	return starlark.NewList(list), nil
}

func caseValue(found measure.Case) *starlark.Dict {
	return dictOf([]string{"name", "assertions", "digest", "literals"},
		starlark.String(found.Name), starlark.MakeInt(found.Assertions), starlark.String(found.Digest), textList(found.Literals))
}

func testsValue(t *measure.Tests) *starlark.Dict {
	d := dictOf([]string{"passed", "failed", "skipped"}, textList(t.Passed), textList(t.Failed), textList(t.Skipped))
	if t.Coverage != nil {
		set(d, "coverage", coverageValue(t.Coverage))
	}
	return d
}

func coverageValue(r *measure.Coverage) *starlark.Dict {
	d := new(starlark.Dict)
	for i, share := range []*float64{r.Line, r.Branch, r.Function} {
		if share != nil {
			set(d, []string{"line", "branch", "function"}[i], starlark.Float(*share))
		}
	}
	return d
}

func scanValue(s *measure.Scan) *starlark.Dict {
	var results []starlark.Value
	for _, r := range s.Results {
		results = append(results, dictOf([]string{"tool", "rule", "severity", "file", "line", "message"}, starlark.String(r.Tool), starlark.String(r.Rule), starlark.String(r.Severity),
			starlark.String(r.File), starlark.MakeInt(r.Line), starlark.String(r.Message)))
	}
	return dictOf([]string{"tools", "results", "suppressed"}, textList(slices.Clone(s.Tools)), starlark.NewList(results), starlark.MakeInt(s.Suppressed))
}
