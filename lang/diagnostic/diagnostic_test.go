package diagnostic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"starling/lang/diagnostic"
)

func Example() {
	source := "def main():\n    r = agnet(\"reviewer\")\n"
	d := diagnostic.Diagnostic{
		Kind:    "undefined",
		Message: "undefined: agnet",
		Hint:    diagnostic.DidYouMean("agnet", []string{"gate", "agent", "handoff"}),
	}.At("review.star", source, 20, 25)

	fmt.Print(d.Render())
	fmt.Println(d)
	// Output:
	// review.star:2:9: undefined: agnet
	//   |     r = agnet("reviewer")
	//   |         ^^^^^
	//   = help: did you mean "agent"?
	// review.star:2:9: undefined: agnet; did you mean "agent"?
}

func TestErrorIsOneLine(t *testing.T) {
	tests := []struct {
		d    diagnostic.Diagnostic
		want string
	}{
		{diagnostic.Diagnostic{Message: "no script"}, `no script`},
		{diagnostic.Diagnostic{File: "a.star", Message: "is empty"}, `a.star: is empty`},
		{diagnostic.Diagnostic{File: "a.star", Line: 3, Message: "bad"}, `a.star:3: bad`},
		{diagnostic.Diagnostic{File: "a.star", Line: 3, Col: 7, Message: "bad"}, `a.star:3:7: bad`},
		{diagnostic.Diagnostic{Line: 3, Col: 7, Message: "bad"}, `3:7: bad`},
		{diagnostic.Diagnostic{Col: 7, Message: "bad"}, `bad`},
		{
			diagnostic.Diagnostic{Severity: diagnostic.Warning, File: "a.star", Message: "x is never used"},
			`a.star: warning: x is never used`,
		},
		{
			diagnostic.Diagnostic{Path: "findings[2].severity", Got: `"high"`, Want: "one of HIGH, LOW", Hint: `did you mean "HIGH"?`},
			`findings[2].severity: got "high", want one of HIGH, LOW; did you mean "HIGH"?`,
		},
		{
			diagnostic.Diagnostic{File: "a.star", Line: 1, Col: 2, Path: "input.n", Message: "agent()", Got: "a function"},
			`a.star:1:2: input.n: agent(): got a function`,
		},
		{diagnostic.Diagnostic{Hint: "and 3 more"}, `and 3 more`},
		{diagnostic.Diagnostic{Severity: diagnostic.Note, Want: "a name"}, `note: want a name`},
	}
	for _, test := range tests {
		if got := test.d.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestJSON(t *testing.T) {
	d := diagnostic.Diagnostic{Severity: diagnostic.Warning, Kind: "unused", Message: "x is never used", Hint: "remove it"}
	d = d.At("a.star", "x = 1\n", 0, 1)
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"severity":"warning","kind":"unused","file":"a.star","line":1,"col":1,"end_col":2,"text":"x = 1",` +
		`"message":"x is never used","hint":"remove it"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back diagnostic.Diagnostic
	if err := json.Unmarshal(got, &back); err != nil || back != d {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestSeverity(t *testing.T) {
	var s diagnostic.Severity
	err := s.UnmarshalText([]byte("fatal"))
	if want := `severity: got "fatal", want error, warning or note`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := diagnostic.Severity(9).String(); got != "severity(9)" {
		t.Errorf("an unknown severity prints as %q", got)
	}
}

func TestList(t *testing.T) {
	first := diagnostic.Diagnostic{File: "a.star", Line: 1, Col: 9, Message: "one"}
	second := diagnostic.Diagnostic{File: "a.star", Line: 2, Col: 1, Message: "two", Hint: "count"}
	other := diagnostic.Diagnostic{Severity: diagnostic.Warning, File: "b.star", Line: 1, Col: 1, Message: "three"}
	list := diagnostic.List{other, second, first}
	list.Sort()

	if want := "a.star:1:9: one\na.star:2:1: two; count\nb.star:1:1: warning: three"; list.Error() != want {
		t.Errorf("Error() = %q, want %q", list.Error(), want)
	}
	if want := "a.star:1:9: one\na.star:2:1: two\n  = help: count\nb.star:1:1: warning: three\n"; list.Render() != want {
		t.Errorf("Render() = %q, want %q", list.Render(), want)
	}

	err := fmt.Errorf("checking: %w", list.Err())
	var d diagnostic.Diagnostic
	if !errors.As(err, &d) || d != first {
		t.Errorf("errors.As found %+v, want the first", d)
	}
	if !errors.Is(err, second) || errors.Is(err, fs.ErrNotExist) {
		t.Error("errors.Is does not look into the list")
	}
}

func TestListErr(t *testing.T) {
	if err := (diagnostic.List{}).Err(); err != nil {
		t.Errorf("an empty list is the error %v", err)
	}
	if err := (diagnostic.List{{Severity: diagnostic.Warning, Message: "x"}}).Err(); err != nil {
		t.Errorf("a list of warnings is the error %v", err)
	}
	if err := (diagnostic.List{{Severity: diagnostic.Note}, {Message: "x"}}).Err(); err == nil {
		t.Error("a list with an error in it is none")
	}
}
