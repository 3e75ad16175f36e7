package infer

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/way"
)

// File is one module of a program.
type File struct {
	Name   string                    // as positions show it
	Source string                    // its text
	Tree   *syntax.File              // parsed from Source and resolved without error
	Pure   bool                      // its top level must be pure: it is loaded, or has a main
	Loads  map[string]*File          // what its load statements load, by the name that they write
	Child  func(script string) Child // what is known of a child script; may be nil
	Agent  func(name string) Agent   // what the project says of an agent; may be nil
	Broken bool                      // it does not compile, so that nothing is inferred of the program
}

// Agent is what a project says of an agent: what a handoff to it must carry, and what it must
// reply; nil where it says nothing. A role that has contracts of its own has these.
type Agent struct{ Input, Output *contract.Contract }

// Child is what is known of a script that another runs. The zero Child is nothing.
type Child struct {
	Inputs *contract.Contract // what they must be
	Types  *Result            // of its program
}

// Finding is something that is wrong, at a node of a file.
type Finding struct {
	File       *File
	Start, End syntax.Position
	Diagnostic diagnostic.Diagnostic
	Node       syntax.Node // what cannot be evaluated, of an error
	Looped     bool        // what cannot be done with the node is to go through it
	within     *fn         // where it was found; nil at the top level
	about      syntax.Node // what it is said of
	apart      bool        // it is said where the value is made that is wrong, and found at about
	fails      *Finding    // what it is said for, where that is elsewhere
	missing    *object     // the None that it warns of
}

// Result is what was inferred of a program.
type Result struct {
	Findings []Finding
	a        *analysis
	settled  bool // no type grows any more
}

// analysis infers the types of a program. It goes over all files and all functions that are called
// again and again, until no type grows any more; then once more, to say what is wrong.
type analysis struct {
	world    *effect.Environment
	units    []*unit
	byFile   map[*File]*unit
	objects  map[place]*object
	cells    map[*syntax.Ident]*Type // what a variable is given anywhere, for the functions that capture it
	heads    map[syntax.Node]*flow   // what is known where a loop begins a round
	fns      map[syntax.Node]*fn
	calls    []*fn // those that are called, in the order in which that was found
	sources  map[syntax.Expr]*contract.Contract
	shapes   map[*contract.Contract]*contract.Shape
	notes    map[string]*doc.Notation
	verdicts map[pairing]verdict
	writes   map[*syntax.Ident][]syntax.Node // where a variable is given a value
	given    map[*syntax.Ident]Type          // what a name is given at one place
	inFile   map[*syntax.Ident]*unit
	arms     map[syntax.Expr]Type          // what the sides of a conditional expression give
	values   map[*syntax.Ident]syntax.Expr // by which expression
	asKeys   map[keysOf]*syntax.IndexExpr  // where the keys of a dict are first taken for its values
	seen     map[syntax.Expr]Type          // what expressions give, nil where nobody asks
	tested   map[string][]looked           // what conditions look at, and where
	chosenBy map[string]bool               // the keys by which conditions look, such as ["kind"]
	sought   map[string]bool               // and those that they look for, with "in"
	chosen   map[*object][]looked          // the None of which they look whether it is there, and where
	aliased  map[*syntax.Ident]bool        // variables that are a name for a part of something
	parts    map[partOf]*contract.Contract // of declared inputs
	pending  []optional                    // warnings that hold unless it was looked at

	clock   int // counts what grows
	changed bool
	saying  bool // this pass says what is wrong
	closed  bool // nobody calls the functions of loaded files but the program
	found   []Finding
	reaches []Reached

	asks     map[string]bool         // names that the program asks about; nil until somebody wants to know
	settings map[*unit][]way.Setting // where memory is set; nil until somebody asks
	rests    map[*syntax.IfStmt]Rest // what the ifs without an else leave over
	pushed   map[string]*object      // what the program puts into queues, "" those that are not known
	passings []passing               // what functions are given, call by call
	probes   int                     // how many calls were gone over for themselves
	depth    int                     // how many of them are within each other

	// What is being gone over.
	file    *unit
	fn      *fn         // nil for the top level
	loops   []*loop     // around the statement, the innermost last
	reads   bool        // what is stored was read from there
	clauses int         // how many comprehensions are around the expression
	encoded bool        // what is held against a contract gets there as JSON
	falling bool        // what is looked at has another value behind or
	inside  bool        // what is looked at is what something is looked for in
	alone   syntax.Node // within which alone what is looked at is, nil for everywhere
	holding syntax.Expr // what is held against a contract
	caught  int         // how many calls of attempt are around the lambda
	visits  int         // how many more functions may be gone over from within one another
}

