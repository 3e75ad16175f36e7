package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// openGate opens the gate that a script asked for. Its name is the address of the step that waits.
func (t *Turn) openGate(r *effect.Request) {
	var due time.Time
	if r.Policy.Timeout > 0 {
		due = t.Now.Add(r.Policy.Timeout)
	}
	var b effect.Object
	t.record(journal.GateOpened, r.Step, b.Text("step", r.Step).Int("deadline", journal.Micros(due)).Raw("args", r.Args).Payload())
	if !due.IsZero() {
		t.timer(timerGate, r.Step, due)
	}
	args, _ := r.Args.View()
	if levels := escalation(args); len(levels) > 0 {
		t.timer(timerEscalate, r.Step, t.Now.Add(levels[0].within))
	}
}

// level is one step of an escalation: who may decide, and for how long.
type level struct {
	target string
	within time.Duration
}

// escalation reads the (target, duration) pairs of a gate.
func escalation(args effect.View) []level {
	l, ok := args.Value("escalate").(*starlark.List)
	if !ok {
		return nil
	}
	var out []level
	for e := range l.Elements() {
		pair, ok := e.(*starlark.List)
		if !ok || pair.Len() != 2 {
			continue
		}
		target, _ := starlark.AsString(pair.Index(0))
		text, _ := starlark.AsString(pair.Index(1))
		within, _ := contract.ParseDuration(text) // checked when the call was made
		out = append(out, level{target, within})
	}
	return out
}

// escalate asks the next in the chain; behind the last, the gate has timed out.
func (t *Turn) escalate(st *Step) {
	args, _ := st.Args.View()
	levels, g := escalation(args), t.State.Gates[st.Step]
	if g == nil {
		return
	}
	next := g.Level + 1
	if next >= len(levels) {
		t.gateTimedOut(st)
		return
	}
	t.record(journal.GateEscalated, st.Step, (&effect.Object{}).Int("level", int64(next)).Text("target", levels[next].target).Payload())
	t.timer(timerEscalate, st.Step, t.Now.Add(levels[next].within))
}

// maxOpenGates bounds the gates that are open at once in one run: to close them all is one commit.
const maxOpenGates = 10_000

// withdrawGate closes a gate without a decision. Of gates that are closed by the thousand only the
// journal knows how: a row for each would be too much for a commit.
func (t *Turn) withdrawGate(g *Gate, reason string) {
	var b effect.Object
	t.record(journal.GateWithdrawn, g.Name, b.Text("reason", reason).Flag("bare", len(t.Records) >= MaxTurnRecords).Payload())
}

func uncertainGate(step string) string { return runtime.GateUncertain + step }

var systemOptions = []string{"retry", "skip", "fail"}

// openSystemGate opens a gate with the options retry, skip and fail. step is the uncertain step, ""
// when the gate is about the run.
func (t *Turn) openSystemGate(name, step, prompt string) {
	var args, b effect.Object
	args.Text("prompt", prompt).Texts("options", systemOptions)
	t.record(journal.GateOpened, name, b.Text("uncertain", step).Raw("args", args.Payload()).Payload())
}

// resolveSystem records the decision of a system gate and carries it out.
func (t *Turn) resolveSystem(name string, d *effect.Record, who []string) {
	choice, _ := starlark.AsString(d.Field("choice"))
	var b effect.Object
	b.Raw("decision", effect.MustEncode(d)).Texts("who", who)
	address, budget := strings.CutPrefix(name, runtime.GateBudget)
	step, permission := strings.CutPrefix(name, runtime.GatePermission)
	switch variable, needs := strings.CutPrefix(name, runtime.GateNeeds); {
	case budget:
		t.record(journal.GateDecided, name, b.Text("raise", map[string]string{"retry": address}[choice]).Payload())
		t.decideBudget(address, choice)
	case permission:
		t.decidePermission(name, step, choice, &b)
	case name == runtime.GateQuarantine:
		t.record(journal.GateDecided, name, b.Payload())
		t.decideQuarantine(choice, who)
	case name == runtime.GateWorkspace:
		t.record(journal.GateDecided, name, b.Payload())
		t.decideWorkspace(choice, strings.Join(who, ", "))
	case name == runtime.GateDeadline:
		t.record(journal.GateDecided, name, b.Payload())
		t.decideOvertime(choice)
	case strings.HasPrefix(name, runtime.GateProject):
		t.record(journal.GateDecided, name, b.Payload())
		t.decideProject(t.State.Steps[strings.TrimPrefix(name, runtime.GateProject)], choice)
	case needs:
		t.record(journal.GateDecided, name, b.Text("without", map[string]string{"skip": variable}[choice]).Payload())
		if choice == "fail" {
			t.fail(effect.Errorf(effect.KindRefused, "nobody has brought the environment variable %s", variable))
		}
	default:
		step := strings.TrimPrefix(name, runtime.GateUncertain)
		t.record(journal.GateDecided, name, b.Text("uncertain", step).Flag("retry", choice == "retry").Payload())
		t.decideUncertain(step, choice)
	}
}

