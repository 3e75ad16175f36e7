package run

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// An agent can be told something while it works: by on_event, or by whoever may. The message is
// durable before anybody hears of it. An attempt hears it once: while it works, or first in its
// input. An attempt that begins anew, after a crash or a failure, knows nothing of what the one
// before was told, and is told all of it; one that goes on with a conversation is told what this
// has not had.

// steer is a message for the agent.
type steer struct {
	Seq     uint64 // of the record that it came with
	Message string
	Heard   bool // the newest attempt has it
}

// Delivery is a message for an attempt in flight.
type Delivery struct {
	Step string
	steer
}

// Steering is how the backend is steered whose turn it is.
func (st *Step) Steering() effect.Steering {
	if st.Serving < len(st.Steers) {
		return st.Steers[st.Serving]
	}
	return effect.SteerNone
}

// messages are what the agent is to be told first.
func (st *Step) messages() []string {
	var out []string
	for _, s := range st.Told {
		out = append(out, s.Message)
	}
	return out
}

// undelivered are the messages that the newest attempt does not have yet.
func (st *Step) undelivered() (list []string) {
	for _, s := range st.Told {
		if !s.Heard {
			list = append(list, s.Message)
		}
	}
	return list
}

// heardUntil notes that the newest attempt has the messages up to a record.
func (st *Step) heardUntil(seq uint64) {
	for i := range st.Told {
		st.Told[i].Heard = st.Told[i].Heard || st.Told[i].Seq <= seq
	}
}

// goOn forgets what the conversation has had with which the next attempt goes on.
func (st *Step) goOn() {
	if st.Session != "" {
		st.Told = slices.DeleteFunc(st.Told, func(s steer) bool { return s.Heard })
	}
}

// tell hands a message that was just recorded to the attempt in flight, if its backend can be told.
func (t *Turn) tell(st *Step, seq uint64, message string) {
	if st.InFlight && st.Claim == 0 && st.Steering() != effect.SteerNone {
		t.Effects.Deliveries = append(t.Effects.Deliveries, Delivery{Step: st.Step, steer: steer{Seq: seq, Message: message}})
	}
}

// MaxTold bounds the messages that wait for one attempt.
const MaxTold = 64

func (t *Turn) heard(st *Step, seq uint64) {
	t.record(journal.SteerHeard, st.Step, (&effect.Object{}).Int("seq", int64(seq)).Payload())
}

// steered takes back an attempt that was ended to go on with a message: it is not charged to the
// retries.
func (t *Turn) steered(name string, attempt int, r effect.Reply) {
	if st := t.flying(name, attempt); st != nil {
		t.ended(st, journal.ClassSteered, effect.Reply{Session: r.Session, Usage: r.Usage}, nil)
	}
}

// intervene takes a steer or a stop from outside.
func (t *Turn) intervene(c runtime.Caller, who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	switch {
	case c.Agent != "":
		return nil, runtime.Refusef(runtime.ErrDenied, "the agent %q may not %s others", c.Agent, s.Kind)
	case t.State.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s: nobody works for it", t.State.ID, t.State.Status)
	case t.Machine == nil:
		return nil, t.quarantined()
	case s.Kind == runtime.SignalSteer && strings.TrimSpace(s.Reason) == "":
		return nil, runtime.Refusef(runtime.ErrBadPayload, "the message is empty")
	}
	st, refused := t.agentStep(s.Step)
	if refused != nil {
		return nil, refused
	}
	if s.Kind == runtime.SignalSteer && st.Steering() == effect.SteerNone {
		return nil, runtime.Refusef(runtime.ErrUnsteerable, "%s@%s is served by %q, which takes no messages while it works", t.State.ID, st.Step, st.serves()).
			WithHelp("end it: starling stop %s@%s", t.State.ID, shellQuote(st.Step)).WithCall("end it: stop with step %q", st.Step)
	}
	var b, o effect.Object
	seq := t.record(journal.SignalAccepted, "", b.Text("kind", string(s.Kind)).Texts("who", who).Text("key", s.Key).Payload())
	verdict := t.record(journal.Intervened, st.Step, o.Text("action", string(s.Kind)).Text("message", s.Reason).Texts("who", who).Payload())
	t.carryOut(st, verdict, s.Reason)
	t.slice()
	return &runtime.Receipt{Seq: seq}, nil
}

// carryOut does what a recorded verdict says of an attempt in flight.
func (t *Turn) carryOut(st *Step, seq uint64, message string) {
	switch {
	case !st.Stopped:
		t.tell(st, seq, message)
	case st.InFlight:
		t.Effects.Abort = append(t.Effects.Abort, st.Step)
		t.ended(st, journal.ClassOK, effect.Reply{}, nil)
	}
}

func (st *Step) serves() string { return cmp.Or(st.backend(), st.Kind) }

// agentStep finds the open step of an agent that an address means.
func (t *Turn) agentStep(address string) (*Step, *runtime.Refusal) {
	var fits []*Step
	var names []string
	for _, st := range t.State.InOrder() {
		if !journal.AgentKind(st.Kind) && len(st.Steers) == 0 {
			continue
		}
		if st.Step == address {
			return t.notStopped(st)
		}
		if strings.HasSuffix(st.Step, "/"+address) {
			fits, names = append(fits, st), append(names, st.Step)
		}
	}
	switch len(fits) {
	case 1:
		return t.notStopped(fits[0])
	case 0:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "no agent works at the step %q of run %s: it has already ended, or has not started", address, t.State.ID).WithHelp("list them with: starling steps %s", t.State.ID).WithCall(statusLists)
	}
	return nil, runtime.Refusef(runtime.ErrAmbiguous, "step %q of run %s is ambiguous: it matches %s", address, t.State.ID, strings.Join(names, ", ")).WithHelp("give more of the address").WithData(names)
}

// notStopped refuses a step that was stopped before.
func (t *Turn) notStopped(st *Step) (*Step, *runtime.Refusal) {
	if st.Stopped {
		return nil, runtime.Refusef(runtime.ErrClosed, "%s@%s is stopped already", t.State.ID, st.Step)
	}
	return st, nil
}

func toldPayload(list []steer) effect.Payload {
	if len(list) == 0 {
		return nil
	}
	var b effect.Object
	for _, s := range list {
		var o effect.Object
		b.Raw(strconv.FormatUint(s.Seq, 10), o.Text("message", s.Message).Flag("heard", s.Heard).Payload())
	}
	return b.Payload()
}

func toldOf(v effect.View) (list []steer) {
	v.Each(func(key string, f effect.View) {
		seq, _ := strconv.ParseUint(key, 10, 64) // toldPayload wrote it
		list = append(list, steer{seq, f.Text("message"), f.Flag("heard")})
	})
	return list
}
