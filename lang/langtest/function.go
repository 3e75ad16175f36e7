package langtest

// def writes a function and makes it known. One in four calls itself, counting down.
func (g *generator) def() {
	s := g.signature()
	name := g.fresh()
	v := variable{name: name, typ: "def", signature: s}
	recursive := g.once(4)
	if recursive {
		s.params = append([]param{{name: g.fresh(), typ: "depth"}}, s.params...)
	}
	g.line("def %s(%s):", name, g.declaration(s))
	g.body(&function{outer: g.fn, result: s.result, vars: s.variables()}, func() {
		if g.once(12) {
			g.line(`"The doc string of %s."`, name)
		}
		if recursive {
			g.line("if %s <= 0:", s.params[0].name)
			g.line("    return %s", g.expr(s.result))
			g.fn.outer.vars = append(g.fn.outer.vars, v)
		}
	})
	if !recursive {
		g.declare(v)
	}
}

// body writes the body of a function.
func (g *generator) body(f *function, begin func()) {
	outer, loops := g.fn, g.loops
	g.fn, g.loops = f, 0
	g.indent++
	begin()
	for range g.below(5) {
		if g.left <= 0 {
			break
		}
		g.statement()
	}
	if g.once(12) {
		g.line("pass")
	} else {
		g.line("return %s", g.expr(f.result))
	}
	g.indent--
	g.fn, g.loops = outer, loops
}

// tracedDef writes a function that perhaps fails somewhere, and prints what came of it.
func (g *generator) tracedDef() {
	name := g.fresh()
	g.line("def %s():", name)
	g.often(25, func() { g.body(&function{outer: g.fn, result: g.someType("A", 1)}, func() {}) })
	g.line("print(trace(%s))", name)
}

// tracedLines writes a function of lines that mostly fail, some of them in a loop that locks what
// they change.
func (g *generator) tracedLines() {
	name := g.fresh()
	g.line("def %s():", name)
	g.indent++
	g.fn = &function{outer: g.fn}
	switch lists := g.visible(func(v *variable) bool {
		return v.typ.kind() == "list" || v.typ.kind() == "dict" || v.typ.kind() == "set"
	}); {
	case len(lists) > 0 && g.below(3) == 0:
		v := pick(g.Choices, lists)
		g.line("u = %s", v.name)
		g.line("for x in u:")
		g.line("    u %s", pick(g.Choices, []string{"+= []", "+= [1]", "|= {}", "|= {1: 2}", "|= set()", "-= u", "*= 1"}))
	case g.below(4) == 0:
		g.line("for x in %s:", g.expr("any"))
		g.line("    %s", g.oneLine())
	}
	for range g.between(1, 3) {
		g.line("%s", g.oneLine())
	}
	g.fn = g.fn.outer
	g.indent--
	g.line("print(trace(%s))", name)
}

// oneLine writes a statement of the grammar.
func (g *generator) oneLine() string {
	if g.left <= 0 {
		return "pass"
	}
	text, _ := g.expand(pick(g.Choices, grammar.compounds["line"]), "line")
	return text
}

// lateBinding captures a variable before it has a value.
func (g *generator) lateBinding() {
	t := g.someType("A", 1)
	fn, name := g.fresh(), g.fresh()
	g.line("def %s():", fn)
	g.line("    return %s", name)
	if g.below(3) > 0 {
		g.line("print(trace(%s))", fn)
	}
	g.line("%s = %s", name, g.expr(t))
	g.declare(variable{name: name, typ: t})
	g.line("print(trace(%s))", fn)
	g.declare(variable{name: fn, typ: typ("thunk " + string(t))})
}

// mutateWhileIterating changes a list, dict or set inside a loop over it.
func (g *generator) mutateWhileIterating() {
	kind := pick(g.Choices, []typ{"list int", "dict int str", "set int"})
	change := pick(g.Choices, map[typ][]string{
		"list int":     {"append(1)", "extend([])", "pop()", "clear()", "insert(0, 1)", "remove(x)"},
		"dict int str": {"pop(x)", "clear()", "update([])", "setdefault(99, '')", "setdefault(x, '')", "popitem()"},
		"set int":      {"add(99)", "clear()", "discard(x)", "pop()", "update([1])", "remove(x)", "add(x)"},
	}[kind])
	name, fn := g.newVariable(kind), g.fresh()
	g.line("%s = %s", name, g.expr(kind))
	g.line("def %s():", fn)
	form := g.below(4)
	switch form {
	case 0:
		g.line("    for x in %s:", name)
		g.line("        print(x, %s.%s)", name, change)
	case 1:
		g.line("    return [%s.%s for x in %s]", name, change, name)
	case 2:
		g.line("    return sorted(%s, key = lambda x: %s.%s)", name, name, change)
	case 3:
		g.line("    for x in %s:", name)
		g.line("        return %s.%s", name, pick(g.Choices, []string{"clear()", "pop()"}))
	}
	g.line("print(trace(%s), %s)", fn, name)
	if kind != "set int" {
		g.line("print(trace(lambda: %s.clear()), %s)", name, name)
	}
}