func (t *Turn) decideQuarantine(choice string, who []string) {
	switch choice {
	case "fail":
		t.fail(effect.Errorf(effect.KindLimit, "the run was quarantined and then given up by %s", who[0]))
	case "skip":
		t.cancelRun(who, "it was quarantined")
	}
}

func (t *Turn) decideUncertain(name, choice string) {
	st := t.State.Steps[name]
	if st == nil || choice == "retry" { // apply has made the step ready again
		return
	}
	err := uncertainError(name, "")
	switch {
	case choice == "fail":
		t.settle(st, failure(st, err, nil))
	case journal.AgentKind(st.Kind):
		t.settle(st, encoded(st, result(st, nil, err)))
	default:
		t.settle(st, effect.Outcome{})
	}
}

// gateTimedOut decides a gate whose deadline has passed: by its fallback, else as on_timeout says.
func (t *Turn) gateTimedOut(st *Step) {
	args, _ := st.Args.View()
	fallback := args.Value("fallback")
	var d *effect.Record
	switch {
	case fallback != starlark.None:
		d = t.decision(fallbackChoice(args, fallback), "", fallbackPayload(args, fallback), "system", "fallback", true)
	case args.Text("on_timeout") == "return":
		d = t.decision(starlark.None, "", starlark.None, "system", "auto", true)
	default:
		t.withdrawGate(t.State.Gates[st.Step], "timeout")
		t.settle(st, effect.Outcome{Err: &effect.Error{Kind: effect.KindTimeout, Where: st.Where,
			Message: "gate " + quoteText(st.Step) + ": timed out after " + args.Text("timeout")}})
		return
	}
	t.decide(st, d, nil)
}

// fallbackChoice is the choice of a fallback: with options it is one of them, in a free form it is
// a payload.
func fallbackChoice(args effect.View, fallback starlark.Value) starlark.Value {
	if len(gateOptions(args)) > 0 {
		return fallback
	}
	return starlark.None
}

func fallbackPayload(args effect.View, fallback starlark.Value) starlark.Value {
	if len(gateOptions(args)) > 0 {
		return starlark.None
	}
	return fallback
}

func (t *Turn) decision(choice starlark.Value, reason string, payload starlark.Value, by, via string, timedOut bool) *effect.Record {
	return effect.NewRecord(effect.DecisionType, choice, starlark.String(reason), payload, starlark.String(by), starlark.String(via),
		starlark.String(t.Now.UTC().Format(time.RFC3339)), starlark.Bool(timedOut))
}

// decide records the decision of a script's gate and settles its step.
func (t *Turn) decide(st *Step, d *effect.Record, who []string) {
	t.wake()
	p := effect.MustEncode(d)
	g, args := t.State.Gates[st.Step], effect.View{}
	if g != nil {
		args, _ = g.Args.View()
	}
	t.record(journal.GateDecided, st.Step, (&effect.Object{}).Raw("decision", p).Texts("who", who).Texts("voters", g.agreed(d)).
		Flag("hidden", conceals(args, d.Field("payload"))).Payload())
	t.settle(st, effect.Outcome{Value: p})
}

