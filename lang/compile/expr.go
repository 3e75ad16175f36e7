package compile

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// expr compiles an expression and returns where its value is: a local read in place, a constant, or
// a new temporary.
func (c *functionCompiler) expr(e syntax.Expr) uint16 {
	if v, ok := c.inPlace(e); ok {
		return v
	}
	return c.push(e)
}

// push compiles an expression into a new temporary.
func (c *functionCompiler) push(e syntax.Expr) uint16 {
	t := c.temp()
	c.into(e, t)
	return uint16(t)
}

// inPlace returns the operand of an expression that is a plain local or a constant.
func (c *functionCompiler) inPlace(e syntax.Expr) (uint16, bool) {
	switch e := way.Unparen(e).(type) {
	case *syntax.Literal:
		i := c.m.literal(e)
		if i < ConstBit {
			c.mark()
		}
		return uint16(i) | ConstBit, i < ConstBit
	case *syntax.Ident:
		b := e.Binding.(*resolve.Binding)
		switch b.Scope {
		case resolve.Local:
			c.readLocal(e, b.Index)
			return uint16(b.Index), true
		case resolve.Predeclared, resolve.Universal:
			i := c.nameConstant(e, b.Scope)
			return uint16(i) | ConstBit, i < ConstBit
		}
	}
	return 0, false
}

// readLocal checks that a local has a value, unless that is certain.
func (c *functionCompiler) readLocal(id *syntax.Ident, reg int) {
	c.at(id.NamePos)
	if !c.assigned.has(reg) {
		c.emit(Instr{Op: Check, A: uint16(reg)})
		c.unset.add(reg)
		c.assigned.add(reg) // from here on
	}
	c.mark()
}

// nameConstant returns the constant of a predeclared or universal name.
func (c *functionCompiler) nameConstant(id *syntax.Ident, scope resolve.Scope) int {
	if scope == resolve.Predeclared {
		c.at(id.NamePos)
	}
	c.mark()
	return c.m.name(id.Name, scope == resolve.Universal)
}

func (c *functionCompiler) loadOp(scope resolve.Scope) Op {
	switch scope {
	case resolve.Cell:
		return Cell
	case resolve.Free:
		return FreeCell
	case resolve.Global:
		return Global
	}
	panic("compile: read of " + scope.String() + " variable")
}

// into compiles an expression so that its value ends in register dst. The register is written last,
// unless it is a temporary: a local may be read by the expression that is assigned to it.
func (c *functionCompiler) into(e syntax.Expr, dst int) {
	mark := c.top
	switch e := way.Unparen(e).(type) {
	case *syntax.Ident, *syntax.Literal:
		c.moveInto(e, dst)
	case *syntax.BinaryExpr:
		c.binary(e, dst)
	case *syntax.UnaryExpr:
		x := c.expr(e.X)
		c.at(e.OpPos)
		c.emit(Instr{Op: unaryOp(e.Op), A: uint16(dst), B: x})
	case *syntax.CondExpr:
		c.condExpr(e, dst)
	case *syntax.CallExpr:
		c.call(e, dst)
	case *syntax.DotExpr:
		x := c.expr(e.X)
		name := c.name16(e.Dot, e.Name.Name)
		c.at(e.Dot)
		c.emit(Instr{Op: Attr, A: uint16(dst), B: x, C: name})
	case *syntax.IndexExpr:
		x := c.expr(e.X)
		y := c.expr(e.Y)
		c.at(e.Lbrack)
		c.emit(Instr{Op: Index, A: uint16(dst), B: x, C: y})
	case *syntax.SliceExpr:
		c.slice(e, dst)
	case *syntax.ListExpr:
		c.build(dst, func(t int) { c.list(e.List, t) })
	case *syntax.TupleExpr:
		c.build(dst, func(t int) { c.tuple(e.List, t) })
	case *syntax.DictExpr:
		c.build(dst, func(t int) { c.dict(e, t) })
	case *syntax.Comprehension:
		c.build(dst, func(t int) { c.comprehension(e, t) })
	case *syntax.LambdaExpr:
		c.funcInto(e.Function.(*resolve.Function), dst)
	default:
		panic("compile: unknown expression")
	}
	c.top = mark
}

// moveInto copies a variable or a constant into dst.
func (c *functionCompiler) moveInto(e syntax.Expr, dst int) {
	if v, ok := c.inPlace(e); ok {
		if v != uint16(dst) {
			c.emit(Instr{Op: Move, A: uint16(dst), B: v})
		}
		return
	}
	if lit, ok := e.(*syntax.Literal); ok {
		c.mark()
		c.loadConst(dst, c.m.literal(lit))
		return
	}
	id := e.(*syntax.Ident)
	b := id.Binding.(*resolve.Binding)
	if b.Scope == resolve.Predeclared || b.Scope == resolve.Universal {
		c.loadConst(dst, c.nameConstant(id, b.Scope))
		return
	}
	if b.Scope == resolve.Global && c.parent != nil {
		c.usesLoopVariable(b)
	}
	c.at(id.NamePos)
	c.emit(Instr{Op: c.loadOp(b.Scope), A: uint16(dst), B: uint16(b.Index)})
}

// build lets fill construct a value step by step in a temporary: dst itself if it is one.
func (c *functionCompiler) build(dst int, fill func(t int)) {
	if dst >= len(c.locals) {
		fill(dst)
		return
	}
	t := c.temp()
	fill(t)
	c.emit(Instr{Op: Move, A: uint16(dst), B: uint16(t)})
}

