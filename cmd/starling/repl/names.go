package repl

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"starling/lang"
)

// namesOf are the globals that a text sets, and those that it uses without setting them, builtins
// among them. Both are nil for a text that cannot be parsed.
func namesOf(text string) (sets, uses []string) {
	o := lang.FileOptions()
	o.LoadBindsGlobally = true
	f, err := o.Parse("", text, 0)
	if err != nil {
		return nil, nil
	}
	used := func(name string) bool {
		uses = append(uses, name)
		return true
	}
	none := func(string) bool { return false }
	if resolve.REPLChunk(f, used, none, none) != nil {
		return nil, nil
	}
	for _, b := range f.Module.(*resolve.Module).Globals {
		if !slices.Contains(uses, b.First.Name) {
			sets = append(sets, b.First.Name)
		}
	}
	return sets, uses
}

// assigned are the variables that statements give values to outside of functions.
func assigned(stmts []syntax.Stmt) (names []string) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			names = append(names, targets(s.LHS)...)
		case *syntax.ForStmt:
			names = append(append(names, targets(s.Vars)...), assigned(s.Body)...)
		case *syntax.IfStmt:
			names = append(append(names, assigned(s.True)...), assigned(s.False)...)
		case *syntax.WhileStmt:
			names = append(names, assigned(s.Body)...)
		case *syntax.DefStmt:
			names = append(names, s.Name.Name)
		}
	}
	return names
}

// targets are the variables on the left of an assignment.
func targets(e syntax.Expr) (names []string) {
	switch e := e.(type) {
	case *syntax.Ident:
		return []string{e.Name}
	case *syntax.ParenExpr:
		return targets(e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			names = append(names, targets(x)...)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			names = append(names, targets(x)...)
		}
	}
	return names
}

// bound are the globals that a text sets.
func bound(text string) []string {
	sets, _ := namesOf(text)
	if f, err := lang.FileOptions().Parse("", text, 0); err == nil {
		sets = append(sets, assigned(f.Stmts)...) // also those that it uses
	}
	return sets
}

// loadsOf are the load statements of a text.
func loadsOf(text string) (list []string) {
	f, err := lang.FileOptions().Parse("", text, 0)
	if err != nil {
		return nil
	}
	for _, s := range f.Stmts {
		if l, ok := s.(*syntax.LoadStmt); ok {
			list = append(list, text[offset(text, l.Load):offset(text, l.Rparen)+1])
		}
	}
	return list
}

// between is the text of a node.
func between(text string, n syntax.Node) string {
	start, end := n.Span()
	return text[offset(text, start):offset(text, end)]
}

// offset is where a position is in a text. Its columns count characters.
func offset(text string, pos syntax.Position) int {
	line, col := int32(1), int32(1)
	for i, r := range text {
		if line == pos.Line && col == pos.Col {
			return i
		}
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	return len(text)
}
