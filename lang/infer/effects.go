package infer

import (
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/way"
)

// attempt(fn, …) is an Outcome of what fn gives.
func (a *analysis) attempt(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	value := a.callee(g, args, "attempt", w)
	return made(a.outcome(g.call, "", value))
}

// noValue is why an Outcome may have none.
const noValue = "what has failed has no value: .ok says whether it has"

// readOf notes that somebody reads how a call ended, which says whether an Outcome has a value.
func (a *analysis) readOf(o *object, name string) {
	if a.saying && o.form.Name == "Outcome" && name != "value" {
		a.chooseAnswer(atom{kind: record, obj: o}, nil)
	}
}

// outcome is an Outcome with a value; which tells those of one call apart.
func (a *analysis) outcome(at syntax.Node, which string, value Type) *object {
	o := a.recordAt(at, "Outcome", which)
	none := a.optionalNone(at, nil, noValue)
	none.fn = a.fn
	a.entry(o, "value", join(value, noneOf(none)), true, nil)
	return o
}

// callee calls the first argument with the others.
func (a *analysis) callee(g *arguments, args bound, who string, w *flow) Type {
	if len(g.list) == 0 {
		return unknown
	}
	f, ok := args["fn"]
	if !ok {
		return unknown
	}
	a.mustCall(f, who, g)
	rest := *g
	rest.list = g.list[1:]
	if who == "budget" {
		rest = arguments{call: g.call, named: map[string]argument{}}
	}
	if !g.loose() {
		a.suits(f.typ, len(rest.list), rest.order, f.node, g.call, who == "budget")
	}
	return a.invokeWith(f.typ, &rest, w)
}

// budget(fn) is what fn gives.
func (a *analysis) budget(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	if args["usd"].node == nil && args["tokens"].node == nil && args["calls"].node == nil && !g.loose() && len(g.list) == 1 {
		a.report("missing_argument", g.call.Fn, g.call, diagnostic.Diagnostic{Message: "budget: there is no bound", Want: "usd, tokens or calls", Hint: "add usd = 2.5"})
	}
	return a.callee(g, args, "budget", w)
}

// parallel(branches, over) has the shape of what it is given.
func (a *analysis) parallel(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	branches := args["branches"]
	over, hasOver := args["over"]
	plain := !g.loose() && a.defaulted(args, "wait", "all") && a.defaulted(args, "on_error", "cancel")
	if conflict, ok := args["on_conflict"]; ok {
		a.invoke(conflict.typ, w, g.call, unknown)
	}
	if hasOver {
		a.gone("over", over, g)
		return a.parallelOver(g, branches, over, plain, w)
	}
	a.gone("branches", branches, g)
	a.eachBranch(g, w)
	out := Type{any: branches.typ.any}
	if branches.typ.any {
		a.lend(branches.typ)
	}
	for _, at := range branches.typ.atoms {
		if at.kind != list && at.kind != tuple && at.kind != dict {
			continue
		}
		out = join(out, a.gathered(g, at.obj, plain, w))
	}
	return out
}

// gone: parallel goes through branches, or over, and cannot go through what it is given.
func (a *analysis) gone(name string, x argument, g *arguments) {
	if !x.typ.known() || x.node == nil || g.loose() || g.either {
		return
	}
	for _, at := range x.typ.atoms {
		if _, ok := at.through(); ok || at.kind == none && name == "over" {
			return
		}
	}
	d := diagnostic.Diagnostic{Message: "parallel: for parameter " + name, Got: x.typ.brief(), Want: "list or dict", Note: a.origin(x.node, x.typ)}
	if onlyKind(x.typ, function) {
		d.Hint = "put the branches into a list: parallel([f, g])"
	}
	a.report("bad_type", x.node, g.call, d)
}

// gathered is what the branches of one list or dict give. The keys of a dict name them: they are
// texts.
func (a *analysis) gathered(g *arguments, from *object, plain bool, w *flow) Type {
	if from.kind != dict {
		return a.gatheredList(g, from, plain, w)
	}
	o := a.object(dict, g.call, [2]any{"parallel", from})
	for _, k := range from.order {
		a.entry(o, k, a.branchResult(g, from.fields[k].typ, k, plain, w), from.fields[k].must, from.fields[k].at)
	}
	if !from.key.empty() || from.lent {
		a.enter(o, anyText, a.branchResult(g, from.values(), "", plain, w), nil)
	}
	return made(o)
}

