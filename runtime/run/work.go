package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// Some agents are not called: they come for their work. The attempt of such a step is offered, and
// begins when somebody claims it. A claim is the attempt with a lease: a durable timer, which
// heartbeats move on. When it fires the attempt has failed and the step is offered again; whoever
// comes later with its result finds a newer attempt, or none, and is refused. So the number of the
// attempt is the fence, as it is for those that the runtime performs itself.
//
// Nothing of this needs a process: offer, lease and claim are records and rows. A run that waits
// for pulled work is at rest.

// pulled tells whether a step's attempt is not performed here: the backend whose turn it is comes
// for it.
func (st *Step) pulled() bool {
	return st.Serving < len(st.Backends) && slices.Contains(st.Pulls, st.Backends[st.Serving])
}

// offer lets the step wait for somebody to claim it.
func (t *Turn) offer(st *Step) {
	t.record(journal.WorkOffered, st.Step, (&effect.Object{}).Text("for", st.Backends[st.Serving]).Payload())
}

func (s *State) offered(st *Step) {
	s.want(st, false)
	st.Offered = true
}

// unclaim ends a claim, if there is one.
func (s *State) unclaim(st *Step) {
	if st.Claim == 0 {
		return
	}
	st.Claim, st.Worker = 0, ""
	s.timers.remove(timerID(timerLease, st.Step))
	s.timers.remove(timerID(timerAttempt, st.Step))
}

// takeWork takes a signal of somebody who does pulled work.
func (t *Turn) takeWork(c runtime.Caller, who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	switch {
	case t.State.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s: its work is withdrawn", t.State.ID, t.State.Status)
	case t.Machine == nil:
		return nil, t.quarantined()
	case t.State.held():
		return nil, runtime.Refusef(runtime.ErrExpired, "the deadline of run %s has passed: nobody works for it", t.State.ID)
	case c.Agent != "" && c.Run == t.State.ID:
		return nil, runtime.Refusef(runtime.ErrDenied, "the work of run %s is not for the agent %q that it has started", t.State.ID, c.Agent)
	}
	if s.Kind == runtime.SignalClaim {
		return t.claim(who, s)
	}
	st, refused := t.claimed(who, s)
	if refused != nil {
		return nil, refused
	}
	if s.Kind == runtime.SignalHeartbeat {
		return t.heartbeat(st, who, s)
	}
	return t.submit(st, who, s)
}

// claim begins the attempt of a step that is on offer.
func (t *Turn) claim(who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	t.begin() // a lease that has just expired is offered again
	st, refused := t.workNamed(s.Step)
	if refused != nil {
		return nil, refused
	}
	lease, refused := leaseOf(s.Lease, runtime.DefaultLease)
	if refused != nil {
		return nil, refused
	}
	agent := st.Backends[st.Serving]
	switch {
	case who[0] != agent:
		return nil, runtime.Refusef(runtime.ErrWrongTarget, "the work %s@%s is for %q, not for %q", t.State.ID, st.Step, agent, who[0]).
			WithHelp("authenticate with the token of that name, or with --as %s; both names are recorded", shellQuote(agent)).WithCall(actAs, agent)
	case st.Claim > 0:
		return nil, runtime.Refusef(runtime.ErrClaimed, "%s@%s is claimed until %s", t.State.ID, st.Step, t.leaseEnd(st).Format(journal.TimeFormat))
	case !st.Offered:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "%s@%s is not on offer now", t.State.ID, st.Step)
	}
	question, err := t.Host.question(t.State, st, t.Now)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrInternal, "%s", err.Message)
	}
	seq := t.working(st, s, who)
	n := st.Attempt + 1
	t.startClaim(st, n, who[0], lease)
	t.timer(timerLease, st.Step, t.Now.Add(lease))
	if st.Policy.Timeout > 0 {
		t.timer(timerAttempt, st.Step, t.Now.Add(st.Policy.Timeout))
	}
	c := t.claimOf(st, n)
	c.Request, c.Returns = question, st.Returns
	if s.Any && s.Key != "" {
		t.Rows = append(t.Rows, runtime.Write{Key: []byte(journal.PrefixKey + journal.AnyClaim + s.Key), Value: []byte(t.State.ID)})
	}
	return &runtime.Receipt{Seq: seq, Claim: c}, nil
}

