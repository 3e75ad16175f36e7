package compile

import (
	"slices"
	"sort"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// functionCompiler compiles one function. Registers from len(locals) up are temporaries and form a
// stack: top is the next free one.
type functionCompiler struct {
	m      *moduleCompiler
	f      *Function
	parent *functionCompiler // of the enclosing function, nil for the top level
	locals []*resolve.Binding
	top    int
	loops  []loop
	shapes map[string]int

	assigned    bitset // locals that certainly have a value here
	unset       bitset // locals that some Check guards: they start unset
	unreachable bool   // after return, break and continue

	// The reference emits instructions where we read in place, and an instruction without a
	// position of its own is given the last one before it. pending is the position for the next
	// instruction, last the one most recently used.
	pending, last syntax.Position
}

// loop is an enclosing loop: where break and continue go.
type loop struct{ exit, again *label }

// label is a place in the code that jumps refer to before it is known.
type label struct {
	pc      int // -1 until placed
	pending []int
}

// function compiles a function and adds it to the module; it returns its provisional ordinal.
func (m *moduleCompiler) function(fn *resolve.Function, parent *functionCompiler) int {
	f := &Function{
		Module:         m.module,
		Ordinal:        len(m.module.Functions),
		Name:           fn.Name,
		Doc:            docstring(fn.Body),
		Line:           fn.Pos.Line,
		Col:            fn.Pos.Col,
		Locals:         bindings(fn.Locals),
		Free:           bindings(fn.FreeVars),
		NumKeywordOnly: fn.NumKwonlyParams,
		HasVarargs:     fn.HasVarargs,
		HasKwargs:      fn.HasKwargs,
	}
	f.countParams(fn)
	m.module.Functions = append(m.module.Functions, f)
	words := (len(fn.Locals) + 63) / 64
	c := &functionCompiler{
		m: m, f: f, parent: parent, locals: fn.Locals, top: len(fn.Locals), shapes: make(map[string]int),
		assigned: make(bitset, words), unset: make(bitset, words), pending: fn.Pos,
	}
	for _, b := range fn.FreeVars {
		c.usesLoopVariable(b)
	}
	c.compile(fn)
	return f.Ordinal
}

// usesLoopVariable notes that the function uses a variable of an enclosing function or of the file,
// if that is the variable of a loop.
func (c *functionCompiler) usesLoopVariable(b *resolve.Binding) {
	captured := c.m.loopVars[b]
	if parent := c.parent; parent != nil && b.Scope == resolve.Free {
		captured = slices.Contains(parent.f.LoopVariables, b.First.Name)
	}
	if name := b.First.Name; captured && !slices.Contains(c.f.LoopVariables, name) {
		c.f.LoopVariables = append(c.f.LoopVariables, name)
	}
}

// countParams counts parameters (a bare * is none) and defaults: from the first optional parameter
// on, each parameter has one, if only a placeholder.
func (f *Function) countParams(fn *resolve.Function) {
	star := false
	for _, p := range fn.Params {
		switch p := p.(type) {
		case *syntax.BinaryExpr:
			f.NumDefaults++
			f.NumParams++
		case *syntax.UnaryExpr:
			star = true
			if p.X != nil {
				f.NumParams++
			}
		case *syntax.Ident:
			f.NumParams++
			if star {
				f.addPlaceholder()
			}
		}
	}
}

func (f *Function) addPlaceholder() {
	for len(f.placeholders) <= f.NumDefaults/64 {
		f.placeholders = append(f.placeholders, 0)
	}
	f.placeholders.add(f.NumDefaults)
	f.NumDefaults++
}

// docstring is the first statement of a body if that is a string literal.
func docstring(body []syntax.Stmt) string {
	if len(body) == 0 {
		return ""
	}
	if stmt, ok := body[0].(*syntax.ExprStmt); ok {
		if lit, ok := stmt.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			return lit.Value.(string)
		}
	}
	return ""
}

func (c *functionCompiler) compile(fn *resolve.Function) {
	c.prologue()
	c.stmts(fn.Body)
	if !c.unreachable {
		c.mark()
		c.emit(Instr{Op: Return, A: c.rk(c.m.name("None", true), c.top)})
	}
	c.clearUnset()
	c.sortSites()
	if c.f.NumRegisters < len(c.locals) {
		c.f.NumRegisters = len(c.locals)
	}
	if c.f.NumRegisters > maxRegisters || len(c.f.Code) > maxInstructions {
		c.m.errorf(fn.Pos, "function %s is too large: it needs %d variables and temporaries (limit %d) and %d instructions (limit %d); split it",
			fn.Name, c.f.NumRegisters, maxRegisters, len(c.f.Code), maxInstructions)
	}
}

