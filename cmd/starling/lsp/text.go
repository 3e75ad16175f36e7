package lsp

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"starling/lang/way"
)

// text is what a file says, with where its lines begin. It does not change.
type text struct {
	source string
	starts []int
}

// newText finds the lines of a source. They end as the protocol has it: with \n, \r\n or \r.
func newText(source string) *text {
	t := &text{source, []int{0}}
	for i := range len(source) {
		if source[i] == '\n' || source[i] == '\r' && !strings.HasPrefix(source[i+1:], "\n") {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// line is the text of a line from 0, without what ends it.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.starts) {
		return ""
	}
	end := len(t.source)
	if n+1 < len(t.starts) {
		end = t.starts[n+1]
	}
	return strings.TrimRight(t.source[t.starts[n]:end], "\r\n")
}

// offset is the byte of a position. One outside of the text is brought to its nearest end, one
// within a pair of units before it.
func (t *text) offset(p position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.starts):
		return len(t.source)
	}
	line, units := t.line(p.Line), p.Character
	at := 0
	for at < len(line) && units > 0 {
		r, size := utf8.DecodeRuneInString(line[at:])
		if units -= width(r); units < 0 {
			break
		}
		at += size
	}
	return t.starts[p.Line] + at
}

// width is how many UTF-16 units a rune has.
func width(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// position is the inverse of offset.
func (t *text) position(offset int) position {
	offset = min(max(offset, 0), len(t.source))
	n := sort.SearchInts(t.starts, offset+1) - 1
	units := 0
	for _, r := range t.source[t.starts[n]:offset] {
		units += width(r)
	}
	return position{n, units}
}

// span is the range of bytes.
func (t *text) span(from, to int) span { return span{t.position(from), t.position(max(from, to))} }

// at is the byte of a place of the syntax tree, which counts runes.
func (t *text) at(p syntax.Position) int {
	n := int(p.Line) - 1
	if n < 0 {
		return 0
	}
	if n >= len(t.starts) {
		return len(t.source)
	}
	at := t.starts[n]
	for col := int(p.Col); col > 1 && at < len(t.source) && t.source[at] != '\n'; col-- {
		_, size := utf8.DecodeRuneInString(t.source[at:])
		at += size
	}
	return at
}

// node is the bytes of a node.
func (t *text) node(n syntax.Node) (from, to int) {
	start, end := way.Span(n)
	return t.at(start), t.at(end)
}

// follow is the place in another text that an offset of this one stands for: what is before or
// behind all that differs stays where it is. False in between.
func (t *text) follow(other *text, offset int) (int, bool) {
	a, b := t.source, other.source
	if a == b {
		return offset, true
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	switch {
	case offset <= head:
		return offset, true
	case offset >= len(a)-tail:
		return offset + len(b) - len(a), true
	}
	return 0, false
}

// change is an edit that an editor tells of, of the whole text where there is no range.
func (t *text) change(c contentChange) *text {
	if c.Range == nil {
		return newText(c.Text)
	}
	from, to := t.offset(c.Range.Start), t.offset(c.Range.End)
	if to < from {
		from, to = to, from
	}
	return newText(t.source[:from] + c.Text + t.source[to:])
}
