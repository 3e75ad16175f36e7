package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/bazelbuild/buildtools/build"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/diagnostic"
)

// rounds bounds how often a text is laid out until it stays: a comment that has found another place
// can make the printer break a list, which it sees when it reads the text again, and a long line is
// broken from outside in, a level each time.
const rounds = 40

// Source lays out the text of a file, whose name positions show. The error is a diagnostic.List:
// what the parser refuses, or, with kind "layout", that the file cannot be laid out for certain as
// the same program.
func Source(name string, source []byte) ([]byte, error) {
	tree, err := lang.Parse(name, source)
	if err != nil {
		return nil, err
	}
	if len(tree.Stmts) == 0 && len(bytes.TrimSpace(source)) == 0 {
		return nil, nil
	}
	if err := noWhile(name, source, tree); err != nil {
		return nil, err
	}
	was := snapshot(source, tree)
	text, err := settle(name, source, tree)
	if err != nil {
		return nil, refuse(name, err.Error())
	}
	text = contracts(name, text)
	now, err := lang.Parse(name, text)
	switch {
	case err != nil:
		return nil, refuse(name, "what was laid out is no program any more")
	case !slices.Equal(was.nodes, snapshot(text, now).nodes):
		return nil, refuse(name, "what was laid out is another program")
	case !slices.Equal(was.comments, snapshot(text, now).comments):
		return nil, refuse(name, "a comment would be lost")
	}
	return text, nil
}

// noWhile refuses a loop that Starlark has and the language has not: the printer does not know it
// either.
func noWhile(name string, source []byte, tree *syntax.File) error {
	var loop *syntax.WhileStmt
	syntax.Walk(tree, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.WhileStmt); ok && loop == nil {
			loop = w
		}
		return loop == nil
	})
	if loop == nil {
		return nil
	}
	at := newLines(source).offset(loop.While)
	d := diagnostic.Diagnostic{Kind: "layout", Message: "there is no while", Hint: "write: for _ in forever()"}
	return diagnostic.List{d.At(name, string(source), at, at+len("while"))}
}

func refuse(name, why string) diagnostic.List {
	return diagnostic.List{{Kind: "layout", File: name, Message: "the file is left as it is: " + why}}
}

// settle prints a text until it stays as it is.
func settle(name string, source []byte, tree *syntax.File) ([]byte, error) {
	for range rounds {
		text, err := printed(name, source, tree)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(text, source) {
			if text = breakLong(source, tree); text == nil {
				return source, nil
			}
		}
		source = text
		if tree, err = lang.Parse(name, source); err != nil {
			return nil, errors.New("what was laid out is no program any more")
		}
	}
	return nil, errors.New("its layout does not come to rest")
}

// printed lays out a text once.
func printed(name string, source []byte, tree *syntax.File) ([]byte, error) {
	text, hidden := disguise(source, tree)
	f, err := build.ParseDefault(name, text)
	if err != nil {
		return nil, fmt.Errorf("the printer cannot read it: %w", err)
	}
	keepLiterals(f)
	return hidden.restore(build.FormatWithoutRewriting(f)), nil
}

// keepLiterals has texts printed as they are written: their quotes and escapes are the author's.
// The file of a load is none of them.
func keepLiterals(f *build.File) {
	build.WalkPointers(f, func(e *build.Expr, around []build.Expr) {
		s, ok := (*e).(*build.StringExpr)
		if ok && len(around) > 0 {
			_, ok = around[len(around)-1].(*build.LoadStmt)
			ok = !ok
		}
		if ok {
			*e = &build.LiteralExpr{Comments: s.Comments, Start: s.Start, Token: s.Token}
		}
	})
}