// startClaim records an attempt that somebody performs elsewhere.
func (t *Turn) startClaim(st *Step, claim int, worker string, lease time.Duration) {
	var b effect.Object
	t.record(journal.AttemptStarted, st.Step, b.Int("attempt", int64(st.Attempt+1)).Int("claim", int64(claim)).Text("worker", worker).Int("lease", int64(lease)).Payload())
}

// working records a signal about pulled work.
func (t *Turn) working(st *Step, s runtime.Signal, who []string) uint64 {
	var b effect.Object
	return t.record(journal.SignalAccepted, st.Step, b.Text("kind", string(s.Kind)).Texts("who", who).Text("key", s.Key).Payload())
}

func (t *Turn) leaseEnd(st *Step) time.Time { return t.State.timers.of(timerLease, st.Step) }

// claimOf tells of a claim as it is.
func (t *Turn) claimOf(st *Step, n int) *runtime.Claim {
	c := &runtime.Claim{Claim: fmt.Sprintf("%s@%s:%d", t.State.ID, st.Step, n), Run: t.State.ID, Step: st.Step, Agent: st.Backends[st.Serving], Attempt: st.Attempt, Until: t.leaseEnd(st)}
	if due := t.State.timers.of(timerAttempt, st.Step); !due.IsZero() {
		c.Deadline = &due
	}
	return c
}

func leaseOf(asked, otherwise time.Duration) (time.Duration, *runtime.Refusal) {
	switch {
	case asked == 0:
		return otherwise, nil
	case asked < runtime.MinLease || asked > runtime.MaxLease:
		return 0, runtime.Refusef(runtime.ErrUsage, "got a lease of %s, want one from %s to %s", asked, runtime.MinLease, runtime.MaxLease)
	}
	return asked, nil
}

// workNamed finds the step with pulled work that an address means; without one, the oldest.
func (t *Turn) workNamed(address string) (*Step, *runtime.Refusal) {
	if st := t.State.Steps[address]; st != nil && st.pulled() {
		return st, nil
	}
	var fits []*Step
	var names []string
	for _, st := range t.State.InOrder() {
		if st.pulled() && (address == "" && st.Offered || strings.HasSuffix(st.Step, "/"+address)) {
			fits, names = append(fits, st), append(names, st.Step)
		}
	}
	switch {
	case len(fits) == 1 || len(fits) > 1 && address == "":
		return fits[0], nil
	case len(fits) > 1:
		return nil, runtime.Refusef(runtime.ErrAmbiguous, "step %q of run %s is ambiguous: it matches %s", address, t.State.ID, strings.Join(names, ", ")).WithHelp("give more of the address").WithData(names)
	case address == "":
		return nil, runtime.Refusef(runtime.ErrNotOpen, "run %s has no work on offer", t.State.ID)
	}
	return nil, runtime.Refusef(runtime.ErrNotOpen, "run %s offers no work at the step %q: it has ended, was withdrawn, or never was there", t.State.ID, address)
}

// claimed finds the step that a claim is of, if the claim still holds and is the caller's.
func (t *Turn) claimed(who []string, s runtime.Signal) (*Step, *runtime.Refusal) {
	st := t.State.Steps[s.Step]
	handle := fmt.Sprintf("%s@%s:%d", t.State.ID, s.Step, s.Claim)
	switch {
	case st == nil || !st.pulled():
		return nil, runtime.Refusef(runtime.ErrClosed, "the work of the claim %s has ended or was withdrawn", handle)
	case st.Claim != s.Claim && st.Attempt >= s.Claim:
		return nil, runtime.Refusef(runtime.ErrExpired, "the claim %s has expired: the work was offered again", handle).
			WithHelp("claim it again: starling claim %s@%s", t.State.ID, shellQuote(s.Step)).WithCall("claim it again: run %q, step %q", t.State.ID, s.Step)
	case st.Claim != s.Claim:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "there is no claim %s", handle)
	case st.Worker != who[0]:
		return nil, runtime.Refusef(runtime.ErrWrongTarget, "the claim %s is that of %q, not of %q", handle, st.Worker, who[0])
	}
	return st, nil
}

// heartbeat moves the lease on and journals what the agent tells of.
func (t *Turn) heartbeat(st *Step, who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	lease, refused := leaseOf(s.Lease, st.Lease)
	if refused != nil {
		return nil, refused
	}
	events, refused := eventsOf(s.Report)
	if refused != nil {
		return nil, refused
	}
	seq := t.working(st, s, who)
	t.timer(timerLease, st.Step, t.Now.Add(lease))
	c := t.claimOf(st, s.Claim)
	t.told(st, events)
	if c.Messages = st.undelivered(); len(c.Messages) > 0 && !st.Stopped {
		t.heard(st, st.Told[len(st.Told)-1].Seq)
	}
	if st.Stopped {
		c.Over = "it was stopped: " + orText(st.Note, "on_event said so")
	}
	return &runtime.Receipt{Seq: seq, Claim: c}, nil
}

