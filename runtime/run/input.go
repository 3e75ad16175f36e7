package run

import (
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/runtime"
	"starling/runtime/journal"
)

// An input is what a run is told: data, with which a turn does what follows from it, and into which
// it puts what is to be answered. Nothing else comes into a turn.
type Input interface {
	apply(t *Turn)
}

// Answered is an input that a turn may refuse.
type Answered interface {
	Input
	// Refusal is why nothing follows from it, nil where something does.
	Refusal() error
}

// answer is what a turn answers to who waits for it.
type answer struct {
	Receipt *runtime.Receipt
	refused *runtime.Refusal
}

func (a *answer) Refusal() error {
	if a.refused == nil {
		return nil
	}
	return a.refused
}

// Woken only has a run look at what is due.
type Woken struct{}

func (Woken) apply(*Turn) {}

// Started begins a run.
type Started struct {
	Request   *runtime.StartRequest
	Program   *Program
	Behaviour uint32
	Inputs    effect.Payload
	By        string // who starts it
	Parent    string // RUN@STEP, "" for a run of its own
	Depth     int
}

func (in *Started) apply(t *Turn) { t.begun(in) }

// Recovered tells a run that it was loaded by a process that knows of it only what is durable.
type Recovered struct {
	Orphan string          // the parent that waits for it no more, "" if none has stopped waiting
	Rest   *vm.Stop        // what the machine has said beyond a journal that was cut, nil for nothing
	Flying map[string]bool // steps whose attempts are in flight in this process
}

func (in *Recovered) apply(t *Turn) {
	if t.State.Status.Ended() {
		return
	}
	if in.Orphan != "" {
		t.cancelRun([]string{"run:" + in.Orphan}, "its parent ended")
		return
	}
	if in.Rest != nil {
		t.stopped(*in.Rest)
	}
	for _, st := range t.State.InOrder() {
		if st.InFlight && !in.Flying[st.Step] && st.Claim == 0 {
			t.uncertain(st, "the process that ran it ended")
		}
	}
	if t.canAcceptOutcome() {
		t.slice()
	}
	t.carried()
}

// Resumed tells a run that somebody drives it from now on.
type Resumed struct{}

func (Resumed) apply(t *Turn) {
	t.carried()
	if !t.HoldsCommons { // whoever has just been loaded has looked for items
		t.retryWaiters("")
	}
}

// Forked is resumed for a run that was made of another.
type Forked struct{}

func (Forked) apply(t *Turn) { t.carried() }

// Signalled is a signal from outside.
type Signalled struct {
	Caller runtime.Caller
	Signal runtime.Signal
	answer
}

func (in *Signalled) apply(t *Turn) { in.Receipt, in.refused = t.signal(in.Caller, in.Signal) }

// Cancelled is an order to end the run.
type Cancelled struct {
	Who     []string
	Request runtime.CancelRequest
	answer
}

func (in *Cancelled) apply(t *Turn) { in.Receipt, in.refused = t.cancelled(in.Who, in.Request) }

// Pinned gives a run other settings.
type Pinned struct {
	Settings *effect.Settings
	By       string
	Imported bool // the run was imported, so its child runs are to get them, too
}

func (in *Pinned) apply(t *Turn) {
	if t.State.Status.Ended() || t.Host.Settings == nil {
		return
	}
	had := t.Host.Settings
	next := in.Settings.After(had)
	in.Imported = next.Imported != ""
	if t.State.Parent != "" && next.Imported != effect.ImportedTrusted {
		next.Workspace, next.Machine = had.Workspace, had.Machine // where its parent has it work, perhaps in the tree of a branch
	}
	t.pin(next, in.By)
}

// Moved has a run go on with another program, as far as that says what the journal says.
type Moved struct {
	Request runtime.MoveRequest
	Program *Program
	Hash    string // of the bundle
	By      string
	Past    *Past // what it is held against, nil before it is known what that is

	Wants    *Wanted // what past must be, nil if that was not looked at, or was right
	Replayed *runtime.Replayed
	refused  error
}

// Refusal is why the run cannot go on with the program.
func (in *Moved) Refusal() error { return in.refused }

func (in *Moved) apply(t *Turn) { in.Replayed, in.refused = t.move(in) }

// Replied is the end of an attempt.
type Replied struct {
	Step    string
	Attempt int
	Reply   *effect.Reply
	End     ending
}

// ending is how an attempt came to its end.
type ending int

const (
	endOwn     ending = iota // it came to something
	EndLeaving               // it was stopped because the process leaves
	EndSteered               // it was stopped to go on with a message
)

func (in *Replied) apply(t *Turn) {
	switch in.End {
	case EndLeaving:
		t.interrupted(in.Step, in.Attempt, in.Reply.Usage)
	case EndSteered:
		t.steered(in.Step, in.Attempt, *in.Reply)
	default:
		t.reply(in.Step, in.Attempt, *in.Reply)
	}
}

// Happened is an event of an attempt.
type Happened struct {
	Step    string
	Attempt int
	Kind    string
	Data    effect.Payload
}

