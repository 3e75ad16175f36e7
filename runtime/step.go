package runtime

import (
	"time"

	"starling/lang/effect"
)

// step is an open step.
type step struct {
	Step        string
	Kind        string
	Seq         uint64 // of its request: steps start in this order
	At          time.Time
	Class       effect.Class
	Where       string
	Args        effect.Payload
	Resolved    effect.Payload
	Returns     string
	Policy      effect.Policy
	Backends    []string // those that may serve, in order of preference
	Breaker     bool     // they have circuit breakers
	Pulls       []string // those of them that come for their work
	Serving     int      // index of the backend that is to serve
	Session     string   // how that backend calls the conversation
	Named       string   // session that it names; kept with the step, for each request of a session looks at all that are open
	Attempt     int      // number of the newest attempt
	Ready       bool     // wants an attempt
	Offered     bool     // waits for somebody to claim it
	Claim       int      // number of the attempt that is claimed, 0 for none
	Worker      string   // who has claimed it
	Lease       time.Duration
	InFlight    bool // the newest attempt has started and not ended
	Failures    int  // retryable failures so far
	Reasks      int  // replies that broke the contract so far
	Feedback    effect.Payload
	Refused     effect.Payload // why it was refused when it was asked for, an error
	Stopped     bool           // on_event has ended it, or somebody
	Rejected    string         // what the attempt had said whose reply was not accepted, if it is known whole
	Said        string         // what the newest attempt has said so far, as far as it tells
	Aside       bool           // it has used a tool since: what it says next is said anew
	Used        Usage          // what the newest attempt has taken so far, as far as it tells
	Told        []steer        // messages for the agent
	Steers      []string       // how each of Backends is steered
	Permissions []permission   // what was decided of what it asked leave for
	Note        string         // what on_event said then
	Cut         string         // why its last attempt was cut, when its policy is not to try again
	Shut        effect.Payload // the error of the last backend that was left alone
	Mail        string         // of which name a message is waited for
	Recall      *recall        // the outcome of another run that it takes
	Ceilings    []effect.Ceiling
	Changes     []string // patterns of the paths that it may change
	Overlaps    []effect.Overlap
	Tree        string // path of the branch in whose working tree it is done, "" for the workspace
	Limit       int    // how many requests to its agent may be at work at once, 0 for any number
	Total       int    // how many to all agents
	aside       *crowd // where it waits although it is ready
	placed      bool   // its attempt that is about to begin has a place of all runs
	Behind      bool   // waits for another that may change the same
	Foreign     bool   // nothing here has said yet who serves it (foreign.go)
	Held        string // address of the ceiling that holds it while somebody is asked
	Talk        string // the conversation of which the attempt in flight has told
	Interrupted bool   // the newest attempt was cut in the middle of Session
	Tools       []toolUse
	Heard       int  // of an agent with a chat: the number behind the newest entry that it is given
	vain        bool // it was tried, and waits for an item; whoever loads the run tries again
	rank        int  // its place in the heap of those that want an attempt
}

// place and before make the heap of steps that want an attempt.
func (st *step) place() *int { return &st.rank }

func (st *step) before(other *step) bool { return st.Seq < other.Seq }

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

func (st *step) payload() effect.Payload {
	var b effect.Object
	return b.Text("kind", st.Kind).Int("seq", int64(st.Seq)).Int("at", micros(st.At)).Int("class", int64(st.Class)).Text("where", st.Where).
		Raw("args", st.Args).Raw("resolved", st.Resolved).Text("returns", st.Returns).Raw("policy", policyPayload(st.Policy)).
		Int("attempt", int64(st.Attempt)).Flag("ready", st.Ready).Flag("in_flight", st.InFlight).Int("failures", int64(st.Failures)).
		Int("reasks", int64(st.Reasks)).Raw("feedback", st.Feedback).Text("session", st.Session).Raw("refused", st.Refused).Flag("stopped", st.Stopped).Text("rejected", st.Rejected).Text("said", st.Said).Flag("aside", st.Aside).Raw("used", usedPayload(st.Used)).Raw("tools", toolsPayload(st.Tools)).Text("note", st.Note).
		Text("cut", st.Cut).Text("mail", st.Mail).Texts("backends", st.Backends).Texts("pulls", st.Pulls).Texts("steers", st.Steers).Raw("told", toldPayload(st.Told)).Raw("permissions", permissionsPayload(st.Permissions)).Flag("offered", st.Offered).Int("claim", int64(st.Claim)).Text("worker", st.Worker).Int("lease", int64(st.Lease)).Flag("breaker", st.Breaker).Int("serving", int64(st.Serving)).Raw("shut", st.Shut).
		Flag("recalls", st.Recall != nil).Raw("ceilings", effect.CeilingsPayload(st.Ceilings)).Text("held", st.Held).
		Int("heard", int64(st.Heard)).Texts("changes", st.Changes).Raw("overlaps", overlapsPayload(st.Overlaps)).Flag("behind", st.Behind).Flag("foreign", st.Foreign).Text("tree", st.Tree).Text("talk", st.Talk).Flag("interrupted", st.Interrupted).Int("limit", int64(st.Limit)).Int("total", int64(st.Total)).Payload()
}

func stepOf(name string, v effect.View) *step {
	st := &step{Step: name, Kind: v.Text("kind"), Named: sessionOf(v.Text("kind"), v.Raw("args")), Seq: uint64(v.Int("seq")), At: timeOf(v, "at"), Class: effect.Class(v.Int("class")), Where: v.Text("where"),
		Args: v.Raw("args"), Attempt: int(v.Int("attempt")),
		Ready: v.Flag("ready"), InFlight: v.Flag("in_flight"), Failures: int(v.Int("failures")), Reasks: int(v.Int("reasks")), Feedback: v.Raw("feedback"), Session: v.Text("session"),
		Refused: v.Raw("refused"), Stopped: v.Flag("stopped"), Rejected: v.Text("rejected"), Said: v.Text("said"), Aside: v.Flag("aside"), Used: keptUsage(v.Sub("used")), Tools: toolsOf(v.Sub("tools")), Note: v.Text("note"), Cut: v.Text("cut"), Mail: v.Text("mail"),
		Told: toldOf(v.Sub("told")), Permissions: permissionsOf(v.Sub("permissions")), Offered: v.Flag("offered"), Claim: int(v.Int("claim")), Worker: v.Text("worker"),
		Lease: time.Duration(v.Int("lease")), Serving: int(v.Int("serving")), Shut: v.Raw("shut"),
		Ceilings: effect.CeilingsOf(v.Raw("ceilings")), Held: v.Text("held"), Heard: int(v.Int("heard")),
		Overlaps: overlapsOf(v.Sub("overlaps")), Behind: v.Flag("behind"), Foreign: v.Flag("foreign"), Tree: v.Text("tree"),
		Talk: v.Text("talk"), Interrupted: v.Flag("interrupted")}
	st.served(v)
	return st
}

// served takes who serves the step, and under which terms, as a record has it.
func (st *step) served(v effect.View) {
	st.Resolved, st.Returns, st.Policy = v.Raw("resolved"), v.Text("returns"), policyOf(v.Sub("policy"))
	st.Backends, st.Pulls, st.Steers = v.Texts("backends"), v.Texts("pulls"), v.Texts("steers")
	st.Breaker, st.Changes = v.Flag("breaker"), v.Texts("changes")
	st.Limit, st.Total = int(v.Int("limit")), int(v.Int("total"))
	if v.Has("ceilings") {
		st.Ceilings = effect.CeilingsOf(v.Raw("ceilings"))
	}
}
