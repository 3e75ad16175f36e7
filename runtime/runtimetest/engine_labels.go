package runtimetest

import (
	"strings"

	"starling/lang/effect"
	"starling/runtime"
)

// Labels are what a run was started with, for good, and its own: also of one of two that were
// started alike but for them.
func testLabels(e *subject) {
	r := e.request(review)
	r.Key, r.Labels = "labelled", effect.Labels{"team": "web", "example.org/tier": ""}
	web, err := e.Start(e.ctx, r)
	e.ok(err)
	again, err := e.Start(e.ctx, r)
	e.ok(err)
	e.same("the run under a key", again.ID, web.ID)
	other := r
	other.Labels = effect.Labels{"team": "db"}
	_, err = e.Start(e.ctx, other)
	e.refused(runtime.ErrKeyConflict, err)
	other.Key, r.Key, r.Labels = "", "", nil
	db, err := e.Start(e.ctx, other)
	e.ok(err)
	none, err := e.Start(e.ctx, r)
	e.ok(err)

	want := map[string]effect.Labels{web.ID: {"team": "web", "example.org/tier": ""}, db.ID: {"team": "db"}, none.ID: nil}
	for id, labels := range want {
		run := e.until(id, func(r *runtime.Run) bool { return len(r.Gates) > 0 })
		e.same("labels of a run", run.Details.Labels, labels)
	}
	e.soon("labels in a list", func() any {
		l, err := e.List(e.ctx, runtime.Query{})
		e.ok(err)
		found := map[string]effect.Labels{}
		for _, row := range l.Runs {
			found[row.ID] = row.Labels
		}
		return found
	}, want)

	for _, wrong := range []effect.Labels{{"": "x"}, {"a b": "x"}, {"a": "x y"}, {"a": strings.Repeat("x", 64)}} {
		r.Labels = wrong
		_, err := e.Start(e.ctx, r)
		e.refused(runtime.ErrUsage, err)
	}
}
