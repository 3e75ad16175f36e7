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

// rounds bounds how often a text is printed until it stays: a comment that has found another place
// can make the printer break a list, which it sees when it reads the text again.
const rounds = 4

// errNoProgram is a layout that the parser does not read.
var errNoProgram = errors.New("what was laid out is no program any more")

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
		return nil, refuse(name, errNoProgram.Error())
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

// settle lays out a text, and breaks its long lines from outside in, a level each time.
func settle(name string, source []byte, tree *syntax.File) ([]byte, error) {
	for lines := -1; ; {
		var err error
		if source, tree, err = atRest(name, source, tree); err != nil {
			return nil, err
		}
		had := lines
		lines = bytes.Count(source, []byte("\n"))
		broken := breakLong(source, tree)
		if broken == nil || lines <= had { // the printer has put together again what was broken
			return source, nil
		}
		if source, tree, err = reread(name, broken); err != nil {
			return nil, err
		}
	}
}

// atRest prints a text until it stays as it is.
func atRest(name string, source []byte, tree *syntax.File) ([]byte, *syntax.File, error) {
	for range rounds {
		text, err := printed(name, source, tree)
		if err != nil {
			return nil, nil, err
		}
		if bytes.Equal(text, source) {
			return source, tree, nil
		}
		if source, tree, err = reread(name, text); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errors.New("its layout does not come to rest")
}

func reread(name string, text []byte) ([]byte, *syntax.File, error) {
	tree, err := lang.Parse(name, text)
	if err != nil {
		return nil, nil, errNoProgram
	}
	return text, tree, nil
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