// gatheredList is what the branches of a list or tuple give: by place where they stand there.
func (a *analysis) gatheredList(g *arguments, from *object, plain bool, w *flow) Type {
	o := a.object(list, g.call, [2]any{"parallel", from})
	o.like = from
	o.sized = from.kind == tuple && from.items != nil && len(from.items) <= mostPlaces
	parts := from.parts()
	if parts == nil || len(parts) > mostPlaces {
		a.put(o, a.branchResult(g, from.elements(), "", plain, w))
		return made(o)
	}
	for i, branch := range parts {
		t := a.branchResult(g, branch, itoa(i), plain, w)
		a.put(o, t)
		a.placed(o, i, t)
	}
	return made(o)
}

// branchResult runs a branch: a function, or a tuple of a function and its arguments. which tells
// the branches of a call apart.
func (a *analysis) branchResult(g *arguments, branch Type, which string, plain bool, w *flow) Type {
	out := Type{any: branch.any}
	fits := branch.any || branch.empty()
	for _, at := range branch.atoms {
		switch {
		case callable(at):
			out, fits = join(out, a.invoke(of(at), w, g.call)), true
		case at.kind == tuple && len(at.obj.items) > 0:
			out, fits = join(out, a.invoke(at.obj.items[0], w, g.call, at.obj.items[1:]...)), true
		case at.kind == tuple, at.kind == opaque, at.kind == module:
			a.lend(of(at))
			out, fits = unknown, true
		}
	}
	if !fits && g.branches() == nil {
		a.notBranch(g, g.call, branch)
	}
	return a.delivered(g, out, which, plain)
}

// eachBranch says which of the branches that stand in the text cannot be called.
func (a *analysis) eachBranch(g *arguments, w *flow) {
	if !a.saying {
		return
	}
	for _, e := range g.branches() {
		t := a.quietly(e, w)
		fits := !t.known()
		for _, at := range t.atoms {
			fits = fits || callable(at) || at.kind == tuple || at.kind == opaque || at.kind == module
		}
		if !fits {
			a.notBranch(g, e, t)
		}
		if at, ok := t.only(); ok && at.kind == function {
			a.misfit(t, 0, e, g.list[0], g.call)
		} else if ok && at.kind == tuple && len(at.obj.items) > 0 {
			a.misfit(at.obj.items[0], len(at.obj.items)-1, e, g.list[0], g.call)
		}
	}
}

// delivered is what parallel gives for a branch.
func (a *analysis) delivered(g *arguments, t Type, which string, plain bool) Type {
	if plain {
		return t
	}
	if x, ok := g.named["on_error"]; ok && slices.Equal(exactTexts(x.typ), []string{"collect"}) {
		return made(a.outcome(g.call, which, t))
	}
	o := a.recordAt(g.call, "Outcome", which) // which of them have a value hangs on wait
	a.entry(o, "value", join(t, noneType), true, nil)
	return made(o)
}

// parallelOver calls one function with each element.
func (a *analysis) parallelOver(g *arguments, f, over argument, plain bool, w *flow) Type {
	a.mustCall(f, "parallel", g)
	var out Type
	if over.typ.any {
		out = a.parallelUnknown(g, f.typ, plain, w)
	}
	if at, ok := over.typ.only(); ok && at.kind == dict {
		a.misfit(f.typ, 2, f.node, over, g.call)
	} else if elem := elementsOf(over.typ); over.typ.known() && !elem.empty() {
		a.misfit(f.typ, 1, f.node, over, g.call)
	}
	for _, at := range over.typ.atoms {
		switch at.kind {
		case dict:
			result := a.delivered(g, a.invoke(f.typ, w, g.call, at.obj.keys().loose(), at.obj.values()), "", plain)
			o := a.object(dict, g.call, [2]any{"parallel", at.obj})
			for _, k := range at.obj.order {
				a.entry(o, k, result, at.obj.fields[k].must, nil)
			}
			if !at.obj.key.empty() || at.obj.lent {
				a.enter(o, at.obj.keys().loose(), result, nil)
			}
			out = join(out, made(o))
		default:
			elem, ok := at.through()
			if !ok {
				continue
			}
			o := a.object(list, g.call, "parallel over")
			a.put(o, a.delivered(g, a.invoke(f.typ, w, g.call, elem), "", plain))
			out = join(out, made(o))
		}
	}
	return out
}

