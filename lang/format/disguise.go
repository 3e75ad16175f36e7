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
//
// And a comment in front of else or elif, which the printer would move into the block above, is
// marked, so that it can be moved back.

// hidden is what stands behind the names that were put in its place.
type hidden struct {
	names map[string]string
	mark  string // behind the # of a comment in front of else or elif
}

// edit puts a text in the place of another.
type edit struct {
	from, to int
	text     string
}

// disguise writes a text so that the printer's parser can read it.
func disguise(source []byte, tree *syntax.File) ([]byte, hidden) {
	l, taken := newLines(source), 0
	secrets := hidden{names: map[string]string{}, mark: stranger(string(source), 0, &taken)}
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
				secrets.names[name] = n.Raw
				edits = append(edits, edit{at, at + len(n.Raw), name})
			}
		case *syntax.IfStmt:
			for _, at := range l.commentsAbove(n.ElsePos) {
				edits = append(edits, edit{at + 1, at + 1, secrets.mark})
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

// commentsAbove are where the comments begin that stand right above else or elif, as deep as it.
func (l lines) commentsAbove(at syntax.Position) []int {
	var list []int
	for n := int(at.Line) - 2; at.IsValid() && n >= 0; n-- {
		line := l.text[l.starts[n]:l.starts[n+1]]
		comment := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(comment, "#") || len(line)-len(comment) != int(at.Col)-1 {
			break
		}
		list = append(list, l.starts[n]+len(line)-len(comment))
	}
	return list
}

// restore puts back what stands behind names, and comments in front of else and elif.
func (h hidden) restore(text []byte) []byte {
	if len(h.names) > 0 {
		text = regexp.MustCompile(`\b_\d+_*\b`).ReplaceAllFunc(text, func(name []byte) []byte {
			if raw, ok := h.names[string(name)]; ok {
				return []byte(raw)
			}
			return name
		})
	}
	if !strings.Contains(string(text), "#"+h.mark) {
		return text
	}
	var out strings.Builder
	var held []string
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimLeft(line, " ")
		if comment, ok := strings.CutPrefix(bare, "#"+h.mark); ok {
			held = append(held, "#"+comment)
			continue
		}
		if len(held) > 0 && bare == "\n" {
			continue
		}
		for _, comment := range held {
			out.WriteString(line[:len(line)-len(bare)] + comment)
		}
		held = nil
		out.WriteString(line)
	}
	return []byte(out.String() + strings.Join(held, ""))
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