func (c *functionCompiler) binary(e *syntax.BinaryExpr, dst int) {
	switch e.Op {
	case syntax.AND:
		c.build(dst, func(t int) { c.shortCircuit(e, false, t) })
	case syntax.OR:
		c.build(dst, func(t int) { c.shortCircuit(e, true, t) })
	case syntax.PLUS:
		c.plus(e, dst)
	default:
		x := c.expr(e.X)
		y := c.expr(e.Y)
		c.at(e.OpPos)
		c.emit(Instr{Op: binaryOp(e.Op), A: uint16(dst), B: x, C: y})
	}
}

// shortCircuit compiles `and` (stops on false) and `or` (stops on true); the result is one of the
// operands.
func (c *functionCompiler) shortCircuit(e *syntax.BinaryExpr, stop bool, t int) {
	done := newLabel()
	c.into(e.X, t)
	before := c.save()
	c.at(c.last)
	c.jump(Instr{Op: If, X: senseOf(stop), B: uint16(t)}, done)
	c.reach(e, WayRight)
	c.into(e.Y, t)
	c.place(done)
	c.restore(before)
}

func (c *functionCompiler) condExpr(e *syntax.CondExpr, dst int) {
	otherwise, done := newLabel(), newLabel()
	c.cond(e.Cond, false, otherwise)
	before := c.save()
	c.reach(e, WayTrue)
	c.into(e.True, dst)
	c.jump(Instr{Op: Jump}, done)
	c.place(otherwise)
	c.restore(before)
	c.reach(e, WayFalse)
	c.into(e.False, dst)
	c.place(done)
	c.restore(before)
}

// slice compiles x[lo:hi:step]. Its errors are reported where the reference's are: at the last
// position that one of the operands set.
func (c *functionCompiler) slice(e *syntax.SliceExpr, dst int) {
	c.at(e.Lbrack)
	first := c.push(e.X)
	for _, operand := range []syntax.Expr{e.Lo, e.Hi, e.Step} {
		if operand != nil {
			c.push(operand)
			continue
		}
		c.mark()
		c.loadConst(c.temp(), c.m.name("None", true))
	}
	c.at(c.last)
	c.emit(Instr{Op: Slice, A: uint16(dst), B: first})
}

// cond compiles a condition: a jump to target if its truth is sense, else control falls through.
func (c *functionCompiler) cond(e syntax.Expr, sense bool, target *label) {
	mark := c.top
	switch e := way.Unparen(e).(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			c.cond(e.X, !sense, target)
			return
		}
	case *syntax.BinaryExpr:
		if c.condBinary(e, sense, target) {
			c.top = mark
			return
		}
	}
	v := c.expr(e)
	c.at(c.last)
	c.jump(Instr{Op: If, X: senseOf(sense), B: v}, target)
	c.top = mark
}

// condBinary compiles conditions that need no bool: and, or, and comparisons.
func (c *functionCompiler) condBinary(e *syntax.BinaryExpr, sense bool, target *label) bool {
	switch e.Op {
	case syntax.AND, syntax.OR:
		stop := e.Op == syntax.OR // the value of X that decides
		if stop == sense {
			c.cond(e.X, stop, target)
			before := c.save()
			c.reach(e, WayRight)
			c.cond(e.Y, sense, target)
			c.restore(before)
			return true
		}
		skip := newLabel()
		c.cond(e.X, stop, skip)
		before := c.save()
		c.reach(e, WayRight)
		c.cond(e.Y, sense, target)
		c.place(skip)
		c.restore(before)
		return true
	}
	op, negate := comparison(e.Op)
	if op == Nop {
		return false
	}
	x := c.expr(e.X)
	y := c.expr(e.Y)
	c.at(e.OpPos)
	c.jump(Instr{Op: op, X: senseOf(sense != negate), B: x, C: y}, target)
	return true
}

// senseOf encodes the truth value on which a jump is taken.
func senseOf(sense bool) uint8 {
	if sense {
		return senseBit
	}
	return 0
}

// comparison returns the conditional jump for a comparison, and whether it tests the opposite. An
// ordering is never turned around: its error names the operator.
func comparison(op syntax.Token) (jump Op, negate bool) {
	switch op {
	case syntax.EQL:
		return IfEqual, false
	case syntax.NEQ:
		return IfEqual, true
	case syntax.LT:
		return IfLess, false
	case syntax.LE:
		return IfLessEqual, false
	case syntax.GT:
		return IfGreater, false
	case syntax.GE:
		return IfGreaterEqual, false
	case syntax.IN:
		return IfIn, false
	case syntax.NOT_IN:
		return IfIn, true
	}
	return Nop, false
}

func unaryOp(op syntax.Token) Op {
	switch op {
	case syntax.MINUS:
		return Neg
	case syntax.PLUS:
		return Plus
	case syntax.NOT:
		return Not
	case syntax.TILDE:
		return Invert
	}
	panic("compile: unknown unary operator")
}

func binaryOp(op syntax.Token) Op {
	if op := binaryOps[op]; op != Nop {
		return op
	}
	panic("compile: unknown binary operator")
}

var binaryOps = [...]Op{
	syntax.MINUS:      Sub,
	syntax.STAR:       Mul,
	syntax.SLASH:      Div,
	syntax.SLASHSLASH: FloorDiv,
	syntax.PERCENT:    Mod,
	syntax.AMP:        And,
	syntax.PIPE:       Or,
	syntax.CIRCUMFLEX: Xor,
	syntax.LTLT:       Shl,
	syntax.GTGT:       Shr,
	syntax.IN:         In,
	syntax.NOT_IN:     NotIn,
	syntax.EQL:        Equal,
	syntax.NEQ:        NotEqual,
	syntax.LT:         Less,
	syntax.LE:         LessEqual,
	syntax.GT:         Greater,
	syntax.GE:         GreaterEqual,
}
