package check

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// misspelt warns of a function that was probably meant to be main, in a file that does nothing
// without one: run as a script it would end at once, without a word.
func (c *checker) misspelt() {
	var near *syntax.Ident
	for _, s := range c.file.Tree.Stmts {
		switch s := s.(type) {
		case *syntax.DefStmt:
			if s.Name.Name == "main" {
				return
			}
			if nearMain(s.Name.Name) {
				near = s.Name
			}
		case *syntax.LoadStmt, *syntax.AssignStmt:
		case *syntax.ExprStmt:
			if _, doc := s.X.(*syntax.Literal); !doc {
				return
			}
		default:
			return
		}
	}
	if near != nil {
		c.at("main", near, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: "this file has no main, and its top level does nothing", Hint: `did you mean "main"?`})
	}
}

// nearMain tells whether a name has the letters of main, in whatever order and case.
func nearMain(name string) bool {
	letters := []byte(strings.ToLower(strings.Trim(name, "_")))
	slices.Sort(letters)
	return string(letters) == "aimn"
}
