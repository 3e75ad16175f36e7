package infer

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// Span is where a node begins and ends. The parser's own leaves out the bracket that closes x[y],
// x[a:b], (a, b) and load(…), also where they stand at the end of something larger.
func Span(n syntax.Node) (start, end syntax.Position) {
	start, end = n.Span()
	if lacksBracket(n) {
		end.Col++
	}
	return start, end
}

func lacksBracket(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.IndexExpr, *syntax.SliceExpr, *syntax.LoadStmt:
		return true
	case *syntax.TupleExpr:
		return n.Lparen.IsValid() || len(n.List) > 0 && lacksBracket(n.List[len(n.List)-1])
	case *syntax.BinaryExpr:
		return lacksBracket(n.Y)
	case *syntax.UnaryExpr:
		return n.X != nil && lacksBracket(n.X)
	case *syntax.CondExpr:
		return lacksBracket(n.False)
	case *syntax.LambdaExpr:
		return lacksBracket(n.Body)
	case *syntax.DictEntry:
		return lacksBracket(n.Value)
	case *syntax.AssignStmt:
		return lacksBracket(n.RHS)
	case *syntax.ExprStmt:
		return lacksBracket(n.X)
	case *syntax.ReturnStmt:
		return n.Result != nil && lacksBracket(n.Result)
	}
	return false
}

func start(n syntax.Node) syntax.Position {
	from, _ := n.Span()
	return from
}

func end(n syntax.Node) syntax.Position {
	_, to := Span(n)
	return to
}

// Between is the text from one position to another, "" where the second stands before the first.
func (f *File) Between(from, to syntax.Position) string {
	i := diagnostic.Offset(f.Source, int(from.Line), int(from.Col))
	j := diagnostic.Offset(f.Source, int(to.Line), int(to.Col))
	return f.Source[min(i, j):j]
}

// Text is what stands there of a node.
func (f *File) Text(n syntax.Node) string { return f.Between(Span(n)) }

// briefly is the text of a node as a message shows it.
func (f *File) briefly(n syntax.Node) string {
	const most = 60
	if s := f.Text(n); s != "" && len(s) <= most {
		return s
	}
	return "f(…)"
}
