package infer

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/way"
)

// What conditions look at. A warning that a value may be missing falls where one looks at it, and
// conditions do not always stand where the value is used: they choose the elements of a list, stand
// in a function that others ask, or have a name.

// conditionOf is condition of a statement or an expression. What it looks at is looked at within n
// alone where nothing behind n depends on it.
func (a *analysis) conditionOf(n syntax.Node, cond syntax.Expr, alone bool, w *flow) (yes, no *flow) {
	if alone && a.alone == nil {
		a.alone = n
		defer func() { a.alone = nil }()
	}
	return a.condition(cond, w)
}

// look notes that a condition looks at a path. What the path leads through is not looked at, nor
// what is ordered with < and its like: were it None, the condition would fail. So it would where
// something is looked for in it, which therefore says only what it has.
func (a *analysis) look(e syntax.Expr, w *flow) {
	if !a.saying {
		return
	}
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			return false
		case *syntax.BinaryExpr:
			if n.Op == syntax.IN || n.Op == syntax.NOT_IN {
				a.seek(n.X, w)
			}
			for _, operand := range []syntax.Expr{n.X, n.Y} {
				if root, _ := way.Path(operand); root == nil || !orders(n.Op) {
					a.inside = operand == n.Y && (n.Op == syntax.IN || n.Op == syntax.NOT_IN)
					a.look(operand, w)
					a.inside = false
				}
			}
			return false
		case *syntax.Ident, *syntax.DotExpr, *syntax.IndexExpr, *syntax.CallExpr:
			if root, path := way.Path(n.(syntax.Expr)); root != nil {
				a.lookAt(n.(syntax.Expr), root, path, w)
				return false
			}
		}
		return true
	})
}

// seek notes that a condition looks for a key.
func (a *analysis) seek(e syntax.Expr, w *flow) {
	if key, ok := a.quietly(e, w).only(); ok && key.exact && key.kind == text {
		a.sought["["+quote(key.lit)+"]"] = true
	}
}

func orders(op syntax.Token) bool {
	return op == syntax.LT || op == syntax.LE || op == syntax.GT || op == syntax.GE
}

// states are the fields of a Result, an Outcome or a Decision that say whether there is a value.
var states = []string{".ok", ".status", ".timed_out", ".error", ".choice"}

// answers are the fields of these of which they say so.
var answers = []string{"output", "value", "payload", "choice"}

func (a *analysis) lookAt(e syntax.Expr, root *syntax.Ident, path string, w *flow) {
	a.lookedHere(e, root, path)
	if i := strings.LastIndexByte(path, '['); i >= 0 {
		a.chosenBy[path[i:]] = true
		a.sought[path[i:]] = a.sought[path[i:]] || !reads(e)
	}
	apart := a.chooses() || a.aliased[root]
	if apart && !a.inside && !a.falling { // x or "-" gives it another value, and chooses nothing
		a.choose(a.quietly(e, w), e)
	}
	for _, state := range states {
		before, ok := strings.CutSuffix(path, state)
		if !ok {
			continue
		}
		a.lookedHere(e, root, before)
		if !apart {
			continue
		}
		for _, at := range a.quietly(way.Unparen(e).(*syntax.DotExpr).X, w).atoms {
			a.chooseAnswer(at, e)
		}
	}
}

// looked is where a condition looks at a path.
type looked struct {
	fn     *fn
	at     syntax.Position
	inside bool // it looks for something in what the path leads to
	looped bool // in a loop
	file   *File
	alone  syntax.Node // where it counts, nil for everywhere
	reads  bool        // it reads x[key], and fails where that is not there
}

func reads(e syntax.Expr) bool {
	_, ok := way.Unparen(e).(*syntax.IndexExpr)
	return ok
}

func (a *analysis) lookingAt(e syntax.Expr) looked {
	return looked{a.fn, way.Start(e), a.inside, len(a.loops) > 0, a.file.File, a.alone, reads(e)}
}

// elsewhere tells whether a use lies where a look has no consequence.
func (l looked) elsewhere(p optional) bool {
	return l.alone != nil && (l.file != p.finding.File || !way.Holds(l.alone, way.Start(p.use)))
}

// behind tells whether a look comes when a use is over: it stands in a function that calls the
// other one by its name, in front of it.
func (l looked) behind(p optional) bool {
	f := p.fn
	for f != nil && f.outer != nil {
		f = f.outer
	}
	if f == nil || l.fn == nil || l.fn == f || l.looped {
		return false
	}
	calls := 0
	for _, c := range f.callers {
		if c.fn == l.fn {
			if c.looped || !way.Before(c.at, l.at) {
				return false
			}
			calls++
		}
	}
	return calls > 0
}

func (a *analysis) lookedHere(e syntax.Expr, root *syntax.Ident, path string) {
	key, here := tag(root, path), a.lookingAt(e)
	if !slices.Contains(a.tested[key], here) {
		a.tested[key] = append(a.tested[key], here)
	}
}

