package compile

import (
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/way"
)

// batch is the number of elements of a list or tuple that are evaluated into registers before they
// are stored; longer literals are built piece by piece, so that a table of data does not need a
// register for each entry.
const batch = 64

// list compiles [x, y, ...] into temporary t.
func (c *functionCompiler) list(elems []syntax.Expr, t int) {
	c.collect(List, elems, t)
}

// tuple compiles (x, y, ...) into temporary t; a long one is built as a list first.
func (c *functionCompiler) tuple(elems []syntax.Expr, t int) {
	if len(elems) <= batch {
		c.collect(Tuple, elems, t)
		return
	}
	c.collect(List, elems, t)
	c.emit(Instr{Op: ToTuple, A: uint16(t)})
}

// collect evaluates elements into adjacent temporaries and makes a collection of the first batch;
// further batches extend it.
func (c *functionCompiler) collect(op Op, elems []syntax.Expr, t int) {
	for {
		n := min(len(elems), batch)
		mark := c.top
		first := c.pushAll(elems[:n])
		c.mark()
		c.emit(Instr{Op: op, A: uint16(t), B: uint16(first), C: uint16(n)})
		c.top = mark
		elems = elems[n:]
		if len(elems) == 0 {
			return
		}
		op = Extend
	}
}

// dict compiles {k: v, ...} into temporary t.
func (c *functionCompiler) dict(e *syntax.DictExpr, t int) {
	c.emit(Instr{Op: Dict, A: uint16(t), B: uint16(min(len(e.List), 0xffff))})
	for _, entry := range e.List {
		c.entry(AddKey, entry.(*syntax.DictEntry), t)
	}
}

func (c *functionCompiler) entry(op Op, e *syntax.DictEntry, t int) {
	mark := c.top
	k := c.expr(e.Key)
	v := c.expr(e.Value)
	c.at(e.Colon)
	c.emit(Instr{Op: op, A: uint16(t), B: k, C: v})
	c.top = mark
}

// comprehension compiles [body for ... if ...] or {k: v for ...} into temporary t, which
// accumulates.
func (c *functionCompiler) comprehension(e *syntax.Comprehension, t int) {
	if e.Curly {
		c.emit(Instr{Op: Dict, A: uint16(t)})
	} else {
		c.emit(Instr{Op: List, A: uint16(t), B: uint16(t)})
	}
	c.clause(e, 0, t)
}

// clause compiles the n-th clause and all after it; after the last comes the body.
func (c *functionCompiler) clause(e *syntax.Comprehension, n, t int) {
	if n == len(e.Clauses) {
		c.comprehensionBody(e, t)
		return
	}
	switch clause := e.Clauses[n].(type) {
	case *syntax.ForClause:
		c.loop(clause.For, clause.Vars, clause.X, false, func() { c.clause(e, n+1, t) })
	case *syntax.IfClause:
		c.ifClause(e, clause, n, t)
	}
}

// ifClause compiles a clause that lets through what its condition holds for.
func (c *functionCompiler) ifClause(e *syntax.Comprehension, clause *syntax.IfClause, n, t int) {
	skip, done := newLabel(), newLabel()
	c.cond(clause.Cond, false, skip)
	c.reach(clause, WayTrue)
	c.clause(e, n+1, t)
	if c.m.marking != nil {
		c.jump(Instr{Op: Jump}, done)
	}
	c.place(skip)
	c.reach(clause, WayFalse)
	c.place(done)
}

func (c *functionCompiler) comprehensionBody(e *syntax.Comprehension, t int) {
	c.reach(e, WayEach)
	if e.Curly {
		c.entry(SetKey, e.Body.(*syntax.DictEntry), t)
		return
	}
	mark := c.top
	v := c.expr(e.Body)
	c.emit(Instr{Op: Append, A: uint16(t), B: v})
	c.top = mark
}

// plus compiles a chain of additions in a loop, and adds adjacent literals of one kind at once, as
// the reference does.
func (c *functionCompiler) plus(e *syntax.BinaryExpr, dst int) {
	terms := foldLiterals(summands(e))
	if len(terms) == 1 {
		c.into(terms[0].x, dst)
		return
	}
	x := c.expr(terms[0].x)
	sum := dst
	if len(terms) > 2 {
		sum = c.temp()
	}
	for i, term := range terms[1:] {
		if i == len(terms)-2 {
			sum = dst
		}
		mark := c.top
		y := c.expr(term.x)
		c.at(term.pos)
		c.emit(Instr{Op: Add, A: uint16(sum), B: x, C: y})
		c.top = mark
		x = uint16(sum)
	}
}

// summand is a term of a sum, with the position of the plus before it.
type summand struct {
	x   syntax.Expr
	pos syntax.Position
}

// summands lists the terms of ((a + b) + c) + d in order.
func summands(e *syntax.BinaryExpr) []summand {
	var terms []summand
	for {
		terms = append(terms, summand{way.Unparen(e.Y), e.OpPos})
		left := way.Unparen(e.X)
		sum, ok := left.(*syntax.BinaryExpr)
		if !ok || sum.Op != syntax.PLUS {
			terms = append(terms, summand{x: left})
			break
		}
		e = sum
	}
	for i, j := 0, len(terms)-1; i < j; i, j = i+1, j-1 {
		terms[i], terms[j] = terms[j], terms[i]
	}
	return terms
}

// foldLiterals joins runs of string, bytes, list or tuple displays.
func foldLiterals(terms []summand) []summand {
	out := terms[:0]
	for i := 0; i < len(terms); {
		j := i + 1
		kind := addable(terms[i].x)
		for kind != 0 && j < len(terms) && addable(terms[j].x) == kind {
			j++
		}
		term := terms[i]
		if j > i+1 {
			term.x = joinLiterals(kind, terms[i:j])
		}
		out = append(out, term)
		i = j
	}
	return out
}

func addable(e syntax.Expr) rune {
	switch e := e.(type) {
	case *syntax.Literal:
		switch e.Token {
		case syntax.STRING:
			return 's'
		case syntax.BYTES:
			return 'b'
		}
	case *syntax.ListExpr:
		return 'l'
	case *syntax.TupleExpr:
		return 't'
	}
	return 0
}

func joinLiterals(kind rune, terms []summand) syntax.Expr {
	var text strings.Builder
	var elems []syntax.Expr
	for _, t := range terms {
		switch x := t.x.(type) {
		case *syntax.Literal:
			text.WriteString(x.Value.(string))
		case *syntax.ListExpr:
			elems = append(elems, x.List...)
		case *syntax.TupleExpr:
			elems = append(elems, x.List...)
		}
	}
	switch kind {
	case 's':
		return &syntax.Literal{Token: syntax.STRING, Value: text.String()}
	case 'b':
		return &syntax.Literal{Token: syntax.BYTES, Value: text.String()}
	case 'l':
		return &syntax.ListExpr{List: elems}
	}
	return &syntax.TupleExpr{List: elems}
}