// told journals events. Once the machine has more to do than one turn takes, the rest is for the
// next one.
func (t *Turn) told(st *Step, events []workEvent) {
	for i, ev := range events {
		if !t.canAcceptOutcome() {
			t.Effects.Inputs = append(t.Effects.Inputs, &worked{st.Step, st.Attempt, events[i:]})
			return
		}
		t.event(st.Step, st.Attempt, ev.kind, ev.data)
	}
}

// submit ends the attempt. A reply that breaks its contract is refused with the paths at fault: the
// claim stays, and the next try counts as another attempt, as long as there may be one.
func (t *Turn) submit(st *Step, who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	r, refused := replyOf(s.Report, st.Backends[st.Serving])
	if refused != nil {
		return nil, refused
	}
	events, refused := eventsOf(s.Report)
	if refused != nil {
		return nil, refused
	}
	checkedReply, wrong := checked(st, r)
	left := st.Policy.Reasks - st.Reasks
	if len(wrong) > 0 && left > 0 {
		t.ended(st, broken(checkedReply), checkedReply, wrong)
		t.startClaim(st, s.Claim, st.Worker, st.Lease)
		return nil, runtime.Refusef(runtime.ErrBadPayload, "%s", checkedReply.Err.Message).WithData(wrong).WithHelp("mend it and submit again with the same claim; %d more may be refused", left-1)
	}
	c := t.claimOf(st, s.Claim)
	seq := t.working(st, s, who)
	t.told(st, events)
	t.reply(st.Step, st.Attempt, r)
	if len(wrong) > 0 {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "%s", checkedReply.Err.Message).WithData(wrong).WithHelp("that was the last try: the step is settled as it is")
	}
	return &runtime.Receipt{Seq: seq, Claim: c}, nil
}

// expired is what becomes of a claim whose lease has passed: the work is offered again, as often as
// the step may be tried.
func (t *Turn) expired(st *Step) {
	r := effect.Reply{Err: effect.Errorf(effect.KindAgent, "%s: the claim of %s expired", st.Step, st.Worker), Backend: st.Backends[st.Serving]}
	if st.Failures < st.Policy.Retries {
		t.ended(st, journal.ClassExpired, r, nil)
		return
	}
	t.ended(st, journal.ClassFinal, r, nil)
	r.Err.Message = fmt.Sprintf("%s: nobody finished it: %d claims expired", st.Step, st.Failures+1)
	t.settle(st, failure(st, r.Err, &r))
}

// overdueWork is what becomes of a claim at the deadline of its attempt.
func (t *Turn) overdueWork(st *Step) {
	r := effect.Reply{Err: effect.Errorf(effect.KindTimeout, "%s: no result within %s", st.Step, st.Policy.Timeout), Backend: st.Backends[st.Serving]}
	t.ended(st, journal.ClassFinal, r, nil)
	t.settle(st, failure(st, r.Err, &r))
}

// workEvent is one thing that an agent tells of.
type workEvent struct {
	kind string
	data effect.Payload
}

// maxWorkEvents bounds the events of one heartbeat.
const maxWorkEvents = 1000

func eventsOf(r *runtime.Report) ([]workEvent, *runtime.Refusal) {
	if r == nil || len(r.Events) == 0 {
		return nil, nil
	}
	const want = `a list of objects, each with a kind: [{"kind": "plan", "text": "…"}]`
	v, refused := payloadOf((&runtime.Signal{Data: r.Events}), "the events")
	if refused != nil {
		return nil, refused
	}
	list, ok := v.(*starlark.List)
	if !ok || list.Len() > maxWorkEvents {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "events: got %s, want %s, %d at most", v.Type(), want, maxWorkEvents)
	}
	var out []workEvent
	for i := range list.Len() {
		kind := effect.ViewOf(list.Index(i)).Text("kind")
		if effect.CheckName(kind) != nil {
			return nil, runtime.Refusef(runtime.ErrBadPayload, "events[%d].kind: got %q, want the name of a kind of event", i, kind)
		}
		markClaim(kind, list.Index(i))
		out = append(out, workEvent{kind, effect.MustEncode(list.Index(i))})
	}
	return out, nil
}

