package runtimetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// journalRule is a rule about one journal. bad takes the entry that breaks it.
type journalRule struct {
	name  string
	check func(j *runJournal, bad complaint)
}

type complaint func(e *record, format string, args ...any)

// journalRules are what holds in every journal.
func journalRules() []journalRule {
	return []journalRule{
		{"dense", dense},
		{"one start", oneStart},
		{"one end", oneEnd},
		{"rest", rest},
		{"steps", steps},
		{"attempts", attempts},
		{"timers", timers},
		{"gates", gates},
		{"votes", votes},
		{"messages", messages},
		{"keys", keysOnce},
		{"chunks", chunks},
	}
}

// dense: each record has the number after its predecessor's, and belongs to this run.
func dense(j *runJournal, bad complaint) {
	for i, e := range j.entries {
		if e.Seq != uint64(i+1) || e.Run != j.run {
			bad(e, "it stands at place %d of run %s", i+1, j.run)
		}
	}
}

// oneStart: a journal begins with the start of its run, and has no other.
func oneStart(j *runJournal, bad complaint) {
	for i, e := range j.entries {
		if e.is("run.started") != (i == 0) {
			bad(e, "it stands at place %d", i+1)
		}
	}
}

// oneEnd: a run ends once, hence has one output; what comes too late is refused, and nothing else
// happens.
func oneEnd(j *runJournal, bad complaint) {
	ended := false
	for _, e := range j.entries {
		if ended && !e.is("signal.refused", "attempt.refused") {
			bad(e, "the run has ended")
		}
		ended = ended || e.ends()
	}
}

// rest: a run that rests has no attempt in flight but such as were claimed, unless it is
// quarantined, and does nothing until it is resumed.
func rest(j *runJournal, bad complaint) {
	resting, aside := false, false
	flying := map[string]bool{}
	for _, e := range j.entries {
		switch {
		case e.is("run.suspended", "run.resumed"):
			if resting == e.is("run.suspended") {
				bad(e, "the run was so already")
			}
			resting = e.is("run.suspended")
			if resting && !aside && len(flying) > 0 {
				bad(e, "attempts are in flight: %v", flying)
			}
		case e.is("attempt.started") && e.number("claim") > 0:
		case resting && e.is("step.requested", "step.settled", "attempt.started", "output.print", "run.completed"):
			bad(e, "the run rests")
		case e.is("gate.opened", "gate.decided") && e.Step == "!quarantine":
			aside = e.is("gate.opened")
		case e.is("attempt.started"):
			flying[e.Step] = true
		case e.is("attempt.ended", "step.withdrawn", "step.settled"):
			delete(flying, e.Step)
		}
	}
}

// steps: a step is asked for once and has at most one outcome, and none without having been asked
// for.
func steps(j *runJournal, bad complaint) {
	const open, over = 1, 2
	at := map[string]int{}
	for _, e := range j.entries {
		switch {
		case e.is("step.requested", "step.answered"):
			if at[e.Step] != 0 {
				bad(e, "it was asked for before")
			}
			at[e.Step] = open
			if e.is("step.answered") {
				at[e.Step] = over
			}
		case e.is("step.settled", "step.withdrawn"):
			if at[e.Step] != open {
				bad(e, "%s", map[int]string{0: "nobody asked for it", over: "it has an outcome"}[at[e.Step]])
			}
			at[e.Step] = over
		case e.is("attempt.started", "attempt.ended") && at[e.Step] != open:
			bad(e, "the step is not open")
		}
	}
}

// attempts: an attempt is recorded before it starts and ends once, one at a time, their numbers
// dense; a step has its outcome when no attempt is in flight.
func attempts(j *runJournal, bad complaint) {
	newest, flying := map[string]int64{}, map[string]bool{}
	for _, e := range j.entries {
		n := e.number("attempt")
		switch {
		case e.is("attempt.started"):
			if flying[e.Step] || n != newest[e.Step]+1 {
				bad(e, "number %d after %d, which is in flight: %t", n, newest[e.Step], flying[e.Step])
			}
			newest[e.Step], flying[e.Step] = n, true
		case e.is("attempt.ended"):
			if !flying[e.Step] || n != newest[e.Step] {
				bad(e, "number %d, the newest is %d, which is in flight: %t", n, newest[e.Step], flying[e.Step])
			}
			flying[e.Step] = false
		case e.is("step.settled") && flying[e.Step]:
			bad(e, "attempt %d is in flight", newest[e.Step])
		}
	}
}

// timers: a timer fires once, when it was set and is due, and not after its step has its outcome.
func timers(j *runJournal, bad complaint) {
	due := map[string]map[string]int64{} // by step and purpose
	for _, e := range j.entries {
		of, purpose := due[e.Step], e.text("purpose")
		switch {
		case e.is("timer.set"):
			if of == nil {
				of = map[string]int64{}
				due[e.Step] = of
			}
			of[purpose] = e.number("due")
		case e.is("timer.fired"):
			if at, set := of[purpose]; !set || e.Time.UnixMicro() < at {
				bad(e, "the timer %s is set: %t, due at %d, it is %d", purpose, set, at, e.Time.UnixMicro())
			}
			delete(of, purpose)
		case e.is("step.settled", "step.withdrawn"):
			delete(due, e.Step)
		}
	}
}

