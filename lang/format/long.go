package format

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// width is how many columns a line has at most if there is a place to break it.
const width = 100

// breakLong breaks each line that is longer than width once, as far out as it can: behind the
// bracket that holds most of it, or behind the operators of a chain of and, or, +. The printer lays
// out what follows from that. The text is one that the printer has made; without such a line it is
// nil.
func breakLong(source []byte, tree *syntax.File) []byte {
	l := longLines{lines: newLines(source), ends: map[int32]int32{}, breaks: map[int32]lineBreak{}}
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n != nil {
			_, end := n.Span()
			l.ends[end.Line] = max(l.ends[end.Line], end.Col-1)
		}
		return true
	})
	l.look(tree)
	var edits []edit
	for _, b := range l.breaks {
		edits = append(edits, b.edits...)
	}
	if edits == nil {
		return nil
	}
	return apply(source, edits)
}

// longLines finds where the long lines of a text are to be broken.
type longLines struct {
	lines

	ends   map[int32]int32     // line -> column in which its code ends: comments do not count
	breaks map[int32]lineBreak // line -> the best that was found so far
	around []syntax.Node       // the nodes that the one at hand is in
}

// lineBreak is a way to break a line.
type lineBreak struct {
	from, to int // offsets of what it lets be broken; of two beside each other the larger is taken
	edits    []edit
}

func (l *longLines) look(tree *syntax.File) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil {
			l.around = l.around[:len(l.around)-1]
			return true
		}
		switch n := n.(type) {
		case *syntax.BinaryExpr:
			l.chain(n)
		case *syntax.LoadStmt:
			open := n.Load
			open.Col += int32(len("load"))
			l.bracket(open, n.Rparen, n.Module)
		case *syntax.DefStmt:
			l.bracket(n.Lparen, n.Rparen, first(n.Params))
		case *syntax.CallExpr:
			if !hugs(n.Args) {
				l.bracket(n.Lparen, n.Rparen, first(n.Args))
			}
		case *syntax.ListExpr:
			l.bracket(n.Lbrack, n.Rbrack, first(n.List))
		case *syntax.DictExpr:
			l.bracket(n.Lbrace, n.Rbrace, first(n.List))
		case *syntax.TupleExpr:
			l.bracket(n.Lparen, n.Rparen, first(n.List))
		case *syntax.Comprehension:
			l.bracket(n.Lbrack, n.Rbrack, n.Body)
		case *syntax.ParenExpr:
			l.bracket(n.Lparen, n.Rparen, n.X)
		}
		l.around = append(l.around, n)
		return true
	})
}

// first is the first of some expressions, nil of none.
func first(list []syntax.Expr) syntax.Node {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// hugs reports whether a call stays around its argument when that is broken: the only one, and one
// that ends with brackets of its own, or a text, which would be as long on a line of its own.
func hugs(args []syntax.Expr) bool {
	if len(args) != 1 {
		return false
	}
	arg := args[0]
	if b, ok := arg.(*syntax.BinaryExpr); ok && (b.Op == syntax.EQ || b.Op == syntax.PERCENT) {
		arg = b.Y
	}
	switch arg := arg.(type) {
	case *syntax.Literal, *syntax.ParenExpr, *syntax.ListExpr, *syntax.DictExpr, *syntax.Comprehension:
		return true
	case *syntax.TupleExpr:
		return arg.Lparen.IsValid()
	}
	return false
}

// bracket offers a break behind an opening bracket, if there is one and it is not broken already.
func (l *longLines) bracket(open, end syntax.Position, first syntax.Node) {
	if first == nil || !open.IsValid() {
		return
	}
	if start, _ := first.Span(); start.Line != open.Line {
		return
	}
	at := l.offset(open) + 1
	l.offer(open.Line, lineBreak{at, l.offset(end), []edit{{at, at, "\n"}}})
}

// chain offers breaks behind the operators of a chain, which gets brackets if it has none. A sum
// with lists or calls is better broken within these.
func (l *longLines) chain(n *syntax.BinaryExpr) {
	within := l.bracketed(n)
	switch {
	case n.Op != syntax.AND && n.Op != syntax.OR && n.Op != syntax.PLUS, l.continues(n):
		return
	case !within && !l.whole():
		return
	}
	var edits []edit
	for x, ok := n, true; ok && x.Op == n.Op; x, ok = x.X.(*syntax.BinaryExpr) {
		if n.Op == syntax.PLUS && (bracketing(x.X) || bracketing(x.Y)) {
			return
		}
		if start, _ := x.Y.Span(); start.Line == x.OpPos.Line {
			at := l.offset(x.OpPos) + len(x.Op.String())
			edits = append(edits, edit{at, at, "\n"})
		}
	}
	start, end := n.Span()
	from, to := l.offset(start), l.offset(end)
	if !within {
		if strings.HasPrefix(l.text[to:], "]") { // the parser has x[i] end before its bracket
			to++
		}
		edits = append(edits, edit{from, from, "(\n"}, edit{to, to, "\n)"})
	}
	if len(edits) > 0 {
		l.offer(n.OpPos.Line, lineBreak{from, to, edits})
	}
}

// bracketing reports whether an operand can be broken within brackets of its own.
func bracketing(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.ListExpr, *syntax.DictExpr, *syntax.Comprehension:
		return true
	case *syntax.CallExpr:
		return len(x.Args) > 1
	}
	return false
}

// continues reports whether a chain is a part of a longer one.
func (l *longLines) continues(n *syntax.BinaryExpr) bool {
	b, ok := l.around[len(l.around)-1].(*syntax.BinaryExpr)
	return ok && b.Op == n.Op && b.X == syntax.Expr(n)
}

// whole reports whether the node at hand is all of an expression that a statement has.
func (l *longLines) whole() bool {
	switch l.around[len(l.around)-1].(type) {
	case *syntax.IfStmt, *syntax.ReturnStmt, *syntax.AssignStmt:
		return true
	}
	return false
}

// bracketed reports whether there are brackets around a node, within its statement.
func (l *longLines) bracketed(n syntax.Node) bool {
	for _, outer := range slices.Backward(l.around) {
		switch outer := outer.(type) {
		case syntax.Stmt:
			_, params := outer.(*syntax.DefStmt)
			return params
		case *syntax.ListExpr, *syntax.DictExpr, *syntax.Comprehension, *syntax.ParenExpr:
			return true
		case *syntax.TupleExpr:
			if outer.Lparen.IsValid() {
				return true
			}
		case *syntax.CallExpr:
			if outer.Fn != n {
				return true
			}
		case *syntax.IndexExpr:
			if outer.X != n {
				return true
			}
		}
		n = outer
	}
	return false
}

// offer takes a break of a line into account, if it is too long.
func (l *longLines) offer(line int32, b lineBreak) {
	if l.ends[line] <= width {
		return
	}
	best, ok := l.breaks[line]
	if ok && (best.from <= b.from && b.to <= best.to || best.to-best.from >= b.to-b.from) {
		return
	}
	l.breaks[line] = b
}
