package repl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
)

// A session is written down as a script whose main does what its statements did, in their order.
// What they load stands in front, then the constants and the functions that need nothing but these;
// a function that uses a variable of the session stands within main, where it sees it. Expressions
// that only look are left out. A value that a later statement takes as _ or _3 has that name.

// A part is one statement of the script, or several that share a line.
type part struct {
	before string // a line in front of it
	text   string
	stmts  []syntax.Stmt
	sets   []string
	uses   []string
	number int  // of the statement of the session, which has a value if it is the last part of that
	last   bool // part of the statement
	value  bool // the statement had a value
	top    bool // it stands in front of main
}

// scribe writes a session.
type scribe struct {
	env    *effect.Environment
	parts  []*part
	values map[int]string // what statements came to, those that had a value
}

// script writes statements, which have these numbers, as a script.
func (w *scribe) script(statements []string, numbers []int) (string, error) {
	for i, text := range statements {
		if err := w.read(text, numbers[i]); err != nil {
			return "", err
		}
	}
	for _, p := range w.parts {
		if slices.Contains(p.sets, "main") {
			return "", runtime.Refusef(runtime.ErrUsage, "statement %d defines main, which is what the script is to have", p.number).WithHelp("give that function another name")
		}
	}
	w.nameValues()
	w.hoist()
	return w.write(), nil
}

// read takes a statement apart.
func (w *scribe) read(text string, number int) error {
	f, err := lang.FileOptions().Parse("", text, 0)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(text, "\n")
	next := 0 // the first line that no part has
	for i, s := range f.Stmts {
		start, end := s.Span()
		var p *part
		if int(start.Line)-1 < next {
			p = w.parts[len(w.parts)-1]
		} else {
			p = &part{number: number}
			w.parts = append(w.parts, p)
		}
		to := max(next, int(end.Line))
		p.text += strings.Join(lines[next:to], "")
		p.stmts = append(p.stmts, s)
		next = to
		if i == len(f.Stmts)-1 {
			p.last = true
			_, p.value = w.values[number]
		}
	}
	for _, p := range w.parts {
		if p.number == number {
			p.text = strings.Trim(p.text, "\n")
			p.sets, p.uses = namesOf(p.text)
			p.sets = append(p.sets, assigned(p.stmts)...) // also those that it uses
			slices.Sort(p.sets)
			p.sets = slices.Compact(p.sets)
		}
	}
	return nil
}

// nameValues gives the values names that later statements use.
func (w *scribe) nameValues() {
	named := map[int]bool{}
	for _, p := range w.parts {
		for _, name := range p.uses {
			switch n, err := strconv.Atoi(strings.TrimPrefix(name, "_")); {
			case name == "_":
				n := w.before(p.number)
				if w.setsAfter(name, n, p.number) {
					continue // it is a variable there
				}
				p.replace("_", fmt.Sprintf("_%d", n))
				named[n] = true
			case name == "Out":
				for n := range w.values {
					named[n] = named[n] || n < p.number
				}
				p.before = w.out(p.number)
			case err == nil && strings.HasPrefix(name, "_"):
				named[n] = true
			}
		}
	}
	for _, p := range w.parts {
		if p.last && p.value && named[p.number] && p.expression() != nil {
			p.text = fmt.Sprintf("_%d = %s", p.number, p.text)
			p.sets, p.value = []string{fmt.Sprintf("_%d", p.number)}, false
		}
	}
}

// before is the newest statement before another that had a value.
func (w *scribe) before(number int) (n int) {
	for m := range w.values {
		if m < number {
			n = max(n, m)
		}
	}
	return n
}

// setsAfter tells whether a statement behind one and before another gives a name a value.
func (w *scribe) setsAfter(name string, after, before int) bool {
	return slices.ContainsFunc(w.parts, func(p *part) bool {
		return after < p.number && p.number < before && slices.Contains(p.sets, name)
	})
}

// out is the assignment of all values before a statement.
func (w *scribe) out(number int) string {
	var list []string
	for n := range number {
		if _, ok := w.values[n]; ok {
			list = append(list, fmt.Sprintf("%d: _%d", n, n))
		}
	}
	return "Out = {" + strings.Join(list, ", ") + "}"
}

// replace gives a global that the part uses another name.
func (p *part) replace(name, other string) {
	f, err := lang.FileOptions().Parse("", p.text, 0)
	if err != nil {
		return
	}
	var at []int
	syntax.Walk(f, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && id.Name == name {
			at = append(at, offset(p.text, id.NamePos))
		}
		return true
	})
	slices.Sort(at)
	for _, i := range slices.Backward(slices.Compact(at)) {
		p.text = p.text[:i] + other + p.text[i+len(name):]
	}
}