// conceals tells whether a payload has something that the contracts of its gate hide from people,
// as far as they say it: what is edited in another form than that of the data may have it anywhere.
func conceals(args effect.View, payload starlark.Value) bool {
	for _, field := range []string{"schema", "data_schema"} {
		c, ok := args.Value(field).(*contract.Contract)
		if !ok || payload == starlark.None || field == "data_schema" && !args.Flag("editable") {
			continue
		}
		shown, wrong := c.Redact(payload, contract.People)
		whole, _ := c.Redact(payload, contract.Agents)
		if len(wrong) > 0 || string(effect.MustEncode(shown)) != string(effect.MustEncode(whole)) {
			return true
		}
	}
	return false
}

// agreed are those who have chosen what was decided, in the order of their votes, where it took
// more than one.
func (g *Gate) agreed(d *effect.Record) (voters []string) {
	if g == nil {
		return nil
	}
	choice, _ := starlark.AsString(d.Field("choice"))
	for _, v := range g.Votes {
		if v.choice == choice {
			voters = append(voters, v.who)
		}
	}
	if len(voters) < 2 {
		return nil
	}
	return voters
}

// gateOptions lists the options of a gate: a list of names, or a dict of name and description.
func gateOptions(args effect.View) []runtime.Option {
	var out []runtime.Option
	switch v := args.Value("options").(type) {
	case *starlark.List:
		for e := range v.Elements() {
			name, _ := starlark.AsString(e)
			out = append(out, runtime.Option{Name: name})
		}
	case *starlark.Dict:
		for k, e := range v.Entries() {
			name, _ := starlark.AsString(k)
			text, _ := starlark.AsString(e)
			out = append(out, runtime.Option{Name: name, Description: text})
		}
	}
	return out
}

// GateDocument is an open gate as an audience sees it.
func GateDocument(run, name string, opened time.Time, v effect.View, to contract.Audience) runtime.Gate {
	args := v.Sub("args")
	now := Gate{Level: int(v.Int("level"))}
	g := runtime.Gate{Address: run + "/" + name, Gate: name, Prompt: args.Text("prompt"), Options: gateOptions(args), Target: now.target(args), OpenedAt: opened,
		Data: journal.JSONOf(shownData(args, to)), Schema: []byte("null"), Editable: args.Flag("editable")}
	if c, ok := args.Value("schema").(*contract.Contract); ok {
		g.Schema, g.Contract = []byte(c.Schema(contract.Validate).JSON()), c.String()
	}
	if due := journal.TimeIn(v, "deadline"); !due.IsZero() {
		g.Deadline = &due
	}
	if n := quorum(args); n > 1 {
		g.Quorum = n
	}
	if g.Options == nil {
		g.Options = []runtime.Option{}
	}
	g.AnswerWith = answerWith(g)
	return g
}

// shownData is the data of a gate without what its contract hides from an audience. Data that
// breaks the contract was refused when the gate was asked for.
func shownData(args effect.View, to contract.Audience) starlark.Value {
	data := args.Value("data")
	c, ok := args.Value("data_schema").(*contract.Contract)
	if !ok {
		return data
	}
	shown, violations := c.Redact(data, to)
	if len(violations) > 0 {
		return starlark.None
	}
	return shown
}

// withHidden puts what was hidden from whoever has edited data back into what they made of it:
// shown is what they had before them of the whole. An item of a list is known by what was shown of
// it, or by its place where no other was added or removed; what is hidden in an item that is new to
// the list is lost with the old one.
func withHidden(edited, shown, whole starlark.Value) starlark.Value {
	switch edited := edited.(type) {
	case *starlark.Dict:
		shown, ok := shown.(*starlark.Dict)
		all, both := whole.(*starlark.Dict)
		if !ok || !both {
			return edited
		}
		out := starlark.NewDict(all.Len())
		for k, v := range edited.Entries() {
			before, was, _ := shown.Get(k) // a key of a dict is hashable, here and below
			if under, _, _ := all.Get(k); was {
				v = withHidden(v, before, under)
			}
			_ = out.SetKey(k, v) // a fresh dict, here and below
		}
		for k, v := range all.Entries() {
			_, seen, _ := shown.Get(k)
			if _, said, _ := edited.Get(k); !seen && !said {
				_ = out.SetKey(k, v)
			}
		}
		return out
	case *starlark.List:
		shown, ok := shown.(*starlark.List)
		all, both := whole.(*starlark.List)
		if !ok || !both || shown.Len() != all.Len() {
			return edited
		}
		was, firstWas := encodedItems(shown)
		is, firstIs := encodedItems(edited)
		out := make([]starlark.Value, len(is))
		for i, item := range is {
			out[i] = edited.Index(i)
			if i < len(was) && was[i] == item {
				out[i] = all.Index(i)
			} else if j, stood := firstWas[item]; stood {
				out[i] = all.Index(j)
			} else if len(is) == len(was) {
				if _, stands := firstIs[was[i]]; !stands {
					out[i] = withHidden(out[i], shown.Index(i), all.Index(i))
				}
			}
		}
		return starlark.NewList(out)
	}
	return edited
}

