package runtime

import (
	"slices"
	"time"

	"starling/lang/effect"
)

// state is what a run's journal comes to, beside the machine: which steps are open, which gates, which timers. It is a fold: apply takes
// one record at a time and decides nothing, so that reading a journal again always gives the same state. What is settled is forgotten; the journal
// has it.
type state struct {
	ID       string
	Seq      uint64 // of the newest record
	Status   Status
	Script   string
	Bundle   string // hash of the source bundle
	Program  string // hash of the program
	Settings string // hash of the settings
	Inputs   effect.Payload
	By       string
	Parent   string // RUN@STEP
	Depth    int    // of child runs
	Session  bool
	Started  time.Time
	Updated  time.Time
	Deadline time.Time // of the whole run, zero for none

	Output effect.Payload
	Err    *effect.Error

	Steps   map[string]*step
	Gates   map[string]*gate // the open ones, system gates included
	Timers  map[string]timer
	Mailbox []message
	Busy    bool // a session's chunk has not ended

	timerOps []timerOp // timer rows to write with the next commit
}

// timerOp is a change of a timer row.
type timerOp struct {
	timer
	gone bool
}

// step is an open step.
type step struct {
	Step      string
	Kind      string
	Seq       uint64 // of its request: steps start in this order
	At        time.Time
	Class     effect.Class
	Where     string
	Args      effect.Payload
	Resolved  effect.Payload
	Returns   string
	Policy    effect.Policy
	Attempt   int  // number of the newest attempt
	Ready     bool // wants an attempt
	InFlight  bool // the newest attempt has started and not ended
	Failures  int  // retryable failures so far
	Reasks    int  // replies that broke the contract so far
	Feedback  effect.Payload
	Uncertain bool // waits at its gate !uncertain:STEP
}

// gate is an open gate.
type gate struct {
	Name     string // address within the run
	Step     string // the step that waits, "" for a system gate
	OpenedAt time.Time
	Deadline time.Time // zero for none
	Args     effect.Payload
	Level    int    // of the escalation
	Votes    []vote // answers so far, where the gate wants several
}

// vote is one answer of a gate that wants several.
type vote struct{ who, choice string }

// timer is a durable timer. There is at most one of an ID.
type timer struct {
	ID      string // purpose and step: "gate:review", "sleep:sleep#2"
	Purpose string
	Step    string
	Due     time.Time
}

// message waits in the mailbox.
type message struct {
	Name string
	Data effect.Payload // a Message record
}

// Purposes of timers.
const (
	timerSleep    = "sleep"
	timerGate     = "gate"
	timerEscalate = "escalate"
	timerBackoff  = "backoff"
	timerMailbox  = "mailbox"
	timerDeadline = "deadline"
	timerChild    = "child"
)

func newState(run string) *state {
	return &state{ID: run, Status: Pending, Steps: map[string]*step{}, Gates: map[string]*gate{}, Timers: map[string]timer{}}
}

// apply folds one record in.
func (s *state) apply(r *Record) {
	s.Seq, s.Updated = r.Seq, r.Time
	v := r.view()
	switch r.Type {
	case RunStarted:
		s.start(r, v)
	case RunSuspended:
		s.Status = Suspended
	case RunResumed:
		s.Status = Running
	case RunCompleted:
		s.end(Completed)
		s.Output = v.Raw("output")
	case RunFailed, RunCancelled:
		s.end(map[RecordType]Status{RunFailed: Failed, RunCancelled: Cancelled}[r.Type])
		s.Err = effect.ErrorOf(v.Sub("error"))
	case StepRequested:
		s.request(r, v)
	case StepSettled, StepWithdrawn:
		s.forget(r.Step)
		if v.Flag("took") {
			s.takeMessage(v.Text("mail"))
		}
	case AttemptStarted, AttemptEnded:
		s.attempt(r, v)
	case GateOpened:
		s.Gates[r.Step] = &gate{Name: r.Step, Step: v.Text("step"), OpenedAt: r.Time, Deadline: timeOf(v, "deadline"), Args: v.Raw("args")}
		if st := s.Steps[v.Text("uncertain")]; st != nil {
			st.Uncertain = true
		}
	case GateEscalated:
		if g := s.Gates[r.Step]; g != nil {
			g.Level = int(v.Int("level"))
		}
	case GateDecided, GateWithdrawn:
		delete(s.Gates, r.Step)
		if st := s.Steps[v.Text("uncertain")]; st != nil {
			st.Uncertain, st.Ready = false, v.Flag("retry")
		}
	case TimerSet:
		t := timer{Purpose: v.Text("purpose"), Step: r.Step, Due: timeOf(v, "due")}
		t.ID = t.Purpose + ":" + t.Step
		s.Timers[t.ID] = t
		s.timerOps = append(s.timerOps, timerOp{timer: t})
	case TimerFired:
		s.fire(r, v)
	case SignalAccepted:
		if g := s.Gates[r.Step]; g != nil {
			g.Votes = append(g.Votes, vote{v.Text("voter"), v.Text("vote")})
		}
		if v.Has("message") {
			s.Mailbox = append(s.Mailbox, message{Name: v.Text("name"), Data: v.Raw("message")})
		}
	case ChunkAppended:
		s.Busy = true
	case ChunkEnded:
		s.Busy = false
	case RunPinned:
		s.Settings = v.Text("settings")
	}
}