func (in *Happened) apply(t *Turn) { t.event(in.Step, in.Attempt, in.Kind, in.Data) }

// worked are events of a claim, of which the turn that took them had no room for all.
type worked struct {
	step    string
	attempt int
	events  []workEvent
}

func (in *worked) apply(t *Turn) {
	if st := t.State.Steps[in.step]; st != nil && st.Attempt == in.attempt {
		t.told(st, in.events)
	}
}

// Heard tells that an agent has a message.
type Heard struct {
	Step    string
	Attempt int
	Seq     uint64 // of the record that the message came with
}

func (in *Heard) apply(t *Turn) {
	if st := t.flying(in.Step, in.Attempt); st != nil {
		t.heard(st, in.Seq)
	}
}

// Question is one of an agent at work.
type Question struct {
	Step    string
	Attempt int
	Content effect.Payload
}

func (in *Question) apply(t *Turn) { t.ask(in.Step, in.Attempt, in.Content) }

// Unasked takes a question back: nobody waits for its answer any more.
type Unasked struct {
	Step    string
	Attempt int
	Asked   string // identity of the question
}

func (in *Unasked) apply(t *Turn) {
	g := t.State.Gates[permissionGate(in.Step)]
	if t.flying(in.Step, in.Attempt) != nil && g != nil && IdentityOf(g.Args) == in.Asked {
		t.withdrawGate(g, "")
	}
}

// Remembered is a call of memory.vars by an agent at work.
type Remembered struct {
	Step    string
	Attempt int
	Args    effect.Payload
	Outcome effect.Outcome
}

func (in *Remembered) apply(t *Turn) { in.Outcome = t.share(in.Step, in.Attempt, in.Args) }

// ChildStarted tells that a step has its child run.
type ChildStarted struct {
	Step  string
	Waits bool // the step is still there
}

func (in *ChildStarted) apply(t *Turn) { in.Waits = t.State.Steps[in.Step] != nil }

// ChildChanged tells that a child run has come to rest, or moves on.
type ChildChanged struct{ Step, Child string }

func (in *ChildChanged) apply(t *Turn) { t.childStatusChanged(in.Step, in.Child) }

// ChildEnded is what a child run came to.
type ChildEnded struct {
	Step   string
	Output effect.Payload
	Failed *effect.Error
}

func (in *ChildEnded) apply(t *Turn) {
	st := t.State.Steps[in.Step]
	if st == nil || t.Machine == nil {
		return
	}
	delete(t.Host.kids, in.Step)
	if in.Failed != nil {
		t.settle(st, failure(st, in.Failed, nil))
		return
	}
	t.settle(st, childValue(st, in.Output))
}

// OfChild is what the parent of a child run is told when that has come to rest, moves on or has
// ended.
func OfChild(step string, child *State) Input {
	switch child.Status {
	case runtime.Completed:
		return &ChildEnded{Step: step, Output: child.Output}
	case runtime.Cancelled:
		return &ChildEnded{Step: step, Failed: effect.Errorf(effect.KindChild, "%s: child run %s was %s", step, child.ID, child.Err.Message)}
	case runtime.Failed:
		return &ChildEnded{Step: step, Failed: childFailure(step, child)}
	}
	return &ChildChanged{Step: step, Child: child.ID}
}

// childFailure is the error of a step whose child run has failed. Where that one failed because of
// a child of its own, the deepest is told of, at its address from here.
func childFailure(step string, child *State) *effect.Error {
	failed := effect.Errorf(effect.KindChild, "%s: child run %s failed: %s", step, child.ID, child.Err.Message)
	if child.Err.Kind == effect.KindChild {
		failed.Message = step + "/" + child.Err.Message
	}
	failed.Backtrace = child.Err.Backtrace
	return failed
}

// Offered tells that a queue has items, any queue when it is "".
type Offered struct{ Queue string }

func (in *Offered) apply(t *Turn) { t.retryWaiters(in.Queue) }

// Vacancy tells that there may be a slot for an agent of the run.
type Vacancy struct{}

func (Vacancy) apply(t *Turn) { t.State.retrySlot() }

// Notified is what became of a notice.
type Notified struct {
	Notice *Notice
	As     journal.RecordType
	Failed *effect.Error
}

func (in *Notified) apply(t *Turn) {
	if t.State.Seq == 0 {
		return // the run was pruned, with the notice's row
	}
	n := in.Notice
	var b effect.Object
	b.Text("id", n.ID).Text("channel", n.Channel).Int("tries", int64(n.Tries)).Raw("error", in.Failed.Payload())
	t.record(in.As, n.Gate, b.Payload())
	t.Rows = append(t.Rows, runtime.Write{Key: n.Key(), Value: nil})
}

// flying is a step whose newest attempt is in flight and has this number, nil if there is none.
func (t *Turn) flying(name string, attempt int) *Step {
	if st := t.State.Steps[name]; st != nil && st.InFlight && st.Attempt == attempt {
		return st
	}
	return nil
}
