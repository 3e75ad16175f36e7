package engine

import (
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// An input is what a run is told: data, with which a turn does what follows from it, and into which it
// puts what is to be answered. Nothing else comes into a turn.
type input interface {
	apply(t *turn)
}

// answered is an input that a turn may refuse.
type answered interface {
	input
	// refusal is why nothing follows from it, nil where something does.
	refusal() error
}

// answer is what a turn answers to who waits for it.
type answer struct {
	receipt *runtime.Receipt
	refused *runtime.Refusal
}

func (a *answer) refusal() error {
	if a.refused == nil {
		return nil
	}
	return a.refused
}

// woken only has a run look at what is due.
type woken struct{}

func (woken) apply(*turn) {}

// started begins a run.
type started struct {
	request   *runtime.StartRequest
	program   *program
	behaviour uint32
	inputs    effect.Payload
	by        string // who starts it
	parent    string // RUN@STEP, "" for a run of its own
	depth     int
}

func (in *started) apply(t *turn) { t.begun(in) }

// recovered tells a run that it was loaded by a process that knows of it only what is durable.
type recovered struct {
	orphan string          // the parent that waits for it no more, "" if none has stopped waiting
	rest   *vm.Stop        // what the machine has said beyond a journal that was cut, nil for nothing
	flying map[string]bool // steps whose attempts are in flight in this process
}

func (in *recovered) apply(t *turn) {
	if t.s.Status.Ended() {
		return
	}
	if in.orphan != "" {
		t.cancelRun([]string{"run:" + in.orphan}, "its parent ended")
		return
	}
	if in.rest != nil {
		t.stopped(*in.rest)
	}
	for _, st := range t.s.inOrder() {
		if st.InFlight && !in.flying[st.Step] && st.Claim == 0 {
			t.uncertain(st, "the process that ran it ended")
		}
	}
	if t.canAcceptOutcome() {
		t.slice()
	}
	t.carried()
}

// resumed tells a run that somebody drives it from now on.
type resumed struct{}

func (resumed) apply(t *turn) {
	t.carried()
	if !t.holdsCommons { // whoever has just been loaded has looked for items
		t.retryWaiters("")
	}
}

// forked is resumed for a run that was made of another.
type forked struct{}

func (forked) apply(t *turn) { t.carried() }

// signalled is a signal from outside.
type signalled struct {
	caller runtime.Caller
	signal runtime.Signal
	answer
}

func (in *signalled) apply(t *turn) { in.receipt, in.refused = t.signal(in.caller, in.signal) }

// cancelled is an order to end the run.
type cancelled struct {
	who     []string
	request runtime.CancelRequest
	answer
}

func (in *cancelled) apply(t *turn) { in.receipt, in.refused = t.cancelled(in.who, in.request) }

// pinned gives a run other settings.
type pinned struct {
	settings *effect.Settings
	by       string
	imported bool // the run was imported, so its child runs are to get them, too
}

func (in *pinned) apply(t *turn) {
	if t.s.Status.Ended() || t.host.settings == nil {
		return
	}
	had := t.host.settings
	next := in.settings.After(had)
	in.imported = next.Imported != ""
	if t.s.Parent != "" && next.Imported != effect.ImportedTrusted {
		next.Workspace = had.Workspace // where its parent has it work, perhaps in the tree of a branch
	}
	t.pin(next, in.by)
}

// moved has a run go on with another program, as far as that says what the journal says.
type moved struct {
	request runtime.MoveRequest
	program *program
	hash    string // of the bundle
	by      string
	past    *past // what it is held against, nil before it is known what that is

	wants    *wanted // what past must be, nil if that was not looked at, or was right
	replayed *runtime.Replayed
	refused  error
}

func (in *moved) refusal() error { return in.refused }

func (in *moved) apply(t *turn) { in.replayed, in.refused = t.move(in) }

// replied is the end of an attempt.
type replied struct {
	step    string
	attempt int
	reply   *effect.Reply
	end     ending
}

// ending is how an attempt came to its end.
type ending int

const (
	endOwn     ending = iota // it came to something
	endLeaving               // it was stopped because the process leaves
	endSteered               // it was stopped to go on with a message
)

func (in *replied) apply(t *turn) {
	switch in.end {
	case endLeaving:
		t.interrupted(in.step, in.attempt, in.reply.Usage)
	case endSteered:
		t.steered(in.step, in.attempt, *in.reply)
	default:
		t.reply(in.step, in.attempt, *in.reply)
	}
}

// happened is an event of an attempt.
type happened struct {
	step    string
	attempt int
	kind    string
	data    effect.Payload
}

func (in *happened) apply(t *turn) { t.event(in.step, in.attempt, in.kind, in.data) }

// worked are events of a claim, of which the turn that took them had no room for all.
type worked struct {
	step    string
	attempt int
	events  []workEvent
}

func (in *worked) apply(t *turn) {
	if st := t.s.Steps[in.step]; st != nil && st.Attempt == in.attempt {
		t.told(st, in.events)
	}
}

// heard tells that an agent has a message.
type heard struct {
	step    string
	attempt int
	seq     uint64 // of the record that the message came with
}

func (in *heard) apply(t *turn) {
	if st := t.flying(in.step, in.attempt); st != nil {
		t.heard(st, in.seq)
	}
}

// question is one of an agent at work.
type question struct {
	step    string
	attempt int
	content effect.Payload
}

func (in *question) apply(t *turn) { t.ask(in.step, in.attempt, in.content) }

// unasked takes a question back: nobody waits for its answer any more.
type unasked struct {
	step    string
	attempt int
	asked   string // identity of the question
}

func (in *unasked) apply(t *turn) {
	g := t.s.Gates[permissionGate(in.step)]
	if t.flying(in.step, in.attempt) != nil && g != nil && identityOf(g.Args) == in.asked {
		t.withdrawGate(g, "")
	}
}

// remembered is a call of memory.vars by an agent at work.
type remembered struct {
	step    string
	attempt int
	args    effect.Payload
	outcome effect.Outcome
}

func (in *remembered) apply(t *turn) { in.outcome = t.share(in.step, in.attempt, in.args) }

// childStarted tells that a step has its child run.
type childStarted struct {
	step  string
	waits bool // the step is still there
}

func (in *childStarted) apply(t *turn) { in.waits = t.s.Steps[in.step] != nil }

// childChanged tells that a child run has come to rest, or moves on.
type childChanged struct{ step, child string }

func (in *childChanged) apply(t *turn) { t.childStatusChanged(in.step, in.child) }

// childEnded is what a child run came to.
type childEnded struct {
	step   string
	output effect.Payload
	failed *effect.Error
}

func (in *childEnded) apply(t *turn) {
	st := t.s.Steps[in.step]
	if st == nil || t.m == nil {
		return
	}
	delete(t.host.kids, in.step)
	if in.failed != nil {
		t.settle(st, failure(st, in.failed, nil))
		return
	}
	t.settle(st, childValue(st, in.output))
}

// offered tells that a queue has items, any queue when it is "".
type offered struct{ queue string }

func (in *offered) apply(t *turn) { t.retryWaiters(in.queue) }

// vacancy tells that there may be a slot for an agent of the run.
type vacancy struct{}

func (vacancy) apply(t *turn) { t.s.retrySlot() }

// notified is what became of a notice.
type notified struct {
	notice *notice
	as     journal.RecordType
	failed *effect.Error
}

func (in *notified) apply(t *turn) {
	if t.s.Seq == 0 {
		return // the run was pruned, with the notice's row
	}
	n := in.notice
	var b effect.Object
	b.Text("id", n.ID).Text("channel", n.Channel).Int("tries", int64(n.Tries)).Raw("error", in.failed.Payload())
	t.record(in.as, n.Gate, b.Payload())
	t.rows = append(t.rows, runtime.Write{Key: n.key(), Value: nil})
}

// flying is a step whose newest attempt is in flight and has this number, nil if there is none.
func (t *turn) flying(name string, attempt int) *step {
	if st := t.s.Steps[name]; st != nil && st.InFlight && st.Attempt == attempt {
		return st
	}
	return nil
}
