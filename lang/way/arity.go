package way

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Takes is how many arguments by place a function must have, and how many it can.
func Takes(params []syntax.Expr) (least, most int) {
	const any = 1 << 30
	most = 0
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.UnaryExpr:
			if p.Op == syntax.STAR && p.X != nil {
				most = any
			}
			if p.Op == syntax.STAR {
				return least, most // what follows is passed by name
			}
		case *syntax.Ident:
			least, most = least+1, most+1
		default:
			most++
		}
	}
	return least, most
}

// Refused is why a function cannot be called with so many arguments by place and these by name:
// the kind of mistake, "" where it can, and what it wants.
func Refused(params []syntax.Expr, n int, named []string) (kind, want string) {
	least, most := Takes(params)
	if n > most {
		return "too_many_arguments", fmt.Sprintf("at most %d", most)
	}
	given := map[string]bool{}
	for _, name := range named {
		given[name] = true
	}
	for _, p := range params {
		id, required := p.(*syntax.Ident)
		if star, ok := p.(*syntax.UnaryExpr); ok && star.Op == syntax.STARSTAR {
			given = nil
		}
		if required {
			if place, _ := Parameter(params, id); (place < 0 || place >= n) && !given[id.Name] {
				return "missing_argument", fmt.Sprintf("at least %d", least)
			}
			delete(given, id.Name)
		}
		if b, ok := p.(*syntax.BinaryExpr); ok {
			delete(given, b.X.(*syntax.Ident).Name)
		}
	}
	if len(given) > 0 {
		return "unknown_keyword", "a name of its parameters"
	}
	return "", ""
}