// markClaim marks what a worker tells of its cost, or of calls to tool servers, as its own word.
func markClaim(kind string, told starlark.Value) {
	d, ok := told.(*starlark.Dict)
	if ok && (kind == eventToolCall || kind == eventToolDenied || kind == journal.EventUsage && effect.ViewOf(d).Has("usd")) {
		_ = d.SetKey(starlark.String("claimed"), starlark.True) // of a value that nobody else has
	}
}

// replyOf makes a reply of a report.
func replyOf(r *runtime.Report, backend string) (effect.Reply, *runtime.Refusal) {
	if r == nil {
		r = &runtime.Report{}
	}
	out := effect.Reply{Text: r.Text, Note: r.Note, Backend: backend, Blobs: r.Artifacts}
	if refused := checkArtifacts(r.Artifacts); refused != nil {
		return out, refused
	}
	if len(r.Output) > 0 {
		v, refused := payloadOf((&runtime.Signal{Data: r.Output}), "the output")
		if refused != nil {
			return out, refused
		}
		out.Value = v
	}
	if len(r.Usage) > 0 {
		v, err := contract.FromJSON(r.Usage)
		if _, ok := v.(*starlark.Dict); err != nil || !ok {
			return out, runtime.Refusef(runtime.ErrBadPayload, "usage: got %.60s, want an object", r.Usage)
		}
		markClaim(journal.EventUsage, v)
		out.Usage = v
	}
	switch r.Status {
	case "", "ok":
		if out.Value == nil && strings.TrimSpace(out.Text) == "" {
			return out, runtime.Refusef(runtime.ErrBadPayload, "the result is empty: got neither an output nor a text").
				WithHelp("send --data JSON, --text WORDS, or --status blocked with a note").WithCall("send output, text, or the status blocked with a note")
		}
	case "stopped", "blocked":
		out.Status = r.Status
	case "error":
		out.Err = effect.Errorf(effect.KindAgent, "%s: %s", backend, orText(r.Note, orText(r.Text, "it reports an error and does not say which")))
	default:
		return out, runtime.Refusef(runtime.ErrBadPayload, "got the status %q, want ok, stopped, blocked or error", r.Status)
	}
	return out, nil
}

// checkArtifacts refuses what would not be kept as artifacts.
func checkArtifacts(files map[string][]byte) *runtime.Refusal {
	size := 0
	for name, content := range files {
		if err := effect.CheckName(name); err != nil {
			return runtime.Refusef(runtime.ErrBadPayload, "artifacts: %s", err)
		}
		size += len(content)
	}
	if size > effect.MaxBlobs {
		return runtime.Refusef(runtime.ErrBadPayload, "artifacts: got %d bytes in all, want at most %d", size, effect.MaxBlobs)
	}
	return nil
}

// question is what is asked of whoever claims a step.
func (h *Host) question(s *State, st *Step, now time.Time) (json.RawMessage, *effect.Error) {
	next := *st
	next.Attempt++
	at, handler, err := h.Attempt(s, &next, nil)
	if err != nil {
		return nil, err
	}
	if handler.Question == nil {
		return nil, effect.Errorf(effect.KindRefused, "%s: nobody can come for %s", st.Step, st.Kind)
	}
	if st.Policy.Timeout > 0 {
		at.Deadline = now.Add(st.Policy.Timeout)
	}
	v, err := handler.Question(at)
	if err != nil {
		return nil, err
	}
	return journal.JSONOf(v), nil
}

// WorkDocument is a piece of work as clients see it, from its row.
func WorkDocument(run, step string, v effect.View) runtime.Work {
	w := runtime.Work{Address: run + "@" + step, Agent: v.Text("for"), Task: v.Text("task"), Since: journal.TimeIn(v, "since"), By: v.Text("by")}
	if due := journal.TimeIn(v, "until"); !due.IsZero() {
		w.Until = &due
	}
	return w
}

// WorkRow is the row by which a piece of work is found, nil when the step offers none.
func (s *State) WorkRow(name string) effect.Payload {
	st := s.Steps[name]
	if st == nil || !st.pulled() || !st.Offered && st.Claim == 0 {
		return nil
	}
	args, _ := st.Args.View()
	var b effect.Object
	return b.Text("for", st.Backends[st.Serving]).Text("task", args.Text("task")).Int("since", journal.Micros(st.At)).Text("by", st.Worker).
		Int("until", journal.Micros(s.timers.of(timerLease, name))).Payload()
}
