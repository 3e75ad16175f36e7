package runtimetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// told makes a journal from lines of TYPE STEP DATA, with - for no step. Each record is a second
// after the one before it, from second 1 on.
func told(run, text string) []runtime.Event {
	var events []runtime.Event
	for line := range strings.Lines(strings.TrimSpace(text)) {
		parts := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "", "")
		n := len(events) + 1
		ev := runtime.Event{Seq: uint64(n), Run: run, Time: time.Unix(int64(n), 0).UTC(), Type: parts[0], Step: strings.Trim(parts[1], "-"), Data: json.RawMessage("{}")}
		if parts[2] != "" {
			ev.Data = json.RawMessage(parts[2])
		}
		events = append(events, ev)
	}
	return events
}

// good is a run in which everything happens that a rule speaks of.
const good = `
run.started - {"by":"ann"}
step.requested work {"kind":"agent"}
attempt.started work {"attempt":1}
attempt.ended work {"attempt":1,"class":"retryable"}
timer.set work {"purpose":"backoff","due":7000000}
run.suspended -
timer.fired work {"purpose":"backoff"}
run.resumed -
attempt.started work {"attempt":2}
attempt.ended work {"attempt":2,"class":"ok"}
step.settled work {"value":1}
step.requested two {"kind":"gate"}
gate.opened two {"step":"two","args":{"quorum":2}}
run.suspended -
signal.accepted two {"kind":"answer","key":"k1","voter":"ann","vote":"yes"}
signal.refused two {"error":"decided","key":"k2"}
signal.accepted two {"kind":"answer","key":"k3","voter":"ben","vote":"yes"}
run.resumed -
gate.decided two {"decision":{"choice":"yes","by":"ben","via":"signal"}}
step.settled two {"value":{}}
signal.accepted - {"kind":"message","name":"m","message":{"payload":1},"key":"k4"}
step.requested take {"kind":"mailbox.take","args":{"name":"m"}}
step.settled take {"took":true,"mail":"m","value":{"payload":1}}
step.requested lost {"kind":"gate"}
gate.opened lost {"step":"lost","args":{}}
step.withdrawn lost
gate.withdrawn lost
step.requested kid {"kind":"run"}
step.settled kid {"value":2}
run.completed - {"output":3}
signal.refused - {"error":"closed"}
`

// child is the run that the step kid of good has started.
const child = `
run.started - {"parent":"top@kid"}
step.requested ok {"kind":"gate"}
gate.opened ok {"step":"ok","args":{}}
signal.accepted ok {"kind":"answer","key":"k5","voter":"ann","vote":""}
gate.decided ok {"decision":{"choice":null,"by":"ann","via":"signal"}}
step.settled ok {"value":{}}
run.completed - {"output":2}
`

// goodHistory is a history of good, with all that can be seen of it.
func goodHistory() *History {
	h := &History{}
	h.Journal("top", told("top", good))
	h.Journal("kid", told("kid", child))
	h.Started("s1", "top")
	h.Started("s1", "top")
	h.Answered(runtime.Signal{Run: "top", Gate: "two", Key: "k3"}, &runtime.Receipt{Run: "top", Gate: "two", Seq: 17}, nil)
	h.Answered(runtime.Signal{Run: "top", Gate: "two", Key: "k3"}, &runtime.Receipt{Run: "top", Gate: "two", Seq: 17, Repeated: true}, nil)
	h.Answered(runtime.Signal{Run: "top", Gate: "kid/ok", Key: "k5"}, &runtime.Receipt{Run: "top", Gate: "kid/ok", Seq: 4}, nil)
	h.Answered(runtime.Signal{Run: "top", Gate: "two", Key: "k2"}, nil, runtime.Refusef(runtime.ErrDecided, "decided"))
	h.Answered(runtime.Signal{Run: "none"}, nil, runtime.Refusef(runtime.ErrUnknownRun, "no such run"))
	h.Answered(runtime.Signal{Run: "top"}, nil, errors.New("the connection broke"))
	h.Cancelled(runtime.CancelRequest{Run: "top"}, nil, runtime.Refusef(runtime.ErrClosed, "closed"))
	note := h.Watched("top", 3)
	for _, ev := range told("top", good)[3:9] {
		note(ev)
	}
	for n := range 2 {
		h.Performed(&effect.Attempt{Run: "top", Step: "work", Key: "top/work", Number: n + 1})
	}
	return h
}

