package mutate

import (
	"sort"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/compile"
	"starling/lang/diagnostic"
)

// parse reads a file for a lister. A carriage return alone ends a line for the parser and for
// nobody else, so places could not be told.
func parse(name string, source []byte) (*lister, *syntax.File, error) {
	text := string(source)
	if at := loneReturn(text); at >= 0 {
		problem := diagnostic.Diagnostic{Kind: "mutate", Message: "a carriage return without a line feed",
			Hint: "end lines with a line feed"}
		return nil, nil, diagnostic.List{problem.At(name, text, at, at+1)}
	}
	tree, err := lang.FileOptions().Parse(name, source, 0)
	if err != nil {
		return nil, nil, err
	}
	l := &lister{text: text, lines: []int{0}, negated: map[syntax.Node]bool{},
		functions: []map[string]bool{{}}}
	for i := range len(text) {
		if text[i] == '\n' {
			l.lines = append(l.lines, i+1)
		}
	}
	return l, tree, nil
}

// loneReturn finds a carriage return without a line feed, -1 if there is none.
func loneReturn(text string) int {
	for i := range len(text) {
		if text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			return i
		}
	}
	return -1
}

// offset is the byte at which a place of the tree stands.
func (l *lister) offset(pos syntax.Position) int {
	at := l.lines[pos.Line-1]
	for n := pos.Col; n > 1; n-- {
		_, size := utf8.DecodeRuneInString(l.text[at:])
		at += size
	}
	return at
}

// place is the inverse of offset.
func (l *lister) place(at int) (line, column int) {
	line = sort.SearchInts(l.lines, at+1)
	return line, 1 + utf8.RuneCountInString(l.text[l.lines[line-1]:at])
}

// start is where a node begins.
func (l *lister) start(n syntax.Node) int { return l.offset(syntax.Start(n)) }

// end is behind the last byte of a node.
func (l *lister) end(n syntax.Node) int { return l.offset(compile.End(n)) }

// of is the text of a node.
func (l *lister) of(n syntax.Node) string { return l.text[l.start(n):l.end(n)] }
