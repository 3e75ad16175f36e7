package infer

import (
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/way"
)

// Between is the text from one position to another, "" where the second stands before the first.
func (f *File) Between(from, to syntax.Position) string {
	i := diagnostic.Offset(f.Source, int(from.Line), int(from.Col))
	j := diagnostic.Offset(f.Source, int(to.Line), int(to.Col))
	return f.Source[min(i, j):j]
}

// Text is what stands there of a node.
func (f *File) Text(n syntax.Node) string { return f.Between(way.Span(n)) }

// briefly is the text of a node as a message shows it.
func (f *File) briefly(n syntax.Node) string {
	const most = 60
	if s := f.Text(n); s != "" && len(s) <= most {
		return s
	}
	return "f(…)"
}