// expression is the expression that the part is, nil if it is something else.
func (p *part) expression() syntax.Expr {
	if len(p.stmts) != 1 {
		return nil
	}
	s, ok := p.stmts[0].(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	return s.X
}

// hoist puts in front of main what needs nothing of it.
func (w *scribe) hoist() {
	times := map[string]int{}
	for _, p := range w.parts {
		for _, name := range p.sets {
			times[name]++
		}
	}
	for _, p := range w.parts {
		p.top = p.constant() || isDef(p)
		for _, name := range p.sets {
			p.top = p.top && times[name] == 1 && !isKept(name)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, p := range w.parts {
			if p.top && slices.ContainsFunc(p.uses, w.within) {
				p.top, changed = false, true
			}
		}
	}
}

// within tells whether a name is a variable of main.
func (w *scribe) within(name string) bool {
	return isKept(name) || slices.ContainsFunc(w.parts, func(p *part) bool {
		return slices.Contains(p.sets, name) && !p.top && !isLoad(p)
	})
}

func isDef(p *part) bool {
	_, ok := p.stmts[0].(*syntax.DefStmt)
	return ok && len(p.stmts) == 1
}

func isLoad(p *part) bool {
	_, ok := p.stmts[0].(*syntax.LoadStmt)
	return ok && len(p.stmts) == 1
}

// constant tells whether the part gives names values that never change: numbers, texts, tuples of
// them, contracts.
func (p *part) constant() bool {
	for _, s := range p.stmts {
		a, ok := s.(*syntax.AssignStmt)
		if !ok || a.Op != syntax.EQ || !isConstant(a.RHS) {
			return false
		}
		if _, ok := a.LHS.(*syntax.Ident); !ok {
			return false
		}
	}
	return true
}

func isConstant(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Literal, *syntax.Ident:
		return true
	case *syntax.ParenExpr:
		return isConstant(e.X)
	case *syntax.UnaryExpr:
		return isConstant(e.X)
	case *syntax.BinaryExpr:
		return isConstant(e.X) && isConstant(e.Y)
	case *syntax.TupleExpr:
		return !slices.ContainsFunc(e.List, func(e syntax.Expr) bool { return !isConstant(e) })
	case *syntax.CallExpr:
		id, ok := e.Fn.(*syntax.Ident)
		return ok && id.Name == "contract" && !slices.ContainsFunc(e.Args, func(e syntax.Expr) bool { return !isConstant(e) })
	}
	return false
}

// write writes the script.
func (w *scribe) write() string {
	var loads, top, body []string
	for i, p := range w.parts {
		if p.before != "" {
			body = append(body, indented(p.before))
		}
		switch {
		case isLoad(p):
			loads = append(slices.DeleteFunc(loads, func(s string) bool { return s == p.text }), p.text)
		case p.top:
			top = append(top, p.text)
		case p.expression() != nil && p.value && i == len(w.parts)-1 && !strings.HasPrefix(w.values[p.number], "<"):
			body = append(body, indented("return "+p.text))
		case p.expression() != nil && len(p.sets) == 0 && w.looks(p.expression()):
		default:
			body = append(body, indented(p.text))
		}
	}
	var b strings.Builder
	if len(loads) > 0 {
		b.WriteString(strings.Join(loads, "\n") + "\n\n")
	}
	for _, text := range top {
		b.WriteString(text + "\n")
		if strings.Contains(text, "\n") {
			b.WriteString("\n")
		}
	}
	if len(top) > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	b.WriteString("def main():\n")
	if len(body) == 0 {
		body = []string{"    pass"}
	}
	b.WriteString(strings.Join(body, "\n") + "\n")
	return b.String()
}

// looks tells whether an expression does nothing but look.
func (w *scribe) looks(e syntax.Expr) bool {
	pure := true
	syntax.Walk(e, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && !w.pure(call.Fn) {
			pure = false
		}
		return true
	})
	return pure
}

// pure tells whether a call of a function does nothing but give a value.
func (w *scribe) pure(fn syntax.Expr) bool {
	id, ok := fn.(*syntax.Ident)
	if !ok || slices.ContainsFunc(w.parts, func(p *part) bool { return slices.Contains(p.sets, id.Name) }) {
		return false
	}
	if w.env != nil {
		if b, ok := w.env.Names[id.Name]; ok {
			b, declared := b.(*effect.Builtin)
			return declared && b.Class == effect.Pure && id.Name != "parallel"
		}
	}
	return starlark.Universe.Has(id.Name) && id.Name != "print" && id.Name != "fail"
}

// indented puts a text into main. What stands within a text of several lines stays as it is.
func indented(text string) string {
	inside := map[int]bool{}
	if f, err := lang.FileOptions().Parse("", strings.TrimPrefix(text, "return "), 0); err == nil {
		syntax.Walk(f, func(n syntax.Node) bool {
			if l, ok := n.(*syntax.Literal); ok {
				for i := range strings.Count(l.Raw, "\n") {
					inside[int(l.TokenPos.Line)+i] = true
				}
			}
			return true
		})
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" && !inside[i] {
			lines[i] = "    " + line
		}
	}
	return strings.Join(lines, "\n")
}
