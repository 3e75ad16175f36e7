package langtest

import (
	"fmt"
	"strings"
)

// maxDepth is how deep expressions nest.
const maxDepth = 5

// expr writes an expression of type t that stands alone: between brackets, commas or at the end of
// a line.
func (g *generator) expr(t typ) string {
	text, _ := g.write(t)
	return text
}

// operand writes an expression that may stand beside operators.
func (g *generator) operand(t typ) string {
	text, operator := g.write(t)
	if operator {
		return "(" + text + ")"
	}
	return text
}

// write writes an expression, and tells whether an operator is outermost in it.
func (g *generator) write(t typ) (text string, operator bool) {
	g.left--
	g.depth++
	defer func() { g.depth-- }()
	if !t.plain() && g.mistaken() {
		return g.mistake(t)
	}
	if t.plain() || g.left <= 0 || g.depth > maxDepth {
		return g.leaf(t)
	}
	switch g.below(10) {
	case 0, 1, 2, 3:
		return g.leaf(t)
	case 4:
		if text := g.callResult(t); text != "" {
			return text, false
		}
	case 5:
		if text, ok := g.binder(t); ok {
			return text, strings.HasPrefix(text, "lambda")
		}
	}
	return g.compound(t, g.below(3) == 0)
}

// leaf writes a variable or a row that ends here.
func (g *generator) leaf(t typ) (string, bool) {
	if vars := g.visible(func(v *variable) bool { return v.typ == t }); len(vars) > 0 && g.below(4) > 0 {
		return pick(g.Choices, vars).name, false
	}
	rows := grammar.leaves[t.kind()]
	if len(rows) == 0 {
		panic("langtest: grammar.txt has no simplest form of " + t)
	}
	r := rows[0]
	if b := make(binding); g.left > 0 {
		if other := pick(g.Choices, rows); b.match(other.typ, t) {
			r = other
		}
	}
	return g.expand(r, t)
}

// compound writes a row with places, one that fits any type if general.
func (g *generator) compound(t typ, general bool) (string, bool) {
	for range 4 {
		rows := t.rows(grammar.compounds, general)
		if len(rows) == 0 {
			break
		}
		if r := pick(g.Choices, rows); make(binding).match(r.typ, t) {
			return g.expand(r, t)
		}
	}
	return g.leaf(t)
}

// mistake writes an expression that is wrong where one of type t is wanted.
func (g *generator) mistake(t typ) (string, bool) {
	switch g.below(4) {
	case 0:
		if g.depth <= maxDepth {
			return g.compound(g.someType("A", 1), g.below(2) == 0)
		}
		return g.leaf(g.someType("A", 1))
	case 1:
		if text := g.callResult(t); text != "" {
			return text, false
		}
	}
	for range 4 {
		if r := pick(g.Choices, grammar.mistakes[""]); make(binding).match(r.typ, t) {
			return g.expand(r, t)
		}
	}
	return g.expand(pick(g.Choices, grammar.mistakes["int"]), "int")
}

// expand fills the places of a row.
func (g *generator) expand(r row, t typ) (string, bool) {
	b := make(binding)
	b.match(r.typ, t)
	operator := r.operator()
	var text strings.Builder
	for i, p := range r.places {
		text.WriteString(r.texts[i])
		if p.breaking && g.once(40) {
			text.WriteString("\n" + strings.Repeat(" ", g.below(12)+1))
		}
		want := b.apply(p.typ, func(letter typ) typ { return g.someType(letter, 2) })
		switch {
		case r.transparent():
			return g.write(want)
		case p.closed:
			text.WriteString(g.expr(want))
		default:
			text.WriteString(g.operand(want))
		}
	}
	text.WriteString(r.texts[len(r.texts)-1])
	return text.String(), operator
}

// binder writes a form that binds names, if there is one for the type.
func (g *generator) binder(t typ) (string, bool) {
	switch t.kind() {
	case "thunk":
		return g.lambda(nil, t.part(0)), true
	case "fn":
		return g.lambda(t.parts()[:1], t.part(1)), true
	case "list":
		return g.comprehension("[", "]", func() string { return g.expr(t.part(0)) }), true
	case "dict":
		return g.comprehension("{", "}", func() string { return g.operand(t.part(0)) + ": " + g.operand(t.part(1)) }), true
	case "set":
		return "set(" + g.comprehension("[", "]", func() string { return g.expr(t.part(0)) }) + ")", true
	}
	return "", false
}

// lambda writes a function of one expression, sometimes with parameters that nobody gives.
func (g *generator) lambda(params []typ, result typ) string {
	f := &function{outer: g.fn, result: result}
	var list []string
	for _, p := range params {
		name := g.fresh()
		list = append(list, name)
		f.vars = append(f.vars, variable{name: name, typ: p})
	}
	if g.once(5) {
		name, t := g.fresh(), g.someType("A", 1)
		list = append(list, name+" = "+g.operand(t))
		f.vars = append(f.vars, variable{name: name, typ: t})
	}
	g.fn = f
	body := g.operand(result)
	g.fn = f.outer
	return strings.TrimSuffix("lambda "+strings.Join(list, ", "), " ") + ": " + body
}

// comprehension writes a comprehension whose body, which sees the variables of all clauses, stands
// first.
func (g *generator) comprehension(open, end string, body func() string) string {
	mark := len(g.fn.vars)
	var clauses strings.Builder
	for n := 0; ; n++ {
		t := g.someType("A", 1)
		x := g.operand(typ("iter " + string(t)))
		clauses.WriteString(" for " + g.target(t) + " in " + x)
		for g.once(3) {
			clauses.WriteString(" if " + g.operand("bool"))
		}
		if n == 2 || !g.once(4) {
			break
		}
	}
	text := open + body() + clauses.String() + end
	g.fn.vars = g.fn.vars[:mark]
	return text
}

// target writes the variables that an element of type t is assigned to, and declares them.
func (g *generator) target(t typ) string {
	if t.kind() == "pair" && g.below(4) > 0 {
		left := g.nested(t.part(0))
		right := g.nested(t.part(1))
		return left + ", " + right
	}
	if g.once(100) {
		return fmt.Sprintf("%s, %s", g.newVariable("int"), g.newVariable("int"))
	}
	return g.newVariable(t)
}

// nested is target inside another.
func (g *generator) nested(t typ) string {
	if t.kind() != "pair" {
		return g.newVariable(t)
	}
	form := pick(g.Choices, []string{"(%s)", "[%s]"})
	return fmt.Sprintf(form, g.target(t))
}

// newVariable declares a variable of the function that is being written.
func (g *generator) newVariable(t typ) string {
	name := g.fresh()
	g.declare(variable{name: name, typ: t})
	return name
}
