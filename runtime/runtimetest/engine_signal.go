package runtimetest

import (
	"encoding/json"
	"slices"
	"sync"

	"starling/runtime"
)

// approve answers the gate of the review script.
func approve(run string) runtime.Signal {
	return runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "review", Choice: "approve"}
}

func testAnswer(e *subject) {
	run := e.opened(review, "review")
	s := approve(run.ID)
	s.Reason = "looks <good> & done"
	receipt, err := e.Signal(e.ctx, s)
	e.ok(err)
	if !receipt.Accepted || receipt.Repeated || receipt.Run != run.ID || receipt.Gate != "review" || receipt.Seq == 0 || receipt.Schema != runtime.Schema {
		e.Fatalf("got receipt %+v, want one that accepts an answer to review for the first time", receipt)
	}
	var d struct{ Choice, Reason, By string }
	e.ok(json.Unmarshal(receipt.Decision, &d))
	e.same("decision", []string{d.Choice, d.Reason, d.By}, []string{"approve", s.Reason, e.user})

	done := e.ended(run.ID)
	e.same("output", done.Output, map[string]string{"choice": "approve", "reason": s.Reason, "by": e.user})
}

func testAnswerRefused(e *subject) {
	run, note := e.opened(review, "review"), e.opened(free, "note")
	later := e.opened(two, "first")
	for _, c := range []struct {
		name   string
		kind   runtime.ErrorKind
		signal runtime.Signal
	}{
		{"no such run", runtime.ErrUnknownRun, approve("nosuchrun")},
		{"no such gate", runtime.ErrUnknownGate, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "revue", Choice: "approve"}},
		{"a gate to come", runtime.ErrNotOpen, runtime.Signal{Kind: runtime.SignalAnswer, Run: later.ID, Gate: "second", Choice: "on"}},
		{"a choice not offered", runtime.ErrBadChoice, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "review", Choice: "aprove"}},
		{"no choice", runtime.ErrBadChoice, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "review"}},
		{"a payload against the schema", runtime.ErrBadPayload,
			runtime.Signal{Kind: runtime.SignalAnswer, Run: note.ID, Gate: "note", Data: []byte(`{"note": 5}`)}},
		{"no payload", runtime.ErrBadPayload, runtime.Signal{Kind: runtime.SignalAnswer, Run: note.ID, Gate: "note"}},
		{"a payload that is not JSON", runtime.ErrBadPayload,
			runtime.Signal{Kind: runtime.SignalAnswer, Run: note.ID, Gate: "note", Data: []byte(`{"note": `)}},
	} {
		_, err := e.Signal(e.ctx, c.signal)
		if kindOf(err) != c.kind {
			e.Errorf("%s: got %v, want %s", c.name, err, c.kind)
		}
	}
	for _, r := range []*runtime.Run{run, note, later} {
		now, err := e.Get(e.ctx, r.ID)
		e.ok(err)
		e.same("gates after refusals", now.Gates, r.Gates)
		e.same("status after refusals", now.Status, runtime.Suspended)
	}
	_, err := e.Signal(e.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: note.ID, Gate: "note", Data: []byte(`{"note": "fine"}`)})
	e.ok(err)
	e.same("output", e.ended(note.ID).Output, `{"note": {"note": "fine"}}`)
}

// testAnswerAfter checks what late answers hear: while the run goes on, when it has ended, and when
// the gate was withdrawn.
func testAnswerAfter(e *subject) {
	run := e.opened(two, "first")
	first := runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "first", Choice: "on"}
	receipt, err := e.Signal(e.ctx, first)
	e.ok(err)
	_, err = e.Signal(e.ctx, first)
	e.same("the decision in the refusal", e.refused(runtime.ErrDecided, err).Data, receipt.Decision)

	e.until(run.ID, func(r *runtime.Run) bool { return len(r.Gates) == 1 && r.Gates[0].Gate == "second" })
	_, err = e.Signal(e.ctx, runtime.Signal{Kind: runtime.SignalAnswer, Run: run.ID, Gate: "second", Choice: "on"})
	e.ok(err)
	e.ended(run.ID)
	_, err = e.Signal(e.ctx, first)
	e.refused(runtime.ErrDecided, err)

	gone := e.opened(review, "review")
	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: gone.ID})
	e.ok(err)
	_, err = e.Signal(e.ctx, approve(gone.ID))
	e.refused(runtime.ErrClosed, err)
}

func testAnswerKeys(e *subject) {
	run := e.opened(review, "review")
	s := approve(run.ID)
	s.Key = "once"
	first, err := e.Signal(e.ctx, s)
	e.ok(err)
	e.ended(run.ID)
	again, err := e.Signal(e.ctx, s)
	e.ok(err)
	if !again.Repeated {
		e.Fatalf("got receipt %+v, want one that says it is repeated", again)
	}
	again.Repeated = false
	e.same("the receipt under a key", again, first)

	s.Choice = "reject"
	_, err = e.Signal(e.ctx, s)
	e.refused(runtime.ErrKeyConflict, err)
}

