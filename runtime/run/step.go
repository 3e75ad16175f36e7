package run

import (
	"time"

	"starling/lang/effect"
	"starling/runtime"
)

// asked is what a run keeps of a request, and who serves it, as [effect.Request] has it.
type asked struct {
	Step     string
	Kind     string
	Class    effect.Class
	Where    string
	Args     effect.Payload
	Tree     string
	Returns  string
	Policy   effect.Policy
	Ceilings []effect.Ceiling
	Overlaps []effect.Overlap

	Resolved effect.Payload
	Backends []string
	Steers   []effect.Steering
	Pulls    []string
	Breaker  bool
	Changes  []string
	Limit    int
	Total    int
}

func askedOf(r *effect.Request) asked {
	return asked{r.Step, r.Kind, r.Class, r.Where, r.Args, r.Tree, r.Returns, r.Policy, r.Ceilings, r.Overlaps,
		r.Resolved, r.Backends, r.Steers, r.Pulls, r.Breaker, r.Changes, r.Limit, r.Total}
}

// Step is an open step: what was asked, and what has come of it so far. What of it is written down
// is in fields.
type Step struct {
	asked

	Seq          uint64 // of its request: steps start in this order
	At           time.Time
	Serving      int    // index of the backend that is to serve
	Session      string // how that backend calls the conversation
	Named        string // session that it names; kept with the step, for each request of a session looks at all that are open
	Attempt      int    // number of the newest attempt
	Ready        bool   // wants an attempt
	Offered      bool   // waits for somebody to claim it
	Claim        int    // number of the attempt that is claimed, 0 for none
	Worker       string // who has claimed it
	Lease        time.Duration
	InFlight     bool // the newest attempt has started and not ended
	Failures     int  // retryable failures so far
	Reasks       int  // replies that broke the contract so far
	Feedback     effect.Payload
	Refused      effect.Payload // why it was refused when it was asked for, an error
	Stopped      bool           // on_event has ended it, or somebody
	Rejected     string         // what the attempt had said whose reply was not accepted, if it is known whole
	Said         string         // what the newest attempt has said so far, as far as it tells
	Aside        bool           // a tool call followed; the next text starts a new message
	Used         runtime.Usage  // what the newest attempt has taken so far, as far as it tells
	Told         []steer        // messages for the agent
	Permissions  []permission   // what was decided of what it asked leave for
	Note         string         // what on_event said then
	Cut          string         // why its last attempt was cut, when its policy is not to try again
	Shut         effect.Payload // the error of the last backend that was left alone
	Mail         string         // of which name a message is waited for
	Reused       *reusedOutcome // the outcome of another run that it takes
	parkedIn     *limiter       // where it waits although it is ready
	hasSlot      bool           // its attempt that is about to begin has a slot of all runs
	Behind       bool           // waits for another that may change the same
	Foreign      bool           // nothing here has said yet who serves it (foreign.go)
	Held         string         // address of the ceiling that holds it while somebody is asked
	Talk         string         // the conversation of which the attempt in flight has told
	Interrupted  bool           // the newest attempt was cut in the middle of Session
	Tools        []toolUse
	Heard        int  // of an agent with a chat: the number behind the newest entry that it is given
	foundNothing bool // it found nothing, and waits for an item; whoever loads the run tries again
	rank         int  // its place in the heap of those that want an attempt
}

// Place is where the step stands in the heap of those that want an attempt.
func (st *Step) Place() *int { return &st.rank }

// Before orders steps by their requests.
func (st *Step) Before(other *Step) bool { return st.Seq < other.Seq }

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

// AtRest are the open steps of a run of which nothing more is told until they are settled: they
// wait for an answer, a timer, a message or a child run.
func (s *State) AtRest() map[string]bool {
	rest := map[string]bool{}
	for name, st := range s.Steps {
		rest[name] = native(st.Kind)
	}
	return rest
}
