package runtimetest

import (
	"fmt"
	"strings"

	"starling/runtime"
)

func testStart(e *subject) {
	r := e.request(hello)
	r.Inputs = []byte(`{"who": "ann"}`)
	first, err := e.Start(e.ctx, r)
	e.ok(err)
	if first.ID == "" || first.Schema != runtime.Schema || first.Script != "test.star" {
		e.Fatalf("got %+v, want a document with id, schema and script", first)
	}
	run := e.ended(first.ID)
	e.same("status", run.Status, runtime.Completed)
	e.same("inputs", run.Inputs, `{"who": "ann"}`)
	e.same("output", run.Output, `{"greeted": "ann"}`)
	e.same("error", run.Error, nil)
	e.same("gates", run.Gates, []any{})
	if run.Details == nil || run.Details.StartedBy != e.user || run.Details.Seq == 0 || run.Details.StartedAt.IsZero() {
		e.Fatalf("got details %+v, want who started it, when, and its newest record", run.Details)
	}
}

func testStartRefused(e *subject) {
	r := e.request(hello)
	r.Inputs = []byte(`{"whom": "ann"}`)
	_, err := e.Start(e.ctx, r)
	e.refused(runtime.ErrBadInput, err)

	_, err = e.Start(e.ctx, runtime.StartRequest{Bundle: []byte("not a bundle"), Script: "test.star"})
	if k := kindOf(err); k == "" || k == runtime.ErrInternal {
		e.Fatalf("a broken bundle: got %v of kind %q, want a refusal that blames the bundle", err, k)
	}
	l, err := e.List(e.ctx, runtime.Query{All: true})
	e.ok(err)
	e.same("runs after refused starts", len(l.Runs), 0)
}

func testStartKeys(e *subject) {
	r := e.request(review)
	r.Key = "once"
	r.Env = map[string]string{"TOKEN": "a"}
	first, err := e.Start(e.ctx, r)
	e.ok(err)
	r.Env = map[string]string{"TOKEN": "b"} // values are no part of what is asked
	again, err := e.Start(e.ctx, r)
	e.ok(err)
	e.same("the run under a key", again.ID, first.ID)

	other := e.request(hello)
	other.Key = "once"
	_, err = e.Start(e.ctx, other)
	e.refused(runtime.ErrKeyConflict, err)

	r.Key = ""
	second, err := e.Start(e.ctx, r)
	e.ok(err)
	if second.ID == first.ID {
		e.Fatal("a start without a key gave the run of another")
	}
}

func testAddresses(e *subject) {
	_, err := e.Get(e.ctx, "@last")
	e.refused(runtime.ErrUnknownRun, err)

	seen := map[byte]string{}
	for {
		id := e.start(hello).ID
		e.soon("@last", func() any { return e.found("@last") }, id)
		e.same("the whole id", e.found(id), id)
		twin, ok := seen[id[0]]
		if !ok {
			seen[id[0]] = id
			continue
		}
		n := 0
		for id[n] == twin[n] {
			n++
		}
		_, err = e.Get(e.ctx, id[:n])
		e.refused(runtime.ErrAmbiguous, err)
		e.same("a unique prefix", e.found(id[:n+1]), id)
		break
	}
	_, err = e.Get(e.ctx, "nosuchrun")
	e.refused(runtime.ErrUnknownRun, err)
	_, err = e.Get(e.ctx, "")
	if err == nil {
		e.Fatal("no address at all: got a run, want a refusal")
	}
}

func testList(e *subject) {
	done := e.ended(e.start(hello).ID)
	open := e.opened(review, "review")
	for _, c := range []struct {
		name  string
		query runtime.Query
		want  []string
	}{
		{"what has not ended", runtime.Query{}, []string{open.ID}},
		{"all, newest first", runtime.Query{All: true}, []string{open.ID, done.ID}},
		{"at most one", runtime.Query{All: true, Limit: 1}, []string{open.ID}},
		{"completed", runtime.Query{All: true, Status: []runtime.Status{runtime.Completed}}, []string{done.ID}},
		{"failed", runtime.Query{All: true, Status: []runtime.Status{runtime.Failed, runtime.Cancelled}}, []string{}},
	} {
		e.soon(c.name, func() any { return e.listed(c.query) }, c.want)
	}
	var s runtime.Summary
	e.soon("the gates of the one that waits", func() any {
		l, err := e.List(e.ctx, runtime.Query{})
		e.ok(err)
		s = l.Runs[0]
		return s.Gates
	}, 1)
	if s.Status != runtime.Suspended || s.Script != "test.star" || s.Gates != 1 || !s.Carried || s.StartedAt.IsZero() {
		e.Fatalf("got summary %+v, want a carried, suspended run of test.star with one gate", s)
	}
}

