package lang

import (
	"errors"
	"fmt"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// Dialect is the number of the language that this build compiles. It is part of every program's
// hash, and moves when the same text would come to mean something else: another file option,
// another order of evaluation.
const Dialect = 1

// Limits of a script's text. They stand in the table of spec.md, and a test compares the two.
const (
	MaxSource  = 1 << 20  // bytes of one file
	MaxModules = 1000     // files of one bundle
	MaxBundle  = 16 << 20 // bytes of all files of one bundle
	MaxNesting = 10_000   // depth of a syntax tree; the parser's own limit covers brackets and blocks, this one chains such as a + b + …
)

// FileOptions are the options under which every script is parsed, resolved and compiled: sets,
// statements at top level, reassignment of globals and recursion are on, while is off, because a
// loop without a bound is written `for _ in forever()`.
func FileOptions() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
}

// chunkOptions are those of what is typed in a session, where what is loaded is there for the
// chunks that follow: nothing could be done with it otherwise. Sessions of an earlier behaviour go
// on with the options of files.
func chunkOptions(behaviour uint32) *syntax.FileOptions {
	o := FileOptions()
	o.LoadBindsGlobally = behaviour == 0 || behaviour > effect.BehaviourLoadsForgotten
	return o
}

// optionBits writes the options down for the program's hash.
func optionBits(o *syntax.FileOptions) byte {
	var bits byte
	for i, on := range []bool{o.Set, o.While, o.TopLevelControl, o.GlobalReassign, o.LoadBindsGlobally, o.Recursion} {
		if on {
			bits |= 1 << i
		}
	}
	return bits
}

// Parse reads the text of one file, whose name positions show. The error is a diagnostic.List.
func Parse(name string, source []byte) (*syntax.File, error) {
	return parse(&Module{Name: name, Source: source})
}

// parse reads one module's text. The error is a diagnostic.List.
func parse(m *Module) (*syntax.File, error) { return parseAs(m, FileOptions()) }

// tree is a module parsed, a new tree each time: resolving and compiling change it.
func (m *Module) tree() (*syntax.File, error) {
	if f := m.parsed.Swap(nil); f != nil {
		return f, nil
	}
	return parse(m)
}

func parseAs(m *Module, o *syntax.FileOptions) (*syntax.File, error) {
	f, err := o.Parse(m.Name, m.Source, 0)
	if err == nil {
		err = nesting(f)
	}
	if err != nil {
		return nil, diagnostic.List{SyntaxProblem(m, err)}
	}
	return f, nil
}

// SyntaxProblem explains what the parser says of a module's text, which may be all that was typed
// so far.
func SyntaxProblem(m *Module, err error) diagnostic.Diagnostic {
	var at syntax.Error
	if errors.As(err, &at) {
		return syntaxProblem(m, at)
	}
	return diagnostic.Diagnostic{Kind: "syntax", File: m.Name, Message: err.Error()}
}

// nesting refuses trees on which a recursive walk, the resolver's and the compiler's among them,
// would need an unreasonable Go stack. A chain of operators, suffixes or elif is parsed by a loop
// and not bounded by the parser. Being recursive itself, the walk stops at the limit.
func nesting(f *syntax.File) error {
	depth := 0
	var deep syntax.Node
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return false
		}
		if deep == nil && depth == MaxNesting {
			deep = n
		}
		if deep != nil {
			return false
		}
		depth++
		return true
	})
	if deep == nil {
		return nil
	}
	return syntax.Error{Pos: start(deep), Msg: fmt.Sprintf("nested deeper than %d levels", MaxNesting)}
}

// start is syntax.Start without its recursion along the left spine of an expression.
func start(n syntax.Node) syntax.Position {
	for {
		switch x := n.(type) {
		case *syntax.BinaryExpr:
			n = x.X
		case *syntax.CallExpr:
			n = x.Fn
		case *syntax.DotExpr:
			n = x.X
		case *syntax.IndexExpr:
			n = x.X
		case *syntax.SliceExpr:
			n = x.X
		case *syntax.CondExpr:
			n = x.True
		default:
			return syntax.Start(n)
		}
	}
}

// anything is a predicate for resolving a file of which only the own names matter.
func anything(string) bool { return true }

// nothing is its opposite.
func nothing(string) bool { return false }

// isPredeclared tells whether a resolved expression is a use of the predeclared name, one that the
// file has not bound itself.
func isPredeclared(e syntax.Expr, name string) bool {
	id, ok := e.(*syntax.Ident)
	if !ok || id.Name != name {
		return false
	}
	b, ok := id.Binding.(*resolve.Binding)
	return ok && b.Scope == resolve.Predeclared
}