// unit is a file of the program.
type unit struct {
	*File
	entry    bool
	region   *region
	globals  map[string]*resolve.Binding
	inputs   *contract.Contract
	children map[string]Child // what is known of child scripts
}

// fn is a def or a lambda, for all the closures that it makes.
type fn struct {
	file     *unit
	node     syntax.Node
	decl     *resolve.Function
	outer    *fn
	params   []Type // by slot: parameters come first among the locals
	defaults []Type
	result   Type
	object   *object
	region   *region
	touched  []*region // what its types depend on
	ran      int       // when it was last gone over to its end
	called   bool
	entered  bool     // it was gone over, or is
	outside  bool     // it may be called by who knows whom
	atLoad   bool     // it may be called while its file is loaded
	returns  bool     // its end may be reached
	falls    bool     // it may end without a return
	answers  bool     // some return has a value
	caught   bool     // it is only given to attempt
	sites    []site   // where other files call it
	callers  []looked // where it is called by its name
}

// maxPasses bounds the work; an analysis that has not come to rest says nothing.
const maxPasses = 100

// Files infers the types of the modules of a program, of which each comes behind all that it loads:
// the last one is the entry.
func Files(files []*File, env *effect.Environment) *Result { return whole(files, env, nil) }

// Inspect is [Files] that remembers the type of each expression, for [Result.TypeOf].
func Inspect(files []*File, env *effect.Environment) *Result {
	return whole(files, env, map[syntax.Expr]Type{})
}

func inferred(files []*File, env *effect.Environment, seen map[syntax.Expr]Type, closed bool) *Result {
	a := &analysis{closed: closed, visits: maxVisits, seen: seen, world: env, byFile: map[*File]*unit{}, objects: map[place]*object{}, cells: map[*syntax.Ident]*Type{},
		heads: map[syntax.Node]*flow{}, fns: map[syntax.Node]*fn{}, sources: map[syntax.Expr]*contract.Contract{},
		shapes: map[*contract.Contract]*contract.Shape{}, notes: map[string]*doc.Notation{}, verdicts: map[pairing]verdict{},
		writes: map[*syntax.Ident][]syntax.Node{}, tested: map[string][]looked{}, chosenBy: map[string]bool{}, sought: map[string]bool{}, chosen: map[*object][]looked{}, aliased: map[*syntax.Ident]bool{},
		given: map[*syntax.Ident]Type{}, inFile: map[*syntax.Ident]*unit{}}
	for i, f := range files {
		u := &unit{File: f, entry: i == len(files)-1, globals: map[string]*resolve.Binding{}}
		for _, g := range f.Tree.Module.(*resolve.Module).Globals {
			u.globals[g.First.Name] = g
		}
		a.units = append(a.units, u)
		a.byFile[f] = u
	}
	for _, u := range a.units {
		u.region = &region{}
	}
	r := &Result{a: a}
	if slices.ContainsFunc(files, func(f *File) bool { return f.Broken }) {
		return r
	}
	if a.settle() && a.seed(false) && a.seed(true) {
		a.finish()
		r.Findings, r.settled = a.found, true
	}
	return r
}

// region is what one function, or the top level of a file, makes: its objects, and of a function
// what it is given and what it gives. It tells who must be gone over again when something grows.
type region struct{ grew int }

// grewIn notes that something of a region has grown.
func (a *analysis) grewIn(r *region) {
	a.changed = true
	a.clock++
	if r != nil {
		r.grew = a.clock
	}
}

// here is the region of what is gone over.
func (a *analysis) here() *region {
	switch {
	case a.fn != nil:
		return a.fn.region
	case a.file != nil:
		return a.file.region
	}
	return nil
}

// touch notes that what is gone over depends on a region.
func (a *analysis) touch(r *region) {
	if a.fn != nil && r != nil && !slices.Contains(a.fn.touched, r) {
		a.fn.touched = append(a.fn.touched, r)
	}
}

// stale tells whether something has grown that a function depends on, since it was gone over last.
func (f *fn) stale() bool {
	return f.region.grew > f.ran || slices.ContainsFunc(f.touched, func(r *region) bool { return r.grew > f.ran })
}

