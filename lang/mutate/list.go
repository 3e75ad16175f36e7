package mutate

import (
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/way"
)

// lister walks a tree and notes what can be changed.
type lister struct {
	text      string
	lines     []int // where each begins, in bytes
	found     []Mutant
	functions []map[string]bool    // names that were assigned so far, by the functions around
	negated   map[syntax.Node]bool // conditions whose negation is listed already, as another change
}

// note notes that the text from one byte to another may become after, which is given as many lines.
func (l *lister) note(kind Kind, from, to int, after string) {
	before := l.text[from:to]
	if before == after {
		return
	}
	line, column := l.place(from)
	endLine, endColumn := l.place(to)
	l.found = append(l.found, Mutant{kind, line, column, endLine, endColumn, before, after, from})
}

// expression notes that an expression may become another one. Lines that this one does not need
// stand in parentheses.
func (l *lister) expression(kind Kind, n syntax.Node, after string) {
	from, to := l.start(n), l.end(n)
	if lines := strings.Count(l.text[from:to], "\n") - strings.Count(after, "\n"); lines > 0 {
		after = "(" + after + strings.Repeat("\n", lines) + ")"
	}
	l.note(kind, from, to, after)
}

// drop notes that a statement may become pass.
func (l *lister) drop(n syntax.Stmt) {
	from, to := l.start(n), l.end(n)
	rest, _, _ := strings.Cut(l.text[to:], "\n")
	after := "pass"
	if rest = strings.TrimSpace(rest); rest == "" || rest[0] == '#' {
		after += strings.Repeat("\n", strings.Count(l.text[from:to], "\n"))
	}
	l.note(Statement, from, to, after)
}

func (l *lister) stmts(list []syntax.Stmt) {
	for _, s := range list {
		l.stmt(s)
	}
}

func (l *lister) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		if _, text := s.X.(*syntax.Literal); !text {
			l.drop(s)
			l.expr(s.X)
		}
	case *syntax.AssignStmt:
		l.assign(s)
	case *syntax.BranchStmt:
		if s.Token != syntax.PASS {
			l.drop(s)
		}
	case *syntax.ReturnStmt:
		l.result(s)
	case *syntax.IfStmt:
		l.condition(s.Cond)
		l.stmts(s.True)
		l.stmts(s.False)
	case *syntax.ForStmt:
		l.expression(Statement, s.X, "[]")
		l.bind(s.Vars)
		l.expr(s.X)
		l.stmts(s.Body)
	case *syntax.DefStmt:
		l.bind(s.Name)
		l.function(s.Params, func() { l.stmts(s.Body) })
	}
}

func (l *lister) result(s *syntax.ReturnStmt) {
	if s.Result == nil {
		l.drop(s)
		return
	}
	l.expression(Return, s.Result, "None")
	l.expr(s.Result)
}

// function walks the defaults of parameters, and then a body with its own names.
func (l *lister) function(params []syntax.Expr, body func()) {
	own := map[string]bool{}
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			l.expr(b.Y)
		}
	}
	l.functions = append(l.functions, own)
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.Ident:
			l.bind(p)
		case *syntax.BinaryExpr:
			l.bind(p.X)
		case *syntax.UnaryExpr:
			if p.X != nil {
				l.bind(p.X)
			}
		}
	}
	body()
	l.functions = l.functions[:len(l.functions)-1]
}

// bind remembers that names were assigned, and tells whether all of them were before. What is no
// name was.
func (l *lister) bind(e syntax.Expr) (before bool) {
	switch e := e.(type) {
	case *syntax.Ident:
		names := l.functions[len(l.functions)-1]
		before, names[e.Name] = names[e.Name], true
		return before
	case *syntax.ParenExpr:
		return l.bind(e.X)
	case *syntax.TupleExpr:
		return l.bindAll(e.List)
	case *syntax.ListExpr:
		return l.bindAll(e.List)
	}
	return true
}

func (l *lister) bindAll(list []syntax.Expr) (before bool) {
	before = true
	for _, x := range list {
		before = l.bind(x) && before
	}
	return before
}

// assign drops an assignment where its variables have another value without it. Where they have
// none, None is assigned: to leave a variable unset is a mistake that every test would notice.
func (l *lister) assign(s *syntax.AssignStmt) {
	l.expr(s.RHS)
	if s.Op != syntax.EQ {
		l.drop(s)
		l.augmented(s)
		l.places(s.LHS)
		return
	}
	_, name := s.LHS.(*syntax.Ident)
	switch before := l.bind(s.LHS); {
	case before:
		l.drop(s)
	case name && !constant(s.RHS):
		l.expression(Value, s.RHS, "None")
	}
	l.places(s.LHS)
}