// parallelUnknown is what parallel gives for each element of something that is not known: it is no
// dict where the function does not take a key and a value.
func (a *analysis) parallelUnknown(g *arguments, f Type, plain bool, w *flow) Type {
	at, ok := f.only()
	if ok = ok && at.kind == function; ok {
		refused, _ := way.Refused(at.obj.fn.decl.Params, 2, nil)
		ok = refused != ""
	}
	if !ok {
		a.lend(f)
		return unknown
	}
	o := a.object(list, g.call, "parallel over")
	a.put(o, a.delivered(g, a.invoke(f, w, g.call, unknown), "", plain))
	return made(o)
}

// defaulted tells whether an argument is what it is without one.
func (a *analysis) defaulted(args bound, name, value string) bool {
	x, ok := args[name]
	if !ok {
		return true
	}
	at, ok := x.typ.only()
	return ok && (at.kind == none || at.exact && at.lit == value)
}

// contract("…") is the contract of a text that stands in the file.
func (a *analysis) contract(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	o := a.object(shape, g.call, nil)
	if text := args["text"].node; text != nil {
		o.type_ = a.parsed(text)
	}
	return made(o)
}

// contractOf is the one contract that a type is, nil for none or several.
func (a *analysis) contractOf(t Type) *contract.Shape {
	at, ok := t.only()
	if !ok || at.kind != shape || at.obj.type_ == nil {
		return nil
	}
	return a.shapeOf(at.obj.type_)
}

// parse is what contract.parse gives.
func (a *analysis) parse(o *object, g *arguments) Type {
	t := Type{any: o.recv.any}
	for _, at := range o.recv.atoms {
		s := a.contractOf(of(at))
		if s == nil {
			t = join(t, unknown)
			continue
		}
		t = join(t, a.shaped(s, g.call, ""))
		if len(g.list) == 1 && len(o.recv.atoms) == 1 {
			a.meets(g.list[0], s, "the value does not meet the contract")
		}
	}
	return t
}

// role(…) keeps what it is given.
func (a *analysis) role(b *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	o := a.recordAt(g.call, "role", "")
	for _, p := range b.Params {
		if x, ok := args[p.Name]; ok {
			a.entry(o, p.Name, x.typ, true, x.node)
		} else if g.loose() {
			a.entry(o, p.Name, unknown, true, nil)
		}
	}
	return made(o)
}

// roleSays is what the one role that a type is says under a name, empty if it says nothing; known
// is false where it may be another role, or one by name, of which the project says more.
func (a *analysis) roleSays(t Type, name string) Type {
	at, ok := t.only()
	if !ok || !at.recordOf("role") {
		return Type{}
	}
	if f := at.obj.fields[name]; f != nil {
		return f.typ
	}
	return Type{}
}

// agent(…) is a Result of what the contract says.
func (a *analysis) agent(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	return a.asked(g, args, "who", "output", w)
}

// agentSays is the contract that the project has for the one agent that a type is, by its name or
// as a role that leaves it open; nil for none.
func (a *analysis) agentSays(who Type, what string) *contract.Shape {
	if at, ok := who.only(); ok && at.recordOf("role") && at.obj.fields[what] != nil {
		return nil
	}
	name := a.agentName(who)
	if name == "" || a.file.Agent == nil {
		return nil
	}
	says := a.file.Agent(name)
	c := says.Output
	if what == "input" {
		c = says.Input
	}
	if c == nil {
		return nil
	}
	return a.shapeOf(c)
}

// agreed is what is said of the input or the output of an agent, by the argument of that name, else
// by the role, and the contract it is, nil if it is not known; where neither says anything, it is
// the project's.
func (a *analysis) agreed(
	g *arguments, args bound, argument string, who Type, what string,
) (said Type, s *contract.Shape) {
	x, given := args[argument]
	if said = x.typ; !given {
		said = a.roleSays(who, what)
	}
	if said.empty() && !g.loose() {
		return said, a.agentSays(who, what)
	}
	return said, a.contractOf(said)
}

