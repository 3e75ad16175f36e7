package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
	"starling/lang/way"
)

// Explain puts an error that arose while a script ran into the form of all diagnostics: the place
// with its source line, what was wrong, what to try; and then a note for each call that was in
// progress, the innermost first. files are what the script was read from; of a place in any other
// file the line is not shown. The kind of the first is the error's.
func Explain(e *effect.Error, files []*Module) diagnostic.List {
	x := explainer{files: files, trees: map[*Module]*syntax.File{}}
	calls := callsOf(e.Backtrace)
	if !slices.ContainsFunc(calls, func(c tracedCall) bool { return c.line > 0 }) {
		calls = callsOf(fmt.Sprintf("  %s: in %s", e.Where, topLevel))
	}
	message, hint := withHint(e.Message)
	d := diagnostic.Diagnostic{Message: message, Hint: hint}
	var list diagnostic.List
	for _, c := range slices.Backward(calls) {
		if len(list) > 0 {
			d = diagnostic.Diagnostic{Severity: diagnostic.Note, Message: c.String()}
		} else if c.line == 0 {
			continue // the message names the builtin in which it arose
		}
		list = append(list, x.place(d, c))
	}
	if len(list) == 0 {
		list = diagnostic.List{d}
	}
	list[0].Kind = string(e.Kind)
	return list
}

// A backtrace is text, since that is what scripts and journals hold of it: a line per call,
// outermost first.
//
//	Traceback (most recent call last):
//	  main.star:8:20: in main
//	  <builtin>: in parallel
//	  ... and 3 more of these
//	Error: the message again
var (
	tracedPlace   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  (.+):(\d+):(\d+): in (.+)$`) })
	tracedBuiltin = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  <builtin>: in (.+)$`) })
	tracedMore    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  \.\.\. and (\d+) more of these$`) })
)

// topLevel is how a backtrace calls the code outside of all functions.
const topLevel = "<toplevel>"

// tracedCall is one line of a backtrace.
type tracedCall struct {
	file      string
	line, col int // 0 for a builtin
	name      string
	more      int // of a line that stands for further calls: how many; it has no name
}

func callsOf(backtrace string) []tracedCall {
	var calls []tracedCall
	for text := range strings.SplitSeq(backtrace, "\n") {
		if m := tracedPlace().FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[2])
			col, _ := strconv.Atoi(m[3])
			calls = append(calls, tracedCall{file: m[1], line: line, col: col, name: m[4]})
		} else if m := tracedBuiltin().FindStringSubmatch(text); m != nil {
			calls = append(calls, tracedCall{name: m[1]})
		} else if m := tracedMore().FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			calls = slices.Insert(calls, max(0, len(calls)-2), tracedCall{more: n}) // it is read from below, behind those that are shown
		}
	}
	return calls
}

// String is what the note about a call says.
func (c tracedCall) String() string {
	switch {
	case c.more > 0:
		return fmt.Sprintf("and %d more of these", c.more)
	case c.name == topLevel:
		return "called by the top level"
	}
	return "called by " + c.name
}

// explainer finds what stands at the places of a backtrace.
type explainer struct {
	files []*Module
	trees map[*Module]*syntax.File
}

// place puts a diagnostic at a call's place, with as much of the text underlined as the machine's
// position stands for.
func (x *explainer) place(d diagnostic.Diagnostic, c tracedCall) diagnostic.Diagnostic {
	if c.line == 0 {
		return d
	}
	d.File, d.Line, d.Col = c.file, c.line, c.col
	i := slices.IndexFunc(x.files, func(m *Module) bool { return m.Name == c.file })
	if i < 0 {
		return d
	}
	source := string(x.files[i].Source)
	from := diagnostic.Offset(source, c.line, c.col)
	to := from + 1
	if start, end, ok := x.extent(x.files[i], c.line, c.col); ok {
		from = diagnostic.Offset(source, int(start.Line), int(start.Col))
		to = diagnostic.Offset(source, int(end.Line), int(end.Col))
	}
	at := d.At(c.file, source, from, to)
	if at.Line != c.line { // what fails begins further up: only its position is in view
		at = d.At(c.file, source, diagnostic.Offset(source, c.line, c.col), 0)
	}
	return at
}

// extent is the text that a position of the machine stands for.
func (x *explainer) extent(m *Module, line, col int) (start, end syntax.Position, ok bool) {
	tree, known := x.trees[m]
	if !known {
		tree, _ = parse(m)
		x.trees[m] = tree
	}
	if tree == nil {
		return start, end, false
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil || ok {
			return false
		}
		if pos, from, to := mark(n); !ok && int(pos.Line) == line && int(pos.Col) == col {
			start, end, ok = from, to, true
		}
		return true
	})
	return start, end, ok
}

// mark is the position that the compiler gives to the code of a node, and the text to show for it:
// of a call what is called, of an attribute its name, of an operation all of it.
func mark(n syntax.Node) (pos, start, end syntax.Position) {
	start, end = way.Span(n)
	switch n := n.(type) {
	case *syntax.CallExpr:
		start, end = way.Span(n.Fn)
		return n.Lparen, start, end
	case *syntax.DotExpr:
		start, end = n.Name.Span()
		return n.Dot, start, end
	case *syntax.IndexExpr:
		return n.Lbrack, start, end
	case *syntax.SliceExpr:
		return n.Lbrack, start, end
	case *syntax.BinaryExpr:
		return n.OpPos, start, end
	case *syntax.UnaryExpr:
		return n.OpPos, start, end
	case *syntax.AssignStmt:
		return n.OpPos, start, end
	case *syntax.ForStmt:
		start, end = way.Span(n.X)
		return n.For, start, end
	case *syntax.ForClause:
		start, end = way.Span(n.X)
		return n.For, start, end
	case *syntax.DictEntry:
		start, end = way.Span(n.Key)
		return n.Colon, start, end
	case *syntax.Ident:
		return n.NamePos, start, end
	}
	return syntax.Position{}, start, end
}