// encodedItems are the items of a list in a form that can be compared, and where each stands first.
func encodedItems(list *starlark.List) (items []string, first map[string]int) {
	items, first = make([]string, list.Len()), make(map[string]int, list.Len())
	for i := range items {
		items[i] = string(effect.MustEncode(list.Index(i)))
		if _, stands := first[items[i]]; !stands {
			first[items[i]] = i
		}
	}
	return items, first
}

// answerWith is the command that answers a gate.
func answerWith(g runtime.Gate) string {
	cmd := "starling signal " + shellQuote(g.Address)
	if len(g.Options) > 0 {
		cmd += " --choice " + shellQuote(g.Options[0].Name)
	}
	if !g.Editable && (len(g.Options) == 0 || g.Contract != "") {
		cmd += " --data JSON"
	}
	if g.Target != "" {
		cmd += " --as " + shellQuote(g.Target)
	}
	return cmd
}

// shellQuote quotes a word for a POSIX shell where it needs it.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteText(s string) string { return `"` + s + `"` }

// chosen holds the choice of a signal against the options of its gate.
func chosen(g *Gate, args effect.View, choice string) (starlark.Value, *runtime.Refusal) {
	options := gateOptions(args)
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Name
	}
	switch {
	case len(options) == 0 && choice == "":
		return starlark.None, nil
	case len(options) == 0:
		return nil, runtime.Refusef(runtime.ErrBadChoice, "gate %q has no options: got choice %q, want a payload only", g.Name, choice).
			WithHelp("send --data JSON instead of --choice").WithCall("send data instead of choice")
	case choice == "":
		return nil, runtime.Refusef(runtime.ErrBadChoice, "gate %q: got no choice, want one of %s", g.Name, strings.Join(names, ", ")).
			WithHelp("add --choice %s", names[0]).WithCall("add a choice, such as %q", names[0])
	case slices.Contains(names, choice):
		return starlark.String(choice), nil
	}
	r := runtime.Refusef(runtime.ErrBadChoice, "gate %q: got choice %q, want one of %s", g.Name, choice, strings.Join(names, ", "))
	if near, ok := diagnostic.Nearest(choice, names); ok {
		r.WithHelp("did you mean %q?", near)
	}
	return nil, r
}

// payload holds the data of a signal against the schema of its gate and gives the checked value.
func payload(g *Gate, args effect.View, s runtime.Signal, of contract.Audience) (starlark.Value, *runtime.Refusal) {
	v, refused := payloadOf(&s, fmt.Sprintf("gate %q: the payload", g.Name))
	if refused != nil {
		return nil, refused
	}
	whole := v
	if args.Flag("editable") && len(s.Data) == 0 {
		v, whole = args.Value("data"), args.Value("data")
	} else if _, hides := args.Value("data_schema").(*contract.Contract); hides && args.Flag("editable") {
		whole = withHidden(v, shownData(args, of), args.Value("data"))
	}
	c, ok := args.Value("schema").(*contract.Contract)
	if !ok {
		return whole, nil
	}
	checked, violations := c.Check(whole)
	if len(violations) > 0 {
		checked, violations = c.Check(v) // which may be of another form than the data, and is what was sent
	}
	if len(violations) > 0 {
		return nil, runtime.Refusef(runtime.ErrBadPayload, "gate %q: the payload breaks its contract: %s", g.Name, violationText(violations)).WithData(violations)
	}
	return checked, nil
}
