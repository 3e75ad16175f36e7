package repl

import (
	"strings"
	"unicode/utf8"
)

// A value comes as the text that Starlark writes of it. One that is wider than the terminal is
// broken up at its brackets, an element to a line, and what is very long is shortened: a text, the
// middle of a list, and all behind a screenful. One that the session has cut already ends with
// dots, and is laid out as if all brackets ended there. Any other text whose brackets do not match
// is left as it is.

// Bounds of what is shown of a value.
const (
	maxText     = 1000 // characters of a text within
	maxElements = 60   // of a list or dict that is broken up; first and last ones are kept
	maxLines    = 200
)

// node is a part of a value: a bracket with what is in it, or a piece of text.
type node struct {
	text     string // in front of the bracket, or all of it
	open     string // the bracket, "" for none
	elements [][]node
	close    string
	single   bool // a tuple of one, which has a comma behind it
	short    bool // it was shortened
}

// fold lays a value out for a terminal of a width. left tells whether something of it is left out.
func fold(value string, width int) (text string, left bool) {
	p := parser{rest: value}
	parts, ok := p.parts("")
	if start, cut := strings.CutSuffix(value, dots); !ok && cut {
		p = parser{rest: start, cut: true, left: true}
		parts, ok = p.parts("")
	}
	if !ok || width < 20 {
		return value, false
	}
	f := layout{width: width, left: p.left}
	f.write(parts, 0, 0, 0)
	lines := strings.Split(f.out.String(), "\n")
	if len(lines) > maxLines {
		lines, f.left = lines[:maxLines], true
	}
	return strings.Join(lines, "\n"), f.left
}

// dots end what a session has cut; more stands for what was left out here.
const (
	dots = "..."
	more = "…"
)

// parser reads a value.
type parser struct {
	rest string
	left bool
	cut  bool // brackets end where the text does
}

// parts reads up to the end, or to a closing bracket or a comma within one.
func (p *parser) parts(within string) (list []node, ok bool) {
	for p.rest != "" {
		switch c := p.rest[0]; {
		case strings.IndexByte(within, c) >= 0 || within != "" && c == ',':
			return list, true
		case c == '"':
			list = append(list, node{text: p.quoted()})
		case strings.IndexByte("([{", c) >= 0:
			n, whole := p.bracket()
			if !whole {
				return nil, false
			}
			list = append(list, n)
		case strings.IndexByte(")]}", c) >= 0:
			return nil, false
		default:
			end := strings.IndexAny(p.rest[1:], `"([{)]},`) + 1
			if end == 0 {
				end = len(p.rest)
			}
			list = append(list, node{text: p.rest[:end]})
			p.rest = p.rest[end:]
		}
	}
	return list, within == ""
}

// quoted reads a text in quotes, which is shortened.
func (p *parser) quoted() string {
	end := 1
	for end < len(p.rest) && p.rest[end] != '"' {
		if p.rest[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end+1, len(p.rest))
	text := p.rest[:end]
	p.rest = p.rest[end:]
	if n := utf8.RuneCountInString(text); n > maxText {
		p.left = true
		runes := []rune(text)
		text = string(runes[:maxText*3/4]) + more + string(runes[n-maxText/4:])
	}
	return text
}

// bracket reads a bracket and all that is in it.
func (p *parser) bracket() (n node, ok bool) {
	n.open = p.rest[:1]
	n.close = string(")]}"[strings.Index("([{", n.open)])
	p.rest = p.rest[1:]
	for {
		element, ok := p.parts(n.close)
		if !ok && !p.cut || p.rest == "" && !p.cut {
			return n, false
		}
		if len(element) > 0 {
			n.elements = append(n.elements, trimmed(element))
		}
		if p.rest == "" {
			n.elements = append(n.elements[:min(len(n.elements), maxElements)], []node{{text: more}})
			return n, true
		}
		c := p.rest[:1]
		p.rest = p.rest[1:]
		if c == n.close {
			n.single = len(n.elements) == 1 && len(element) == 0
			break
		}
	}
	if k := len(n.elements); k > maxElements && n.open != "(" {
		n.short, p.left = true, true
		n.elements = append(n.elements[:maxElements*3/4:maxElements*3/4], n.elements[k-maxElements/4:]...)
	}
	return n, true
}

// trimmed is an element without the space in front of it.
func trimmed(element []node) []node {
	element[0].text = strings.TrimLeft(element[0].text, " ")
	return element
}

// layout writes a value.
type layout struct {
	out   strings.Builder
	width int
	left  bool
}

// write writes parts that begin at a column of a line with an indent. behind is how much is to
// follow on their last line.
func (f *layout) write(parts []node, indent, column, behind int) {
	for i := range parts {
		n := &parts[i]
		text := n.text
		if n.open != "" {
			text = n.flat()
		}
		if width := utf8.RuneCountInString(text); n.open == "" || column+width+behind <= f.width && !n.short {
			f.out.WriteString(text)
			column += width
			continue
		}
		f.broken(n, indent)
		column = indent + 1
	}
}

// broken writes a bracket with an element to a line or, where all are short, as many as fit.
func (f *layout) broken(n *node, indent int) {
	const step = 2
	pad := strings.Repeat(" ", indent+step)
	f.out.WriteString(n.open + "\n")
	if texts, ok := n.brief(); ok {
		f.filled(texts, pad)
		f.out.WriteString(strings.Repeat(" ", indent) + n.close)
		return
	}
	for i, element := range n.elements {
		if n.short && i == maxElements*3/4 {
			f.out.WriteString(pad + more + "\n")
		}
		f.out.WriteString(pad)
		f.write(element, indent+step, indent+step, 1)
		f.out.WriteString(comma(element) + "\n")
	}
	f.out.WriteString(strings.Repeat(" ", indent) + n.close)
}

// brief are the elements where each is short and none has more within.
func (n *node) brief() (texts []string, ok bool) {
	const most = 16
	for i, element := range n.elements {
		if len(element) != 1 || element[0].open != "" || utf8.RuneCountInString(element[0].text) > most {
			return nil, false
		}
		if n.short && i == maxElements*3/4 {
			texts = append(texts, more)
		}
		texts = append(texts, element[0].text+comma(element))
	}
	return texts, true
}

// comma is what stands behind an element.
func comma(element []node) string {
	if element[0].text == more {
		return ""
	}
	return ","
}

// filled writes as many texts on a line as fit.
func (f *layout) filled(texts []string, pad string) {
	column := 0
	for _, text := range texts {
		width := 1 + utf8.RuneCountInString(text)
		switch {
		case column == 0:
			f.out.WriteString(pad + text)
			column = len(pad)
		case column+width > f.width:
			f.out.WriteString("\n" + pad + text)
			column = len(pad)
		default:
			f.out.WriteString(" " + text)
		}
		column += width
	}
	f.out.WriteString("\n")
}

// flat is a bracket in one line.
func (n *node) flat() string {
	var b strings.Builder
	b.WriteString(n.open)
	for i, element := range n.elements {
		if i > 0 {
			b.WriteString(", ")
		}
		for j := range element {
			if e := &element[j]; e.open == "" {
				b.WriteString(e.text)
			} else {
				b.WriteString(e.flat())
			}
		}
	}
	if n.single {
		b.WriteString(",")
	}
	b.WriteString(n.close)
	return b.String()
}
