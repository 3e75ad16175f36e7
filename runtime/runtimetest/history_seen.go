package runtimetest

import (
	"fmt"
	"reflect"

	"starling/runtime"
)

// historyRule is a rule about journals and what was seen of them.
type historyRule struct {
	name  string
	check func(h *History, bad func(run string, seq uint64, format string, args ...any))
}

// historyRules are what holds between journals, and between them and what was seen from outside.
// Whatever was seen must follow from what is durable: so it is in the journal that was left,
// whichever owner died when.
func historyRules() []historyRule {
	return []historyRule{
		{"children", children},
		{"starts", starts},
		{"receipts", receipts},
		{"repeats", repeats},
		{"refusals", refusals},
		{"watches", watches},
		{"performs", performs},
	}
}

// children: a step starts at most one child run, and its outcome is that of the child.
func children(h *History, bad func(string, uint64, string, ...any)) {
	for address, kids := range h.children {
		run, step := kids[0].parent()
		if len(kids) > 1 {
			bad(run, 0, "%s started %d runs", address, len(kids))
		}
		parent := h.journals[run]
		if parent == nil {
			bad(run, 0, "%s started run %s and has no journal", address, kids[0].run)
			continue
		}
		for _, e := range parent.entries {
			if e.Step != step || !e.is("step.settled") || e.has("error") {
				continue
			}
			if kids[0].end() == nil {
				bad(run, e.Seq, "step %s has its outcome before its child run %s", step, kids[0].run)
			}
		}
	}
}

// starts: a key stands for one run, which is there.
func starts(h *History, bad func(string, uint64, string, ...any)) {
	known := map[string]string{}
	for _, s := range h.starts {
		if h.journals[s.run] == nil {
			bad(s.run, 0, "its start was answered, and it is not there")
		}
		if first, again := known[s.key]; again && s.key != "" && first != s.run {
			bad(s.run, 0, "the key %q started run %s before", s.key, first)
		}
		known[s.key] = s.run
	}
}

// receipts: what a receipt tells is in the journal.
func receipts(h *History, bad func(string, uint64, string, ...any)) {
	for _, a := range h.answers {
		if a.receipt == nil {
			continue
		}
		run, gate := h.innermost(a.receipt.Run, a.receipt.Gate)
		e := h.journals[run].at(a.receipt.Seq)
		switch {
		case e == nil:
			bad(run, a.receipt.Seq, "a receipt tells of it, and it is not there")
		case a.cancel && !e.is("run.cancelled"), !a.cancel && !e.is("signal.accepted", "chunk.appended", "chunk.interrupted"):
			bad(run, e.Seq, "a receipt tells of it, and it is %s", e.Type)
		case !a.cancel && e.text("key") != a.signal.Key, e.is("signal.accepted") && e.Step != gate && a.receipt.Claim == nil:
			bad(run, e.Seq, "a receipt for key %q and gate %q tells of it; it has %q and %q", a.signal.Key, gate, e.text("key"), e.Step)
		}
	}
}

// repeats: all receipts for one key are the same.
func repeats(h *History, bad func(string, uint64, string, ...any)) {
	first := map[string]runtime.Receipt{}
	for _, a := range h.answers {
		if a.receipt == nil || a.signal.Key == "" {
			continue
		}
		r := *a.receipt
		r.Repeated = false
		key := r.Run + " " + a.signal.Key
		if before, known := first[key]; known && !reflect.DeepEqual(before, r) {
			bad(r.Run, r.Seq, "the key %q was answered with %+v before, then with %+v", a.signal.Key, before, r)
		}
		first[key] = r
	}
}

// refusals: each refusal of a signal is recorded. A run that does not exist cannot; a cancel is not
// a signal.
func refusals(h *History, bad func(string, uint64, string, ...any)) {
	recorded := map[string]int{}
	for run, j := range h.journals {
		for _, e := range j.entries {
			if e.is("signal.refused") {
				recorded[run+" "+e.text("error")+" "+e.text("key")]++
			}
		}
	}
	for _, a := range h.answers {
		if a.refused == nil || a.cancel || h.journals[a.signal.Run] == nil || a.refused.Kind == runtime.ErrOwnerUnreachable || a.refused.Kind == runtime.ErrStoreUnreachable {
			continue
		}
		run, _ := h.innermost(a.signal.Run, a.signal.Gate)
		id := fmt.Sprintf("%s %s %s", run, a.refused.Kind, a.signal.Key)
		if recorded[id]--; recorded[id] < 0 {
			bad(run, 0, "a signal with the key %q was refused with %s, which is not recorded", a.signal.Key, a.refused.Kind)
		}
	}
}

// watches: a watcher is handed each record once and in order, and what it was handed is what the
// journal holds.
func watches(h *History, bad func(string, uint64, string, ...any)) {
	for _, w := range h.watches {
		for i, ev := range w.events {
			e := h.journals[ev.Run].at(ev.Seq)
			switch {
			case ev.Seq != w.after+uint64(i)+1:
				bad(w.run, ev.Seq, "a watcher that had the records up to %d got it next", w.after+uint64(i))
			case e == nil:
				bad(w.run, ev.Seq, "a watcher was handed it, %s %s, and it is not there", ev.Type, ev.Step)
			case !same(&e.Event, &ev):
				bad(w.run, ev.Seq, "a watcher was handed %+v, the journal has %+v", ev, e.Event)
			}
		}
	}
}

// performs: an attempt reaches the world once, is recorded as started, and has the key of its step.
func performs(h *History, bad func(string, uint64, string, ...any)) {
	started := map[perform]bool{}
	for run, j := range h.journals {
		for _, e := range j.entries {
			if e.is("attempt.started") {
				started[perform{run, e.Step, run + "/" + e.Step, int(e.number("attempt"))}] = true
			}
		}
	}
	seen := map[perform]bool{}
	for _, p := range h.performs {
		if !started[p] {
			bad(p.run, 0, "attempt %d of %s with key %s reached the world, and no record says that it started", p.number, p.step, p.key)
		}
		if seen[p] {
			bad(p.run, 0, "attempt %d of %s reached the world twice", p.number, p.step)
		}
		seen[p] = true
	}
}
