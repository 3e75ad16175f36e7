package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"starling/runtime"
)

// Subject is an engine under test.
type Subject struct {
	// User is the name of the person at this machine, as the engine sees it. The suite calls as
	// this person, as agents under this name, and as nobody.
	User string
	// Open makes a new, empty engine and returns how each caller sees it: for an engine in this
	// process one that puts the caller into the context, for a socket one whose connection has that
	// identity. What it opened is closed with t.
	Open func(t *testing.T) func(runtime.Caller) runtime.Engine
	// Bundle encodes a script as StartRequest.Bundle wants it.
	Bundle func(source string) []byte
	// Lag is how far lists may be behind what was acknowledged, and with them addresses that need
	// one: "@last", and prefixes. What names a run never is.
	Lag time.Duration
}

// TestEngine checks that an engine keeps the promises of runtime.Engine. It says what callers see
// and nothing about how an engine works, so it holds for the one in this process, for a client of
// its socket, and for any that runs elsewhere.
func TestEngine(t *testing.T, s Subject) {
	for name, test := range map[string]func(*subject){
		"start":             testStart,
		"start refused":     testStartRefused,
		"start keys":        testStartKeys,
		"labels":            testLabels,
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

// TestExtensions checks that an engine keeps the promises of the extensions of runtime.Engine. It
// must have them all: definitions, schedules, queues, reruns, tokens, decisions and archives.
func TestExtensions(t *testing.T, s Subject) {
	t.Run("definitions", func(t *testing.T) { testDefinitions(t, s) })
	t.Run("schedules", func(t *testing.T) { testSchedules(t, s) })
	t.Run("queues", func(t *testing.T) { testQueues(t, s) })
	t.Run("reruns", func(t *testing.T) { testReruns(t, s) })
	t.Run("tokens", func(t *testing.T) { testTokens(t, s) })
	t.Run("decisions", func(t *testing.T) { testDecisions(t, s) })
	t.Run("archive", func(t *testing.T) { testArchive(t, s) })
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

// subject is one test's engine and what the tests say about it.
type subject struct {
	*testing.T
	runtime.Engine // as the user sees it
	user           string
	as             func(runtime.Caller) runtime.Engine
	bundle         func(string) []byte
	lag            time.Duration
	ctx            context.Context
}

func newEngine(t *testing.T, s Subject) *subject {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	as := s.Open(t)
	return &subject{T: t, Engine: as(runtime.Caller{Name: s.User, Local: true}), user: s.User, as: as, bundle: s.Bundle, lag: s.Lag, ctx: ctx}
}

// agent is the engine as a process sees it that descends from an attempt of an agent in a run.
func (e *subject) agent(name, run string) runtime.Engine {
	return e.as(runtime.Caller{Name: e.user, Agent: name, Run: run})
}

func (e *subject) request(src string) runtime.StartRequest {
	return runtime.StartRequest{Bundle: e.bundle(src), Script: "test.star"}
}

// start begins a run of a script.
func (e *subject) start(src string) *runtime.Run {
	e.Helper()
	run, err := e.Start(e.ctx, e.request(src))
	e.ok(err)
	return run
}

// opened begins a run and waits for its gate.
func (e *subject) opened(src, gate string) *runtime.Run {
	e.Helper()
	return e.until(e.start(src).ID, func(r *runtime.Run) bool {
		return len(r.Gates) == 1 && r.Gates[0].Gate == gate && r.Status == runtime.Suspended
	})
}

// ended waits for a run's end.
func (e *subject) ended(id string) *runtime.Run {
	e.Helper()
	return e.until(id, func(r *runtime.Run) bool { return r.Status.Ended() })
}

// until looks at a run after each of its events until it is as wanted. What Watch has shown, Get
// shows.
func (e *subject) until(id string, ok func(*runtime.Run) bool) *runtime.Run {
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

func (e *subject) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("got error %q, want none", err)
	}
}

// refused checks that an error is a refusal of this kind with a message.
func (e *subject) refused(kind runtime.ErrorKind, err error) *runtime.Refusal {
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

// soon is same for what may lag: it looks again until both are the same, or the lag is over.
func (e *subject) soon(what string, got func() any, want any) {
	e.Helper()
	for end := time.Now().Add(e.lag); time.Now().Before(end) && !reflect.DeepEqual(plain(e.T, got()), plain(e.T, want)); {
		time.Sleep(e.lag / 100)
	}
	e.same(what, got(), want)
}

// found is the run that an address leads to, or why it leads nowhere.
func (e *subject) found(address string) any {
	run, err := e.Get(e.ctx, address)
	if err != nil {
		return string(kindOf(err))
	}
	return run.ID
}

// listed is what a query finds, by the ids of runs and the addresses of gates.
func (e *subject) listed(q runtime.Query) any {
	e.Helper()
	l, err := e.List(e.ctx, q)
	e.ok(err)
	found := []string{}
	for _, r := range l.Runs {
		found = append(found, r.ID)
	}
	for _, g := range l.Gates {
		found = append(found, g.Address)
	}
	return found
}

// same compares two values as the JSON that they are for clients.
func (e *subject) same(what string, got, want any) {
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
