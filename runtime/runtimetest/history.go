package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"starling/lang/effect"
	"starling/runtime"
)

// A History is what is known of some runs: the journals that they left, and what was seen of them
// meanwhile from outside. [History.Check] holds one against the other: whether the runs went by the
// three laws of runtime/design.md. It knows nothing of how an engine works, so it is fed alike by a
// test in this process, by a simulation, and by a test that kills real processes.
//
// What was seen may come in any order and from any goroutine, by way of [Observe] or of the
// methods. Journals are given when all is over.
type History struct {
	mu       sync.Mutex // guards what follows
	journals map[string]*runJournal
	starts   []start
	answers  []answer
	watches  []*watch
	performs []perform
	children map[string][]*runJournal // by RUN@STEP; made anew by each check
}

// start is a start that was answered: which run the key stands for.
type start struct{ key, run string }

// answer is what a sender was told: a receipt or a refusal.
type answer struct {
	signal  runtime.Signal
	cancel  bool // it was a cancel, of which only key and run count
	receipt *runtime.Receipt
	refused *runtime.Refusal
}

// watch is what one watcher was handed, from the record behind after on.
type watch struct {
	run    string
	after  uint64
	events []runtime.Event
}

// perform is one attempt that reached the world.
type perform struct {
	run, step, key string
	number         int
}

// Started notes which run a start was answered with.
func (h *History) Started(key, run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts = append(h.starts, start{key, run})
}

// Answered notes what the sender of a signal was told. An error that is no refusal is no answer:
// nobody knows what became of the signal.
func (h *History) Answered(s runtime.Signal, r *runtime.Receipt, err error) {
	h.answered(answer{signal: s, receipt: r}, err)
}

// Cancelled notes what the sender of a cancel was told.
func (h *History) Cancelled(c runtime.CancelRequest, r *runtime.Receipt, err error) {
	h.answered(answer{signal: runtime.Signal{Key: c.Key, Run: c.Run}, cancel: true, receipt: r}, err)
}

func (h *History) answered(a answer, err error) {
	if err != nil && !errors.As(err, &a.refused) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, a)
}

// Watched begins a watch of a run, from the record behind after on, and returns where to note each
// event that the watcher is handed.
func (h *History) Watched(run string, after uint64) func(runtime.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &watch{run: run, after: after}
	h.watches = append(h.watches, w)
	return func(ev runtime.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.events = append(w.events, ev)
	}
}

// Performed notes that an attempt has reached the world.
func (h *History) Performed(a *effect.Attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.performs = append(h.performs, perform{run: a.Run, step: a.Step, key: a.Key, number: a.Number})
}

// Journal gives the whole journal of a run, as it was left.
func (h *History) Journal(run string, events []runtime.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.journals == nil {
		h.journals = map[string]*runJournal{}
	}
	h.journals[run] = newJournal(run, events)
}

// Collect reads the journals of all runs that an engine knows, and holds the record of decisions
// against them.
func (h *History) Collect(ctx context.Context, e runtime.Engine) error {
	l, err := e.List(ctx, runtime.Query{All: true})
	if err != nil {
		return err
	}
	for _, r := range l.Runs {
		var events []runtime.Event
		err := e.Watch(ctx, runtime.WatchRequest{Run: r.ID}, func(ev runtime.Event) error {
			events = append(events, ev)
			return nil
		})
		if err != nil {
			return err
		}
		h.Journal(r.ID, events)
	}
	return DecisionsAgree(ctx, e)
}

// A Violation is a rule that a history breaks.
type Violation struct {
	Rule string // its name
	Run  string
	Seq  uint64 // of the record that breaks it, 0 when it is none
	Text string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: run %s, record %d: %s", v.Rule, v.Run, v.Seq, v.Text)
}

// Check returns every [*Violation], joined, or nil.
func (h *History) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.children = h.byParent()
	var found []error
	for _, j := range h.journals {
		for _, r := range journalRules() {
			r.check(j, func(e *record, format string, args ...any) {
				found = append(found, &Violation{Rule: r.name, Run: j.run, Seq: e.Seq, Text: e.Type + " " + e.Step + ": " + fmt.Sprintf(format, args...)})
			})
		}
	}
	for _, r := range historyRules() {
		r.check(h, func(run string, seq uint64, format string, args ...any) {
			found = append(found, &Violation{Rule: r.name, Run: run, Seq: seq, Text: fmt.Sprintf(format, args...)})
		})
	}
	return errors.Join(found...)
}