func testFailure(e *subject) {
	run := e.ended(e.start(failing).ID)
	e.same("status", run.Status, runtime.Failed)
	e.same("output", run.Output, nil)
	if run.Error == nil || run.Error.Kind != "script" || !strings.Contains(run.Error.Message, "no luck") {
		e.Fatalf("got error %+v, want kind script saying no luck", run.Error)
	}
}

func testCarry(e *subject) {
	done, open := e.ended(e.start(hello).ID), e.opened(review, "review")
	carried, err := e.Resume(e.ctx, runtime.ResumeRequest{Runs: []string{open.ID}})
	e.ok(err)
	e.same("carried", carried, []string{open.ID})
	e.soon("all that have not ended: "+done.ID+" has", func() any {
		carried, err := e.Resume(e.ctx, runtime.ResumeRequest{All: true, Env: map[string]string{"TOKEN": "x"}})
		e.ok(err)
		return carried
	}, []string{open.ID})
	_, err = e.Resume(e.ctx, runtime.ResumeRequest{Runs: []string{"nosuchrun"}})
	e.refused(runtime.ErrUnknownRun, err)
}

func testStrangers(e *subject) {
	run := e.opened(review, "review")
	stranger := e.as(runtime.Caller{})
	calls := map[string]func() error{
		"start":  func() error { _, err := stranger.Start(e.ctx, e.request(hello)); return err },
		"signal": func() error { _, err := stranger.Signal(e.ctx, approve(run.ID)); return err },
		"cancel": func() error { _, err := stranger.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID}); return err },
		"carry":  func() error { _, err := stranger.Resume(e.ctx, runtime.ResumeRequest{All: true}); return err },
	}
	for name, call := range calls {
		if err := call(); kindOf(err) != runtime.ErrDenied {
			e.Errorf("%s by nobody: got %v, want denied", name, err)
		}
	}
	now, err := e.Get(e.ctx, run.ID)
	e.ok(err)
	e.same("the run after that", now.Status, runtime.Suspended)
}

func testClose(e *subject) {
	run := e.opened(review, "review")
	watching := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		first := true
		ended <- e.Watch(e.ctx, runtime.WatchRequest{Run: run.ID, Follow: true}, func(runtime.Event) error {
			if first {
				close(watching)
			}
			first = false
			return nil
		})
	}()
	<-watching
	e.ok(e.Close())
	if err := <-ended; err == nil {
		e.Fatal("a watch that Close cut: got nil, which means that the run ended, want an error")
	}
	if _, err := e.Get(e.ctx, run.ID); err == nil {
		e.Fatal("Get after Close: got no error")
	}
	for range 100 { // a request must not outrun the end that it finds
		if _, err := e.Start(e.ctx, e.request(hello)); err == nil {
			e.Fatal("Start after Close: got no error")
		}
	}
}

// testDocuments checks that what a client reads as JSON has the fields that are promised, null
// where there is nothing.
func testDocuments(e *subject) {
	run := e.opened(review, "review")
	doc, _ := plain(e.T, run).(map[string]any)
	for _, field := range []string{"schema", "id", "status", "script", "inputs", "output", "error", "gates"} {
		if _, ok := doc[field]; !ok {
			e.Errorf("a run has no field %q: %v", field, doc)
		}
	}
	gate, _ := doc["gates"].([]any)[0].(map[string]any)
	for _, field := range []string{"address", "gate", "prompt", "options", "target", "data", "schema", "opened_at", "deadline", "answer_with"} {
		if _, ok := gate[field]; !ok {
			e.Errorf("a gate has no field %q: %v", field, gate)
		}
	}
	e.same("address", gate["address"], fmt.Sprint(run.ID, "/review"))
	e.same("options", gate["options"], `[{"name": "approve"}, {"name": "reject"}]`)
	e.same("data", gate["data"], `{"items": ["a", "b"]}`)
	e.same("prompt", gate["prompt"], "Publish?")
}