func (s *state) start(r *Record, v effect.View) {
	s.Status = Running
	s.Script, s.Bundle, s.Program, s.Settings = v.Text("script"), v.Text("bundle"), v.Text("program"), v.Text("settings")
	s.Inputs, s.By, s.Parent, s.Depth, s.Session = v.Raw("inputs"), v.Text("by"), v.Text("parent"), int(v.Int("depth")), v.Flag("session")
	s.Started, s.Deadline = r.Time, timeOf(v, "deadline")
}

func (s *state) end(status Status) {
	s.Status = status
	clear(s.Steps)
	clear(s.Gates)
	for id := range s.Timers {
		s.dropTimer(id)
	}
	s.Mailbox = nil
}

func (s *state) request(r *Record, v effect.View) {
	st := &step{Step: r.Step, Kind: v.Text("kind"), Seq: r.Seq, At: r.Time, Class: effect.Class(v.Int("class")), Where: v.Text("where"),
		Args: v.Raw("args"), Resolved: v.Raw("resolved"), Returns: v.Text("returns"), Policy: policyOf(v.Sub("policy"))}
	st.Ready = !native(st.Kind)
	s.Steps[r.Step] = st
}

// forget drops an open step with its gate and timers: it has its outcome, or nobody waits for it.
func (s *state) forget(name string) {
	st := s.Steps[name]
	if st == nil {
		return
	}
	delete(s.Steps, name)
	for id, t := range s.Timers {
		if t.Step == name {
			s.dropTimer(id)
		}
	}
}

// takeMessage removes the oldest message of a name.
func (s *state) takeMessage(name string) {
	i := slices.IndexFunc(s.Mailbox, func(m message) bool { return m.Name == name })
	s.Mailbox = slices.Delete(s.Mailbox, i, i+1)
}

func (s *state) attempt(r *Record, v effect.View) {
	st := s.Steps[r.Step]
	if st == nil {
		return
	}
	if r.Type == AttemptStarted {
		st.Attempt, st.Ready, st.InFlight = int(v.Int("attempt")), false, true
		return
	}
	st.InFlight = false
	st.Ready = v.Flag("again")
	switch v.Text("class") {
	case classRetryable:
		st.Failures++
	case classInvalid:
		st.Reasks++
		st.Feedback = v.Raw("feedback")
	}
}

func (s *state) dropTimer(id string) {
	if t, ok := s.Timers[id]; ok {
		delete(s.Timers, id)
		s.timerOps = append(s.timerOps, timerOp{timer: t, gone: true})
	}
}

func (s *state) fire(r *Record, v effect.View) {
	purpose := v.Text("purpose")
	s.dropTimer(purpose + ":" + r.Step)
	if st := s.Steps[r.Step]; st != nil && purpose == timerBackoff {
		st.Ready = true
	}
}

// inOrder lists the open steps in the order of their requests.
func (s *state) inOrder() []*step {
	out := make([]*step, 0, len(s.Steps))
	for _, st := range s.Steps {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *step) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return out
}

// nextDue is the earliest timer, the zero time when there is none.
func (s *state) nextDue() time.Time {
	var due time.Time
	for _, t := range s.Timers {
		if due.IsZero() || t.Due.Before(due) {
			due = t.Due
		}
	}
	return due
}

// inFlight counts the attempts in flight.
func (s *state) inFlight() int {
	n := 0
	for _, st := range s.Steps {
		if st.InFlight {
			n++
		}
	}
	return n
}

// openGates lists the open gates in the order they opened.
func (s *state) openGates() []*gate {
	out := make([]*gate, 0, len(s.Gates))
	for _, g := range s.Gates {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *gate) int {
		if c := a.OpenedAt.Compare(b.OpenedAt); c != 0 {
			return c
		}
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out
}

func timeOf(v effect.View, field string) time.Time {
	if n := v.Int(field); n != 0 {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func policyOf(v effect.View) effect.Policy {
	return effect.Policy{Timeout: time.Duration(v.Int("timeout")), Retries: int(v.Int("retries")), Reasks: int(v.Int("reasks")),
		OnError: effect.OnError(v.Int("on_error")), OnUncertain: effect.OnUncertain(v.Int("on_uncertain")), Idempotent: v.Flag("idempotent")}
}

func policyPayload(p effect.Policy) effect.Payload {
	if p == (effect.Policy{}) {
		return nil
	}
	var o effect.Object
	return o.Int("timeout", int64(p.Timeout)).Int("retries", int64(p.Retries)).Int("reasks", int64(p.Reasks)).Int("on_error", int64(p.OnError)).
		Int("on_uncertain", int64(p.OnUncertain)).Flag("idempotent", p.Idempotent).Payload()
}