// places walks what is looked up on the left of an assignment.
func (l *lister) places(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		l.places(e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			l.places(x)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			l.places(x)
		}
	case *syntax.IndexExpr, *syntax.DotExpr:
		l.expr(e)
	}
}

// augmented changes the operator of x += y, which is two characters or three.
func (l *lister) augmented(s *syntax.AssignStmt) {
	other := map[syntax.Token]string{
		syntax.MINUS_EQ: "+=", syntax.STAR_EQ: "+=", syntax.SLASH_EQ: "*=", syntax.SLASHSLASH_EQ: "*=",
		syntax.PIPE_EQ: "&=", syntax.AMP_EQ: "|=", syntax.CIRCUMFLEX_EQ: "|=",
		syntax.LTLT_EQ: ">>=", syntax.GTGT_EQ: "<<=",
	}[s.Op]
	if s.Op == syntax.PLUS_EQ && number(s.RHS) {
		other = "-="
	}
	if other != "" {
		from := l.offset(s.OpPos)
		l.note(Arithmetic, from, from+len(s.Op.String()), other)
	}
}

// condition walks an expression of which only the truth counts.
func (l *lister) condition(e syntax.Expr) {
	if !l.negates(e) {
		l.expression(Condition, e, "not ("+l.of(e)+")")
	}
	l.expr(e)
}

// negates tells whether walking an expression lists its negation: that of a comparison is another
// one, and that of a `not` what it negates.
func (l *lister) negates(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.BinaryExpr:
		return opposites[e.Op] != ""
	case *syntax.UnaryExpr:
		return e.Op == syntax.NOT
	case *syntax.Ident:
		return truths[e.Name] != ""
	}
	return false
}

// expr walks an expression and all in it.
func (l *lister) expr(e syntax.Expr) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryExpr:
			l.binary(n)
		case *syntax.UnaryExpr:
			l.unary(n)
		case *syntax.Literal:
			l.literal(n)
		case *syntax.Ident:
			if other := truths[n.Name]; other != "" && !l.negated[n] {
				l.expression(Constant, n, other)
			}
		case *syntax.CallExpr:
			l.call(n)
			return false
		case *syntax.CondExpr:
			l.conditional(n)
		case *syntax.IfClause:
			if !l.negates(n.Cond) {
				l.expression(Condition, n.Cond, "not ("+l.of(n.Cond)+")")
			}
		case *syntax.LambdaExpr:
			l.expression(Return, n.Body, "None")
			l.function(n.Params, func() { l.expr(n.Body) })
			return false
		}
		return true
	})
}

// conditional swaps the branches of a conditional expression, which is the negation of its
// condition.
func (l *lister) conditional(n *syntax.CondExpr) {
	yes, no := l.of(n.True), l.of(n.False)
	switch n.False.(type) {
	case *syntax.CondExpr, *syntax.LambdaExpr:
		no = "(" + no + ")"
	}
	if yes == no {
		return
	}
	l.negated[way.Unparen(n.Cond)] = true
	between := l.text[l.end(n.True):l.start(n.False)]
	l.note(Branch, l.start(n), l.end(n), no+between+yes)
}

var truths = map[string]string{"True": "False", "False": "True"}

// opposites are the comparisons with what they are not.
var opposites = map[syntax.Token]string{
	syntax.EQL: "!=", syntax.NEQ: "==", syntax.LT: ">=", syntax.GE: "<", syntax.GT: "<=", syntax.LE: ">",
	syntax.IN: "not in", syntax.NOT_IN: "in",
}

// bounds are the orders with those that differ where both sides are equal.
var bounds = map[syntax.Token]string{
	syntax.LT: "<=", syntax.LE: "<", syntax.GT: ">=", syntax.GE: ">",
}

var logic = map[syntax.Token]string{syntax.AND: "or", syntax.OR: "and"}

var arithmetic = map[syntax.Token]string{
	syntax.MINUS: "+", syntax.STAR: "+", syntax.SLASH: "*", syntax.SLASHSLASH: "*", syntax.PERCENT: "*",
	syntax.AMP: "|", syntax.PIPE: "&", syntax.CIRCUMFLEX: "|", syntax.LTLT: ">>", syntax.GTGT: "<<",
}

func (l *lister) binary(n *syntax.BinaryExpr) {
	if other := opposites[n.Op]; other != "" && !l.negated[n] {
		l.operator(Comparison, n, other)
	}
	if other := bounds[n.Op]; other != "" {
		l.operator(Comparison, n, other)
	}
	if other := logic[n.Op]; other != "" {
		l.operator(Logic, n, other)
	}
	switch other := arithmetic[n.Op]; {
	case n.Op == syntax.PLUS && (number(n.X) || number(n.Y)):
		l.operator(Arithmetic, n, "-")
	case n.Op == syntax.PLUS:
		l.expression(Arithmetic, n, l.of(n.X))
	case other != "" && !(n.Op == syntax.PERCENT && textual(n.X)):
		l.operator(Arithmetic, n, other)
	}
}

