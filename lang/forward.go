package lang

import (
	"errors"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// What is typed in a session comes one by one, so a function may use what only a later chunk
// defines: two functions that call each other could not be typed otherwise. A name that is used
// nowhere but in the bodies of functions is a global of the session; it is an error to run there
// before it is set.

// Missing says which names the functions of a chunk use that neither the session, by globals, nor
// the chunk defines: warnings, with what was perhaps meant.
func Missing(b *Bundle, globals func(name string) bool, env *effect.Environment) diagnostic.List {
	u := &unit{module: b.entry, predeclared: env.Names.Keys()}
	tree, err := parseAs(b.entry, chunkOptions(env.Behaviour))
	if err != nil {
		return nil
	}
	u.tree = tree
	problem := resolve.REPLChunk(tree, globals, env.Names.Has, starlark.Universe.Has)
	later, _ := laterNames(tree, problem)
	var list diagnostic.List
	for _, d := range u.problems(problem) {
		if name, undefined := strings.CutPrefix(d.Message, "undefined: "); undefined && later[name] {
			d.Severity, d.Message = diagnostic.Warning, name+" is not defined yet"
			list = append(list, d)
			delete(later, name) // said once
		}
	}
	return list
}

// laterNames are the undefined names of a chunk that later chunks may define; others tells whether
// anything else is wrong with its names.
func laterNames(tree *syntax.File, problem error) (later map[string]bool, others bool) {
	var list resolve.ErrorList
	if !errors.As(problem, &list) {
		return nil, problem != nil
	}
	bodies := bodiesOf(tree)
	later = map[string]bool{}
	for _, within := range []bool{true, false} {
		for _, e := range list {
			name, undefined := undefinedName(e)
			switch inside := bodies.have(e.Pos); {
			case !undefined:
				others = true
			case inside && within:
				later[name] = true
			case !inside && !within:
				delete(later, name)
				others = true
			}
		}
	}
	return later, others
}

// undefinedName is the name that an error of the resolver calls undefined.
func undefinedName(e resolve.Error) (string, bool) {
	rest, undefined := strings.CutPrefix(e.Msg, "undefined: ")
	name, _, _ := strings.Cut(rest, " ")
	return name, undefined
}

// bodies are the parts of a file that run when a function is called.
type bodies [][2]syntax.Position

func bodiesOf(tree *syntax.File) (list bodies) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			first, _ := n.Body[0].Span()
			_, end := n.Span()
			list = append(list, [2]syntax.Position{first, end})
		case *syntax.LambdaExpr:
			list = append(list, [2]syntax.Position{syntax.Start(n.Body), syntax.End(n.Body)})
		}
		return true
	})
	return list
}

func (list bodies) have(pos syntax.Position) bool {
	for _, b := range list {
		if !before(pos, b[0]) && before(pos, b[1]) {
			return true
		}
	}
	return false
}
