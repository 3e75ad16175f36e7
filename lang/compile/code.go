package compile

import (
	"crypto/sha256"
	"sort"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Module is the code of one file. It is immutable and shared by goroutines.
type Module struct {
	Name      string             // the file's canonical name; positions show it
	Hash      [sha256.Size]byte  // of the source text
	Options   syntax.FileOptions // the dialect it was compiled for
	Constants []starlark.Value   // immutable values; nil where Names has an entry
	Names     []Name             // constants that the machine fills in when it loads the module
	Functions []*Function        // in the order of the source; Functions[0] is the top level
	Globals   []Binding          // in the order of their first binding
	Loads     []LoadStmt         // in the order of the source
	HasMain   bool               // the top level holds one unconditional def main
	Generator byte               // the number of the code generator that made it
	Marks     []Mark             // which its code counts; nil for code that counts nothing
}

// Name is a predeclared or universal name that the module uses: its value becomes Constants[Const].
type Name struct {
	Const     int
	Name      string
	Universal bool // from starlark.Universe, else predeclared
}

// Binding is the name and the place of a variable.
type Binding struct {
	Name      string
	Line, Col int32
}

// LoadStmt is one load statement.
type LoadStmt struct {
	Path      string // as written
	Module    string // name of the module it stands for
	Names     []string
	Line, Col int32
}

// Function is the code of one def, lambda or top level.
type Function struct {
	Module  *Module
	Ordinal int // index in Module.Functions
	Name    string
	Doc     string // docstring, "" without one
	Line    int32  // of def or lambda
	Col     int32

	Code          []Instr
	NumRegisters  int       // size of the window
	Locals        []Binding // registers 0 to len-1; parameters first
	Free          []Binding // cells captured from enclosing functions
	Shapes        []Shape   // of the calls with named or spread arguments
	Sites         []Site    // in the order of the source: a site's ordinal is its index
	LoopVariables []string  // loop and comprehension variables of enclosing functions that it uses

	NumParams      int // all parameters, *args and **kwargs included, in registers 0 to NumParams-1
	NumKeywordOnly int
	NumDefaults    int // defaults, placeholders for mandatory keyword-only parameters included
	HasVarargs     bool
	HasKwargs      bool

	placeholders bitset // of the defaults; nil if there are none

	positions []position
	entry     position // where errors of argument binding are reported

	once     sync.Once
	analysis analysis
}

// Shape is the form of a call's arguments after the positional ones.
type Shape struct {
	Names    []string // of the named arguments, in order
	Star     bool     // *args follows
	StarStar bool     // **kwargs follows
}

// Values is the number of registers that hold the arguments of the shape.
func (s *Shape) Values() int {
	n := len(s.Names)
	if s.Star {
		n++
	}
	if s.StarStar {
		n++
	}
	return n
}

// Site is a place where a machine can rest: a call, or the back-edge of a loop.
type Site struct {
	PC        int
	Loop      bool
	Line, Col int32 // of the call's parenthesis or the loop's keyword
}

// Rebase returns the module with its globals numbered as in table, to which those that it does not
// have are added. The chunks of a REPL session share one table of variables in this way.
func (m *Module) Rebase(table []Binding) (*Module, []Binding) {
	index := make(map[string]uint16, len(table))
	table = append([]Binding(nil), table...)
	for i, b := range table {
		index[b.Name] = uint16(i)
	}
	moved := make([]uint16, len(m.Globals))
	for i, b := range m.Globals {
		at, ok := index[b.Name]
		if !ok {
			at = uint16(len(table))
			table = append(table, b)
		}
		moved[i] = at
	}
	out := *m
	out.Globals = table
	out.Functions = make([]*Function, len(m.Functions))
	for i, f := range m.Functions {
		out.Functions[i] = f.rebase(&out, moved)
	}
	return &out, table
}

func (f *Function) rebase(m *Module, moved []uint16) *Function {
	g := &Function{
		Module: m, Ordinal: f.Ordinal, Name: f.Name, Doc: f.Doc, Line: f.Line, Col: f.Col,
		NumRegisters: f.NumRegisters, Locals: f.Locals, Free: f.Free, Shapes: f.Shapes, Sites: f.Sites, LoopVariables: f.LoopVariables,
		NumParams: f.NumParams, NumKeywordOnly: f.NumKeywordOnly, NumDefaults: f.NumDefaults, HasVarargs: f.HasVarargs, HasKwargs: f.HasKwargs,
		placeholders: f.placeholders, positions: f.positions, entry: f.entry,
	}
	g.Code = append([]Instr(nil), f.Code...)
	for i := range g.Code {
		switch in := &g.Code[i]; in.Op {
		case Global:
			in.B = moved[in.B]
		case SetGlobal:
			in.A = moved[in.A]
		}
	}
	return g
}

type position struct {
	pc        uint32
	line, col int32
}

// Simple tells that a call with NumParams positional arguments needs no binding: the arguments are
// the registers.
func (f *Function) Simple() bool {
	return !f.HasVarargs && !f.HasKwargs && f.NumKeywordOnly == 0
}

// Position is the place in the source to which an error of the instruction at pc is attributed. A
// negative pc is the binding of arguments.
func (f *Function) Position(pc int) syntax.Position {
	at := f.entry
	if pc >= 0 {
		n := sort.Search(len(f.positions), func(i int) bool { return int(f.positions[i].pc) > pc })
		if n > 0 {
			at = f.positions[n-1]
		}
	}
	return syntax.MakePosition(&f.Module.Name, at.line, at.col)
}

// SiteAt is the ordinal of the site whose instruction is at pc, or -1.
func (f *Function) SiteAt(pc int) int {
	n := f.siteIndex(pc)
	if n < 0 {
		return -1
	}
	return f.analyze().sites[n]
}

// siteIndex is the place of the site at pc in the order of the code, or -1.
func (f *Function) siteIndex(pc int) int {
	order := f.analyze().sites
	n := sort.Search(len(order), func(i int) bool { return f.Sites[order[i]].PC >= pc })
	if n < len(order) && f.Sites[order[n]].PC == pc {
		return n
	}
	return -1
}