// operator changes the operator. That of `not in` stands, for the parser, at its second word.
func (l *lister) operator(kind Kind, n *syntax.BinaryExpr, other string) {
	from := l.offset(n.OpPos)
	to := from + len(n.Op.String())
	if n.Op == syntax.NOT_IN {
		left := l.end(n.X)
		from, to = left+strings.LastIndex(l.text[left:from], "not"), from+len("in")
	}
	lines := strings.Count(l.text[from:to], "\n")
	l.note(kind, from, to, strings.Repeat("\\\n", lines)+other)
}

func (l *lister) unary(n *syntax.UnaryExpr) {
	switch n.Op {
	case syntax.NOT:
		if !l.negated[n] {
			l.expression(Condition, n, "("+l.of(n.X)+")")
		}
	case syntax.MINUS:
		l.expression(Arithmetic, n, l.of(n.X))
	}
}

// literal changes a constant: numbers by one, texts to none and none to some.
func (l *lister) literal(n *syntax.Literal) {
	switch v := n.Value.(type) {
	case int64:
		l.expression(Constant, n, new(big.Int).Add(big.NewInt(v), big.NewInt(1)).String())
	case *big.Int:
		l.expression(Constant, n, new(big.Int).Add(v, big.NewInt(1)).String())
	case float64:
		other := strconv.FormatFloat(v+1, 'g', -1, 64)
		if !strings.ContainsAny(other, ".e") {
			other += ".0"
		}
		l.expression(Constant, n, other)
	case string:
		other := `""`
		if v == "" {
			other = `"mutant"`
		}
		if n.Token == syntax.BYTES {
			other = "b" + other
		}
		l.expression(Constant, n, other)
	}
}

// call drops each named or spread argument, and the last of the others: without one before it the
// rest would only take its place. It walks what is called and with what.
func (l *lister) call(n *syntax.CallExpr) {
	l.expr(n.Fn)
	for i, arg := range n.Args {
		value := arg
		if named, ok := arg.(*syntax.BinaryExpr); ok && named.Op == syntax.EQ {
			value = named.Y
		} else if !positional(arg) {
			value = arg.(*syntax.UnaryExpr).X
		} else if i+1 < len(n.Args) && positional(n.Args[i+1]) {
			l.expr(arg)
			continue
		}
		l.dropArgument(n, i)
		l.expr(value)
	}
}

// positional tells whether an argument has neither a name nor stars.
func positional(arg syntax.Expr) bool {
	switch arg := arg.(type) {
	case *syntax.BinaryExpr:
		return arg.Op != syntax.EQ
	case *syntax.UnaryExpr:
		return arg.Op != syntax.STAR && arg.Op != syntax.STARSTAR
	}
	return true
}

// dropArgument drops an argument with the comma behind it or, of the last one, those around it.
func (l *lister) dropArgument(n *syntax.CallExpr, i int) {
	from, to := l.start(n.Args[i]), len(strings.TrimRight(l.text[:l.offset(n.Rparen)], " \t"))
	if i+1 < len(n.Args) {
		to = l.start(n.Args[i+1])
	} else if i > 0 {
		from = l.end(n.Args[i-1])
	}
	l.note(Argument, from, to, strings.Repeat("\n", strings.Count(l.text[from:to], "\n")))
}

// constant tells whether an expression is a literal or a name for one, which is changed as such.
func constant(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		return true
	case *syntax.Ident:
		return truths[e.Name] != "" || e.Name == "None"
	}
	return false
}

// number tells whether an expression can only be a number.
func number(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		return e.Token == syntax.INT || e.Token == syntax.FLOAT
	case *syntax.UnaryExpr:
		return e.Op == syntax.MINUS
	case *syntax.CallExpr:
		fn, ok := e.Fn.(*syntax.Ident)
		return ok && (fn.Name == "len" || fn.Name == "int" || fn.Name == "float")
	case *syntax.BinaryExpr:
		divides := e.Op == syntax.SLASH || e.Op == syntax.SLASHSLASH
		return divides || e.Op == syntax.MINUS || e.Op == syntax.PLUS && (number(e.X) || number(e.Y))
	}
	return false
}

// textual tells whether an expression is a text, so that % formats it.
func textual(e syntax.Expr) bool {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		return e.Token == syntax.STRING || e.Token == syntax.BYTES
	case *syntax.BinaryExpr:
		return e.Op == syntax.PLUS && (textual(e.X) || textual(e.Y))
	}
	return false
}