func testAnswerAs(e *subject) {
	run := e.opened(targeted, "review")
	s := approve(run.ID)
	s.As = "carol"
	_, err := e.Signal(e.ctx, s)
	e.refused(runtime.ErrWrongTarget, err)
	s.As = "bob"
	_, err = e.Signal(e.ctx, s)
	e.ok(err)
	e.same("output", e.ended(run.ID).Output, `{"by": "bob"}`)
}

// testAnswerByAgents checks that an agent answers only what is for it, and nothing of the run that
// started it.
func testAnswerByAgents(e *subject) {
	run, other := e.opened(targeted, "review"), e.opened(targeted, "review")
	untargeted := e.opened(review, "review")
	bob := e.agent("bob", other.ID)

	_, err := bob.Signal(e.ctx, approve(other.ID))
	e.refused(runtime.ErrDenied, err)
	_, err = e.agent("carol", other.ID).Signal(e.ctx, approve(run.ID))
	e.refused(runtime.ErrWrongTarget, err)
	_, err = bob.Signal(e.ctx, approve(untargeted.ID))
	e.refused(runtime.ErrWrongTarget, err)
	s := approve(untargeted.ID)
	s.As = "carol"
	_, err = bob.Signal(e.ctx, s)
	e.refused(runtime.ErrDenied, err)
	_, err = bob.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID})
	e.refused(runtime.ErrDenied, err)
	_, err = bob.Resume(e.ctx, runtime.ResumeRequest{Runs: []string{run.ID}})
	e.refused(runtime.ErrDenied, err)
	_, err = bob.Start(e.ctx, e.request(hello))
	e.refused(runtime.ErrDenied, err)

	_, err = bob.Signal(e.ctx, approve(run.ID))
	e.ok(err)
	e.same("output", e.ended(run.ID).Output, `{"by": "bob"}`)
}

// testAnswerRaces checks that of many answers at once one is accepted, and the others hear which.
func testAnswerRaces(e *subject) {
	run := e.opened(review, "review")
	const callers = 8
	var all sync.WaitGroup
	receipts, errs := make([]*runtime.Receipt, callers), make([]error, callers)
	for i := range callers {
		all.Go(func() { receipts[i], errs[i] = e.Signal(e.ctx, approve(run.ID)) })
	}
	all.Wait()
	accepted := 0
	for i, err := range errs {
		if err == nil {
			accepted++
			e.same("accepted", receipts[i].Accepted, true)
		} else {
			e.refused(runtime.ErrDecided, err)
		}
	}
	e.same("answers accepted", accepted, 1)
}

func testMessage(e *subject) {
	run := e.opened(review, "review")
	m := runtime.Signal{Kind: runtime.SignalMessage, Run: run.ID, Name: "note", Data: []byte(`{"n": 1}`), Key: "m1"}
	receipt, err := e.Signal(e.ctx, m)
	e.ok(err)
	e.same("status in the receipt", receipt.Status, runtime.Suspended)
	again, err := e.Signal(e.ctx, m)
	e.ok(err)
	e.same("repeated at", []any{again.Repeated, again.Seq}, []any{true, receipt.Seq})

	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID})
	e.ok(err)
	m.Key = "m2"
	_, err = e.Signal(e.ctx, m)
	e.refused(runtime.ErrClosed, err)
}

func testCancel(e *subject) {
	run := e.opened(review, "review")
	c := runtime.CancelRequest{Run: run.ID, Reason: "changed my mind", Key: "stop"}
	receipt, err := e.Cancel(e.ctx, c)
	e.ok(err)
	e.same("receipt", []any{receipt.Accepted, receipt.Run, receipt.Status}, []any{true, run.ID, runtime.Cancelled})
	now := e.ended(run.ID)
	e.same("status", now.Status, runtime.Cancelled)
	e.same("gates", now.Gates, []any{})
	if now.Error == nil || now.Error.Kind != "cancelled" {
		e.Fatalf("got error %+v, want kind cancelled", now.Error)
	}

	again, err := e.Cancel(e.ctx, c)
	e.ok(err)
	e.same("repeated", again.Repeated, true)
	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: run.ID, Key: "another"})
	e.refused(runtime.ErrClosed, err)
	_, err = e.Cancel(e.ctx, runtime.CancelRequest{Run: "nosuchrun"})
	e.refused(runtime.ErrUnknownRun, err)
}

func testInbox(e *subject) {
	forBob, forAll := e.opened(targeted, "review"), e.opened(review, "review")
	for _, c := range []struct {
		target string
		want   []string
	}{
		{"", []string{forBob.ID + "/review", forAll.ID + "/review"}},
		{"bob", []string{forBob.ID + "/review", forAll.ID + "/review"}},
		{"carol", []string{forAll.ID + "/review"}},
	} {
		slices.Sort(c.want)
		e.soon("gates for "+c.target, func() any {
			found := e.listed(runtime.Query{Gates: true, Target: c.target}).([]string)
			slices.Sort(found)
			return found
		}, c.want)
	}
}
