package compile

import (
	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/way"
)

// stmts compiles statements up to the first after which nothing can follow.
func (c *functionCompiler) stmts(stmts []syntax.Stmt) {
	for _, stmt := range stmts {
		if c.unreachable {
			return
		}
		mark := c.top
		c.reach(stmt, WayNone)
		c.stmt(stmt)
		c.top = mark
	}
}

func (c *functionCompiler) stmt(stmt syntax.Stmt) {
	switch stmt := stmt.(type) {
	case *syntax.ExprStmt:
		if _, ok := stmt.X.(*syntax.Literal); !ok {
			c.expr(stmt.X)
		}
	case *syntax.BranchStmt:
		c.branch(stmt)
	case *syntax.IfStmt:
		c.ifStmt(stmt)
	case *syntax.AssignStmt:
		if stmt.Op == syntax.EQ {
			c.assignStmt(stmt)
		} else {
			c.augmented(stmt)
		}
	case *syntax.DefStmt:
		c.store(stmt.Name, func(dst int) { c.funcInto(stmt.Function.(*resolve.Function), dst) })
	case *syntax.ForStmt:
		c.loop(stmt.For, stmt.Vars, stmt.X, true, func() { c.stmts(stmt.Body) })
	case *syntax.WhileStmt:
		c.while(stmt)
	case *syntax.ReturnStmt:
		c.returnStmt(stmt)
	case *syntax.LoadStmt:
		c.load(stmt)
	default:
		panic("compile: unknown statement")
	}
}

func (c *functionCompiler) branch(stmt *syntax.BranchStmt) {
	switch stmt.Token {
	case syntax.BREAK:
		c.jump(Instr{Op: Jump}, c.loops[len(c.loops)-1].exit)
		c.unreachable = true
	case syntax.CONTINUE:
		c.jump(Instr{Op: Jump}, c.loops[len(c.loops)-1].again)
		c.unreachable = true
	}
}

func (c *functionCompiler) returnStmt(stmt *syntax.ReturnStmt) {
	var v uint16
	if stmt.Result != nil {
		c.reach(stmt.Result, WayBody) // of a lambda
		v = c.expr(stmt.Result)
	} else {
		c.mark()
		v = c.rk(c.m.name("None", true), c.top)
	}
	c.emit(Instr{Op: Return, A: v})
	c.unreachable = true
}

// ifStmt compiles a chain of if and elif in one loop. What is assigned afterwards is what every
// branch that gets there has assigned.
func (c *functionCompiler) ifStmt(stmt *syntax.IfStmt) {
	done := newLabel()
	after := c.newJoin()
	for {
		otherwise := newLabel()
		c.cond(stmt.Cond, false, otherwise)
		before := c.save()
		c.reach(stmt, WayTrue)
		c.stmts(stmt.True)
		after.add(c)
		if (len(stmt.False) > 0 || c.m.marking != nil) && !c.unreachable {
			c.jump(Instr{Op: Jump}, done)
		}
		c.restore(before)
		c.unreachable = true
		c.place(otherwise)
		if len(otherwise.pending) == 0 {
			break // the condition is a constant that is true
		}
		c.reach(stmt, WayFalse)
		elif, ok := soleIf(stmt.False)
		if !ok {
			c.stmts(stmt.False)
			break
		}
		stmt = elif
		c.reach(stmt, WayNone)
	}
	after.add(c)
	after.apply(c)
	c.place(done)
}

// soleIf tells whether a suite is one if statement, as the parser renders elif.
func soleIf(suite []syntax.Stmt) (*syntax.IfStmt, bool) {
	if len(suite) != 1 {
		return nil, false
	}
	stmt, ok := suite[0].(*syntax.IfStmt)
	return stmt, ok
}

// loop compiles a for statement or clause:
//
//	       iter x
//	       jump again
//	body:  vars = element; ...
//	again: next element, body
//	exit:  iterend
func (c *functionCompiler) loop(pos syntax.Position, vars, x syntax.Expr, stmt bool, body func()) {
	mark := c.top
	v := c.expr(x)
	c.at(pos)
	c.emit(Instr{Op: Iter, B: v})
	c.top = mark

	before := c.save()
	l := loop{exit: newLabel(), again: newLabel()}
	c.jump(Instr{Op: Jump}, l.again)
	start := &label{pc: len(c.f.Code)}
	c.m.markLoopVariables(vars)
	element, assign := c.loopVariable(pos, vars)
	assign()
	if stmt {
		c.loops = append(c.loops, l)
	}
	body()
	if stmt {
		c.loops = c.loops[:len(c.loops)-1]
	}
	c.unreachable = false
	c.place(l.again)
	c.site(c.jump(Instr{Op: Next, B: element}, start), true, pos)
	c.place(l.exit)
	c.emit(Instr{Op: IterEnd})
	c.restore(before)
	c.top = mark
}

// loopVariable decides where Next puts an element: straight into a local, or into a temporary that
// assign then distributes.
func (c *functionCompiler) loopVariable(pos syntax.Position, vars syntax.Expr) (element uint16, assign func()) {
	if reg, ok := c.plainLocal(vars); ok {
		c.assigned.add(reg)
		return uint16(reg), func() {}
	}
	t := c.temp()
	return uint16(t), func() { c.assign(pos, vars, uint16(t)) }
}

// markLoopVariables remembers which variables a loop assigns: a lambda that uses one sees its last
// value only.
func (m *moduleCompiler) markLoopVariables(vars syntax.Expr) {
	switch vars := way.Unparen(vars).(type) {
	case *syntax.Ident:
		m.loopVars[vars.Binding.(*resolve.Binding)] = true
	case *syntax.TupleExpr:
		for _, e := range vars.List {
			m.markLoopVariables(e)
		}
	case *syntax.ListExpr:
		for _, e := range vars.List {
			m.markLoopVariables(e)
		}
	}
}

// while compiles a while loop; it has no iterator, so its back-edge is a plain Loop.
func (c *functionCompiler) while(stmt *syntax.WhileStmt) {
	l := loop{exit: newLabel(), again: &label{pc: len(c.f.Code)}}
	c.cond(stmt.Cond, false, l.exit)
	before := c.save()
	back := newLabel()
	c.loops = append(c.loops, loop{exit: l.exit, again: back})
	c.stmts(stmt.Body)
	c.loops = c.loops[:len(c.loops)-1]
	c.place(back)
	c.site(c.jump(Instr{Op: Loop}, l.again), true, stmt.While)
	c.unreachable = true
	c.place(l.exit)
	c.restore(before)
}

// load reads the names of a module into temporaries and binds them.
func (c *functionCompiler) load(stmt *syntax.LoadStmt) {
	path := stmt.ModuleName()
	l := LoadStmt{Path: path, Module: path, Line: stmt.Load.Line, Col: stmt.Load.Col}
	if c.m.src.Module != nil {
		l.Module = c.m.src.Module(path)
	}
	for _, from := range stmt.From {
		l.Names = append(l.Names, from.Name)
	}
	index := len(c.m.module.Loads)
	if index > 0xffff {
		c.m.errorf(stmt.Load, "too many load statements: the limit is 65,535")
	}
	c.m.module.Loads = append(c.m.module.Loads, l)
	first := c.temps(len(stmt.From))
	c.mark()
	c.at(stmt.Load)
	c.emit(Instr{Op: Load, A: uint16(first), B: uint16(index)})
	for i, to := range stmt.To {
		c.set(to, uint16(first+i))
	}
}
