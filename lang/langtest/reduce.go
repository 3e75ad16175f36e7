package langtest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// Reduce makes a program for which fails holds as small as it can, by trying one edit of its syntax
// tree after the other and keeping each after which it still fails: a statement left out, a block
// in place of its statement, a part in place of an expression, one element less. The result fails,
// too.
func Reduce(p Program, fails func(Program) bool) Program {
	for changed := true; changed; {
		changed = false
		changed = reduceText(&p.Script, func(text string) bool {
			q := p
			q.Script = text
			return fails(q)
		}, p.Options) || changed
		changed = reduceText(&p.Library, func(text string) bool {
			q := p
			q.Library = text
			return (text != "" || !strings.Contains(p.Script, "load(")) && fails(q)
		}, p.Options) || changed
	}
	return p
}

// reduceText makes one file smaller, and tells whether it could.
func reduceText(text *string, fails func(string) bool, options syntax.FileOptions) bool {
	changed := false
	list := edits(*text, options)
	for i := 0; i < len(list); {
		e := list[i]
		shorter := (*text)[:e.start] + e.text + (*text)[e.end:]
		if len(shorter) < len(*text) && fails(shorter) {
			*text, changed = shorter, true
			list = edits(shorter, options)
			continue // the edit that is now the i-th
		}
		i++
	}
	return changed
}

// edit replaces a piece of a text.
type edit struct {
	start, end int
	text       string
}

// edits lists what can be tried on a text, statements first.
func edits(text string, options syntax.FileOptions) []edit {
	file, err := options.Parse("reduce.star", text, 0)
	if err != nil {
		return nil
	}
	r := newReducer(text)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			r.statement(n)
			return false
		case syntax.Stmt:
			r.statement(n)
		case syntax.Expr:
			r.expression(n)
		}
		return true
	})
	return append(r.statements, r.expressions...)
}

// reducer collects the edits of a text.
type reducer struct {
	text                    string
	lines                   []int // offset of each line, and of the end
	statements, expressions []edit
}

func newReducer(text string) *reducer {
	r := &reducer{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	r.lines = append(r.lines, len(text))
	return r
}

// offset turns a position, whose columns are runes, into an offset.
func (r *reducer) offset(pos syntax.Position) int {
	at := r.lines[pos.Line-1]
	for range pos.Col - 1 {
		_, n := utf8.DecodeRuneInString(r.text[at:])
		at += n
	}
	return at
}

func (r *reducer) source(n syntax.Node) string {
	start, end := n.Span()
	return r.text[r.offset(start):r.offset(end)]
}

// whole is an edit of whole lines.
func (r *reducer) whole(first, last int32, text string) {
	r.statements = append(r.statements, edit{r.lines[first-1], r.lines[min(int(last), len(r.lines)-1)], text})
}

func (r *reducer) statement(s syntax.Stmt) {
	start, end := s.Span()
	r.whole(start.Line, end.Line, "")
	line := r.text[r.lines[start.Line-1]:]
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	r.whole(start.Line, end.Line, indent+"pass\n")
	switch s := s.(type) {
	case *syntax.IfStmt:
		r.block(start, end, s.True)
		if len(s.False) > 0 {
			r.block(start, end, s.False)
			r.whole(s.ElsePos.Line, end.Line, "")
		}
	case *syntax.ForStmt:
		r.block(start, end, s.Body)
	case *syntax.WhileStmt:
		r.block(start, end, s.Body)
	case *syntax.DefStmt:
		r.block(start, end, s.Body)
	}
}

// block puts a block in place of its statement.
func (r *reducer) block(start, end syntax.Position, body []syntax.Stmt) {
	first, _ := body[0].Span()
	_, last := body[len(body)-1].Span()
	text := r.text[r.lines[first.Line-1]:r.lines[min(int(last.Line), len(r.lines)-1)]]
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		out.WriteString(strings.TrimPrefix(line, "    "))
	}
	r.whole(start.Line, end.Line, out.String())
}

// replace tries texts in place of a node.
func (r *reducer) replace(n syntax.Node, texts ...string) {
	start, end := n.Span()
	for _, text := range texts {
		r.expressions = append(r.expressions, edit{r.offset(start), r.offset(end), text})
	}
}

func (r *reducer) expression(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Literal, *syntax.Ident:
		r.replace(e, "0", `""`)
		return
	case *syntax.ListExpr:
		r.without("[", e.List, "]", e)
	case *syntax.TupleExpr:
		r.without("(", e.List, ",)", e)
	case *syntax.DictExpr:
		r.without("{", e.List, "}", e)
	case *syntax.CallExpr:
		r.without(r.source(e.Fn)+"(", e.Args, ")", e)
	}
	r.replace(e, "0", `""`, "[]", "None")
	syntax.Walk(e, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok && x != e {
			r.replace(e, r.source(x), "("+r.source(x)+")")
			return false
		}
		return true
	})
}

// without leaves out one element after the other.
func (r *reducer) without(open string, list []syntax.Expr, end string, e syntax.Expr) {
	for i := range list {
		var texts []string
		for _, x := range slices.Delete(slices.Clone(list), i, i+1) {
			texts = append(texts, r.source(x))
		}
		if len(texts) == 0 && end == ",)" {
			end = ")"
		}
		r.replace(e, open+strings.Join(texts, ", ")+end)
	}
}
