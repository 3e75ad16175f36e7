package filter_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"starling/lang/diagnostic"
	"starling/runtime"
	"starling/runtime/filter"
)

var update = flag.Bool("update", false, "rewrite testdata and grammar.md")

// testdata/refused.txt is a transcript: a filter after "> ", below it what is said of it.
func TestRefusedFilters(t *testing.T) {
	file := filepath.Join("testdata", "refused.txt")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var after strings.Builder
	for line := range strings.Lines(string(before)) {
		text, isFilter := strings.CutPrefix(line, "> ")
		if strings.HasPrefix(line, "#") || line == "\n" {
			after.WriteString(line)
		}
		if !isFilter {
			continue
		}
		after.WriteString(line)
		_, err := filter.Parse(strings.TrimSuffix(text, "\n"))
		var list diagnostic.List
		if !errors.As(err, &list) {
			t.Errorf("%q: got %v, want a diagnostic", text, err)
		}
		for _, d := range list {
			if d.Kind != "usage" {
				t.Errorf("%q: kind %q", text, d.Kind)
			}
		}
		after.WriteString(list.Render())
	}
	if *update {
		if err := os.WriteFile(file, []byte(after.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if after.String() != string(before) {
		t.Errorf("got\n%s\nwant\n%s", after.String(), before)
	}
}

// listing is an engine that knows runs and gates, as every engine lists them.
type listing struct {
	runtime.Engine
	runs  []runtime.Summary
	gates []runtime.Gate
}

func (l listing) List(_ context.Context, q runtime.Query) (*runtime.Listing, error) {
	if q.Gates {
		return &runtime.Listing{Gates: l.gates}, nil
	}
	var runs []runtime.Summary
	for _, r := range l.runs {
		if q.All || !r.Status.Ended() {
			runs = append(runs, r)
		}
	}
	return &runtime.Listing{Runs: runs}, nil
}

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is runs a to e, of which a and b have gates: a one for the reviewer and one for anybody.
func world() listing {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	return listing{
		runs: []runtime.Summary{
			{ID: "a", Status: runtime.Suspended, Script: "lib/Review.star", StartedAt: ago(3 * time.Hour), UpdatedAt: ago(time.Hour), Gates: 2, NextDue: at(5 * time.Minute), Carried: true},
			{ID: "b", Status: runtime.Suspended, Script: "ship@2", StartedAt: ago(time.Hour), UpdatedAt: ago(time.Minute), Gates: 1, NextDue: at(-time.Minute), Overdue: true, StartedBy: "ann"},
			{ID: "c", Status: runtime.Running, Script: "build-all.star", StartedAt: ago(48 * time.Hour), UpdatedAt: ago(0), Carried: true, Parent: "a@run"},
			{ID: "d", Status: runtime.Failed, Script: "build.star", StartedAt: ago(50 * time.Hour), UpdatedAt: ago(49 * time.Hour), Error: "a Timeout of the judge"},
			{ID: "e", Status: runtime.Completed, Script: "x.star", StartedAt: ago(50 * time.Hour), UpdatedAt: ago(49 * time.Hour), Session: true},
		},
		gates: []runtime.Gate{
			{Address: "a/review", Gate: "review", Target: "reviewer", Prompt: "Publish 2 items?", OpenedAt: ago(150 * time.Minute), Options: []runtime.Option{{Name: "approve"}, {Name: "reject"}}},
			{Address: "a/other", Gate: "other", OpenedAt: ago(10 * time.Minute)},
			{Address: "b/ship", Gate: "ship", Target: "boss", OpenedAt: ago(time.Minute)},
		},
	}
}

func TestWhichRunsAreMeant(t *testing.T) {
	for text, want := range map[string]string{
		"": "abc",
		`status = suspended and target = "reviewer" and age > 2h`: "a",
		"status = suspended and target = boss and age > 2h":       "",
		"STATUS = suspended AND NOT target = boss":                "a",
		"status in (failed, completed)":                           "de",
		"status != suspended":                                     "cde",
		"run in (a, c, b)":                                        "abc",
		"error ~ timeout":                                         "d",
		"script ~ review":                                         "a",
		"script ~ build*all":                                      "c",
		"script !~ build*all":                                     "ab",
		"script = build-all.star or run = b":                      "bc",
		`target = ""`:                                             "a",
		"target != reviewer":                                      "bc",
		"option = approve":                                        "a",
		"prompt ~ publish":                                        "a",
		"gates >= 1":                                              "ab",
		"gates > 1":                                               "a",
		"gates = 0":                                               "c",
		"due < 10m":                                               "ab",
		"due < 0s":                                                "b",
		"not due < 10m":                                           "c",
		"idle <= 1m":                                              "bc",
		"started >= 2026-11-21":                                   "ab",
		"updated < 2026-11-21T11:30:00Z":                          "a",
		"carried":                                                 "ac",
		"not carried and not session":                             "b",
		"carried = false":                                         "b",
		"overdue or parent ~ a@":                                  "bc",
		"carried and overdue or run = b":                          "b",
		"carried and (overdue or run = b)":                        "",
		"session and status = completed":                          "e",
		"started_by = ann":                                        "b",
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		runs, err := f.Runs(t.Context(), world(), runtime.Query{}, now)
		got := ""
		for _, r := range runs.List {
			got += r.ID
		}
		if err != nil || got != want {
			t.Errorf("%q: got %q %v, want %q", text, got, err, want)
		}
	}
}

func TestWhichGatesAreMeant(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "a/review a/other b/ship",
		"age > 2h":                             "a/review", // of the gate, not of its run
		`target in (boss, "")`:                 "a/other b/ship",
		"status = suspended and script ~ ship": "b/ship",
		"gates = 2 and not target = reviewer":  "a/other",
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		gates, err := f.Gates(t.Context(), world(), runtime.Query{}, now)
		var got []string
		for _, g := range gates.List {
			got = append(got, g.Address)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %q %v, want %q", text, got, err, want)
		}
	}
}

func TestALimitCountsWhatIsListed(t *testing.T) {
	f, err := filter.Parse("carried")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := f.Runs(t.Context(), world(), runtime.Query{Limit: 2}, now)
	if err != nil || len(runs.List) != 2 || runs.List[1].ID != "c" {
		t.Errorf("got %v %v", runs, err)
	}
}

// The example of each field is a filter, and its name is one that a filter may use.
func TestFieldsAreDocumented(t *testing.T) {
	for _, f := range filter.Fields() {
		if _, err := filter.Parse(f.Example); err != nil || f.Doc == "" || !strings.Contains(f.Example, strings.TrimSuffix(f.Name, "NAME")) {
			t.Errorf("%s: %q: %v", f.Name, f.Example, err)
		}
	}
}

func TestTheGrammarIsWritten(t *testing.T) {
	text, err := os.ReadFile("grammar.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```ebnf\n.*?```")
	want := block.ReplaceAllLiteralString(string(text), "```ebnf\n"+strings.TrimSpace(filter.Grammar())+"\n```")
	if *update {
		err = os.WriteFile("grammar.md", []byte(want), 0o644)
	}
	if err != nil || string(text) != want && !*update {
		t.Errorf("%v: want\n%s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`status = suspended and target = "reviewer" and age > 2h`, "status in (failed, completed) or not (carried)", `a "`, "((", "age > 9999999d", "due=1e9", "not not"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := filter.Parse(text)
		if err != nil {
			var list diagnostic.List
			if !errors.As(err, &list) {
				t.Fatalf("%q: %v is no diagnostic", text, err)
			}
			list.Render()
			return
		}
		all, err := got.Runs(t.Context(), world(), runtime.Query{All: true}, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > filter.MaxText-10 {
			return
		}
		negated, err := filter.Parse("not (" + text + ")")
		if strings.TrimSpace(text) == "" || err != nil { // nested one too deep
			return
		}
		rest, err := negated.Runs(t.Context(), world(), runtime.Query{All: true}, now)
		if err != nil || len(all.List)+len(rest.List) != 5 {
			t.Errorf("%q means %d runs and does not mean %d of 5: %v", text, len(all.List), len(rest.List), err)
		}
	})
}
