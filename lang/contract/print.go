package contract

import (
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// The canonical text says in one way what can be written in several: blanks, comments, the order of
// * and of default and audience, needless brackets and quotes. It is what contracts are compared by
// and stored as. That it parses, and is its own canonical text, is held by a fuzz test.

type printer struct {
	strings.Builder
	enough int // when not 0, the length after which the rest may be left out
}

func (p *printer) full() bool { return p.enough > 0 && p.Len() > p.enough }

func canonical(c *Contract) string {
	var p printer
	for _, n := range c.definitions {
		p.WriteString("type " + n.name + " = ")
		n.target.print(&p)
		p.WriteString("\n")
	}
	c.root.print(&p)
	return p.String()
}

// printed is the text of one type.
func printed(t typ) string {
	var p printer
	t.print(&p)
	return p.String()
}

// brief is the text of one type, short enough for a message. A large type that a large value misses
// everywhere is printed often, so what would be cut off is not printed.
func brief(t typ) string {
	const runes = 60
	p := printer{enough: runes * utf8.UTFMax}
	t.print(&p)
	return shorten(p.String(), runes)
}

func (anyType) print(p *printer)  { p.WriteString("any") }
func (nullType) print(p *printer) { p.WriteString("null") }
func (boolType) print(p *printer) { p.WriteString("bool") }

func (t *numberType) print(p *printer) {
	name := "number"
	if t.whole {
		name = "int"
	}
	p.WriteString(name + t.limits.String())
}

func (t *stringType) print(p *printer)  { p.WriteString("string" + t.limits.String()) }
func (t *formatType) print(p *printer)  { p.WriteString(t.name) }
func (t *patternType) print(p *printer) { p.WriteString("/" + t.source + "/") }
func (t *literalType) print(p *printer) { p.literal(t.value) }
func (t *refType) print(p *printer)     { p.WriteString(t.name) }

func (t *listType) print(p *printer) {
	p.WriteString("[")
	t.elem.print(p)
	p.WriteString("]" + t.limits.String())
}

func (t *mapType) print(p *printer) {
	p.WriteString("{string: ")
	t.elem.print(p)
	p.WriteString("}")
}

func (t *recordType) print(p *printer) {
	p.WriteString("{")
	for i, m := range t.members {
		if p.full() {
			return
		}
		if i > 0 {
			p.WriteString(", ")
		}
		m.print(p)
	}
	if t.rest != nil {
		if len(t.members) > 0 {
			p.WriteString(", ")
		}
		p.WriteString("*: ")
		t.rest.print(p)
	}
	p.WriteString("}")
}

// The default is printed as it was written, not as its type completed it: what an author sees is
// what was said.
func (m *member) print(p *printer) {
	p.key(m.name)
	if m.optional {
		p.WriteString("?")
	}
	p.WriteString(": ")
	m.typ.print(p)
	if m.written != nil {
		p.WriteString(" = ")
		p.literal(m.written)
	}
	if m.agentOnly {
		p.WriteString(" @agent")
	}
}

func (t *unionType) print(p *printer) {
	for i, b := range t.branches {
		if p.full() {
			return
		}
		if i > 0 {
			p.WriteString(" | ")
		}
		b.print(p)
	}
}

func (t *optionalType) print(p *printer) {
	if _, ok := t.inner.(*unionType); ok {
		p.WriteString("(")
		t.inner.print(p)
		p.WriteString(")?")
		return
	}
	t.inner.print(p)
	p.WriteString("?")
}

// key writes a name without quotes if it can be read without. The word string, without, would make
// a map.
func (p *printer) key(name string) {
	if isIdentifier(name) && name != "string" {
		p.WriteString(name)
	} else {
		p.WriteString(quote(name))
	}
}

// literal writes a value that stands in a contract.
func (p *printer) literal(v starlark.Value) {
	switch v := v.(type) {
	case *starlark.List:
		p.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				p.WriteString(", ")
			}
			p.literal(v.Index(i))
		}
		p.WriteString("]")
	case *starlark.Dict:
		p.WriteString("{")
		for i, item := range v.Items() {
			if i > 0 {
				p.WriteString(", ")
			}
			p.key(string(item[0].(starlark.String)))
			p.WriteString(": ")
			p.literal(item[1])
		}
		p.WriteString("}")
	case starlark.String:
		p.WriteString(quote(string(v)))
	case starlark.Int, starlark.Float:
		p.WriteString(numberText(v))
	default:
		p.WriteString(describe(v)) // null, true, false
	}
}
