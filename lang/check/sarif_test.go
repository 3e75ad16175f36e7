package check

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"starling/lang/diagnostic"
)

// TestSARIF: whatever the findings, the log is one that the standard admits, and each result has a
// rule and the place of its finding.
func TestSARIF(t *testing.T) {
	schema, err := os.ReadFile("../../testdata/sarif.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	valid := compiler.MustCompile("sarif.json")

	list := diagnostic.List{
		diagnostic.Diagnostic{Kind: "undefined", Message: "undefined: agnet", Hint: `did you mean "agent"?`, Fix: diagnostic.Edit{Line: 1, Col: 5, EndLine: 1, EndCol: 10, Text: "agent"}}.At("lib/a b#%.star", "x = agnet\n", 4, 9),
		diagnostic.Diagnostic{Severity: diagnostic.Warning, Kind: "unreachable", Message: "this is never reached"}.At("a:b.star", "return\nx", 7, 7),
		{Kind: "missing_module", File: "gone.star", Message: "cannot read the script"},
		{Severity: diagnostic.Note, Kind: "contract", File: "@std/x.star", Line: 2, Col: 3, Got: "1", Want: "2"},
	}
	for _, found := range []diagnostic.List{{}, list} {
		text := SARIF(found)
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid.Validate(instance); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}

	var lines []string
	for _, r := range sarif(list).Runs[0].Results {
		if !slices.ContainsFunc(Rules(), func(rule Rule) bool { return rule.Kind == r.RuleID }) {
			t.Errorf("%s has no rule", r.RuleID)
		}
		text, err := json.Marshal(r.Locations[0].PhysicalLocation)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, r.Level+" "+r.Message.Text+" "+string(text))
	}
	const place = `{"artifactLocation":{"uri":"`
	want := []string{
		`error undefined: agnet; did you mean "agent"? ` + place + `lib/a%20b%23%25.star","uriBaseId":"%SRCROOT%"},"region":{"startLine":1,"startColumn":5,"endColumn":10}}`,
		`warning this is never reached ` + place + `./a:b.star","uriBaseId":"%SRCROOT%"},"region":{"startLine":2,"startColumn":1,"endColumn":2}}`,
		`error cannot read the script ` + place + `gone.star","uriBaseId":"%SRCROOT%"}}`,
		`note got 1, want 2 ` + place + `@std/x.star","uriBaseId":"%SRCROOT%"},"region":{"startLine":2,"startColumn":3,"endColumn":4}}`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
