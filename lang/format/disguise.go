package format

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// The printer's parser does not know all of the language. What it would refuse is written in a way
// that it knows, and taken back where that would show:
//
//	b"…"                 a name of the same length, which is put back
//	a, b if c else d     a, (b if c else d), where no bracket is around the tuple

// hidden is what stands behind the names that were put in its place.
type hidden map[string]string

// edit puts a text in the place of another.
type edit struct {
	from, to int
	text     string
}

// disguise writes a text so that the printer's parser can read it.
func disguise(source []byte, tree *syntax.File) ([]byte, hidden) {
	l, secrets, taken := newLines(source), hidden{}, 0
	var edits []edit
	around := func(n syntax.Node, open, end string) {
		from, to := n.Span()
		edits = append(edits, edit{l.offset(from), l.offset(from), open}, edit{l.offset(to), l.offset(to), end})
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Literal:
			if n.Token == syntax.BYTES {
				at := l.offset(n.TokenPos)
				name := stranger(string(source), len(n.Raw), &taken)
				secrets[name] = n.Raw
				edits = append(edits, edit{at, at + len(n.Raw), name})
			}
		case *syntax.TupleExpr:
			for _, x := range n.List {
				if c, ok := x.(*syntax.CondExpr); ok && !n.Lparen.IsValid() {
					around(c, "(", ")")
				}
			}
		}
		return true
	})
	return apply(source, edits), secrets
}

// stranger is a name of n bytes that a text does not have.
func stranger(text string, n int, taken *int) string {
	for {
		*taken++
		name := fmt.Sprintf("_%d", *taken)
		if len(name) < n {
			name += strings.Repeat("_", n-len(name))
		}
		if !strings.Contains(text, name) {
			return name
		}
	}
}

func apply(source []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, source[at:max(at, e.from)]...), e.text...)
		at = max(at, e.to)
	}
	return append(out, source[at:]...)
}

// restore puts back what stands behind names.
func (h hidden) restore(text []byte) []byte {
	if len(h) == 0 {
		return text
	}
	return regexp.MustCompile(`\b_\d+_*\b`).ReplaceAllFunc(text, func(name []byte) []byte {
		if raw, ok := h[string(name)]; ok {
			return []byte(raw)
		}
		return name
	})
}

// lines finds the bytes of a text by places.
type lines struct {
	text   string
	starts []int
}

func newLines(source []byte) lines {
	l := lines{string(source), []int{0}}
	for i, c := range source {
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

func (l lines) offset(pos syntax.Position) int {
	line := int(pos.Line) - 1
	if line >= len(l.starts) {
		return len(l.text)
	}
	return l.starts[line] + diagnostic.Offset(l.text[l.starts[line]:], 1, int(pos.Col))
}

// sorted are literals in the order of the text.
func sorted(list []*syntax.Literal) []*syntax.Literal {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *syntax.Literal) int {
		return cmp.Or(cmp.Compare(a.TokenPos.Line, b.TokenPos.Line), cmp.Compare(a.TokenPos.Col, b.TokenPos.Col))
	})
	return list
}
