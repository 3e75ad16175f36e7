package langtest

import (
	"fmt"
	"strings"
)

// form is a kind of statement.
type form struct {
	weight int
	may    func(g *generator) bool // nil: always
	write  func(g *generator)
}

// forms are all kinds of statement; the first is the simplest.
func forms() []form {
	control := func(g *generator) bool { return g.indent < 4 && (g.options.TopLevelControl || !g.toplevel()) }
	rebind := func(g *generator) bool { return g.options.GlobalReassign || !g.toplevel() }
	body := func(g *generator) bool { return !g.toplevel() }
	loop := func(g *generator) bool { return g.loops > 0 }
	shallow := func(g *generator) bool { return g.indent < 3 }
	return []form{
		{20, nil, (*generator).assignNew},
		{8, rebind, (*generator).assignAgain},
		{4, nil, (*generator).assignParts},
		{2, rebind, (*generator).swap},
		{6, rebind, (*generator).augment},
		{6, nil, (*generator).augmentPart},
		{6, nil, (*generator).assignPart},
		{3, nil, (*generator).assignField},
		{10, nil, (*generator).effect},
		{8, nil, (*generator).print},
		{10, nil, (*generator).trace},
		{6, control, (*generator).branch},
		{8, control, (*generator).loop},
		{3, func(g *generator) bool { return control(g) && rebind(g) }, (*generator).while},
		{2, loop, (*generator).leave},
		{2, body, (*generator).leaveFunction},
		{10, shallow, (*generator).def},
		{3, shallow, (*generator).tracedDef},
		{8, shallow, (*generator).tracedLines},
		{2, shallow, (*generator).lateBinding},
		{2, shallow, (*generator).mutateWhileIterating},
		{2, nil, (*generator).freeze},
		{1, nil, func(g *generator) { g.line("pass") }},
	}
}

// statement writes one statement.
func (g *generator) statement() {
	g.left--
	total := 0
	for _, f := range g.forms {
		if f.may == nil || f.may(g) {
			total += f.weight
		}
	}
	at := g.below(total)
	for _, f := range g.forms {
		if f.may != nil && !f.may(g) {
			continue
		}
		if at -= f.weight; at < 0 {
			f.write(g)
			return
		}
	}
}

// block writes an indented block. What it defines is perhaps unset after it.
func (g *generator) block(first ...string) {
	mark := len(g.fn.vars)
	g.indent++
	for _, line := range first {
		g.line("%s", line)
	}
	for range g.between(1, 4) {
		g.statement()
		if g.left <= 0 {
			break
		}
	}
	g.indent--
	for i := mark; i < len(g.fn.vars); i++ {
		g.fn.vars[i].unsure = true
	}
}

func (g *generator) assignNew() {
	t := g.someType("A", 2)
	x := g.expr(t)
	g.line("%s = %s", g.newVariable(t), x)
}