// gates: a gate that opened is decided or withdrawn, once, at the latest with the end of its run; a
// decision is the outcome of the step that waits.
func gates(j *runJournal, bad complaint) {
	open, ever := map[string]*record{}, map[string]bool{}
	for i, e := range j.entries {
		switch {
		case e.is("gate.opened"):
			if open[e.Step] != nil || ever[e.Step] && !strings.HasPrefix(e.Step, "!") {
				bad(e, "it has opened before")
			}
			open[e.Step], ever[e.Step] = e, true
		case e.is("gate.decided", "gate.withdrawn", "gate.escalated"):
			g := open[e.Step]
			if g == nil {
				bad(e, "it is not open")
				continue
			}
			if !e.is("gate.escalated") {
				delete(open, e.Step)
			}
			if next := j.at(uint64(i + 2)); e.is("gate.decided") && g.text("step") != "" && (next == nil || !next.is("step.settled") || next.Step != g.text("step")) {
				bad(e, "the step that waits for it is not settled with it")
			}
		case e.ends():
			for name := range open {
				bad(e, "gate %s is open", name)
			}
			clear(open)
		}
	}
}

// votes: an accepted answer is taken once: it is counted, and decides its gate at once when as many
// as the gate wants have chosen the same. No signal decides otherwise.
func votes(j *runJournal, bad complaint) {
	open := map[string]*ballot{}
	var decides *record // an answer that was the last one wanted
	for _, e := range j.entries {
		if decides != nil && !e.is("run.resumed") {
			if !e.is("gate.decided") || e.Step != decides.Step {
				bad(decides, "it was the last answer wanted and decides nothing")
			}
			decides = nil
		} else if via := field[string](e.object("decision"), "via"); e.is("gate.decided") && via == "signal" {
			bad(e, "too few answers were accepted")
		}
		switch {
		case e.is("gate.opened"):
			open[e.Step] = &ballot{quorum: max(1, field[int](e.object("args"), "quorum")), votes: map[string]string{}}
		case e.is("gate.decided", "gate.withdrawn"):
			delete(open, e.Step)
		case e.is("signal.accepted") && e.text("kind") == "answer":
			if open[e.Step].take(e, bad) {
				decides = e
			}
		}
	}
	if decides != nil {
		bad(decides, "it was the last answer wanted and decides nothing")
	}
}

// ballot is what was answered at a gate.
type ballot struct {
	quorum int
	votes  map[string]string // by voter
}

// take counts an answer and tells whether the gate has as many as it wants.
func (b *ballot) take(e *record, bad complaint) (decided bool) {
	if b == nil {
		bad(e, "the gate is not open")
		return false
	}
	if _, twice := b.votes[e.text("voter")]; twice {
		bad(e, "%s has answered before", e.text("voter"))
	}
	b.votes[e.text("voter")] = e.text("vote")
	n := 0
	for _, v := range b.votes {
		if v == e.text("vote") {
			n++
		}
	}
	return n == b.quorum
}

// messages: an accepted message is taken at most once, by a step that waits for its name, the
// oldest first.
func messages(j *runJournal, bad complaint) {
	kept, waits := map[string][]json.RawMessage{}, map[string]string{}
	for _, e := range j.entries {
		switch {
		case e.is("signal.accepted") && e.text("kind") == "message":
			kept[e.text("name")] = append(kept[e.text("name")], e.fields["message"])
		case e.is("step.requested") && e.text("kind") == "mailbox.take":
			waits[e.Step] = field[string](e.object("args"), "name")
		case e.is("step.settled") && (e.flag("took") || waits[e.Step] != "" && !e.has("error")):
			name := waits[e.Step]
			box := kept[name]
			if len(box) == 0 || e.text("mail") != name || !bytes.Equal(box[0], e.fields["value"]) {
				bad(e, "it takes %s of %q; the oldest of %d kept for it is %s", e.fields["value"], e.text("mail"), len(box), slices.Concat(box...))
				continue
			}
			kept[name] = box[1:]
		}
	}
}

// keysOnce: what was accepted under one key was accepted once.
func keysOnce(j *runJournal, bad complaint) {
	seen := map[string]uint64{}
	for _, e := range j.entries {
		key := e.text("key")
		if key == "" || !e.is("signal.accepted", "chunk.appended", "chunk.interrupted") {
			continue
		}
		if seen[key] > 0 {
			bad(e, "the key %q was accepted with record %d", key, seen[key])
		}
		seen[key] = e.Seq
	}
}

// chunks: a chunk of a session ends before the next is taken.
func chunks(j *runJournal, bad complaint) {
	busy := false
	for _, e := range j.entries {
		if e.is("chunk.appended", "chunk.ended") {
			if busy == e.is("chunk.appended") {
				bad(e, "a chunk is being run: %t", busy)
			}
			busy = e.is("chunk.appended")
		}
	}
}
