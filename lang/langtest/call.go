package langtest

import (
	"fmt"
	"strings"
)

// signature is the parameters of a def, and the type of its results.
type signature struct {
	params       []param // keyword-only ones last
	args, kwargs string  // names of *args, whose elements are ints, and of **kwargs; "" without
	star         bool    // a bare * stands before the keyword-only ones
	result       typ
}

type param struct {
	name                  string
	typ                   typ
	optional, keywordOnly bool
}

// signature makes one up.
func (g *generator) signature() *signature {
	s := &signature{result: g.someType("A", 1)}
	optional := false
	for range g.below(4) {
		optional = optional || g.once(3)
		s.params = append(s.params, param{name: g.fresh(), typ: g.someType("A", 2), optional: optional})
	}
	if g.once(4) {
		s.args = g.fresh()
	}
	if g.once(4) {
		for range g.between(1, 3) {
			s.params = append(s.params, param{name: g.fresh(), typ: g.someType("A", 1), optional: g.once(2), keywordOnly: true})
		}
		s.star = s.args == ""
	}
	if g.once(4) {
		s.kwargs = g.fresh()
	}
	return s
}

// declaration writes the parameters. Defaults see the scope around the function.
func (g *generator) declaration(s *signature) string {
	var list []string
	starred := false
	star := func() {
		if !starred && (s.star || s.args != "") {
			list = append(list, "*"+s.args)
		}
		starred = true
	}
	for _, p := range s.params {
		if p.keywordOnly {
			star()
		}
		if p.optional {
			list = append(list, p.name+" = "+g.operand(p.typ))
		} else {
			list = append(list, p.name)
		}
	}
	star()
	if s.kwargs != "" {
		list = append(list, "**"+s.kwargs)
	}
	return strings.Join(list, ", ")
}

// variables are the parameters as the body sees them.
func (s *signature) variables() []variable {
	var vars []variable
	for _, p := range s.params {
		vars = append(vars, variable{name: p.name, typ: p.typ, fixed: p.typ == "depth"})
	}
	if s.args != "" {
		vars = append(vars, variable{name: s.args, typ: "tuple int"})
	}
	if s.kwargs != "" {
		vars = append(vars, variable{name: s.kwargs, typ: "dict str int"})
	}
	return vars
}

// callResult calls a def that gives a t, "" if none is known.
func (g *generator) callResult(t typ) string {
	vars := g.visible(func(v *variable) bool { return v.signature != nil && v.signature.result == t })
	if len(vars) == 0 {
		return ""
	}
	v := *pick(g.Choices, vars)
	return v.name + "(" + g.arguments(v.signature) + ")"
}

// call is the arguments of a call, sorted as the grammar wants them.
type call struct {
	positional, named, star, starStar []string
}

// arguments writes the arguments for a signature: by position as far as some parameter, by name
// from there, with *args and **kwargs now and then. A mistake leaves one out, or adds one.
func (g *generator) arguments(s *signature) string {
	var c call
	named := false
	for _, p := range s.params {
		if p.optional && g.once(2) {
			named = true
			continue
		}
		named = named || p.keywordOnly || g.once(4)
		x := g.argument(p)
		switch {
		case named && g.once(6):
			c.starStar = append(c.starStar, fmt.Sprintf("%q: %s", p.name, x))
		case named:
			c.named = append(c.named, p.name+" = "+x)
		case len(c.star) > 0 || g.once(8):
			c.star = append(c.star, x)
		default:
			c.positional = append(c.positional, x)
		}
	}
	if s.args != "" && !named {
		for range g.below(3) {
			c.star = append(c.star, g.operand("int"))
		}
	}
	if s.kwargs != "" {
		for range g.below(3) {
			c.named = append(c.named, g.fresh()+" = "+g.operand("int"))
		}
	}
	if g.mistaken() || g.mistakes > 0 && g.once(12*g.mistakes) {
		g.confuse(&c, s)
	}
	return c.String()
}

// argument writes what a parameter gets. A depth inside the function that counts it down gets less.
func (g *generator) argument(p param) string {
	if p.typ != "depth" {
		return g.operand(p.typ)
	}
	for _, v := range g.visible(func(v *variable) bool { return v.typ == "depth" }) {
		return v.name + " - 1"
	}
	return g.expr("depth")
}

// confuse makes a call wrong.
func (g *generator) confuse(c *call, s *signature) {
	extra := g.operand(g.someType("A", 1))
	switch g.below(9) {
	case 0:
		c.positional = append(c.positional, extra)
	case 1:
		c.named = append(c.named, g.fresh()+" = "+extra)
	case 2:
		if len(c.positional) > 0 {
			c.positional = c.positional[1:]
		}
	case 3:
		c.named = nil
	case 4:
		c.star, c.starStar = nil, nil
	case 5:
		for _, p := range s.params {
			c.starStar = append(c.starStar, fmt.Sprintf("%q: %s", p.name, extra))
		}
	case 6:
		c.starStar = append(c.starStar, extra+": 1")
	case 7:
		c.star = append(c.star, extra, extra, extra)
	case 8:
		c.positional, c.named = nil, nil
	}
}

func (c *call) String() string {
	list := append(append([]string(nil), c.positional...), c.named...)
	if len(c.star) > 0 {
		list = append(list, "*("+strings.Join(c.star, ", ")+",)")
	}
	if len(c.starStar) > 0 {
		list = append(list, "**{"+strings.Join(c.starStar, ", ")+"}")
	}
	return strings.Join(list, ", ")
}
