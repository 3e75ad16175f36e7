package compile

import (
	"crypto/sha256"
	"fmt"
	"sort"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Source is a file to compile.
type Source struct {
	Name        string // canonical name; positions show it
	Text        []byte
	Options     syntax.FileOptions
	Predeclared func(name string) bool          // the names of the environment; nil means none
	Globals     func(name string) bool          // of a chunk of a REPL session: names that earlier chunks bound; nil for a file
	Module      func(path string) (name string) // what a load statement's path stands for; nil means the path itself
	Breaks      bool                            // put a Break before every instruction: tests stop machines there
	Marks       bool                            // put a Reach at each of Module.Marks
}

// Generator is the number of the code generator. It moves whenever the same source compiles to
// other code, or other registers of it are live. Snapshots of other generators are read as long as
// functions, sites and live registers keep their order, and refused if they do not.
const Generator = 1

// generatorOfBreaks is that of code with breaks.
const generatorOfBreaks = 0xff

// Error is a refusal by the compiler itself; errors of parsing and of name resolution are
// syntax.Error and resolve.ErrorList.
type Error struct {
	Pos syntax.Position
	Msg string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// Compile compiles one file. Errors are syntax.Error, resolve.ErrorList or *Error.
func Compile(src Source) (*Module, error) {
	opts := src.Options
	file, err := opts.Parse(src.Name, src.Text, 0)
	if err != nil {
		return nil, err
	}
	return CompileFile(src, file)
}

// CompileFile compiles a parsed file. Resolving changes the tree, so a tree can be compiled once
// only.
func CompileFile(src Source, file *syntax.File) (*Module, error) {
	if err := checkDepth(file); err != nil {
		return nil, err
	}
	if err := resolve.REPLChunk(file, src.Globals, or(src.Predeclared), starlark.Universe.Has); err != nil {
		return nil, err
	}
	module := file.Module.(*resolve.Module)
	top := &resolve.Function{Name: "<toplevel>", Pos: start(file), Body: file.Stmts, Locals: module.Locals}
	if src.Globals != nil {
		top.Body = returnLast(file.Stmts)
	}
	return compileModule(src, top, module.Globals, file)
}

// returnLast makes a chunk of a REPL return the value of its last statement if that is an
// expression.
func returnLast(stmts []syntax.Stmt) []syntax.Stmt {
	if len(stmts) == 0 {
		return stmts
	}
	last, ok := stmts[len(stmts)-1].(*syntax.ExprStmt)
	if !ok {
		return stmts
	}
	return append(stmts[:len(stmts)-1:len(stmts)-1], &syntax.ReturnStmt{Result: last.X})
}

// CompileExpr compiles an expression to a module whose top level returns its value.
func CompileExpr(src Source) (*Module, error) {
	opts := src.Options
	expr, err := opts.ParseExpr(src.Name, src.Text, 0)
	if err != nil {
		return nil, err
	}
	if err := checkDepth(expr); err != nil {
		return nil, err
	}
	locals, err := resolve.ExprOptions(&opts, expr, or(src.Predeclared), starlark.Universe.Has)
	if err != nil {
		return nil, err
	}
	body := []syntax.Stmt{&syntax.ReturnStmt{Result: expr}}
	top := &resolve.Function{Name: "<expr>", Pos: syntax.Start(expr), Body: body, Locals: locals}
	return compileModule(src, top, nil, nil)
}

func or(has func(string) bool) func(string) bool {
	if has == nil {
		return func(string) bool { return false }
	}
	return has
}

func start(file *syntax.File) syntax.Position {
	if len(file.Stmts) > 0 {
		return syntax.Start(file.Stmts[0])
	}
	return syntax.MakePosition(&file.Path, 1, 1)
}

// hasMain tells whether the top level holds exactly one unconditional def main. That of an
// expression, nil, does not.
func hasMain(file *syntax.File) bool {
	if file == nil {
		return false
	}
	n := 0
	for _, stmt := range file.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && def.Name.Name == "main" {
			n++
		}
	}
	return n == 1
}

// moduleCompiler holds what the functions of a module share while it is compiled.
type moduleCompiler struct {
	src       Source
	module    *Module
	constants map[any]int
	loopVars  map[*resolve.Binding]bool // variables of for statements and clauses
	marking   *marking                  // nil without marks
	err       error                     // the first refusal
}

// compileModule compiles a file, nil for an expression, whose top level is given.
func compileModule(src Source, top *resolve.Function, globals []*resolve.Binding,
	file *syntax.File) (*Module, error) {
	m := &moduleCompiler{
		src: src,
		module: &Module{
			Name:      src.Name,
			Hash:      sha256.Sum256(src.Text),
			Options:   src.Options,
			Globals:   bindings(globals),
			HasMain:   hasMain(file),
			Generator: Generator,
		},
		constants: make(map[any]int),
		loopVars:  make(map[*resolve.Binding]bool),
	}
	if src.Marks && file != nil {
		m.marking = newMarking(file)
		m.module.Marks, m.module.Generator = m.marking.marks, generatorOfMarks
	}
	m.function(top, nil)
	if m.err != nil {
		return nil, m.err
	}
	m.number()
	if src.Breaks {
		m.module.Generator = generatorOfBreaks
		for _, f := range m.module.Functions {
			f.insertBreaks()
		}
	}
	return m.module, nil
}

func (m *moduleCompiler) errorf(pos syntax.Position, format string, args ...any) {
	if m.err == nil {
		m.err = &Error{Pos: pos, Msg: fmt.Sprintf(format, args...)}
	}
}

// number puts the functions into the order of the source, the top level first: code is generated in
// order of evaluation, which may change.
func (m *moduleCompiler) number() {
	fns := m.module.Functions
	sort.SliceStable(fns[1:], func(i, j int) bool {
		f, g := fns[1+i], fns[1+j]
		return f.Line < g.Line || f.Line == g.Line && f.Col < g.Col
	})
	renumbered := make([]uint16, len(fns))
	for i, f := range fns {
		renumbered[f.Ordinal] = uint16(i)
	}
	for i, f := range fns {
		f.Ordinal = i
		for pc := range f.Code {
			if f.Code[pc].Op == Func {
				f.Code[pc].C = renumbered[f.Code[pc].C]
			}
		}
	}
}

func bindings(list []*resolve.Binding) []Binding {
	res := make([]Binding, len(list))
	for i, b := range list {
		res[i] = Binding{b.First.Name, b.First.NamePos.Line, b.First.NamePos.Col}
	}
	return res
}
