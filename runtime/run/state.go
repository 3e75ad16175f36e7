package run

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/heap"
	"starling/runtime/journal"
)

// State is what a run's journal comes to, beside the machine: which steps are open, which gates,
// which timers. It is a fold: apply takes one record at a time and decides nothing, so that reading
// a journal again always gives the same state. What is settled is forgotten; the journal has it.
//
// Whatever a turn asks of it costs what is concerned and not what is open: a run may have ten
// thousand open steps. Hence the heaps and counts beside the maps.
type State struct {
	ID         string
	Seq        uint64 // of the newest record
	Status     runtime.Status
	Origin            // of a run that was moved with the script, bundle and program that it has now
	Moved      bool   // to another program than it was started with
	Settings   string // hash of the settings
	Inputs     effect.Payload
	Parent     string           // RUN@STEP
	Depth      int              // of child runs
	Lineage    *runtime.Lineage // of a run that was made of another, else nil
	Imported   effect.Payload   // of a run that came from another store: which, by whom, when
	Started    time.Time
	Updated    time.Time
	Deadline   time.Time // of the whole run, zero for none
	OnDeadline runtime.OnDeadline

	Output effect.Payload
	Err    *effect.Error

	Steps         map[string]*Step
	Gates         map[string]*Gate // the open ones, system gates included
	Mailbox       []message
	Busy          bool                      // a session's chunk has not ended
	Bare          bool                      // gates were withdrawn of which only the journal knows
	Without       []string                  // variables that the run goes on without
	Reused        map[string]*reusedOutcome // outcomes of another run that steps to come may take
	Spent         map[string]runtime.Usage  // under each ceiling
	Raised        map[string]int64          // how often a ceiling was raised by what it was
	Conversations map[string]conversation   // by session
	Queues        bool                      // it has asked for something of a queue
	Trees         bool                      // branches of it had trees
	Owned         map[string][]string       // what agents asked in the trees of branches may change
	memory        memory                    // its variables and chats

	OriginRef []byte // names its origin, nil while that was not asked for
	TailStats Tail   // of the head that it was read from
	timers    timers
	ready     heap.Heap[*Step]    // those that want an attempt, the oldest first
	limited   map[string]*limiter // agents with limits, by their names
	Flying    int                 // steps whose newest attempt has started and not ended
	needs     int                 // open gates of variables that nobody has brought
	unserved  *Gate               // the open gate of a step that the project cannot serve, nil without one
	children  map[string]*Step    // steps that wait for a child run
	takes     []*Step             // steps that wait for a message, in the order of their requests
	changing  []*Step             // steps that may change files of the workspace, the oldest first
	Asks      []*Step             // steps that ask for what runs share, in the order of their requests
	Decided   []*Step             // steps whose outcome is known and not recorded yet, in the order in which it became known
}

// Gate is an open gate.
type Gate struct {
	Name     string // address within the run
	Step     string // the step that waits, "" for a system gate
	Seq      uint64 // of its opening
	OpenedAt time.Time
	Deadline time.Time // zero for none
	Args     effect.Payload
	Level    int    // of the escalation
	Votes    []vote // answers so far, where the gate wants several
}

// vote is one answer of a gate that wants several.
type vote struct{ who, choice string }

// message waits in the mailbox.
type message struct {
	Name string
	Data effect.Payload // a Message record
}

// NewState is a run of which nothing is known yet.
func NewState(run string) *State {
	return &State{ID: run, Status: runtime.Pending, Steps: map[string]*Step{}, Gates: map[string]*Gate{}}
}

// put sets a key of one of the maps that most runs never need: it is made when it is.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// sortedKeys lists the keys of one of these maps.
func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil // most often, and with nothing made
	}
	return slices.Sorted(maps.Keys(m))
}

