package compile

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// assignStmt compiles lhs = rhs. The right side is evaluated first, then the parts of the left from
// left to right.
func (c *functionCompiler) assignStmt(stmt *syntax.AssignStmt) {
	lhs := way.Unparen(stmt.LHS)
	if id, ok := lhs.(*syntax.Ident); ok {
		c.store(id, func(dst int) { c.into(stmt.RHS, dst) })
		return
	}
	if c.parallel(lhs, way.Unparen(stmt.RHS)) {
		return
	}
	c.assign(stmt.OpPos, lhs, c.expr(stmt.RHS))
}

// parallel compiles a, b = x, y without building the tuple: the values go to temporaries, then to
// the variables.
func (c *functionCompiler) parallel(lhs, rhs syntax.Expr) bool {
	to, ok := lhs.(*syntax.TupleExpr)
	from, ok2 := rhs.(*syntax.TupleExpr)
	if !ok || !ok2 || len(to.List) != len(from.List) {
		return false
	}
	for _, e := range to.List {
		if _, ok := way.Unparen(e).(*syntax.Ident); !ok {
			return false
		}
	}
	first := c.pushAll(from.List)
	for i, e := range to.List {
		c.set(way.Unparen(e).(*syntax.Ident), uint16(first+i))
	}
	return true
}

// store evaluates into a variable: straight into its register where it is a plain local.
func (c *functionCompiler) store(id *syntax.Ident, eval func(dst int)) {
	if reg, ok := c.plainLocal(id); ok {
		eval(reg)
		c.assigned.add(reg)
		return
	}
	t := c.temp()
	eval(t)
	c.set(id, uint16(t))
}

// plainLocal returns the register of an expression that is a local variable without a cell.
func (c *functionCompiler) plainLocal(e syntax.Expr) (int, bool) {
	id, ok := way.Unparen(e).(*syntax.Ident)
	if !ok {
		return 0, false
	}
	b := id.Binding.(*resolve.Binding)
	return b.Index, b.Scope == resolve.Local
}

// set assigns operand v to a variable.
func (c *functionCompiler) set(id *syntax.Ident, v uint16) {
	b := id.Binding.(*resolve.Binding)
	index := uint16(b.Index)
	switch b.Scope {
	case resolve.Local:
		c.emit(Instr{Op: Move, A: index, B: v})
		c.assigned.add(b.Index)
	case resolve.Cell:
		c.emit(Instr{Op: SetCell, A: index, B: v})
	case resolve.Global:
		if b.Index > 0xffff {
			c.m.errorf(id.NamePos, "too many global variables: the limit is 65,536")
		}
		c.emit(Instr{Op: SetGlobal, A: index, B: v})
	default:
		panic("compile: assignment to " + b.Scope.String() + " variable")
	}
}

// assign distributes operand v over the left side of an assignment or the variables of a loop; pos
// is where a wrong number of values is reported.
func (c *functionCompiler) assign(pos syntax.Position, lhs syntax.Expr, v uint16) {
	mark := c.top
	switch lhs := way.Unparen(lhs).(type) {
	case *syntax.Ident:
		c.set(lhs, v)
	case *syntax.TupleExpr:
		c.unpack(pos, lhs.List, v)
	case *syntax.ListExpr:
		c.unpack(pos, lhs.List, v)
	case *syntax.IndexExpr:
		x := c.expr(lhs.X)
		y := c.expr(lhs.Y)
		c.at(lhs.Lbrack)
		c.emit(Instr{Op: SetIndex, A: x, B: y, C: v})
	case *syntax.DotExpr:
		x := c.expr(lhs.X)
		name := c.name16(lhs.Dot, lhs.Name.Name)
		c.at(lhs.Dot)
		c.emit(Instr{Op: SetAttr, A: x, B: name, C: v})
	default:
		panic("compile: unknown assignment target")
	}
	c.top = mark
}

// unpack takes a sequence apart: straight into the variables when they are adjacent locals, as in
// `for k, v in`, else through temporaries.
func (c *functionCompiler) unpack(pos syntax.Position, list []syntax.Expr, v uint16) {
	n := len(list)
	first, direct := c.adjacentLocals(list)
	if !direct {
		first = c.temps(n)
	}
	c.at(pos)
	c.emit(Instr{Op: Unpack, A: uint16(first), B: v, C: uint16(n)})
	for i, e := range list {
		if direct {
			c.assigned.add(first + i)
		} else {
			c.assign(pos, e, uint16(first+i))
		}
	}
}

func (c *functionCompiler) adjacentLocals(list []syntax.Expr) (first int, ok bool) {
	for i, e := range list {
		reg, plain := c.plainLocal(e)
		if i == 0 {
			first = reg
		}
		if !plain || reg != first+i {
			return 0, false
		}
	}
	return first, len(list) > 0
}

// augmented compiles x op= y. The parts of x are evaluated once and before y.
func (c *functionCompiler) augmented(stmt *syntax.AssignStmt) {
	op := augmentedOps[stmt.Op]
	switch lhs := way.Unparen(stmt.LHS).(type) {
	case *syntax.Ident:
		x := c.expr(lhs)
		y := c.expr(stmt.RHS)
		c.store(lhs, func(dst int) {
			c.at(stmt.OpPos)
			c.emit(Instr{Op: op, A: uint16(dst), B: x, C: y})
		})
	case *syntax.IndexExpr:
		x := c.expr(lhs.X)
		i := c.expr(lhs.Y)
		t := uint16(c.temp())
		c.at(lhs.Lbrack)
		c.emit(Instr{Op: Index, A: t, B: x, C: i})
		y := c.expr(stmt.RHS)
		c.at(stmt.OpPos)
		c.emit(Instr{Op: op, A: t, B: t, C: y})
		c.at(lhs.Lbrack)
		c.emit(Instr{Op: SetIndex, A: x, B: i, C: t})
	case *syntax.DotExpr:
		x := c.expr(lhs.X)
		name := c.name16(lhs.Dot, lhs.Name.Name)
		t := uint16(c.temp())
		c.at(lhs.Dot)
		c.emit(Instr{Op: Attr, A: t, B: x, C: name})
		y := c.expr(stmt.RHS)
		c.at(stmt.OpPos)
		c.emit(Instr{Op: op, A: t, B: t, C: y})
		c.at(lhs.Dot)
		c.emit(Instr{Op: SetAttr, A: x, B: name, C: t})
	default:
		panic("compile: unknown augmented assignment target")
	}
}

var augmentedOps = map[syntax.Token]Op{
	syntax.PLUS_EQ:       AddTo,
	syntax.MINUS_EQ:      Sub,
	syntax.STAR_EQ:       Mul,
	syntax.SLASH_EQ:      Div,
	syntax.SLASHSLASH_EQ: FloorDiv,
	syntax.PERCENT_EQ:    Mod,
	syntax.AMP_EQ:        And,
	syntax.PIPE_EQ:       OrTo,
	syntax.CIRCUMFLEX_EQ: Xor,
	syntax.LTLT_EQ:       Shl,
	syntax.GTGT_EQ:       Shr,
}
