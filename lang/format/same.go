package format

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang/contract"
)

// picture is what of a text must stay: its tree without places and parentheses, and its comments,
// in no order.
type picture struct{ nodes, comments []string }

func snapshot(source []byte, tree *syntax.File) picture {
	var p picture
	var literals []*syntax.Literal
	contracts := map[*syntax.Literal]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		contracts[contractOf(n)] = true
		l, ok := n.(*syntax.Literal)
		if ok {
			literals = append(literals, l)
		}
		if ok && contracts[l] { // of which the blanks do not count
			p.nodes = append(p.nodes, "contract "+strings.Join(contract.Tokens(l.Value.(string)), " "))
			return true
		}
		if line := look(n); line != "" {
			p.nodes = append(p.nodes, line)
		}
		return true
	})
	p.comments = comments(source, literals)
	return p
}

// look is a node without its place, "" for one that means nothing. The end of a node is one too,
// but not of a parenthesis: all nodes but these, and those with optional parts, have as many
// children as their kind says.
func look(n syntax.Node) string {
	kind := fmt.Sprintf("%T", n)
	switch n := n.(type) {
	case nil, *syntax.ParenExpr:
		return ""
	case *syntax.Ident:
		return "name " + n.Name
	case *syntax.Literal:
		return fmt.Sprintf("%s %T %v", n.Token, n.Value, n.Value)
	case *syntax.BinaryExpr:
		return kind + n.Op.String()
	case *syntax.UnaryExpr:
		return fmt.Sprint(kind, n.Op, n.X != nil)
	case *syntax.AssignStmt:
		return kind + n.Op.String()
	case *syntax.BranchStmt:
		return kind + n.Token.String()
	case *syntax.SliceExpr:
		return fmt.Sprint(kind, n.Lo != nil, n.Hi != nil, n.Step != nil)
	case *syntax.ReturnStmt:
		return fmt.Sprint(kind, n.Result != nil)
	case *syntax.Comprehension:
		return fmt.Sprint(kind, n.Curly, len(n.Clauses))
	}
	return fmt.Sprint(kind, lengths(n))
}

// lengths are how many parts a node has of each kind of which it can have any number.
func lengths(n syntax.Node) []int {
	switch n := n.(type) {
	case *syntax.File:
		return []int{len(n.Stmts)}
	case *syntax.DefStmt:
		return []int{len(n.Params), len(n.Body)}
	case *syntax.IfStmt:
		return []int{len(n.True), len(n.False)}
	case *syntax.ForStmt:
		return []int{len(n.Body)}
	case *syntax.LoadStmt:
		return []int{len(n.From)}
	case *syntax.CallExpr:
		return []int{len(n.Args)}
	case *syntax.ListExpr:
		return []int{len(n.List)}
	case *syntax.DictExpr:
		return []int{len(n.List)}
	case *syntax.TupleExpr:
		return []int{len(n.List)}
	case *syntax.LambdaExpr:
		return []int{len(n.Params)}
	}
	return nil
}

// comments are those of a text, without the blanks around them, sorted.
func comments(source []byte, literals []*syntax.Literal) []string {
	var found []string
	l := newLines(source)
	at := 0
	text := string(source)
	scan := func(end int) {
		for at < end {
			i := strings.IndexByte(text[at:end], '#')
			if i < 0 {
				break
			}
			line := text[at+i:]
			line = line[:strings.IndexByte(line+"\n", '\n')]
			found = append(found, strings.TrimSpace(line))
			at += i + len(line)
		}
		at = max(at, end)
	}
	for _, lit := range sorted(literals) {
		start := l.offset(lit.TokenPos)
		scan(start)
		at = max(at, start+len(lit.Raw))
	}
	scan(len(text))
	slices.Sort(found)
	return found
}
