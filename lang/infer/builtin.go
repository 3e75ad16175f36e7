package infer

import (
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// builtin calls a builtin: what it gives, whether it can be called, and whether it comes back.
func (a *analysis) builtin(o *object, g *arguments, w *flow) (t Type, ok, returns bool) {
	b := signature(o)
	if b == nil {
		for _, t := range g.all() {
			a.lend(t)
		}
		return unknown, true, true
	}
	args := bind(b, g)
	a.admitted(o, b, g, args)
	a.handOver(o, b, g, args)
	if o.path == "fail" {
		return Type{}, true, false
	}
	a.tried(o, g)
	a.setOf(o, args["x"], g)
	if special := specialOf(o.path); special != nil {
		return special(a, b, g, args, w), true, true
	}
	if b.Result == "" {
		return unknown, true, true
	}
	t = a.readCall(b, o.path, g, args, Type{})
	a.encodedTwice(o, args["json"], w)
	if o.path == "memory.vars.get" || o.path == "memory.project.get" {
		return a.remembered(o.path, args, g), true, true
	}
	if o.path == "workspace.commit" {
		return join(anyText, noneOf(a.optionalNone(g.call, nil, "workspace.commit gives None where nothing has changed"))), true, true
	}
	if (o.path == "re.search" || o.path == "re.match") && !g.written() {
		t = join(t.filter(func(at atom) bool { return at.kind != none }), noneOf(a.optionalNone(g.call, nil, o.path+" gives None where nothing matches")))
	}
	return t, true, true
}

// setOf: set goes through what it is given, and its elements cannot be in one. That is certain
// where they stand there; elsewhere there may be none.
func (a *analysis) setOf(o *object, x argument, g *arguments) {
	if o.path != "set" || g.either || x.node == nil {
		return
	}
	elem := elementsOf(x.typ)
	if !x.typ.known() || !elem.known() || hashable(elem) {
		return
	}
	d := diagnostic.Diagnostic{Message: elem.brief() + " cannot be an element of a set", Note: a.origin(x.node, x.typ),
		Hint: "an element is a number, a string, a bool or a tuple of these"}
	if onlyKind(elem, dict) {
		d.Hint += `; {x["id"]: x for x in xs} keeps one dict for each id`
	}
	if len(way.Displayed(x.node)) > 0 {
		a.report("unhashable", x.node, g.call, d)
		return
	}
	a.warn("unhashable", x.node, d)
}

// groups is how many groups a pattern has that stands in the text, -1 where it is not known.
func groups(pattern Type) int {
	at, ok := pattern.only()
	if !ok || at.kind != text || !at.exact {
		return -1
	}
	re, err := regexp.Compile(at.lit)
	if err != nil {
		return -1
	}
	return re.NumSubexp()
}

// findall is what re.findall gives: texts, or tuples of them where there are several groups.
func (a *analysis) findall(b *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	n := groups(args["pattern"].typ)
	if n < 0 {
		return a.readCall(b, "re.findall", g, args, Type{})
	}
	elem := anyText
	if n > 1 {
		elem = a.tupleOf(g.call, "groups", slices.Repeat([]Type{anyText}, n))
	}
	o := a.object(list, g.call, "found")
	a.put(o, elem)
	return made(o)
}

// encodedTwice: what is sent as JSON is encoded already.
func (a *analysis) encodedTwice(o *object, x argument, w *flow) {
	if !a.saying || !strings.HasPrefix(o.path, "http.") {
		return
	}
	call, ok := way.Unparen(x.node).(*syntax.CallExpr)
	if !ok {
		return
	}
	if at, ok := a.quietly(call.Fn, w).only(); ok && at.kind == builtin && at.obj.path == "json.encode" {
		a.warn("bad_type", x.node, diagnostic.Diagnostic{Message: o.path + ": json is encoded here, and once more as it is sent", Hint: "give the value itself, or the text as body"})
	}
}

// readCall is what the table says that a call gives.
func (a *analysis) readCall(b *effect.Builtin, path string, g *arguments, args bound, recv Type) Type {
	n := a.notation(b.Result)
	var of *letters
	if n.Calls {
		of = lettersOf(b, g, args, recv)
	}
	return a.read(n, g.call, path, of)
}

// written tells whether all that is passed stands there itself: whoever wrote it sees what comes of
// it.
func (g *arguments) written() bool {
	for _, x := range g.list {
		if at, ok := x.typ.only(); !ok || !at.exact {
			return false
		}
	}
	return true
}

// letters are what the letters of a result stand for in a call. Each is worked out where it is
// asked for: the values of a large dict are many.
type letters struct {
	g           *arguments
	first       *argument // what is given for the first parameter, nil for nothing
	named       bool      // by the name of the parameter
	alternative Type      // for what is not found
	recv        Type
}

func lettersOf(b *effect.Builtin, g *arguments, args bound, recv Type) *letters {
	l := &letters{g: g, recv: recv, alternative: noneType}
	if len(g.list) > 0 {
		l.first = &g.list[0]
	}
	if x, ok := args["default"]; ok {
		l.alternative = x.typ
	}
	if len(b.Params) > 0 && !b.Params[0].Positional {
		if x, ok := args[b.Params[0].Name]; ok {
			l.first, l.named = &x, true
		}
	}
	return l
}

// of is what a word stands for if it is a letter.
func (l *letters) of(word string) (Type, bool) {
	if l == nil {
		return Type{}, false
	}
	loose := l.g.loose()
	switch word {
	case "D":
		return l.orAnything(l.alternative, loose), true
	case "X":
		if l.first == nil || loose && !l.named {
			return unknown, true
		}
		return l.first.typ, true
	case "E":
		if l.first == nil {
			return l.orAnything(Type{}, loose), true
		}
		return l.orAnything(elementsOf(l.first.typ), loose && !l.named), true
	case "T", "K":
		return elementsOf(l.recv), true
	case "V":
		return valuesOf(l.recv), true
	}
	return Type{}, false
}

// orAnything is a type, or anything where what is given is not known by its place.
func (l *letters) orAnything(t Type, loose bool) Type {
	if loose {
		return join(t, unknown)
	}
	return t
}

func elementsOf(t Type) Type {
	out := union{all: Type{any: t.any}}
	for _, at := range t.atoms {
		u, _ := at.through()
		out.add(u)
	}
	return out.all
}

func valuesOf(t Type) Type {
	out := union{all: Type{any: t.any}}
	for _, at := range t.atoms {
		if at.kind == dict {
			at.obj.addValues(&out)
		}
	}
	return out.all
}

// handOver notes what a builtin may keep or call.
func (a *analysis) handOver(o *object, b *effect.Builtin, g *arguments, args bound) {
	switch o.path {
	case "attempt", "budget", "parallel", "sorted", "min", "max":
		return
	}
	_, ours := o.value.(*effect.Builtin)
	keeps := ours && b.Class == effect.Pure && (!strings.Contains(o.path, ".") || o.path == "mcp.server")
	for _, t := range g.all() {
		for _, at := range t.atoms {
			if keeps || callable(at) {
				a.lend(of(at))
			}
		}
	}
	if b.Class != effect.Pure {
		for _, p := range b.Params {
			if x, ok := args[p.Name]; ok && !strings.HasPrefix(p.Name, "on_") && p.Type != "callable" {
				a.leaves(o.path, p.Name, x)
			}
		}
	}
}

// admitted says what a builtin does not take.
func (a *analysis) admitted(o *object, b *effect.Builtin, g *arguments, args bound) {
	a.unknownNames(o, b, g)
	for i := range b.Params {
		p := &b.Params[i]
		if x, ok := args[p.Name]; ok {
			a.admit(o, p, x, g)
			if !g.either && x.node != nil {
				a.computedName(o, b, p, x.node)
			}
		}
		if p.Name == "argv" || p.Name == "options" && o.path == "gate" {
			a.words(o.path, p.Name, args[p.Name], g)
		}
		if p.Variadic {
			for _, x := range g.list[min(i, len(g.list)):] {
				a.admit(o, p, x, g)
			}
		}
	}
}

// repeated: a call gives a name a value, and passes a dict behind ** that has it as well.
func (a *analysis) repeated(f Type, g *arguments) {
	at, ok := f.only()
	if !ok || !callable(at) {
		return
	}
	for _, x := range g.twice {
		d := diagnostic.Diagnostic{Message: a.file.briefly(g.call.Fn) + ": got multiple values for keyword argument " + quote(x.name), Note: a.origin(x.dict.node, x.dict.typ)}
		if id, ok := way.Unparen(x.dict.node).(*syntax.Ident); ok {
			d.Hint = "leave it out of the call, or replace what the dict has: **(" + id.Name + " | {" + quote(x.name) + ": …})"
		}
		a.report("repeated_argument", x.dict.node, g.call, d)
	}
}

// unknownNames: a dict behind ** has a name that no parameter has. Where it is not known which
// names the dict has, one that it may have and that is spelt almost like a parameter is said.
func (a *analysis) unknownNames(o *object, b *effect.Builtin, g *arguments) {
	var known []string
	for _, p := range b.Params {
		if p.Keywords {
			return
		}
		if !p.Variadic && !p.Positional {
			known = append(known, p.Name)
		}
	}
	if g.either {
		return
	}
	for _, name := range g.spread {
		if x := g.named[name]; !contains(known, name) {
			a.report("unknown_keyword", x.node, g.call, diagnostic.Diagnostic{
				Message: o.path + ": unexpected keyword argument " + quote(name), Hint: diagnostic.Meant(name, known),
				Note: a.origin(x.node, x.typ)})
		}
	}
	if g.others == nil {
		return
	}
	behind := behindStars(g.call)
	at, ok := g.others.only()
	if _, written := way.Unparen(behind).(*syntax.DictExpr); written || !ok || at.kind != dict || at.obj.lent || at.obj.loses {
		return
	}
	for _, name := range at.obj.order {
		if hint := diagnostic.Meant(name, known); !contains(known, name) && hint != "" && at.obj.fields[name].put {
			d := diagnostic.Diagnostic{Message: o.path + ": unexpected keyword argument " + quote(name), Hint: hint}
			if at := at.obj.fields[name].at; at != nil && !standsIn(at, g.call) {
				d.Note = quote(name) + " comes from line " + itoa(int(way.Start(at).Line))
			}
			a.warn("unknown_keyword", behind, d)
		}
	}
}

// behindStars is what a call passes with **.
func behindStars(call *syntax.CallExpr) syntax.Expr {
	for _, x := range call.Args {
		if u, ok := x.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR {
			return u.X
		}
	}
	return call
}

func (a *analysis) admit(o *object, p *effect.Param, x argument, g *arguments) {
	if p.Type == "" || g.either || x.typ.empty() || x.node == nil {
		return
	}
	if x.typ.any {
		a.perhapsNot(o, p, x)
		return
	}
	fits := false
	for _, at := range x.typ.atoms {
		fits = fits || admits(p, at.typeName(), at)
	}
	if !fits {
		a.badArgument(o, p, x, g.call)
		return
	}
	a.fraction(o, p, x)
	a.reach(o, p, x)
	a.duration(o, p, x, g.call)
	a.oneOf(o, p, x, g.call)
	a.perhapsNot(o, p, x)
}

// fraction: a number within bounds of a contract may have a fraction, which the parameter does not
// take. What is computed of one is left alone.
func (a *analysis) fraction(o *object, p *effect.Param, x argument) {
	root, _ := way.Path(x.node)
	if root == nil || len(x.typ.atoms) != 2 || !onlyNumbers(x.typ) || !x.typ.atoms[0].span.bound || x.typ.atoms[0].span != x.typ.atoms[1].span || admits(p, "float", atom{kind: float}) {
		return
	}
	a.warn("bad_type", x.node, diagnostic.Diagnostic{Message: o.path + ": for parameter " + p.Name, Got: "a number, which may have a fraction", Want: p.Wanted(),
		Note: a.origin(x.node, x.typ), Hint: "say int in the contract, or write int(" + a.file.briefly(x.node) + ")"})
}

// perhapsNot: an argument may be None, which the parameter does not take.
func (a *analysis) perhapsNot(o *object, p *effect.Param, x argument) {
	if x.typ.has(none) && (x.typ.any || len(x.typ.atoms) > 1) && p.Default == "" && !admits(p, "NoneType", atom{kind: none}) {
		a.perhaps(x.node, x.typ, o.path)
	}
}

// admits tells whether a parameter may take a value of a type by its name.
func admits(p *effect.Param, name string, at atom) bool {
	absent := at.kind == none && p.Default != "" && !p.Nullable
	if absent || at.kind == opaque || at.kind == module {
		return true
	}
	return effect.Admits(p.Type, name, func(class string) bool {
		switch class {
		case "callable":
			return callable(at)
		case "iterable":
			_, ok := at.through()
			return ok
		case "hashable":
			return hashable(of(at))
		}
		switch at.kind { // sized
		case text, octets, list, dict, set, tuple, ranging, iterable:
			return true
		}
		return false
	})
}

type special func(a *analysis, b *effect.Builtin, g *arguments, args bound, w *flow) Type

// specialOf is how a builtin is called whose result follows from more than the table can say, nil
// for any other.
func specialOf(path string) special {
	switch path {
	case "agent":
		return (*analysis).agent
	case "attempt":
		return (*analysis).attempt
	case "bool":
		return (*analysis).boolCall
	case "budget":
		return (*analysis).budget
	case "contract":
		return (*analysis).contract
	case "dict":
		return (*analysis).dictCall
	case "gate":
		return (*analysis).gate
	case "getattr":
		return (*analysis).getattr
	case "handoff":
		return (*analysis).handoff
	case "len":
		return (*analysis).length
	case "min", "max":
		return (*analysis).extremum
	case "parallel":
		return (*analysis).parallel
	case "queue.push":
		return (*analysis).push
	case "queue.take":
		return (*analysis).take
	case "re.findall":
		return (*analysis).findall
	case "role":
		return (*analysis).role
	case "run":
		return (*analysis).runChild
	case "sorted":
		return (*analysis).sortedCall
	case "zip":
		return (*analysis).zip
	}
	return nil
}

func (a *analysis) boolCall(_ *effect.Builtin, g *arguments, _ bound, _ *flow) Type {
	if len(g.list) == 1 && g.list[0].node != nil {
		a.truth(g.list[0].node, g.list[0].typ)
	}
	return anyBool
}

func (a *analysis) sortedCall(_ *effect.Builtin, g *arguments, args bound, w *flow) Type {
	elem := elementsOf(args["iterable"].typ)
	if g.loose() {
		elem = join(elem, unknown)
	} else if _, by := args["key"]; !by && !g.either {
		a.ordered(args["iterable"], g)
		a.comparable("sorted", elem, args["iterable"], g)
	}
	if key, ok := args["key"]; ok {
		a.suits(key.typ, 1, nil, key.node, g.call, false)
		a.comparableKeys("sorted", a.invoke(key.typ, w, g.call, elem), key, g)
	}
	o := a.object(list, g.call, "sorted")
	a.put(o, elem)
	return made(o)
}

func (a *analysis) extremum(_ *effect.Builtin, g *arguments, _ bound, w *flow) Type {
	var t Type
	for _, x := range g.list {
		t = join(t, x.typ)
	}
	if len(g.list) == 1 && !g.loose() {
		t = elementsOf(t)
	}
	if g.loose() {
		t = join(t, unknown)
	}
	if key, ok := g.named["key"]; ok {
		a.suits(key.typ, 1, nil, key.node, g.call, false)
		a.comparable(nameOf(g.call), a.invoke(key.typ, w, g.call, t), key, g)
	} else if len(g.list) > 0 && !g.loose() {
		a.comparable(nameOf(g.call), t, g.list[0], g)
	}
	return t
}

func (a *analysis) zip(_ *effect.Builtin, g *arguments, _ bound, _ *flow) Type {
	o := a.object(list, g.call, "zip")
	if g.loose() {
		a.put(o, unknown)
		return made(o)
	}
	items := make([]Type, len(g.list))
	for i, x := range g.list {
		items[i] = elementsOf(x.typ)
		if x.typ.known() && x.node != nil {
			a.through(x.node, x.typ)
		}
	}
	if len(items) > 0 {
		a.put(o, a.tupleOf(g.call, "zip", items))
	}
	return made(o)
}

func (a *analysis) dictCall(_ *effect.Builtin, g *arguments, _ bound, _ *flow) Type {
	o := a.object(dict, g.call, "dict")
	for _, x := range g.list {
		a.fillFrom(o, x.typ, g.call)
	}
	for _, k := range g.order {
		a.entry(o, k, g.named[k].typ, true, g.named[k].node)
	}
	if g.star != nil {
		a.enter(o, unknown, unknown, g.call)
	}
	if g.others != nil {
		a.absorbAll(o, *g.others, g.call)
	}
	return made(o)
}

// fillFrom puts the entries of a dict, or pairs, into a dict.
func (a *analysis) fillFrom(o *object, t Type, at syntax.Node) {
	if t.any {
		a.enter(o, unknown, unknown, at)
	}
	for _, u := range t.atoms {
		if u.kind == dict {
			a.absorb(o, u.obj, at)
			continue
		}
		pairs, _ := u.through()
		var key, value Type
		for _, p := range pairs.atoms {
			if p.kind == tuple && p.obj.items != nil && len(p.obj.items) == 2 {
				key, value = join(key, p.obj.items[0]), join(value, p.obj.items[1])
				continue
			}
			elem, _ := p.through()
			key, value = join(key, elem), join(value, elem)
		}
		if pairs.any {
			key, value = unknown, join(value, unknown)
		}
		a.enter(o, key.loose(), value, at)
	}
}

// getattr is the attribute of a literal name.
func (a *analysis) getattr(_ *effect.Builtin, g *arguments, args bound, _ *flow) Type {
	for _, x := range g.all() {
		a.lend(x)
	}
	_ = args
	return unknown
}

// method calls a method of a value of the language.
func (a *analysis) method(o *object, g *arguments) Type {
	if o.path == "Handle.decision" {
		return a.decided(o, g)
	}
	b := signature(o)
	if b == nil {
		for _, t := range g.all() {
			a.lend(t)
		}
		a.lend(o.recv)
		return unknown
	}
	args := bind(b, g)
	a.admitted(o, b, g, args)
	for _, t := range g.all() {
		if !fills[o.path] {
			for _, at := range t.atoms {
				if callable(at) {
					a.lend(of(at))
				}
			}
		}
	}
	a.fills(o, g, args)
	switch o.path {
	case "string.format":
		a.filled(o, g)
	case "string.join":
		a.joined(args["iterable"], g)
	case "contract.parse":
		return a.parse(o, g)
	case "dict.get":
		return a.get(o, g, args)
	case "dict.pop", "dict.setdefault":
		l := lettersOf(b, g, args, o.recv)
		return join(a.keyed(o, g, valuesOf(o.recv)), l.orAnything(l.alternative, g.loose()))
	}
	if b.Result == "None" {
		return noneOf(a.optionalNone(g.call, nil, "."+o.name+" changes what it is called on, and gives None"))
	}
	return a.readCall(b, o.path, g, args, o.recv)
}

// keyed is what is under the key that a method names first.
func (a *analysis) keyed(o *object, g *arguments, all Type) Type {
	if len(g.list) == 0 || g.loose() {
		return all
	}
	k, ok := g.list[0].typ.only()
	if !ok || !k.exact || k.kind != text {
		return all
	}
	t := Type{any: o.recv.any}
	for _, at := range o.recv.atoms {
		if at.kind == dict {
			u, _ := at.obj.under(k.lit)
			t = join(t, a.from(at.obj, u))
		}
	}
	return t
}

// get is d.get(key, default).
func (a *analysis) get(o *object, g *arguments, args bound) Type {
	t := a.keyed(o, g, valuesOf(o.recv))
	if len(g.list) > 0 && !g.either {
		a.undeclaredKey(g.list[0], o.recv, "this gives its default whatever the reply is")
	}
	if x, ok := args["default"]; ok {
		return join(t, x.typ)
	}
	if g.loose() {
		return unknown
	}
	switch {
	case a.keys(o, g):
		return t
	case a.lookedUp(g.call):
		return join(t, noneType)
	}
	none := a.optionalNone(g.call, nil, ".get gives None for a key that is not there")
	none.firm, none.fn = true, a.fn
	return join(t, noneOf(none))
}

// keys tells whether each key that a method may be called with is one that its receiver has for
// certain.
func (a *analysis) keys(o *object, g *arguments) bool {
	if len(g.list) == 0 || g.list[0].typ.any || o.recv.any || len(g.list[0].typ.atoms) == 0 {
		return false
	}
	for _, k := range g.list[0].typ.atoms {
		for _, at := range o.recv.atoms {
			if !k.exact || k.kind != text || at.kind != dict {
				return false
			}
			if f := at.obj.fields[k.lit]; f == nil || !f.must || at.obj.loses {
				return false
			}
		}
	}
	return true
}

// fills are the methods that keep what they are given in their receiver.
var fills = map[string]bool{"list.append": true, "list.insert": true, "list.extend": true, "dict.update": true, "dict.setdefault": true,
	"set.add": true, "set.update": true}

// fills does to the receiver what a method does.
func (a *analysis) fills(o *object, g *arguments, args bound) {
	changing := true
	for _, at := range o.recv.atoms {
		switch o.path {
		case "list.append", "list.insert", "set.add":
			a.put(at.obj, lastOf(g))
			a.set(&at.obj.gains)
			a.putIntoItself(g.call, args)
		case "list.extend", "set.update":
			a.set(&at.obj.gains)
			for _, x := range g.list {
				a.put(at.obj, elementsOf(x.typ))
			}
			if g.loose() {
				a.put(at.obj, unknown)
			}
		case "dict.update":
			a.update(at.obj, g)
		case "dict.setdefault":
			if len(g.list) > 0 {
				value := noneType
				if x, ok := args["default"]; ok {
					value = x.typ
				}
				a.enter(at.obj, g.list[0].typ, value, g.call)
			}
			if g.loose() {
				a.enter(at.obj, unknown, unknown, g.call)
			}
		case "dict.pop", "dict.popitem", "dict.clear", "list.clear", "list.pop", "list.remove", "set.clear", "set.remove", "set.discard", "set.pop":
			a.set(&at.obj.loses)
		default:
			changing = false
		}
	}
	if changing && len(o.recv.atoms) > 0 {
		a.changes(g.call, o.recv, o.name)
	}
	switch o.path {
	case "list.append", "list.insert", "list.remove", "list.pop", "list.clear", "dict.pop", "dict.popitem", "dict.clear":
		if dot, ok := way.Unparen(g.call.Fn).(*syntax.DotExpr); ok {
			a.disturbed(g.call, dot.X)
		}
	}
}

func lastOf(g *arguments) Type {
	if g.loose() {
		return unknown
	}
	if len(g.list) == 0 {
		return Type{}
	}
	return g.list[len(g.list)-1].typ
}

func (a *analysis) update(o *object, g *arguments) {
	for _, x := range g.list {
		a.fillFrom(o, x.typ, g.call)
	}
	for _, k := range g.order {
		a.entry(o, k, g.named[k].typ, false, g.named[k].node)
	}
	if g.star != nil {
		a.enter(o, unknown, unknown, g.call)
	}
	if g.others != nil {
		a.absorbAll(o, *g.others, g.call)
	}
}