// counts tells whether a look may come before a use: not where it stands behind it in the same
// function, and no loop leads back.
func (l looked) counts(p optional) bool {
	return !l.elsewhere(p) && (l.fn != p.fn || p.looped || l.at.Line <= way.Start(p.use).Line)
}

func (a *analysis) chooseAnswer(at atom, e syntax.Expr) {
	for _, name := range answers {
		if at.kind == record && at.obj.fields[name] != nil {
			a.choose(at.obj.fields[name].typ, e)
		}
	}
}

// chooses tells whether a condition may choose between values that are used elsewhere: it stands in
// a loop, a comprehension, or a function that others call.
func (a *analysis) chooses() bool {
	return len(a.loops) > 0 || a.clauses > 0 || a.fn != nil && !a.fn.isMain()
}

func (f *fn) isMain() bool {
	def, ok := f.node.(*syntax.DefStmt)
	return ok && f.outer == nil && def.Name.Name == "main"
}

// choose notes that a condition has looked whether a value is there, whatever the name of what has
// it elsewhere. It looks at an expression, nil where that is anywhere.
func (a *analysis) choose(t Type, e syntax.Expr) {
	for _, at := range t.atoms {
		if at.kind != none || at.obj == nil || at.obj.why == "falls" {
			continue
		}
		var l looked
		if e != nil {
			l = a.lookingAt(e)
		}
		if !slices.Contains(a.chosen[at.obj], l) {
			a.chosen[at.obj] = append(a.chosen[at.obj], l)
		}
	}
}

// alias notes that a variable is another name for what a path leads to.
func (a *analysis) alias(lhs, rhs syntax.Expr) {
	id, ok := way.Unparen(lhs).(*syntax.Ident)
	if root, path := way.Path(rhs); ok && root != nil && path != "" && way.Variable(id) != nil {
		a.aliased[way.Variable(id)] = true
	}
}

// lookedFor tells whether a condition looks at what a warning says may be missing.
func (a *analysis) lookedFor(p optional) bool {
	if i := strings.LastIndexByte(p.path, '['); i >= 0 && (p.absent || p.finding.Diagnostic.Kind == "missing_key") {
		if !p.absent && a.chosenBy[p.path[i:]] || p.absent && a.sought[p.path[i:]] {
			return true // elements were chosen by it, under whatever name
		}
	}
	return p.finding.missing != nil && slices.ContainsFunc(a.chosen[p.finding.missing], func(l looked) bool { return !l.behind(p) && !l.elsewhere(p) }) || p.root != nil && a.lookedAt(p)
}

// lookedAt tells whether a condition looks at a path, at what it leads through, or at what it was
// read from.
func (a *analysis) lookedAt(p optional) bool {
	for i := len(p.path); i >= 0; i-- {
		if i != len(p.path) && p.path[i] != '.' && p.path[i] != '[' {
			continue
		}
		if p.absent && i < len(p.path) && a.besides(p, p.path[:i]+"[") {
			return true // what another key says may say whether this one is there
		}
		looks := a.tested[tag(p.root, p.path[:i])]
		itself := i == len(p.path) && p.finding.missing != nil
		if slices.ContainsFunc(looks, func(l looked) bool {
			return l.counts(p) && !(itself && l.inside) && !(p.absent && i == len(p.path) && l.reads)
		}) {
			return true
		}
	}
	return false
}

// besides tells whether a condition looks at another part of what a path leads to.
func (a *analysis) besides(p optional, part string) bool {
	for key, looks := range a.tested {
		if strings.HasPrefix(key, tag(p.root, part)) && key != tag(p.root, p.path) && slices.ContainsFunc(looks, func(l looked) bool { return l.counts(p) }) {
			return true
		}
	}
	return false
}

// compared notes that a comparison looks at its operands, also one that is kept under a name or
// given back.
func (a *analysis) compared(e *syntax.BinaryExpr, w *flow) {
	if slices.Contains([]syntax.Token{syntax.EQL, syntax.NEQ, syntax.IN, syntax.NOT_IN}, e.Op) {
		a.look(e, w)
	}
}

// lookedUp tells whether the program asks somewhere what the receiver of a call has: by a
// condition, or by going through it. By name alone, for whoever looks once may know it everywhere.
func (a *analysis) lookedUp(call *syntax.CallExpr) bool {
	method, ok := call.Fn.(*syntax.DotExpr)
	if !ok {
		return true
	}
	root, _ := way.Path(method.X)
	if root == nil {
		_, written := way.Unparen(method.X).(*syntax.DictExpr)
		return !written
	}
	if a.asks == nil {
		a.asks = map[string]bool{}
		for _, u := range a.units {
			syntax.Walk(u.Tree, func(n syntax.Node) bool {
				for _, e := range way.Questions(n) {
					syntax.Walk(e, func(n syntax.Node) bool {
						if id, ok := n.(*syntax.Ident); ok {
							a.asks[id.Name] = true
						}
						return true
					})
				}
				return true
			})
		}
	}
	return a.asks[root.Name]
}