// settle goes over everything until nothing grows. In between only those functions are gone over
// again of which something has grown that they depend on; but in the end it is a pass over
// everything that finds nothing grown, and it is that one which says what is wrong.
func (a *analysis) settle() bool {
	for n := range maxPasses {
		a.start(n > 0)
		a.pass()
		if !a.changed && a.saying {
			return true
		}
		a.saying = false
		for range maxPasses {
			a.changed = false
			for i := 0; i < len(a.calls); i++ {
				if a.calls[i].stale() {
					a.body(a.calls[i])
				}
			}
			if !a.changed {
				break
			}
		}
	}
	return false
}

// start begins a pass, from nothing said.
func (a *analysis) start(saying bool) {
	a.changed, a.saying = false, saying
	if saying {
		a.found, a.pending, a.passings, a.reaches = nil, nil, nil, nil
		a.writes, a.tested, a.chosen = map[*syntax.Ident][]syntax.Node{}, map[string][]looked{}, map[*object][]looked{}
		a.chosenBy, a.sought = map[string]bool{}, map[string]bool{}
		a.given, a.inFile = map[*syntax.Ident]Type{}, map[*syntax.Ident]*unit{}
		a.arms, a.rests = map[syntax.Expr]Type{}, map[*syntax.IfStmt]Rest{}
		a.values, a.asKeys = map[*syntax.Ident]syntax.Expr{}, map[keysOf]*syntax.IndexExpr{}
		for _, f := range a.fns {
			f.sites, f.callers = nil, nil
		}
		clear(a.seen)
	}
}

// seed has the functions that nobody calls be called from outside: first those that nobody even
// names, then all others.
func (a *analysis) seed(all bool) bool {
	for range maxPasses {
		n := 0
		for _, f := range a.fns {
			if !f.called && (all || !a.named(f)) && (!a.closed || f.file.entry) {
				a.open(f)
				n++
			}
		}
		if n == 0 {
			return true
		}
		if !a.settle() {
			return false
		}
	}
	return false
}

// open has a function be called with anything.
func (a *analysis) open(f *fn) {
	a.called(f)
	a.set(&f.outside)
	for i := range f.params {
		a.grow(f.region, &f.params[i], unknown)
	}
	a.lend(f.result)
}

// called notes that a function is called.
func (a *analysis) called(f *fn) {
	if !f.called {
		f.called = true
		a.grewIn(f.region)
		a.calls = append(a.calls, f)
	}
}

// early notes that a function may be called while its file is loaded, if what is gone over may be.
func (a *analysis) early(f *fn) {
	if a.loading() {
		a.set(&f.atLoad)
	}
}

// loading tells whether what is gone over may run while a file is loaded.
func (a *analysis) loading() bool {
	if a.fn != nil {
		return a.fn.atLoad
	}
	return a.file != nil && a.file.Pure
}

// named tells whether some text names the function.
func (a *analysis) named(f *fn) bool {
	def, ok := f.node.(*syntax.DefStmt)
	if !ok {
		return true
	}
	named := false
	syntax.Walk(f.file.Tree, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && id != def.Name && way.Variable(id) == way.Variable(def.Name) {
			named = true
		}
		return !named
	})
	return named
}

// pass goes once over all files and all functions that are called. Before anything is said it
// leaves out those that others have gone over already.
func (a *analysis) pass() {
	for _, u := range a.units {
		a.file, a.fn = u, nil
		m := u.Tree.Module.(*resolve.Module)
		a.block(u.Tree.Stmts, newFlow(len(m.Locals)+len(m.Globals)))
		a.exports(u)
	}
	for i := 0; i < len(a.calls); i++ { // more are found on the way
		if f := a.calls[i]; a.saying || !f.entered || f.stale() {
			a.body(f)
		}
	}
}

// exports says who calls the functions of a file from outside: whoever loads it, and the run.
func (a *analysis) exports(u *unit) {
	for name, g := range u.globals {
		for _, at := range a.cell(g.First).atoms {
			if at.kind != function || at.obj.fn.file != u {
				continue
			}
			switch {
			case !u.entry && name[0] != '_' && !a.closed:
				a.open(at.obj.fn)
			case u.entry && name == "main" && u.Pure:
				a.begin(at.obj.fn)
			}
		}
	}
}