// Apply folds one record in.
func (s *State) Apply(r *journal.Record) {
	s.Seq, s.Updated = r.Seq, r.Time
	v := r.View()
	switch r.Type {
	case journal.RunStarted:
		s.start(r, v)
	case journal.RunSuspended:
		s.Status = runtime.Suspended
	case journal.RunResumed:
		s.Status = runtime.Running
	case journal.RunCompleted:
		s.end(runtime.Completed)
		s.Output = v.Raw("output")
	case journal.RunFailed, journal.RunCancelled:
		s.end(map[journal.RecordType]runtime.Status{journal.RunFailed: runtime.Failed, journal.RunCancelled: runtime.Cancelled}[r.Type])
		s.Err = effect.ErrorOf(v.Sub("error"))
	case journal.StepRequested:
		s.request(r, v)
	case journal.StepSettled, journal.StepWithdrawn:
		if st := s.Steps[r.Step]; st != nil && journal.AgentKind(st.Kind) {
			s.converse(st, v.Raw("value"))
		}
		s.rechange(s.Steps[r.Step])
		s.releasePaths(s.Steps[r.Step])
		s.forget(r.Step)
		if v.Flag("took") {
			s.takeMessage(v.Text("mail"))
		}
	case journal.AttemptStarted, journal.AttemptEnded, journal.AttemptSkipped:
		s.attempt(r, v)
	case journal.StepResolved:
		s.resolved(s.Steps[r.Step], v)
	case journal.WorkOffered:
		if st := s.Steps[r.Step]; st != nil && !st.Foreign {
			s.offered(st)
		}
	case journal.SteerHeard:
		if st := s.Steps[r.Step]; st != nil {
			st.heardUntil(uint64(v.Int("seq")))
		}
	case journal.AgentEvent:
		if st := s.Steps[r.Step]; st != nil {
			st.saying(v.Text("kind"), v.Sub("data").Text("text"))
			st.talks(v.Text("kind"), v.Sub("data").Text("id"))
			st.uses(v.Text("kind"), v.Sub("data"))
			if v.Text("kind") == journal.EventUsage {
				s.used(st, v.Sub("data"), r)
			}
		}
	case journal.VerdictGiven, journal.Intervened:
		s.verdict(r, v)
	case journal.GateOpened, journal.GateEscalated, journal.GateDecided, journal.GateWithdrawn:
		s.gate(r, v)
	case journal.TimerSet:
		if st := s.Steps[r.Step]; st == nil || !st.claimedElsewhere(v.Text("purpose")) {
			s.timers.set(timer{Purpose: v.Text("purpose"), Step: r.Step, Due: journal.TimeIn(v, "due")})
		}
	case journal.TimerFired:
		s.fire(r, v)
	case journal.SignalAccepted:
		s.accept(r, v)
	case journal.ChunkAppended:
		s.Busy = true
	case journal.ChunkEnded:
		s.Busy = false
	case journal.RunPinned:
		s.Settings = v.Text("settings")
	case journal.RunMoved:
		s.Moved, s.OriginRef = true, nil
		s.Bundle, s.Program, s.Script = v.Text("bundle"), v.Text("program"), v.Text("script")
	case journal.StepRecalled:
		s.reuse(r, v)
	case journal.MemoryChanged:
		s.memory.change(v.Text("kind"), v.Sub("change"))
	case journal.StepAnswered:
		delete(s.Reused, r.Step)
		s.memory.answered(r.Step, v)
	}
}

func (s *State) start(r *journal.Record, v effect.View) {
	s.Status = runtime.Running
	s.Deadline, s.OnDeadline = journal.TimeIn(v, "deadline"), runtime.OnDeadline(v.Text("overtime"))
	s.Begun(r, v)
	s.Settings = s.Original
}

func (s *State) end(status runtime.Status) {
	s.Status = status
	clear(s.Steps)
	clear(s.Gates)
	clear(s.children)
	clear(s.Reused)
	clear(s.Owned)
	clear(s.limited)
	s.needs, s.unserved = 0, nil
	s.timers, s.ready, s.Flying, s.takes, s.Asks, s.changing, s.Decided, s.Mailbox = timers{}, heap.Heap[*Step]{}, 0, nil, nil, nil, nil, nil
	s.memory = memory{}
}

func (s *State) request(r *journal.Record, v effect.View) {
	st := &Step{Seq: r.Seq, At: r.Time}
	st.Step = r.Step
	takeAll(v, st, requestFields)
	st.Foreign = st.Foreign && !native(st.Kind)
	st.Named = sessionOf(st.Kind, st.Args)
	s.own(st)
	if st.Kind == journal.KindMailbox {
		st.Mail = v.Sub("args").Text("name")
	}
	if rc := s.Reused[r.Step]; rc.serves(st) {
		st.Reused = rc
	}
	if st.Refused == nil && st.Reused == nil && len(st.Changes) > 0 {
		other, _ := s.rival(st)
		st.Behind = other != nil
	}
	s.Queues = s.Queues || st.Kind == journal.KindQueue
	st.Ready = !native(st.Kind) && st.Refused == nil && st.Reused == nil && !st.Behind
	s.adopt(st)
}

