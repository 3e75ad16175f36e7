package filter_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/filter"
)

// record is an engine that knows decisions, the newest first, and what it was asked for.
type record struct {
	runtime.Engine
	list  []runtime.Decision
	asked runtime.DecisionQuery
}

func (r *record) Decisions(_ context.Context, q runtime.DecisionQuery) (*runtime.DecisionPage, error) {
	r.asked = q
	begin, _ := strconv.Atoi(q.After)
	page := &runtime.DecisionPage{}
	for i, d := range r.list[begin:] {
		if len(page.Decisions) == min(q.Limit, 2) {
			page.Next = strconv.Itoa(begin + i)
			break
		}
		if !d.At.Before(q.Since) && (q.Until.IsZero() || !d.At.After(q.Until)) {
			page.Decisions = append(page.Decisions, d)
			page.Cursors = append(page.Cursors, strconv.Itoa(begin+i+1))
		}
	}
	return page, nil
}

// decided are decisions a to e, one an hour.
func decided() *record {
	r := &record{list: []runtime.Decision{
		{Run: "a", Script: "ship.star", StartedBy: "ann", Decided: runtime.Decided{Gate: "ship", Choice: "approve", By: "bob", Voters: []string{"eve", "bob"}, Via: "signal"}},
		{Run: "b", Script: "ship.star", StartedBy: "ann", Decided: runtime.Decided{Gate: "ship", Choice: "reject", By: "bob", Through: "cy", Via: "signal", Reason: "A Typo in it"}},
		{Run: "c", Script: "x@2", Decided: runtime.Decided{Gate: "step/free", By: "system", Via: "fallback"}},
		{Run: "d", Script: "x@2", Decided: runtime.Decided{Gate: "g", Choice: "approve", By: "cy", Via: "override", Imported: true}},
		{Run: "e", Script: "x@1", Copied: true, Decided: runtime.Decided{Gate: "g", Choice: "approve", By: "cy", Via: "signal"}},
	}}
	for i := range r.list {
		r.list[i].At = now.Add(-time.Duration(i) * time.Hour)
	}
	return r
}

func TestWhichDecisionsAreMeant(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "abcde",
		"by = bob":                         "ab",
		"by = eve":                         "a",
		"by = bob or through = cy":         "ab",
		"through = cy and choice = reject": "b",
		`choice = ""`:                      "c",
		"reason ~ typo":                    "b",
		"via in (fallback, override)":      "cd",
		"override":                         "d",
		"not override and not copied":      "abc",
		"imported or copied":               "de",
		"gate ~ free":                      "c",
		"run in (a, e)":                    "ae",
		"script ~ x@ and by = cy":          "de",
		"started_by = ann":                 "ab",
		"age < 2h":                         "ab",
		"age <= 2h":                        "abc",
		"age > 2h":                         "de",
		"age >= 2h and age < 4h":           "cd",
		"age = 1h":                         "b",
		"age != 1h":                        "acde",
		"not age < 2h":                     "cde",
		"decided >= 2026-11-21T10:00:00Z":  "abc",
		"decided > 2026-11-21T10:00:00Z":   "ab",
		"decided < 2026-11-21T10:00:00Z":   "de",
		"decided = 2026-11-21T10:00:00Z":   "c",
		"decided < 2026-11-21T10:00:00Z or by = bob":        "abde",
		"(decided >= 2026-11-21T10:00:00Z) and by = system": "c",
		"age < 2h and decided < 2026-11-21T11:30:00Z":       "b",
	} {
		f, err := filter.ParseDecisions(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, limit := range []int{0, 1, 2} {
			got := ""
			for q := (runtime.DecisionQuery{Limit: limit}); ; {
				page, err := f.Of(t.Context(), decided(), q, now)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				for _, d := range page.List {
					got += d.Run
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if got != want {
				t.Errorf("%q by %d: got %q, want %q", text, limit, got, want)
			}
		}
	}
}

// An engine is asked for no more of the record than a chain of conditions on the time leaves.
func TestTimesNarrowWhatIsAsked(t *testing.T) {
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for text, want := range map[string]runtime.DecisionQuery{
		"by = bob and age < 2h":                            {Since: at(-2 * time.Hour)},
		"age >= 1h and age < 3h and age < 2h":              {Since: at(-2 * time.Hour), Until: at(-time.Hour)},
		"decided = 2026-11-21T10:00:00Z":                   {Since: at(-2 * time.Hour), Until: at(-2 * time.Hour)},
		"age < 2h or by = bob":                             {},
		"not age < 2h":                                     {},
		"decided != 2026-11-21 and (age < 2h) and by = me": {},
	} {
		f, err := filter.ParseDecisions(text)
		if err != nil {
			t.Fatal(err)
		}
		r := decided()
		if _, err := f.Of(t.Context(), r, runtime.DecisionQuery{}, now); err != nil {
			t.Fatal(err)
		}
		if !r.asked.Since.Equal(want.Since) || !r.asked.Until.Equal(want.Until) {
			t.Errorf("%q asks since %s until %s, want %s and %s", text, r.asked.Since, r.asked.Until, want.Since, want.Until)
		}
	}
}

// Each list says which of its fields another list has.
func TestFieldsOfOtherLists(t *testing.T) {
	_, err := filter.Parse("by = bob")
	if err == nil || !strings.Contains(err.Error(), `"by" is not a field`) {
		t.Errorf("got %v", err)
	}
	if _, err = filter.ParseDecisions("status = failed"); err == nil || !strings.Contains(err.Error(), `"status" is not a field`) {
		t.Errorf("got %v", err)
	}
	for _, f := range filter.DecisionFields() {
		if _, err := filter.ParseDecisions(f.Example); err != nil || f.Doc == "" || !strings.Contains(f.Example, f.Name) {
			t.Errorf("%s: %q: %v", f.Name, f.Example, err)
		}
	}
}