// body goes over a function.
func (a *analysis) body(f *fn) {
	f.entered = true
	a.file, a.fn, a.loops = f.file, f, nil
	w := newFlow(len(f.decl.Locals))
	for i := range f.params {
		w.vars[i] = f.params[i]
		if first := f.decl.Locals[i].First; f.decl.Locals[i].Scope == resolve.Cell {
			a.grow(f.region, a.cell(first), f.params[i])
		}
	}
	end := a.block(f.decl.Body, w)
	if !end.dead {
		a.set(&f.falls)
		a.returned(noneOf(a.fallen(f)))
	}
	a.fn = nil
	f.ran = a.clock // what has grown of itself on the way is seen by the next pass
}

// maxVisits bounds how deep functions are gone over from within others.
const maxVisits = 100

// visit goes over a function that is called and that nobody has gone over yet: until then it gives
// nothing and does not come back, and what stands behind the call is not reached. Without it each
// call would cost whoever makes many a further pass.
func (a *analysis) visit(f *fn) {
	if f.entered || a.visits == 0 {
		return
	}
	file, fn, loops, clauses, saying, caught := a.file, a.fn, a.loops, a.clauses, a.saying, a.caught
	a.visits--
	a.saying, a.clauses, a.caught = false, 0, 0
	a.body(f)
	a.visits++
	a.file, a.fn, a.loops, a.clauses, a.saying, a.caught = file, fn, loops, clauses, saying, caught
}

// fallen is why a function gives None.
func (a *analysis) fallen(f *fn) *object {
	o := a.object(none, f.node, "fallen")
	o.fn = f
	o.why = "falls"
	return o
}

func noneOf(o *object) Type { return of(atom{kind: none, obj: o}) }

// returned notes a value that the function gives.
func (a *analysis) returned(t Type) {
	a.set(&a.fn.returns)
	a.grow(a.fn.region, &a.fn.result, t)
	if a.fn.outside || a.fn.object.lent {
		a.lend(t)
	}
}

// cell is what a variable is given anywhere.
func (a *analysis) cell(first *syntax.Ident) *Type {
	t := a.cells[first]
	if t == nil {
		t = new(Type)
		a.cells[first] = t
	}
	return t
}

// flow is what is known at one point of the text: the types of the variables there, and what
// conditions have said of what can be read from them.
type flow struct {
	vars  []Type
	facts []fact
	dead  bool // the point is not reached
}

// fact is what a condition has said of a path, such as r.output["x"].
type fact struct {
	root *syntax.Ident
	path string
	typ  Type
}

func newFlow(n int) *flow { return &flow{vars: make([]Type, n)} }

func (w *flow) clone() *flow {
	return &flow{vars: slices.Clone(w.vars), facts: slices.Clone(w.facts), dead: w.dead}
}

// merge is what is known where two ways meet.
func merge(v, w *flow) *flow {
	switch {
	case v == nil || v.dead:
		return w
	case w == nil || w.dead:
		return v
	}
	m := &flow{vars: make([]Type, len(v.vars))}
	for i := range v.vars {
		m.vars[i] = join(v.vars[i], w.vars[i])
	}
	for _, f := range v.facts {
		if i := slices.IndexFunc(w.facts, func(g fact) bool { return g.root == f.root && g.path == f.path }); i >= 0 {
			f.typ = join(f.typ, w.facts[i].typ)
			m.facts = append(m.facts, f)
		}
	}
	return m
}

func deadFlow(like *flow) *flow { return &flow{vars: make([]Type, len(like.vars)), dead: true} }

// slot is where a flow keeps a variable, false for those of other functions and of other files.
func (a *analysis) slot(b *resolve.Binding) (int, bool) {
	switch b.Scope {
	case resolve.Local, resolve.Cell:
		return b.Index, true
	case resolve.Global:
		if a.fn == nil {
			return len(a.file.Tree.Module.(*resolve.Module).Locals) + b.Index, true
		}
	}
	return 0, false
}

// bind gives a variable a value.
func (a *analysis) bind(id *syntax.Ident, t Type, w *flow) {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok {
		return
	}
	if i, ok := a.slot(b); ok {
		w.vars[i] = t
	}
	w.forget(func(f fact) bool { return f.root == b.First })
	if b.Scope == resolve.Cell || b.Scope == resolve.Global {
		a.grow(a.here(), a.cell(b.First), t)
	}
}

// forget drops facts.
func (w *flow) forget(which func(fact) bool) { w.facts = slices.DeleteFunc(w.facts, which) }