// adopt puts an open step where it belongs beside the map of all.
func (s *State) adopt(st *Step) {
	s.Steps[st.Step] = st
	s.claim(st)
	switch {
	case st.Refused != nil || st.Stopped || st.Cut != "" || st.Shut != nil:
		s.Decided = append(s.Decided, st)
	case st.Reused != nil:
		s.takeReused(st)
	case st.Kind == journal.KindRun:
		put(&s.children, st.Step, st)
	case st.Kind == journal.KindMailbox:
		s.takes = append(s.takes, st)
	case sharing(st.Kind):
		s.Asks = append(s.Asks, st)
	case st.InFlight && st.Claim == 0:
		s.Flying++
		s.works(st, 1)
	case st.Ready:
		s.ready.Push(st)
	}
}

// forget drops an open step with its timers: it has its outcome, or nobody waits for it.
func (s *State) forget(name string) {
	st := s.Steps[name]
	if st == nil {
		return
	}
	delete(s.Steps, name)
	delete(s.children, name)
	delete(s.Reused, name)
	s.want(st, false)
	s.fly(st, false)
	s.timers.drop(name)
	s.disclaim(st)
	same := func(other *Step) bool { return other == st }
	s.takes, s.Asks, s.Decided = slices.DeleteFunc(s.takes, same), slices.DeleteFunc(s.Asks, same), slices.DeleteFunc(s.Decided, same)
}

// want notes whether a step wants an attempt.
func (s *State) want(st *Step, ready bool) {
	st.Ready = ready
	if st.parkedIn != nil {
		st.parkedIn.waiting.Remove(st)
		st.parkedIn = nil
	}
	if ready {
		s.ready.Push(st)
	} else {
		s.ready.Remove(st)
		s.makeRoom(st) // it may have been the one that was let try
	}
}

// fly notes whether a step's newest attempt is in flight. One that is claimed flies elsewhere.
func (s *State) fly(st *Step, inFlight bool) {
	switch {
	case st.Claim > 0:
	case inFlight && !st.InFlight:
		s.Flying++
		s.works(st, 1)
	case !inFlight && st.InFlight:
		s.Flying--
		s.works(st, -1)
	}
	st.InFlight = inFlight
}

// takeMessage removes the oldest message of a name.
func (s *State) takeMessage(name string) {
	if i := s.mail(name); i >= 0 {
		s.Mailbox = slices.Delete(s.Mailbox, i, i+1)
	}
}

// mail is the place of the oldest message of a name, -1 when there is none.
func (s *State) mail(name string) int {
	return slices.IndexFunc(s.Mailbox, func(m message) bool { return m.Name == name })
}

func (s *State) attempt(r *journal.Record, v effect.View) {
	st := s.Steps[r.Step]
	if st == nil {
		return
	}
	switch r.Type {
	case journal.AttemptStarted:
		st.Attempt = int(v.Int("attempt"))
		st.Said, st.Aside, st.Used = "", false, runtime.Usage{}
		s.want(st, false)
		if !st.Foreign {
			st.Offered, st.Claim, st.Worker, st.Lease = false, int(v.Int("claim")), v.Text("worker"), time.Duration(v.Int("lease"))
		}
		s.fly(st, true)
		if st.Claim == 0 || st.Claim == st.Attempt {
			st.heardUntil(r.Seq) // its input has them
		}
		if journal.AgentKind(st.Kind) {
			s.spend(st, runtime.Usage{Calls: 1}, "", r)
		}
		return
	case journal.AttemptSkipped:
		s.skip(st, v)
		return
	}
	s.fly(st, false)
	if !v.Flag("kept") {
		s.unclaim(st)
	}
	s.want(st, v.Flag("again"))
	if v.Has("usage") {
		s.used(st, v.Sub("usage"), r)
	}
	st.Session = cmp.Or(v.Text("session"), st.Session)
	s.keepConversation(st, v.Text("class"), v.Text("session"))
	st.hangUp(v.Text("class"))
	st.Rejected = ""
	switch v.Text("class") {
	case journal.ClassUncertain:
		if !st.Ready && st.Policy.OnUncertain == effect.FailAttempt {
			st.Cut = v.Text("reason")
			s.Decided = append(s.Decided, st)
		}
	case journal.ClassRetryable, journal.ClassExpired:
		st.Failures++
	case journal.ClassMissing:
		st.Serving++
		st.Session = ""
	case journal.ClassSteered:
		st.goOn()
	case journal.ClassInvalid, journal.ClassDegraded:
		st.goOn()
		st.Reasks++
		st.Feedback = v.Raw("feedback")
		if len(st.Said) < maxSaid {
			st.Rejected = st.Said
		}
	}
}