// prologue gives locals that nested functions share a cell and marks parameters as assigned.
func (c *functionCompiler) prologue() {
	first := c.pending
	c.pending = syntax.Position{}
	for i, local := range c.locals {
		param := i < c.f.NumParams
		switch {
		case local.Scope == resolve.Cell && param:
			c.emit(Instr{Op: BoxCell, A: uint16(i)})
		case local.Scope == resolve.Cell:
			c.emit(Instr{Op: NewCell, A: uint16(i)})
		}
		if param || local.Scope == resolve.Cell {
			c.assigned.add(i)
		}
	}
	c.pending = first
}

// clearUnset inserts an Unset at the start for each local that is checked somewhere: a window of
// registers is not cleared by a call.
func (c *functionCompiler) clearUnset() {
	regs := c.unset.elements()
	if len(regs) == 0 {
		return
	}
	n := len(regs)
	code := make([]Instr, 0, n+len(c.f.Code))
	for _, r := range regs {
		code = append(code, Instr{Op: Unset, A: uint16(r)})
	}
	for _, in := range c.f.Code {
		if in.Op.jumps() {
			in.setTarget(in.Target() + n)
		}
		code = append(code, in)
	}
	c.f.Code = code
	for i := range c.f.positions {
		c.f.positions[i].pc += uint32(n)
	}
	for i := range c.f.Sites {
		c.f.Sites[i].PC += n
	}
}

// emit appends an instruction, which takes the pending position, and returns its pc.
func (c *functionCompiler) emit(in Instr) int {
	pc := len(c.f.Code)
	if c.pending.Line != 0 {
		c.mark()
		c.f.positions = append(c.f.positions, position{uint32(pc), c.last.Line, c.last.Col})
	}
	c.f.Code = append(c.f.Code, in)
	return pc
}

// at sets the position of the next instruction.
func (c *functionCompiler) at(pos syntax.Position) { c.pending = pos }

// mark consumes the pending position where the reference emits an instruction and we may not.
func (c *functionCompiler) mark() {
	if c.pending.Line == 0 {
		return
	}
	c.last = c.pending
	c.pending = syntax.Position{}
	if c.f.entry.line == 0 {
		c.f.entry = position{0, c.last.Line, c.last.Col}
	}
}

// temp allocates a temporary register.
func (c *functionCompiler) temp() int { return c.temps(1) }

// temps allocates n adjacent temporaries and returns the first.
func (c *functionCompiler) temps(n int) int {
	first := c.top
	c.top += n
	if c.top > c.f.NumRegisters {
		c.f.NumRegisters = c.top
	}
	return first
}

// rk turns a constant index into an operand, through register scratch if the index is too large for
// one; scratch must be free.
func (c *functionCompiler) rk(constant, scratch int) uint16 {
	if constant < ConstBit {
		return uint16(constant) | ConstBit
	}
	if scratch >= c.f.NumRegisters {
		c.f.NumRegisters = scratch + 1
	}
	c.loadConst(scratch, constant)
	return uint16(scratch)
}

func (c *functionCompiler) loadConst(dst, constant int) {
	if constant < ConstBit {
		c.emit(Instr{Op: Move, A: uint16(dst), B: uint16(constant) | ConstBit})
		return
	}
	c.emit(Instr{Op: Const, A: uint16(dst), B: uint16(constant), C: uint16(constant >> 16)})
}

// name16 is a constant index that must fit an operand of kind K.
func (c *functionCompiler) name16(pos syntax.Position, name string) uint16 {
	i := c.m.text(name)
	if i > 0xffff {
		c.m.errorf(pos, "the file has too many constants before the name %s: the limit is 65,535; move data out of the code", name)
	}
	return uint16(i)
}

func newLabel() *label { return &label{pc: -1} }

// place puts a label here.
func (c *functionCompiler) place(l *label) {
	l.pc = len(c.f.Code)
	for _, pc := range l.pending {
		c.f.Code[pc].setTarget(l.pc)
	}
	if len(l.pending) > 0 {
		c.unreachable = false
	}
}

// jump emits a jumping instruction to a label.
func (c *functionCompiler) jump(in Instr, l *label) int {
	if l.pc >= 0 {
		in.setTarget(l.pc)
		return c.emit(in)
	}
	pc := c.emit(in)
	l.pending = append(l.pending, pc)
	return pc
}

// site records that the instruction at pc is a call or the back-edge of a loop.
func (c *functionCompiler) site(pc int, loop bool, pos syntax.Position) {
	c.f.Sites = append(c.f.Sites, Site{PC: pc, Loop: loop, Line: pos.Line, Col: pos.Col})
}

// sortSites puts the sites into the order of the source.
func (c *functionCompiler) sortSites() {
	sites := c.f.Sites
	sort.Slice(sites, func(i, j int) bool {
		return sites[i].Line < sites[j].Line || sites[i].Line == sites[j].Line && sites[i].Col < sites[j].Col
	})
}