// sayNothing tells whether an agent is asked of whose reply nothing is said: one by name, or a
// role that leaves it open.
func (a *analysis) sayNothing(who argument, said Type) bool {
	_, named := way.Unparen(who.node).(*syntax.Literal)
	if at, ok := who.typ.only(); ok && at.recordOf("role") {
		named = at.obj.fields["output"] == nil
	}
	return named && said.empty()
}

// noReply is why there may be none.
const noReply = `with on_error = "return" a reply that is not ok may have none`

// asked is the Result of agent and handoff.
func (a *analysis) asked(g *arguments, args bound, who, reply string, w *flow) Type {
	o := a.recordAt(g.call, "Result", "")
	o.name = a.agentName(args[who].typ)
	a.excluded(o.name, args["not_by"])
	output := unknown
	said, s := a.agreed(g, args, reply, args[who].typ, "output")
	if s != nil && !g.loose() {
		output = a.shaped(s, g.call, "")
		o.status = "typed"
	} else if a.sayNothing(args[who], said) && !g.loose() {
		o.status = "untyped"
	}
	if listener, ok := args["on_event"]; ok {
		a.suits(listener.typ, 1, nil, listener.node, g.call, false)
		a.ruling(listener, a.invoke(listener.typ, w, g.call, made(a.recordAt(g.call, "Event", "on_event"))))
		a.lend(listener.typ)
		output = join(output, noneType)
	}
	if !a.defaulted(args, "on_error", "fail") || g.loose() {
		output = join(output, noneOf(a.optionalNone(g.call, nil, noReply)))
	}
	a.entry(o, "output", output, true, nil)
	if _, listens := args["on_event"]; a.defaulted(args, "on_error", "fail") && !g.loose() {
		o.raises = !listens
		a.entry(o, "error", noneOf(a.optionalNone(g.call, nil, noError)), true, nil)
		a.entry(o, "status", joinAll(exactly(text, "ok"), exactly(text, "stopped"), exactly(text, "blocked")), true, nil)
	}
	return made(o)
}

// agentName is the name of the one agent that a type is, "" where that is not known.
func (a *analysis) agentName(t Type) string {
	at, ok := t.only()
	if ok && at.recordOf("role") && at.obj.fields["name"] != nil {
		at, ok = at.obj.fields["name"].typ.only()
	}
	if !ok || at.kind != text || !at.exact {
		return ""
	}
	return at.lit
}

// excluded: an agent is asked who is among those that must not answer.
func (a *analysis) excluded(name string, not argument) {
	those := not.typ
	if at, ok := those.only(); ok && at.kind == list {
		those = joinAll(at.obj.parts()...)
	}
	for _, at := range those.atoms {
		if at.kind == text && at.exact && at.lit == name || at.recordOf("Result") && at.obj.name == name && name != "" {
			a.warn("bad_choice", not.node, diagnostic.Diagnostic{Message: "the agent " + quote(name) + " must not be the one who is asked, and is: this is never done",
				Hint: "ask another agent, or leave not_by out"})
			return
		}
	}
}

// ruling: what on_event gives says whether the agent goes on, and a truth value says nothing.
func (a *analysis) ruling(listener argument, answer Type) {
	some := answer.filter(func(at atom) bool {
		return at.kind != none && at.kind != opaque && at.kind != module && !at.recordOf("Verdict")
	})
	if !a.saying || listener.node == nil || !answer.known() || some.empty() {
		return
	}
	d := diagnostic.Diagnostic{Message: "on_event: what it gives", Got: some.String(), Want: "proceed(), stop(…), steer(…) or None"}
	if word, ok := some.only(); ok && word.kind == text && word.exact {
		d.Note = a.wroteWord(strconv.Quote(word.lit), listener.node)
	}
	switch {
	case some.has(text):
		d.Hint = `return stop("…"), which ends the agent's work and says why`
	case some.has(boolean):
		d.Hint = `give stop("…") where the agent is to end, and None where it goes on`
	}
	a.warn("bad_type", listener.node, d)
}

// noError is why a reply has no error.
const noError = `without on_error = "return" a failure raises, and a reply has no error`

// handoff(…) is a Result, and its payload must be what the receiver takes.
func (a *analysis) handoff(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	if _, s := a.agreed(g, args, "accepts", args["to"].typ, "input"); s != nil {
		a.meets(args["payload"], s, "the payload is not what the receiver takes")
	}
	a.required(args, g)
	return a.asked(g, args, "to", "returns", w)
}

