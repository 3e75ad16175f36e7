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

// line is where something stands that a message about the file which is gone over speaks of.
func (a *analysis) line(at syntax.Position) string { return lineIn(a.file.File, at) }

// lineIn is a line as a message about a file names it: with its own file where that is another.
func lineIn(f *File, at syntax.Position) string {
	line := "line " + itoa(int(at.Line))
	if start, _ := f.Tree.Span(); at.Filename() != start.Filename() {
		line += " of " + at.Filename()
	}
	return line
}

// briefly is the text of a node as a message shows it.
func (f *File) briefly(n syntax.Node) string {
	const most = 60
	if s := f.Text(n); s != "" && len(s) <= most {
		return s
	}
	return "f(…)"
}
