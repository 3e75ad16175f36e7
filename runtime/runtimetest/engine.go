package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"starling/runtime"
)

// Subject is an engine under test.
type Subject struct {
	// User is the name of the person at this machine, as the engine sees it. The suite calls as this person, as agents under this name, and as nobody.
	User string
	// Open makes a new, empty engine and returns how each caller sees it: for an engine in this process one that puts the caller into the context, for a socket
	// one whose connection has that identity. What it opened is closed with t.
	Open func(t *testing.T) func(runtime.Caller) runtime.Engine
	// Bundle encodes a script as StartRequest.Bundle wants it.
	Bundle func(source string) []byte
}

// TestEngine checks that an engine keeps the promises of runtime.Engine. It says what callers see and nothing about how an engine works, so it holds for
// the one in this process, for a client of its socket, and for any that runs elsewhere.
func TestEngine(t *testing.T, s Subject) {
	for name, test := range map[string]func(*engine){
		"start":             testStart,
		"start refused":     testStartRefused,
		"start keys":        testStartKeys,
		"addresses":         testAddresses,
		"list":              testList,
		"failure":           testFailure,
		"carry":             testCarry,
		"strangers":         testStrangers,
		"close":             testClose,
		"answer":            testAnswer,
		"answer refused":    testAnswerRefused,
		"answer after":      testAnswerAfter,
		"answer keys":       testAnswerKeys,
		"answer as":         testAnswerAs,
		"answer by agents":  testAnswerByAgents,
		"answer races":      testAnswerRaces,
		"message":           testMessage,
		"cancel":            testCancel,
		"inbox":             testInbox,
		"watch":             testWatch,
		"watch resumes":     testWatchResumes,
		"watch ends":        testWatchEnds,
		"watch refused":     testWatchRefused,
		"watch slow":        testWatchSlow,
		"watch live":        testWatchLive,
		"documents as JSON": testDocuments,
	} {
		t.Run(name, func(t *testing.T) { test(newEngine(t, s)) })
	}
}

// Scripts of the suite.
const (
	hello = `
def main(who = "world"):
    print("hello", who)
    return {"greeted": who}
`
	review = `
def main(target = "somebody"):
    print("before")
    d = gate("review", prompt = "Publish?", options = ["approve", "reject"], data = {"items": ["a", "b"]})
    print("after", d.choice)
    return {"choice": d.choice, "reason": d.reason, "by": d.by}
`
	targeted = `
def main():
    d = gate("review", options = ["approve", "reject"], target = "bob")
    return {"by": d.by}
`
	free = `
def main():
    d = gate("note", schema = contract("{note: string}"))
    return {"note": d.payload}
`
	two = `
def main():
    a = gate("first", options = ["on"])
    b = gate("second", options = ["on"])
    return {"a": a.choice, "b": b.choice}
`
	failing = `
def main():
    fail("no luck")
`
)

// hang bounds a test that waits for what never comes.
const hang = 60 * time.Second

// engine is one test's engine and what the tests say about it.
type engine struct {
	*testing.T
	runtime.Engine // as the user sees it
	user           string
	as             func(runtime.Caller) runtime.Engine
	bundle         func(string) []byte
	ctx            context.Context
}

func newEngine(t *testing.T, s Subject) *engine {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	as := s.Open(t)
	return &engine{T: t, Engine: as(runtime.Caller{Name: s.User, Local: true}), user: s.User, as: as, bundle: s.Bundle, ctx: ctx}
}

// agent is the engine as a process sees it that descends from an attempt of an agent in a run.
func (e *engine) agent(name, run string) runtime.Engine {
	return e.as(runtime.Caller{Name: e.user, Agent: name, Run: run})
}

func (e *engine) request(src string) runtime.StartRequest {
	return runtime.StartRequest{Bundle: e.bundle(src), Script: "test.star"}
}

// start begins a run of a script.
func (e *engine) start(src string) *runtime.Run {
	e.Helper()
	run, err := e.Start(e.ctx, e.request(src))
	e.ok(err)
	return run
}

// opened begins a run and waits for its gate.
func (e *engine) opened(src, gate string) *runtime.Run {
	e.Helper()
	return e.until(e.start(src).ID, func(r *runtime.Run) bool {
		return len(r.Gates) == 1 && r.Gates[0].Gate == gate && r.Status == runtime.Suspended
	})
}

// ended waits for a run's end.
func (e *engine) ended(id string) *runtime.Run {
	e.Helper()
	return e.until(id, func(r *runtime.Run) bool { return r.Status.Ended() })
}

// until looks at a run after each of its events until it is as wanted. What Watch has shown, Get shows.
func (e *engine) until(id string, ok func(*runtime.Run) bool) *runtime.Run {
	e.Helper()
	var found *runtime.Run
	err := e.Watch(e.ctx, runtime.WatchRequest{Run: id, Follow: true}, func(runtime.Event) error {
		run, err := e.Get(e.ctx, id)
		if err == nil && ok(run) {
			found, err = run, runtime.ErrStopWatch
		}
		return err
	})
	e.ok(err)
	if found == nil {
		e.Fatalf("run %s ended and was never as it should be", id)
	}
	return found
}