// required looks for the keys of the context that the receiver requires.
func (a *analysis) required(args bound, g *arguments) {
	to, ok := args["to"].typ.only()
	if !ok || !to.recordOf("role") || to.obj.fields["requires"] == nil || g.loose() {
		return
	}
	want, ok := to.obj.fields["requires"].typ.only()
	if !ok || want.kind != list && want.kind != tuple || want.obj.lent && want.kind == list && want.obj.at == nil {
		return
	}
	x, given := args["context"]
	for _, e := range way.Displayed(exprOf(want.obj.at)) {
		l, ok := way.Unparen(e).(*syntax.Literal)
		if !ok || l.Token != syntax.STRING {
			return
		}
		a.requires(l.Value.(string), x, given, g)
	}
}

func exprOf(n syntax.Node) syntax.Expr {
	e, _ := n.(syntax.Expr)
	if e == nil {
		return &syntax.Ident{}
	}
	return e
}

// freeForm is why nothing is chosen at a gate.
const freeForm = "a gate without options has no .choice: what was answered is .payload"

// noAnswer is why nothing is answered at a gate with on_timeout = "return".
const noAnswer = "nobody may have answered in time"

// gate(…) is a Decision between the options.
func (a *analysis) gate(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	d := a.recordAt(g.call, "Decision", "")
	choice := unknown
	if options, ok := args["options"]; ok && !g.loose() {
		choice = join(anyText, noneType) // which options there are is not known, but each is a text
		if elems := elementsOf(options.typ); elems.known() && onlyKind(elems, text) {
			choice = elems.turned(spelt, said).turned(tunable, said)
		}
	}
	if options, given := args["options"]; !g.loose() && (!given || len(way.Displayed(way.Unparen(options.node))) == 0 && onlyKind(options.typ, list) && a.barren(options.typ) && elementsOf(options.typ).empty()) {
		choice = noneOf(a.optionalNone(g.call, nil, freeForm))
	}
	a.fallsBack(g, args, choice)
	a.escalates(g, args["escalate"])
	_, falls := args["fallback"]
	d.raises = !falls && a.defaulted(args, "on_timeout", "fail") && !g.loose()
	late := noneOf(a.optionalNone(g.call, nil, noAnswer))
	if !a.defaulted(args, "on_timeout", "fail") {
		choice = join(choice, late)
	}
	a.entry(d, "choice", choice, true, args["options"].node)
	payload := unknown
	if s := a.contractOf(args["schema"].typ); s != nil {
		payload = join(a.shaped(s, g.call, ""), noneType)
		if x, ok := args["fallback"]; ok && args["options"].node == nil {
			a.meets(x, s, "the fallback is no answer of the gate")
		}
	}
	if s := a.contractOf(args["data_schema"].typ); s != nil {
		a.meets(args["data"], s, "the data is not what data_schema says")
	}
	if !a.defaulted(args, "on_timeout", "fail") {
		payload = join(payload.filter(func(at atom) bool { return at.kind != none }), late)
	}
	a.entry(d, "payload", payload, true, nil)
	wait, given := args["wait"]
	if !given && !g.loose() {
		return made(d)
	}
	h := a.recordAt(g.call, "Handle", "")
	a.entry(h, "decision()", made(d), true, nil)
	if at, ok := wait.typ.only(); ok && at.lit == "False" {
		return made(h)
	} else if ok && at.lit == "True" {
		return made(d)
	}
	return join(made(d), made(h))
}

// fallsBack: the fallback of a gate is none of the options that it may have. Where both stand in
// the call the checks of the text speak.
func (a *analysis) fallsBack(g *arguments, args bound, choice Type) {
	x, given := args["fallback"]
	at, ok := x.typ.only()
	options := exactTexts(choice)
	if !given || !ok || at.kind != text || !at.exact || options == nil || contains(options, at.lit) || args["options"].node == nil {
		return
	}
	a.report("bad_fallback", x.node, g.call, diagnostic.Diagnostic{Message: "the fallback is not one of the options", Got: quote(at.lit), Want: oneOf(options),
		Hint: diagnostic.Meant(at.lit, options), Note: a.origin(args["options"].node, args["options"].typ)})
}