func TestGoodHistory(t *testing.T) {
	if err := goodHistory().Check(); err != nil {
		t.Error(err)
	}
}

// broken lists the rules that a history breaks.
func broken(h *History) []string {
	var names []string
	var all interface{ Unwrap() []error }
	if err := h.Check(); errors.As(err, &all) {
		for _, e := range all.Unwrap() {
			names = append(names, e.(*Violation).Rule)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// badJournals are journals, each of which is one that a rule, and that rule alone, is there to
// refuse.
func badJournals() []struct{ rule, journal string } {
	return []struct{ rule, journal string }{
		{"one start", "step.requested a {\"kind\":\"agent\"}"},
		{"one start", "run.started -\nrun.started -"},
		{"one end", "run.started -\nrun.completed -\nrun.completed -"},
		{"one end", "run.started -\nrun.failed -\noutput.print -"},
		{"rest", "run.started -\nrun.resumed -"},
		{"rest", "run.started -\nrun.suspended -\nrun.suspended -"},
		{"rest", "run.started -\nrun.suspended -\noutput.print -"},
		{"rest", "run.started -\nstep.requested a\nattempt.started a {\"attempt\":1}\nrun.suspended -"},
		{"steps", "run.started -\nstep.requested a\nstep.requested a"},
		{"steps", "run.started -\nstep.requested a\nstep.settled a\nstep.settled a"},
		{"steps", "run.started -\nstep.requested a\nstep.withdrawn a\nstep.settled a"},
		{"steps", "run.started -\nstep.settled a"},
		{"steps", "run.started -\nattempt.started a {\"attempt\":1}"},
		{"steps", "run.started -\nstep.answered uuid\nstep.answered uuid"},
		{"attempts", "run.started -\nstep.requested a\nattempt.ended a {\"attempt\":1}"},
		{"attempts", "run.started -\nstep.requested a\nattempt.started a {\"attempt\":2}"},
		{"attempts", "run.started -\nstep.requested a\nattempt.started a {\"attempt\":1}\nattempt.started a {\"attempt\":2}"},
		{"attempts", "run.started -\nstep.requested a\nattempt.started a {\"attempt\":1}\nattempt.ended a {\"attempt\":1}\nattempt.ended a {\"attempt\":1}"},
		{"attempts", "run.started -\nstep.requested a\nattempt.started a {\"attempt\":1}\nstep.settled a"},
		{"timers", "run.started -\ntimer.fired a {\"purpose\":\"sleep\"}"},
		{"timers", "run.started -\ntimer.set a {\"purpose\":\"sleep\",\"due\":9000000}\ntimer.fired a {\"purpose\":\"sleep\"}"},
		{"timers", "run.started -\ntimer.set a {\"purpose\":\"sleep\",\"due\":1}\ntimer.fired a {\"purpose\":\"sleep\"}\ntimer.fired a {\"purpose\":\"sleep\"}"},
		{"timers", "run.started -\nstep.requested a\ntimer.set a {\"purpose\":\"gate\",\"due\":1}\nstep.settled a\ntimer.fired a {\"purpose\":\"gate\"}"},
		{"gates", "run.started -\ngate.opened g {\"args\":{}}\ngate.withdrawn g\ngate.opened g {\"args\":{}}"},
		{"gates", "run.started -\ngate.withdrawn g"},
		{"gates", "run.started -\ngate.opened g {\"args\":{}}\ngate.withdrawn g\ngate.decided g {\"decision\":{\"via\":\"fallback\"}}"},
		{"gates", "run.started -\ngate.opened g {\"args\":{}}\nrun.completed -"},
		{"gates", "run.started -\ngate.opened g {\"step\":\"g\",\"args\":{}}\ngate.decided g {\"decision\":{\"via\":\"fallback\"}}"},
		{"votes", "run.started -\ngate.opened g {\"args\":{}}\nsignal.accepted g {\"kind\":\"answer\",\"voter\":\"a\",\"vote\":\"y\"}"},
		{"votes", "run.started -\ngate.opened g {\"args\":{}}\nsignal.accepted g {\"kind\":\"answer\",\"voter\":\"a\",\"vote\":\"y\"}\noutput.print -"},
		{"votes", "run.started -\ngate.opened g {\"args\":{}}\ngate.decided g {\"decision\":{\"via\":\"signal\"}}"},
		{"votes", "run.started -\ngate.opened g {\"args\":{\"quorum\":2}}\nsignal.accepted g {\"kind\":\"answer\",\"voter\":\"a\",\"vote\":\"y\"}\nsignal.accepted g {\"kind\":\"answer\",\"voter\":\"a\",\"vote\":\"n\"}"},
		{"votes", "run.started -\nsignal.accepted g {\"kind\":\"answer\",\"voter\":\"a\",\"vote\":\"y\"}"},
		{"messages", "run.started -\nstep.requested t {\"kind\":\"mailbox.take\",\"args\":{\"name\":\"m\"}}\nstep.settled t {\"took\":true,\"mail\":\"m\",\"value\":1}"},
		{"messages", "run.started -\nsignal.accepted - {\"kind\":\"message\",\"name\":\"m\",\"message\":1}\nsignal.accepted - {\"kind\":\"message\",\"name\":\"m\",\"message\":2}\n" +
			"step.requested t {\"kind\":\"mailbox.take\",\"args\":{\"name\":\"m\"}}\nstep.settled t {\"took\":true,\"mail\":\"m\",\"value\":2}"},
		{"keys", "run.started -\nsignal.accepted - {\"kind\":\"message\",\"key\":\"k\"}\nsignal.accepted - {\"kind\":\"message\",\"key\":\"k\"}"},
		{"chunks", "run.started -\nchunk.appended -\nchunk.appended -"},
		{"chunks", "run.started -\nchunk.ended -"},
	}
}

func TestBadJournals(t *testing.T) {
	for i, c := range badJournals() {
		t.Run(fmt.Sprintf("%d %s", i, c.rule), func(t *testing.T) {
			h := &History{}
			h.Journal("top", told("top", c.journal))
			if got := broken(h); !slices.Equal(got, []string{c.rule}) {
				t.Errorf("it breaks %v, want %q", got, c.rule)
			}
		})
	}
}

// A journal with a hole, and one with a record of another run.
func TestJournalThatIsNotDense(t *testing.T) {
	whole := told("top", good)
	h := &History{}
	h.Journal("top", slices.Delete(slices.Clone(whole), 1, 2)[:1])
	if got := broken(h); got != nil {
		t.Errorf("a journal that is cut short breaks %v", got)
	}
	for name, change := range map[string]func([]runtime.Event){
		"hole":    func(es []runtime.Event) { es[1].Seq = 3 },
		"foreign": func(es []runtime.Event) { es[1].Run = "kid" },
	} {
		es := slices.Clone(whole[:2])
		change(es)
		h := &History{}
		h.Journal("top", es)
		if got := broken(h); !slices.Equal(got, []string{"dense"}) {
			t.Errorf("%s: it breaks %v", name, got)
		}
	}
}

// badHistory is a change to the good history.
type badHistory struct {
	rule   string
	change func(h *History)
}

// badHistories are changes, each of which makes of the good history one that a rule, and that rule
// alone, is there to refuse.
func badHistories() map[string]badHistory {
	return map[string]badHistory{
		"two children of a step":     {"children", func(h *History) { h.Journal("kid2", told("kid2", child)) }},
		"child of nobody":            {"children", func(h *History) { h.Journal("kid2", told("kid2", `run.started - {"parent":"gone@x"}`)) }},
		"outcome before the child's": {"children", func(h *History) { h.Journal("kid", told("kid", child)[:6]) }},
		"start that is lost":         {"starts", func(h *History) { h.Started("s2", "gone") }},
		"two starts by a key":        {"starts", func(h *History) { h.Started("s1", "kid") }},
		"receipt that is lost":       {"receipts", receipt("k9", "two", 99)},
		"receipt for something else": {"receipts", receipt("", "", 1)},
		"receipt for another key":    {"receipts", receipt("k9", "two", 15)},
		"receipt for another gate":   {"receipts", receipt("k1", "lost", 15)},
		"cancel that is none": {"receipts", func(h *History) {
			h.Cancelled(runtime.CancelRequest{Run: "top"}, &runtime.Receipt{Run: "top", Seq: 30}, nil)
		}},
		"refusal that is not recorded": {"refusals", func(h *History) { refuse(h, runtime.ErrBadChoice, "k6") }},
		"refusal recorded once":        {"refusals", func(h *History) { refuse(h, runtime.ErrDecided, "k2") }},
		"watched and lost":             {"watches", func(h *History) { h.Watched("top", 31)(runtime.Event{Run: "top", Seq: 32}) }},
		"watched and changed":          {"watches", func(h *History) { h.Watched("top", 0)(runtime.Event{Run: "top", Seq: 1, Type: "run.started"}) }},
		"watched with a hole":          {"watches", func(h *History) { h.Watched("top", 0)(told("top", good)[1]) }},
		"performed and not recorded":   {"performs", performed("work", "top/work", 3)},
		"performed twice":              {"performs", performed("work", "top/work", 2)},
		"performed under another key":  {"performs", performed("work", "work", 2)},
		"repeated with another receipt": {"repeats", func(h *History) {
			h.Answered(runtime.Signal{Key: "k3"}, &runtime.Receipt{Run: "top", Gate: "two", Seq: 17, Decision: json.RawMessage("{}")}, nil)
		}},
	}
}

func TestBadHistories(t *testing.T) {
	for name, c := range badHistories() {
		t.Run(name, func(t *testing.T) {
			h := goodHistory()
			c.change(h)
			if got := broken(h); !slices.Equal(got, []string{c.rule}) {
				t.Errorf("it breaks %v, want %q: %v", got, c.rule, h.Check())
			}
		})
	}
}

func receipt(key, gate string, seq uint64) func(*History) {
	return func(h *History) {
		h.Answered(runtime.Signal{Key: key}, &runtime.Receipt{Run: "top", Gate: gate, Seq: seq}, nil)
	}
}

func refuse(h *History, kind runtime.ErrorKind, key string) {
	h.Answered(runtime.Signal{Run: "top", Gate: "two", Key: key}, nil, runtime.Refusef(kind, "no"))
}

func performed(step, key string, number int) func(*History) {
	return func(h *History) { h.Performed(&effect.Attempt{Run: "top", Step: step, Key: key, Number: number}) }
}

// Every rule has a bad history: whoever adds one shows what it is for.
func TestEveryRuleIsTested(t *testing.T) {
	tested := map[string]bool{"dense": true} // TestJournalThatIsNotDense
	for _, c := range badJournals() {
		tested[c.rule] = true
	}
	for _, c := range badHistories() {
		tested[c.rule] = true
	}
	for _, r := range journalRules() {
		if !tested[r.name] {
			t.Errorf("no bad journal is there for the rule %q", r.name)
		}
	}
	for _, r := range historyRules() {
		if !tested[r.name] {
			t.Errorf("no bad history is there for the rule %q", r.name)
		}
	}
}
