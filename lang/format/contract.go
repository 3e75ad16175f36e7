package format

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/contract"
)

// contractOf is the text of a call contract("…"), nil for any other node.
func contractOf(n syntax.Node) *syntax.Literal {
	call, ok := n.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	name, isName := call.Fn.(*syntax.Ident)
	l, isText := call.Args[0].(*syntax.Literal)
	if !isName || name.Name != "contract" || !isText || l.Token != syntax.STRING {
		return nil
	}
	return l
}

// contracts lays out the contracts whose text stands in a file. One with escapes is left as it is:
// what stands there is not what it says.
func contracts(name string, source []byte) []byte {
	tree, err := lang.Parse(name, source)
	if err != nil {
		return source
	}
	var literals []*syntax.Literal
	syntax.Walk(tree, func(n syntax.Node) bool {
		if l := contractOf(n); l != nil {
			literals = append(literals, l)
		}
		return true
	})
	places := newLines(source)
	text := string(source)
	for _, l := range slices.Backward(sorted(literals)) {
		written := l.Value.(string)
		i := strings.Index(l.Raw, written)
		if i < 0 || strings.HasSuffix(l.Raw[:i], written) {
			continue
		}
		start := places.offset(l.TokenPos)
		line := text[strings.LastIndexByte(text[:start], '\n')+1:]
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		text = text[:start+i] + contract.Layout(written, indent) + text[start+i+len(written):]
	}
	return []byte(text)
}
