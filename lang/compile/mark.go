package compile

import (
	"go.starlark.net/syntax"
)

// Mark is a stretch of a file that runs as a whole or not at all: a statement, or one of the ways
// that a decision can take. Code that was compiled with [Source.Marks] counts how often each is
// begun.
type Mark struct {
	Line, Col       int32 // where the stretch begins
	EndLine, EndCol int32 // behind its last character; an else that is not written has no length
	Way             Way   // of a decision, WayNone for a statement
	OfLine, OfCol   int32 // where the decision stands
}

// Way is one of the ways that a decision can take. Those of one decision follow each other.
type Way uint8

// The ways.
const (
	WayNone  Way = iota
	WayTrue      // of if, elif, a conditional expression and an if clause: the condition holds
	WayFalse     // it does not
	WayRight     // the right side of `and` and `or`, which the left one may spare
	WayBody      // the body of a lambda
	WayEach      // what a comprehension makes of each element
)

// String is the name of the way in reports.
func (w Way) String() string { return [...]string{"", "true", "false", "right", "body", "each"}[w] }

// generatorOfMarks is that of code with marks.
const generatorOfMarks = 0xfe

// marking numbers the marks of a file while they are listed.
type marking struct {
	marks  []Mark
	number map[marked]int
}

// marked is what a mark stands before: a node, or a way of it.
type marked struct {
	node syntax.Node
	way  Way
}

// Marks lists the marks of a parsed file, in the order of the tree. Their numbers are their
// indices.
func Marks(file *syntax.File) []Mark { return newMarking(file).marks }

// Around finds the innermost of a file's marks whose stretch holds all from one place up to
// another, -1 if none does.
func Around(marks []Mark, line, col, endLine, endCol int32) int {
	found := -1
	for i, m := range marks {
		holds := m.Line > 0 && within(line, col, endLine, endCol, m)
		if holds && (found < 0 || within(m.Line, m.Col, m.EndLine, m.EndCol, marks[found])) {
			found = i
		}
	}
	return found
}

// within tells whether a stretch lies in that of a mark.
func within(line, col, endLine, endCol int32, m Mark) bool {
	return !before(line, col, m.Line, m.Col) && !before(m.EndLine, m.EndCol, endLine, endCol)
}

// before tells whether a place comes before another one.
func before(line, col, thanLine, thanCol int32) bool {
	return line < thanLine || line == thanLine && col < thanCol
}

// End is behind the last character of a node. syntax.End stops before the last bracket of an index,
// a slice and the empty tuple, and of all that ends with one.
func End(n syntax.Node) syntax.Position {
	if last := lastPart(n); last != nil {
		return End(last)
	}
	end := syntax.End(n)
	switch n := n.(type) {
	case *syntax.IndexExpr, *syntax.SliceExpr:
		end.Col++
	case *syntax.TupleExpr:
		if n.Lparen.IsValid() {
			end.Col++
		}
	}
	return end
}

// lastPart is the node with which another one ends, nil if that ends with a token of its own.
func lastPart(n syntax.Node) syntax.Node {
	switch n := n.(type) {
	case *syntax.TupleExpr:
		if !n.Lparen.IsValid() {
			return n.List[len(n.List)-1]
		}
	case *syntax.BinaryExpr:
		return n.Y
	case *syntax.UnaryExpr:
		return orNil(n.X)
	case *syntax.CondExpr:
		return n.False
	case *syntax.LambdaExpr:
		return n.Body
	case *syntax.DictEntry:
		return n.Value
	case *syntax.ExprStmt:
		return n.X
	case *syntax.AssignStmt:
		return n.RHS
	case *syntax.ReturnStmt:
		return orNil(n.Result)
	case *syntax.IfStmt:
		if len(n.False) > 0 {
			return n.False[len(n.False)-1]
		}
		return n.True[len(n.True)-1]
	case *syntax.ForStmt:
		return n.Body[len(n.Body)-1]
	case *syntax.WhileStmt:
		return n.Body[len(n.Body)-1]
	case *syntax.DefStmt:
		return n.Body[len(n.Body)-1]
	}
	return nil
}

// orNil is the node of an expression that may not be there.
func orNil(e syntax.Expr) syntax.Node {
	if e == nil {
		return nil
	}
	return e
}

func newMarking(file *syntax.File) *marking {
	m := &marking{number: map[marked]int{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		m.node(n)
		return true
	})
	return m
}

// node lists the marks of a node itself.
func (m *marking) node(n syntax.Node) {
	if stmt, ok := n.(syntax.Stmt); ok && !isText(stmt) {
		m.add(marked{stmt, WayNone}, stmt, syntax.Position{})
	}
	switch n := n.(type) {
	case *syntax.IfStmt:
		m.suite(marked{n, WayTrue}, n.True, n.If)
		m.suite(marked{n, WayFalse}, n.False, n.If)
	case *syntax.CondExpr:
		m.add(marked{n, WayTrue}, n.True, n.If)
		m.add(marked{n, WayFalse}, n.False, n.If)
	case *syntax.BinaryExpr:
		if n.Op == syntax.AND || n.Op == syntax.OR {
			m.add(marked{n, WayRight}, n.Y, n.OpPos)
		}
	case *syntax.LambdaExpr:
		m.add(marked{n.Body, WayBody}, n.Body, n.Lambda)
	case *syntax.Comprehension:
		m.comprehension(n)
	}
}

// comprehension lists the ways of its if clauses, which have no text of their own, and its body.
func (m *marking) comprehension(n *syntax.Comprehension) {
	for _, clause := range n.Clauses {
		if c, ok := clause.(*syntax.IfClause); ok {
			m.suite(marked{c, WayTrue}, nil, c.If)
			m.suite(marked{c, WayFalse}, nil, c.If)
		}
	}
	m.add(marked{n, WayEach}, n.Body, n.Lbrack)
}

// suite adds a way that is a list of statements, which may be empty.
func (m *marking) suite(key marked, stmts []syntax.Stmt, of syntax.Position) {
	if len(stmts) == 0 {
		m.place(key, of, of, of)
		return
	}
	m.place(key, syntax.Start(stmts[0]), End(stmts[len(stmts)-1]), of)
}

func (m *marking) add(key marked, stretch syntax.Node, of syntax.Position) {
	m.place(key, syntax.Start(stretch), End(stretch), of)
}

func (m *marking) place(key marked, start, end, of syntax.Position) {
	m.number[key] = len(m.marks)
	m.marks = append(m.marks, Mark{start.Line, start.Col, end.Line, end.Col, key.way, of.Line, of.Col})
}

// isText tells whether a statement is a text that does nothing, such as a docstring.
func isText(stmt syntax.Stmt) bool {
	s, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	_, ok = s.X.(*syntax.Literal)
	return ok
}

// reach puts the mark of a node here, if the file is compiled with marks. It takes no position, so
// that errors are reported where they are without it.
func (c *functionCompiler) reach(n syntax.Node, way Way) {
	if c.m.marking == nil {
		return
	}
	if i, ok := c.m.marking.number[marked{n, way}]; ok {
		c.f.Code = append(c.f.Code, Instr{Op: Reach, B: uint16(i), C: uint16(i >> 16)})
	}
}