// escalates: what is given by a name is no list of pairs of a target and a duration.
func (a *analysis) escalates(g *arguments, x argument) {
	if x.node == nil || len(way.Displayed(x.node)) > 0 {
		return
	}
	stages := elementsOf(x.typ)
	for _, at := range stages.atoms {
		parts := []Type(nil)
		if at.kind == tuple || at.kind == list {
			parts = at.obj.parts()
		}
		wait := Type{}
		if len(parts) == 2 {
			wait = parts[1]
		}
		at, one := wait.only()
		if _, err := contract.ParseDuration(at.lit); len(parts) != 2 && !stages.any || one && at.kind == text && at.exact && err != nil {
			a.warn("bad_type", x.node, diagnostic.Diagnostic{Message: "gate: for parameter escalate", Got: stages.brief(), Want: `pairs of a target and a duration, such as ("lead", "1h")`,
				Note: a.origin(x.node, x.typ)})
			return
		}
	}
}

// decided is what handle.decision() gives.
func (a *analysis) decided(o *object, g *arguments) Type {
	t := Type{any: o.recv.any}
	for _, at := range o.recv.atoms {
		if f := at.obj.fields["decision()"]; f != nil {
			t = join(t, f.typ)
		} else {
			t = join(t, made(a.recordAt(g.call, "Decision", "")))
		}
	}
	return t
}

// take is an item of a queue, None where it need not be waited for, or one item is wanted that may
// be gone. The end of a timeout raises.
func (a *analysis) take(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	o := a.recordAt(g.call, "Item", "")
	a.entry(o, "value", a.taken(args["queue"].typ), true, nil)
	item := made(o)
	if a.defaulted(args, "wait", "True") && !g.loose() {
		if _, one := args["id"]; one {
			return join(item, noneType) // who names it knows that it is there
		}
		return item
	}
	return join(item, noneOf(a.optionalNone(g.call, nil, "queue.take gives None where nothing is waiting")))
}

// mayBeLeftOut are fields that are None as often as not, and why.
var mayBeLeftOut = map[string]string{
	"Result.note": "an agent need not say anything beside its reply",
}

// remembered is what a variable of memory has: None where nobody has set it. Where something sets
// it before, in the order of the text, that is not said.
func (a *analysis) remembered(path string, args bound, g *arguments) Type {
	if x, given := args["default"]; given || g.loose() {
		return join(unknown, x.typ)
	}
	o := a.optionalNone(g.call, nil, path+" gives None where nothing was set")
	key, ok := way.Unparen(args["key"].node).(*syntax.Literal)
	o.firm = ok && !a.setBefore(strings.TrimSuffix(path, "get")+"set", key.Raw, way.Start(g.call))
	return Type{any: true, atoms: []atom{{kind: none, obj: o}}}
}

// setBefore tells whether a variable may be set by another function, or in front of a place of the
// file.
func (a *analysis) setBefore(setter, key string, at syntax.Position) bool {
	if a.settings == nil {
		a.settings = map[*unit][]way.Setting{}
		for _, u := range a.units {
			a.settings[u] = way.Settings(nil, u.Tree.Stmts)
		}
	}
	for u, list := range a.settings {
		for _, s := range list {
			if s.By != setter || s.Key != "" && s.Key != key {
				continue
			}
			if u != a.file || s.Within == nil || !way.Holds(s.Within, at) || way.Before(way.Start(s.Call), at) {
				return true
			}
		}
	}
	return false
}

// recordField is the type of a field of a record.
func (a *analysis) recordField(n syntax.Node, o *object, name string) Type {
	a.readOf(o, name)
	if f := o.fields[name]; f != nil {
		return f.typ
	}
	if name == "decision" && o.form.Name == "Handle" {
		m := a.object(method, n, "Handle.decision")
		m.name, m.path = name, "Handle.decision"
		a.grow(m.home, &m.recv, made(o))
		return made(m)
	}
	if s := doc.FieldType(o.form.Name, name); s != "" {
		t := a.read(a.notation(s), o.at, o.form.Name+"."+name, nil)
		if why := mayBeLeftOut[o.form.Name+"."+name]; why != "" && o.at != nil {
			t = join(t.filter(func(at atom) bool { return at.kind != none }), noneOf(a.optionalNone(o.at, nil, why)))
		}
		return t
	}
	return unknown
}
