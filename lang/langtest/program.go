package langtest

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// Program is a script, and perhaps a library that it loads.
type Program struct {
	Options syntax.FileOptions
	Library string // text of the file LibraryName, "" if nothing is loaded
	Script  string
}

// The names of a program's files.
const (
	LibraryName = "lib.star"
	ScriptName  = "test.star"
)

func (p Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# options %+v\n", p.Options)
	if p.Library != "" {
		fmt.Fprintf(&b, "# file %s\n%s", LibraryName, p.Library)
	}
	fmt.Fprintf(&b, "# file %s\n%s", ScriptName, p.Script)
	return b.String()
}

// Generate makes the program that the choices say.
func Generate(c *Choices) Program {
	p := Program{Options: syntax.FileOptions{
		Set:               true,
		While:             true,
		TopLevelControl:   !c.once(5),
		GlobalReassign:    !c.once(4),
		Recursion:         !c.once(3),
		LoadBindsGlobally: c.once(6),
	}}
	g := &generator{Choices: c, options: p.Options, forms: forms(), mistakes: 400}
	if c.once(5) {
		p.Library = g.file(nil, c.between(5, 60))
		library := g.fn
		p.Script = g.file(library, c.between(5, 120))
		return p
	}
	p.Script = g.file(nil, c.between(5, 150))
	return p
}

// generator is the state of making a program.
type generator struct {
	*Choices
	options  syntax.FileOptions
	forms    []form
	fn       *function // being written; the top level is one
	names    int       // given so far
	left     int       // statements and expressions that may still be made
	depth    int       // of the expression
	mistakes int       // one expression in so many is one

	out    strings.Builder
	indent int
	loops  int // around the statement
}

// function is what is known while a function is being written.
type function struct {
	outer  *function
	result typ
	vars   []variable
}

// variable is a name that can be read.
type variable struct {
	name      string
	typ       typ
	signature *signature // of a def
	unsure    bool       // perhaps it has no value
	fixed     bool       // may not be assigned: a loaded name, or a counter
}

// file writes a whole file of about so many statements and expressions, which loads from a library
// if there is one.
func (g *generator) file(library *function, size int) string {
	g.out.Reset()
	g.fn = &function{}
	g.left = size
	if library != nil {
		g.load(library)
	}
	for g.left > 0 {
		g.statement()
	}
	return g.out.String()
}

// load binds some of the library's globals.
func (g *generator) load(library *function) {
	var items []string
	for _, v := range library.vars {
		if v.unsure || g.below(3) == 2 {
			continue
		}
		item := fmt.Sprintf("%q", v.name)
		if g.once(80) {
			item = fmt.Sprintf("%q", v.name+"x")
		}
		if g.below(2) == 1 {
			alias := g.fresh()
			item = alias + " = " + item
			v.name = alias
		}
		items = append(items, item)
		v.fixed = true
		g.fn.vars = append(g.fn.vars, v)
	}
	if len(items) > 0 {
		g.line("load(%q, %s)", LibraryName, strings.Join(items, ", "))
	}
}

// line writes a line of the file.
func (g *generator) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("    ", g.indent))
	fmt.Fprintf(&g.out, format, args...)
	g.out.WriteByte('\n')
}

// fresh makes a new name.
func (g *generator) fresh() string {
	g.names++
	return fmt.Sprintf("%c%d", 'a'+(g.names-1)%26, (g.names-1)/26)
}

// toplevel tells whether statements go to the top level now.
func (g *generator) toplevel() bool { return g.fn.outer == nil }

// declare makes a name known.
func (g *generator) declare(v variable) { g.fn.vars = append(g.fn.vars, v) }

// visible lists the variables that want accepts, those of outer functions included. Those that
// perhaps have no value are rarely among them.
func (g *generator) visible(want func(v *variable) bool) []*variable {
	var list []*variable
	for f := g.fn; f != nil; f = f.outer {
		for i := range f.vars {
			if v := &f.vars[i]; want(v) && (!v.unsure || g.once(30)) {
				list = append(list, v)
			}
		}
	}
	return list
}

// mistaken tells whether the next piece is to be wrong.
func (g *generator) mistaken() bool { return g.mistakes > 0 && g.once(g.mistakes) }