func (e *engine) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("got error %q, want none", err)
	}
}

// refused checks that an error is a refusal of this kind with a message.
func (e *engine) refused(kind runtime.ErrorKind, err error) *runtime.Refusal {
	e.Helper()
	if kindOf(err) != kind || err.Error() == "" {
		e.Fatalf("got %s: %v, want a refusal %s with a message", kindOf(err), err, kind)
	}
	return runtime.AsRefusal(err)
}

// kindOf is the kind of a refusal, "" for what is none.
func kindOf(err error) runtime.ErrorKind {
	var r *runtime.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return r.Kind
}

// same compares two values as the JSON that they are for clients.
func (e *engine) same(what string, got, want any) {
	e.Helper()
	if g, w := plain(e.T, got), plain(e.T, want); !reflect.DeepEqual(g, w) {
		e.Fatalf("%s: got %v, want %v", what, g, w)
	}
}

func plain(t *testing.T, v any) (out any) {
	t.Helper()
	if text, ok := v.(string); ok && json.Valid([]byte(text)) {
		v = json.RawMessage(text)
	}
	content, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(content, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func testStart(e *engine) {
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

func testStartRefused(e *engine) {
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

func testStartKeys(e *engine) {
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

func testAddresses(e *engine) {
	_, err := e.Get(e.ctx, "@last")
	e.refused(runtime.ErrUnknownRun, err)

	seen := map[byte]string{}
	for {
		id := e.start(hello).ID
		run, err := e.Get(e.ctx, "@last")
		e.ok(err)
		e.same("@last", run.ID, id)
		run, err = e.Get(e.ctx, id)
		e.ok(err)
		e.same("the whole id", run.ID, id)
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
		run, err = e.Get(e.ctx, id[:n+1])
		e.ok(err)
		e.same("a unique prefix", run.ID, id)
		break
	}
	_, err = e.Get(e.ctx, "nosuchrun")
	e.refused(runtime.ErrUnknownRun, err)
	_, err = e.Get(e.ctx, "")
	if err == nil {
		e.Fatal("no address at all: got a run, want a refusal")
	}
}

func testList(e *engine) {
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
		l, err := e.List(e.ctx, c.query)
		e.ok(err)
		ids := []string{}
		for _, r := range l.Runs {
			ids = append(ids, r.ID)
		}
		e.same(c.name, ids, c.want)
	}
	l, err := e.List(e.ctx, runtime.Query{})
	e.ok(err)
	s := l.Runs[0]
	if s.Status != runtime.Suspended || s.Script != "test.star" || s.Gates != 1 || !s.Carried || s.StartedAt.IsZero() {
		e.Fatalf("got summary %+v, want a carried, suspended run of test.star with one gate", s)
	}
}

func testFailure(e *engine) {
	run := e.ended(e.start(failing).ID)
	e.same("status", run.Status, runtime.Failed)
	e.same("output", run.Output, nil)
	if run.Error == nil || run.Error.Kind != "script" || !strings.Contains(run.Error.Message, "no luck") {
		e.Fatalf("got error %+v, want kind script saying no luck", run.Error)
	}
}

func testCarry(e *engine) {
	done, open := e.ended(e.start(hello).ID), e.opened(review, "review")
	carried, err := e.Carry(e.ctx, runtime.CarryRequest{Runs: []string{open.ID}})
	e.ok(err)
	e.same("carried", carried, []string{open.ID})
	carried, err = e.Carry(e.ctx, runtime.CarryRequest{All: true, Env: map[string]string{"TOKEN": "x"}})
	e.ok(err)
	e.same("all that have not ended: "+done.ID+" has", carried, []string{open.ID})
	_, err = e.Carry(e.ctx, runtime.CarryRequest{Runs: []string{"nosuchrun"}})
	e.refused(runtime.ErrUnknownRun, err)
}

func testStrangers(e *engine) {
	run := e.opened(review, "review")
	stranger := e.as(runtime.Caller{})
	calls := map[string]func() error{
		"start":  func() error { _, err := stranger.Start(e.ctx, e.request(hello)); return err },
		"signal": func() error { _, err := stranger.Signal(e.ctx, approve(run.ID)); return err },
		"cancel": func() error { _, err := stranger.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID}); return err },
		"carry":  func() error { _, err := stranger.Carry(e.ctx, runtime.CarryRequest{All: true}); return err },
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

func testClose(e *engine) {
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
	if _, err := e.Start(e.ctx, e.request(hello)); err == nil {
		e.Fatal("Start after Close: got no error")
	}
}

// testDocuments checks that what a client reads as JSON has the fields that are promised, null where there is nothing.
func testDocuments(e *engine) {
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