// own finds a variable that may be assigned here.
func (g *generator) own(want func(v *variable) bool) *variable {
	var list []*variable
	for i := range g.fn.vars {
		if v := &g.fn.vars[i]; !v.fixed && v.signature == nil && want(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return pick(g.Choices, list)
}

func anyVariable(*variable) bool { return true }

func (g *generator) assignAgain() {
	v := g.own(anyVariable)
	if v == nil {
		g.assignNew()
		return
	}
	name := v.name
	g.line("%s = %s", name, g.expr(v.typ))
}

// assignParts unpacks.
func (g *generator) assignParts() {
	t := typ("pair " + string(g.someType("A", 1)) + " " + string(g.someType("A", 1)))
	if g.once(3) {
		t = typ("pair " + string(t) + " " + string(g.someType("A", 1)))
	}
	x := g.expr(t)
	if g.once(3) {
		g.line("[%s] = %s", g.target(t), x)
		return
	}
	g.line("%s = %s", g.target(t), x)
}

func (g *generator) swap() {
	v := g.own(anyVariable)
	if v == nil {
		g.assignNew()
		return
	}
	w := g.own(func(w *variable) bool { return w.typ == v.typ })
	g.line("%s, %s = %s, %s", v.name, w.name, w.name, g.operand(v.typ))
}

// augmented lists the operators of augmented assignment for a kind, and the type on the right.
var augmented = map[string][][2]string{
	"int":   {{"+=", "int"}, {"-=", "int"}, {"*=", "count"}, {"//=", "int"}, {"%=", "int"}, {"&=", "int"}, {"|=", "int"}, {"^=", "int"}, {"<<=", "count"}, {">>=", "count"}},
	"float": {{"+=", "float"}, {"-=", "int"}, {"*=", "float"}, {"/=", "int"}, {"//=", "count"}},
	"str":   {{"+=", "str"}, {"%=", "int"}, {"*=", "count"}},
	"bytes": {{"+=", "bytes"}},
	"list":  {{"+=", "same"}, {"+=", "iter"}, {"*=", "count"}, {"+=", "int"}},
	"tuple": {{"+=", "same"}},
	"dict":  {{"|=", "same"}, {"|=", "same"}, {"|=", "set int"}},
	"set":   {{"|=", "same"}, {"&=", "same"}, {"-=", "same"}, {"^=", "same"}},
}

// augmentation writes an operator and its right side for a type, or says that there is none.
func (g *generator) augmentation(t typ) (string, bool) {
	forms := augmented[t.kind()]
	if len(forms) == 0 {
		return "", false
	}
	form := pick(g.Choices, forms)
	if form[0] == "*=" && g.loops > 0 {
		form = forms[0] // texts and lists would outgrow any limit
	}
	right := typ(form[1])
	switch right {
	case "same":
		right = t
	case "iter":
		right = typ("iter " + string(t.part(0)))
	case "int":
		if t.kind() == "list" && !g.mistaken() {
			right = t
		}
	case "set int":
		if !g.mistaken() {
			right = t
		}
	}
	return form[0] + " " + g.expr(right), true
}

func (g *generator) augment() {
	v := g.own(func(v *variable) bool { return augmented[v.typ.kind()] != nil })
	if v == nil {
		g.assignNew()
		return
	}
	name := v.name
	rest, _ := g.augmentation(v.typ)
	g.line("%s %s", name, rest)
}

// element is one of a list or dict, and the condition under which it is there.
type element struct {
	text, exists string
	typ          typ
}

// element writes one.
func (g *generator) element() (element, bool) {
	vars := g.visible(func(v *variable) bool { return v.typ.kind() == "list" || v.typ.kind() == "dict" })
	if len(vars) == 0 {
		return element{}, false
	}
	v := *pick(g.Choices, vars)
	if v.typ.kind() == "list" {
		i := g.below(3)
		e := element{text: fmt.Sprintf("%s[%d]", v.name, i), exists: fmt.Sprintf("len(%s) > %d", v.name, i), typ: v.typ.part(0)}
		if g.once(2) {
			e.text = fmt.Sprintf("%s[-%d]", v.name, i+1)
		}
		return e, true
	}
	key := g.expr(v.typ.part(0))
	return element{text: fmt.Sprintf("%s[%s]", v.name, key), exists: fmt.Sprintf("(%s) in %s", key, v.name), typ: v.typ.part(1)}, true
}

// part writes an assignment to an element that is there, unless that is a mistake. may tells which
// elements can be assigned so.
func (g *generator) part(may func(t typ) bool, write func(e element)) {
	e, ok := g.element()
	guarded := g.options.TopLevelControl || !g.toplevel()
	if !ok || !may(e.typ) || !guarded && !g.mistaken() {
		g.assignNew()
		return
	}
	if !guarded || g.mistaken() {
		write(e)
		return
	}
	g.line("if %s:", e.exists)
	g.indent++
	write(e)
	g.indent--
}

func (g *generator) augmentPart() {
	may := func(t typ) bool { return augmented[t.kind()] != nil }
	g.part(may, func(e element) {
		rest, _ := g.augmentation(e.typ)
		g.line("%s %s", e.text, rest)
	})
}

func (g *generator) assignPart() {
	may := func(typ) bool { return true }
	g.part(may, func(e element) { g.line("%s = %s", e.text, g.expr(e.typ)) })
}

func (g *generator) assignField() {
	object := g.operand("object")
	name := pick(g.Choices, []string{"a", "b", "a", "nope"}[:g.between(3, 4)])
	g.line("%s.%s = %s", object, name, g.expr(g.someType("A", 1)))
	if vars := g.visible(func(v *variable) bool { return v.typ == "object" }); len(vars) > 0 && g.once(2) {
		v := pick(g.Choices, vars).name
		g.line("%s.a = %s", v, g.expr("int"))
		g.line("%s.a %s %s", v, pick(g.Choices, []string{"+=", "-=", "|="}), g.operand("int"))
	}
}

func (g *generator) effect() { g.line("%s", g.operand("none")) }

func (g *generator) print() {
	args := []string{g.expr(g.someType("A", 2))}
	for g.once(2) {
		args = append(args, g.expr(g.someType("A", 1)))
	}
	g.line("print(%s)", strings.Join(args, ", "))
}

// often makes mistakes frequent while write runs: where they are caught, or in the last statement.
func (g *generator) often(n int, write func()) {
	before := g.mistakes
	g.mistakes = min(n, max(before, 1))
	write()
	g.mistakes = before
}

// trace prints a result or an error.
func (g *generator) trace() {
	g.often(5, func() { g.line("print(trace(%s))", g.lambda(nil, g.someType("A", 1))) })
}

func (g *generator) branch() {
	g.line("if %s:", g.expr("bool"))
	g.block()
	for g.once(4) {
		g.line("elif %s:", g.expr("bool"))
		g.block()
	}
	if g.once(2) {
		g.line("else:")
		g.block()
	}
}

func (g *generator) loop() {
	t := g.someType("A", 1)
	x := g.expr(typ("iter " + string(t)))
	if g.once(30) {
		t, x = "int", "int"
	}
	mark := len(g.fn.vars)
	g.line("for %s in %s:", g.target(t), x)
	for i := mark; i < len(g.fn.vars); i++ {
		g.fn.vars[i].fixed = g.toplevel() && !g.options.GlobalReassign
	}
	g.loops++
	g.block()
	g.loops--
	for i := mark; i < len(g.fn.vars); i++ {
		g.fn.vars[i].unsure = true
	}
}

// while counts, so that it ends.
func (g *generator) while() {
	i := g.fresh()
	g.declare(variable{name: i, typ: "int", fixed: true})
	g.line("%s = 0", i)
	condition := fmt.Sprintf("%s < %d", i, g.between(1, 4))
	if g.once(3) {
		condition += " and " + g.operand("bool")
	}
	g.line("while %s:", condition)
	g.loops++
	g.block(i + " += 1")
	g.loops--
}

func (g *generator) leave() {
	word := pick(g.Choices, []string{"break", "continue"})
	if g.once(5) {
		g.line("%s", word)
		return
	}
	g.line("if %s:", g.expr("bool"))
	g.line("    %s", word)
}

func (g *generator) leaveFunction() {
	g.line("if %s:", g.expr("bool"))
	if g.once(6) {
		g.line("    return")
		return
	}
	g.line("    return %s", g.expr(g.fn.result))
}

// freeze freezes what a variable holds.
func (g *generator) freeze() {
	if vars := g.visible(anyVariable); len(vars) > 0 {
		g.line("freeze(%s)", pick(g.Choices, vars).name)
		return
	}
	g.line("freeze([])")
}
