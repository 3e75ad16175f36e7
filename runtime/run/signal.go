package run

import (
	"encoding/json"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// signal takes a signal for this run: it is answered once, and each refusal is recorded.
func (t *Turn) signal(c runtime.Caller, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	digest := ""
	if s.Key != "" {
		digest = digestOf(s)
	}
	r, refused := t.before(s, digest)
	if r != nil {
		return r, nil
	}
	if refused == nil {
		r, refused = t.accept(c, s)
	}
	if refused != nil {
		var b effect.Object
		t.record(journal.SignalRefused, s.Gate, b.Text("error", string(refused.Kind)).Text("message", refused.Message).Text("by", c.Name).Text("as", s.As).
			Text("kind", string(s.Kind)).Text("key", s.Key).Payload())
		return nil, refused
	}
	r.Schema, r.Accepted, r.Run, r.Status = runtime.Schema, true, t.State.ID, t.State.Status
	t.remember(s.Key, journal.Keyed{Digest: digest, Receipt: r})
	return r, nil
}

// before finds what was answered to a signal with this key before, nothing when it is the first.
func (t *Turn) before(s runtime.Signal, digest string) (*runtime.Receipt, *runtime.Refusal) {
	if s.Key == "" {
		return nil, nil
	}
	if k, ok := t.lookupKey(s.Key); ok {
		return t.repeated(s, k, digest)
	}
	return nil, nil
}

// lookupKey finds what a key stands for: this very turn may have learned it.
func (t *Turn) lookupKey(key string) (journal.Keyed, bool) {
	if k, ok := t.keys[key]; ok {
		return k, true
	}
	return t.Host.World.LookupKey(t.State.ID, key)
}

func (t *Turn) remember(key string, k journal.Keyed) {
	if key == "" {
		return
	}
	if t.keys == nil {
		t.keys = map[string]journal.Keyed{}
	}
	k.At = journal.Micros(t.Now)
	t.keys[key] = k
}

func (t *Turn) repeated(s runtime.Signal, k journal.Keyed, digest string) (*runtime.Receipt, *runtime.Refusal) {
	if k.Digest != digest {
		return nil, runtime.Refusef(runtime.ErrKeyConflict, "the key %q was used for another request", s.Key).WithHelp("use a new key for a new request")
	}
	again := *k.Receipt
	again.Repeated = true
	if _, ours := t.keys[s.Key]; ours {
		t.again = append(t.again, &again)
	}
	return &again, nil
}

// digestOf identifies what a signal asks, whoever sends it again.
func digestOf(s runtime.Signal) string {
	if s.Any {
		s.Step = "" // which is found anew each time
	}
	text, _ := json.Marshal([]any{s.Kind, s.Gate, s.Name, s.Choice, s.Reason, []byte(s.Data), s.Text, s.Bundle, s.As, s.Override, s.Step, s.Claim, s.Lease, s.Report}) // plain data
	return journal.HashOf(text)
}

// accept takes a signal for what it is.
func (t *Turn) accept(c runtime.Caller, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	who, refused := Identify(c, s.As)
	if refused == nil {
		refused = DeniedSignal(&s, c)
	}
	if refused != nil {
		return nil, refused
	}
	switch s.Kind {
	case runtime.SignalMessage:
		return t.takeMessage(who, s)
	case runtime.SignalChunk:
		return t.takeChunk(who, s)
	case runtime.SignalInterrupt:
		return t.interrupt(who, s)
	case runtime.SignalAnswer:
		return t.answerGate(c, who, s)
	case runtime.SignalClaim, runtime.SignalHeartbeat, runtime.SignalSubmit:
		return t.takeWork(c, who, s)
	case runtime.SignalSteer, runtime.SignalStop:
		return t.intervene(c, who, s)
	}
	return nil, runtime.Refusef(runtime.ErrUsage, "got signal kind %q, want answer, message, chunk, interrupt, claim, heartbeat, submit, steer or stop", s.Kind)
}

// DeniedSignal is the refusal of a caller who may not send a signal of the kind, nil for one who
// may.
func DeniedSignal(s *runtime.Signal, c runtime.Caller) *runtime.Refusal {
	return c.Lacks(NeededFor(s), "send signals of the kind "+string(s.Kind))
}

// NeededFor is what a caller must be able to do to send a signal.
func NeededFor(s *runtime.Signal) runtime.Capability {
	switch s.Kind {
	case runtime.SignalChunk, runtime.SignalInterrupt:
		return runtime.CanRun
	case runtime.SignalStop:
		return runtime.CanCancel
	}
	return runtime.CanSignal
}

// Identify says in whose name a caller acts. The first name is the one that counts, the second, if
// any, is who was behind it.
func Identify(c runtime.Caller, as string) ([]string, *runtime.Refusal) {
	switch {
	case c.Agent != "" && as != "" && as != c.Agent:
		return nil, runtime.Refusef(runtime.ErrDenied, "the agent %q may not act as %q", c.Agent, as)
	case c.Agent != "":
		return []string{c.Agent, c.Name}, nil
	case c.Name == "":
		return nil, runtime.Refusef(runtime.ErrDenied, "the caller is not known")
	case as == "" || as == c.Name:
		return []string{c.Name}, nil
	case !c.May(runtime.CanActAs):
		return nil, runtime.Refusef(runtime.ErrDenied, "%s may not act as %q", c.Name, as).WithHelp("the token needs the capability act-as")
	}
	return []string{as, c.Name}, nil
}

// answerGate takes the answer of a gate.
func (t *Turn) answerGate(c runtime.Caller, who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	g, refused := t.gateNamed(s.Gate)
	if refused != nil {
		return nil, refused
	}
	if t.Machine == nil && g.Name != runtime.GateQuarantine {
		return nil, t.quarantined()
	}
	if t.State.held() && g.Step != "" {
		return nil, runtime.Refusef(runtime.ErrExpired, "the deadline of run %s has passed: gate %q takes no answer", t.State.ID, g.Name).
			WithHelp("decide first whether the run goes on: starling signal %s --choice retry", shellQuote(t.State.ID+"/"+runtime.GateDeadline)).
			WithCall("decide first whether the run goes on: signal its gate %q, choice %q", runtime.GateDeadline, "retry")
	}
	args, _ := g.Args.View()
	via := "signal"
	refused = mayAnswer(c, who[0], t.State.ID, g, g.target(args))
	if refused == nil {
		refused = forbidden(g, args, who)
	}
	if refused != nil {
		if refused.Kind != runtime.ErrWrongTarget || !s.Override || !c.May(runtime.CanOverride) {
			return nil, refused
		}
		via = "override"
	}
	choice, refused := chosen(g, args, s.Choice)
	if refused != nil {
		return nil, refused
	}
	data, refused := payload(g, args, s, c.Audience())
	if refused != nil {
		return nil, refused
	}
	vote, _ := starlark.AsString(choice)
	if g.voted(who[0]) {
		return nil, runtime.Refusef(runtime.ErrDecided, "gate %q wants %d answers, and %s has given one", g.Name, quorum(args), who[0])
	}
	d := t.decision(choice, s.Reason, data, who[0], via, false)
	var b effect.Object
	seq := t.record(journal.SignalAccepted, g.Name, b.Text("kind", string(runtime.SignalAnswer)).Texts("who", who).Text("key", s.Key).Text("voter", who[0]).
		Text("vote", vote).Flag("override", via == "override").Payload())
	receipt := &runtime.Receipt{Gate: g.Name, Seq: seq}
	if g.votes(vote) >= quorum(args) {
		receipt.Decision = journal.JSONOf(d)
		t.resolve(g, d, who)
	}
	return receipt, nil
}

// quorum is how many must choose the same.
func quorum(args effect.View) int { return max(1, int(args.Int("quorum"))) }

func (g *Gate) voted(who string) bool {
	return slices.ContainsFunc(g.Votes, func(v vote) bool { return v.who == who })
}

func (g *Gate) votes(choice string) int {
	n := 0
	for _, v := range g.Votes {
		if v.choice == choice {
			n++
		}
	}
	return n
}

// target is whom the gate asks now: the level of its escalation, or its target.
func (g *Gate) target(args effect.View) string {
	if level := escalation(args); len(level) > 0 {
		return level[min(g.Level, len(level)-1)].target
	}
	return args.Text("target")
}

// resolve carries a decision out.
func (t *Turn) resolve(g *Gate, d *effect.Record, who []string) {
	if st := t.State.Steps[g.Step]; st != nil {
		t.decide(st, d, who)
	} else {
		t.resolveSystem(g.Name, d, who)
	}
}

// mayAnswer enforces the target of a gate.
func mayAnswer(c runtime.Caller, who, run string, g *Gate, target string) *runtime.Refusal {
	switch {
	case c.Agent != "" && c.Run == run:
		return runtime.Refusef(runtime.ErrDenied, "gate %q belongs to the run that started the agent %q, which may not answer it", g.Name, c.Agent)
	case c.Agent != "" && target != c.Agent:
		return runtime.Refusef(runtime.ErrWrongTarget, "gate %q is not targeted at the agent %q", g.Name, c.Agent)
	case target != "" && target != who && c.Local:
		return runtime.Refusef(runtime.ErrWrongTarget, "gate %q is for %q, not for %q", g.Name, target, who).WithHelp("answer in its name with --as %s; both names are recorded", shellQuote(target)).WithCall(actAs, target)
	case target != "" && target != who:
		return runtime.Refusef(runtime.ErrWrongTarget, "gate %q is for %q, not for %q", g.Name, target, who)
	}
	return nil
}

// forbidden refuses an identity that made what a gate is about.
func forbidden(g *Gate, args effect.View, who []string) *runtime.Refusal {
	names, _ := effect.Identities(args.Value("not_by"))
	for _, name := range who {
		if slices.Contains(names, name) {
			return runtime.Refusef(runtime.ErrWrongTarget, "gate %q is not for %q, who has made what it is about", g.Name, name).WithHelp("somebody else decides; it is open to all but %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// quarantined refuses what a run that is quarantined cannot take.
func (t *Turn) quarantined() *runtime.Refusal {
	return runtime.Refusef(runtime.ErrNotOpen, "run %s is quarantined", t.State.ID).
		WithHelp("decide first whether it goes on: starling signal %s --choice retry", shellQuote(t.State.ID+"/"+runtime.GateQuarantine)).
		WithCall("decide first whether it goes on: signal its gate %q, choice %q", runtime.GateQuarantine, "retry")
}

// ClosedGate is a gate that is no longer open.
type ClosedGate struct {
	Name     string
	Decision json.RawMessage // null when it was withdrawn
	Reason   string          // why it was withdrawn

	Forgotten uint64 // where none was found: gates that were decided up to this record are not known any more
}

// gateNamed finds the open gate that an address means: its whole address, or a suffix of it that
// fits one gate among all the run ever opened. With no address it is the only open gate.
func (t *Turn) gateNamed(address string) (*Gate, *runtime.Refusal) {
	if t.State.Status.Ended() && address == "" {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s: no gate is open", t.State.ID, t.State.Status)
	}
	if address == "" {
		return t.onlyGate()
	}
	if g := t.State.Gates[address]; g != nil {
		return g, nil
	}
	var fits []string
	for name := range t.State.Gates {
		if strings.HasSuffix(name, "/"+address) {
			fits = append(fits, name)
		}
	}
	p, isPast := t.justClosed(address)
	if !isPast {
		p, isPast = t.Host.World.ClosedGate(t.State.ID, address, t.State.Bare)
	}
	if isPast && (len(fits) == 0 || p.Name == address) {
		return nil, t.closedRefusal(p)
	}
	if isPast {
		fits = append(fits, p.Name)
	}
	slices.Sort(fits)
	switch {
	case len(fits) == 1:
		return t.State.Gates[fits[0]], nil
	case len(fits) > 1:
		return nil, runtime.Refusef(runtime.ErrAmbiguous, "gate %q of run %s is ambiguous: it matches %s", address, t.State.ID, strings.Join(fits, ", ")).WithHelp("give more of the address").WithData(fits)
	case t.State.Status.Ended():
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s: no gate is open", t.State.ID, t.State.Status)
	case t.Host.mentions(address) && p.Forgotten > 0:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "gate %q of run %s is not open: it has not opened yet, or was decided before record %d, with which the journal begins", address, t.State.ID, p.Forgotten+1).
			WithHelp("the gates that are open: starling show %s", t.State.ID).WithCall("status lists the gates that are open")
	case t.Host.mentions(address):
		return nil, runtime.Refusef(runtime.ErrNotOpen, "gate %q of run %s has not opened yet", address, t.State.ID).
			WithHelp("wait for it with: starling wait %s --for suspended", t.State.ID).WithCall("status lists the gates that are open")
	}
	return nil, runtime.Refusef(runtime.ErrUnknownGate, "run %s has no gate %q", t.State.ID, address)
}

// justClosed finds a gate that this very turn has closed: the store does not know yet.
func (t *Turn) justClosed(address string) (ClosedGate, bool) {
	for i := range t.Records {
		r := &t.Records[i]
		if (r.Type == journal.GateDecided || r.Type == journal.GateWithdrawn) && (r.Step == address || strings.HasSuffix(r.Step, "/"+address)) {
			return ClosedGateOf(r), true
		}
	}
	return ClosedGate{}, false
}

// ClosedGateOf reads how a gate was closed.
func ClosedGateOf(r *journal.Record) ClosedGate {
	v := r.View()
	return ClosedGate{Name: r.Step, Reason: v.Text("reason"), Decision: journal.JSONOf(v.Value("decision"))}
}

func (t *Turn) openNames() []string {
	var names []string
	for _, g := range t.State.OpenGates() {
		names = append(names, g.Name)
	}
	return names
}

func (t *Turn) onlyGate() (*Gate, *runtime.Refusal) {
	open := t.State.OpenGates()
	switch len(open) {
	case 1:
		return open[0], nil
	case 0:
		return nil, runtime.Refusef(runtime.ErrNotOpen, "run %s has no open gate", t.State.ID).WithHelp("see what it does with: starling show %s", t.State.ID).WithCall("status says what it does")
	}
	return nil, runtime.Refusef(runtime.ErrAmbiguous, "run %s has %d open gates: %s", t.State.ID, len(open), strings.Join(t.openNames(), ", ")).WithHelp("name one: %s/GATE", t.State.ID).WithCall("name one as gate").WithData(t.openNames())
}

func (t *Turn) closedRefusal(p ClosedGate) *runtime.Refusal {
	if string(p.Decision) == "null" || len(p.Decision) == 0 {
		if p.Reason == "timeout" {
			return runtime.Refusef(runtime.ErrExpired, "gate %q of run %s expired", p.Name, t.State.ID)
		}
		return runtime.Refusef(runtime.ErrClosed, "gate %q of run %s was withdrawn", p.Name, t.State.ID)
	}
	r := runtime.Refusef(runtime.ErrDecided, "gate %q of run %s is decided already", p.Name, t.State.ID)
	r.Data = p.Decision
	var d struct {
		Choice string `json:"choice"`
		By     string `json:"by"`
		Via    string `json:"via"`
		At     string `json:"at"`
	}
	if json.Unmarshal(p.Decision, &d) == nil {
		if d.Via == "fallback" {
			r.Kind = runtime.ErrExpired
		}
		r.Message += ": " + d.By + " chose " + quoteText(d.Choice) + " at " + d.At
	}
	return r
}

// takeMessage puts a message into the mailbox.
func (t *Turn) takeMessage(who []string, s runtime.Signal) (*runtime.Receipt, *runtime.Refusal) {
	if t.State.Status.Ended() {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s and takes no messages", t.State.ID, t.State.Status)
	}
	if s.Name == "" {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "a message needs a name")
	}
	v, refused := payloadOf(&s, "the message")
	if refused != nil {
		return nil, refused
	}
	msg := effect.MustEncode(effect.NewRecord(effect.MessageType, starlark.String(s.Name), v, starlark.String(who[0]), starlark.String(t.Now.Format(journal.TimeFormat))))
	var b effect.Object
	seq := t.record(journal.SignalAccepted, "", b.Text("kind", string(runtime.SignalMessage)).Text("name", s.Name).Raw("message", msg).Texts("who", who).Text("key", s.Key).Payload())
	if t.canAcceptOutcome() {
		t.slice()
	}
	return &runtime.Receipt{Seq: seq}, nil
}

// payloadOf reads the data of a signal, None when it brings none. what is how a refusal calls it.
func payloadOf(s *runtime.Signal, what string) (starlark.Value, *runtime.Refusal) {
	switch size := len(s.Data) + len(s.Text); {
	case size > effect.MaxPayload:
		return nil, runtime.Refusef(runtime.ErrBadPayload, "%s has %d bytes, at most %d are taken", what, size, effect.MaxPayload)
	case s.Text != "":
		return nil, runtime.Refusef(runtime.ErrBadPayload, "%s is not JSON: got %.60q", what, s.Text).WithHelp(`a text needs its quotes: '"yes"'`)
	case len(s.Data) == 0:
		return starlark.None, nil
	}
	v, err := contract.FromOutside(s.Data)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "%s is not JSON: %v", what, err)
	}
	return v, nil
}

// What several refusals advise who has tools.
const (
	statusLists = "status with steps lists them"
	actAs       = "authenticate with the token of that name, or give it as as: %q; both names are recorded"
)

func (t *Turn) cancelled(who []string, c runtime.CancelRequest) (*runtime.Receipt, *runtime.Refusal) {
	digest := journal.HashOf([]byte("cancel " + c.Reason + " " + c.As))
	if c.Key != "" {
		if k, ok := t.lookupKey(c.Key); ok {
			return t.repeated(runtime.Signal{Key: c.Key}, k, digest)
		}
	}
	if t.State.Status.Ended() {
		return nil, runtime.Refusef(runtime.ErrClosed, "run %s is %s already", t.State.ID, t.State.Status)
	}
	t.cancelRun(who, c.Reason)
	r := &runtime.Receipt{Schema: runtime.Schema, Accepted: true, Run: t.State.ID, Seq: t.State.Seq, Status: t.State.Status}
	t.remember(c.Key, journal.Keyed{Digest: digest, Receipt: r})
	return r, nil
}

// cancelRun ends the run by order. Both names are recorded of who acts for another.
func (t *Turn) cancelRun(who []string, reason string) {
	t.close()
	err := effect.Errorf(effect.KindCancelled, "cancelled by %s", who[0])
	if reason != "" {
		err.Message += ": " + reason
	}
	var b effect.Object
	t.record(journal.RunCancelled, "", b.Text("by", who[0]).Texts("who", who).Text("reason", reason).Raw("error", err.Payload()).Payload())
}