// skip leaves a backend alone: the next one is to serve or, behind the last, the step has failed.
func (s *State) skip(st *Step, v effect.View) {
	if v.Has("budget") {
		s.overspent(st, v)
		return
	}
	if st.Foreign {
		return // its backends here are others
	}
	if st.Serving+1 < len(st.Backends) {
		st.Serving++
		st.Session = ""
		return
	}
	st.Shut = v.Raw("error")
	s.want(st, false)
	s.Decided = append(s.Decided, st)
}

// verdict takes what on_event or somebody has said of an attempt. What follows from a stop is known
// then: the step has its outcome.
func (s *State) verdict(r *journal.Record, v effect.View) {
	st := s.Steps[r.Step]
	if st == nil || st.Stopped {
		return
	}
	if v.Text("action") == "steer" {
		st.Told = append(st.Told, steer{Seq: r.Seq, Message: v.Text("message")})
		return
	}
	st.Stopped, st.Note = true, v.Text("message")
	s.want(st, false)
	s.Decided = append(s.Decided, st)
}

func (s *State) gate(r *journal.Record, v effect.View) {
	switch r.Type {
	case journal.GateOpened:
		s.open(&Gate{Name: r.Step, Step: v.Text("step"), Seq: r.Seq, OpenedAt: r.Time,
			Deadline: journal.TimeIn(v, "deadline"), Args: v.Raw("args")})
	case journal.GateEscalated:
		if g := s.Gates[r.Step]; g != nil {
			g.Level = int(v.Int("level"))
		}
	default:
		s.shut(r.Step)
		s.Bare = s.Bare || v.Flag("bare")
		if st := s.Steps[v.Text("uncertain")]; st != nil {
			s.want(st, v.Flag("retry"))
		}
		if st := s.Steps[v.Text("permission")]; st != nil {
			st.Permissions = append(st.Permissions, permission{v.Text("asked"), v.Flag("granted")})
		}
		if address := v.Text("raise"); address != "" {
			s.raise(address)
		}
		if name := v.Text("without"); name != "" {
			s.Without = append(s.Without, name)
		}
	}
}

// open notes an open gate.
func (s *State) open(g *Gate) {
	s.Gates[g.Name] = g
	switch {
	case strings.HasPrefix(g.Name, runtime.GateNeeds):
		s.needs++
	case strings.HasPrefix(g.Name, runtime.GateProject):
		s.unserved = g
	}
}

// shut forgets an open gate.
func (s *State) shut(name string) {
	g := s.Gates[name]
	switch {
	case g == nil:
	case strings.HasPrefix(name, runtime.GateNeeds):
		s.needs--
	case g == s.unserved:
		s.unserved = nil
	}
	delete(s.Gates, name)
}

func (s *State) accept(r *journal.Record, v effect.View) {
	if g := s.Gates[r.Step]; g != nil {
		g.Votes = append(g.Votes, vote{v.Text("voter"), v.Text("vote")})
	}
	if v.Has("message") {
		s.Mailbox = append(s.Mailbox, message{Name: v.Text("name"), Data: v.Raw("message")})
	}
}

func (s *State) fire(r *journal.Record, v effect.View) {
	purpose := v.Text("purpose")
	s.timers.remove(timerID(purpose, r.Step))
	if st := s.Steps[r.Step]; st != nil && purpose == timerBackoff && !st.Stopped {
		s.want(st, true)
	}
}

// InOrder lists the open steps in the order of their requests.
func (s *State) InOrder() []*Step {
	out := make([]*Step, 0, len(s.Steps))
	for _, st := range s.Steps {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *Step) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// OpenGates lists the open gates in the order they opened.
func (s *State) OpenGates() []*Gate {
	out := make([]*Gate, 0, len(s.Gates))
	for _, g := range s.Gates {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Gate) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}
