package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
)

// What a contract's text may be. Contracts may come from other agents, so both are checked before
// anything is parsed.
const (
	MaxText  = 64 << 10 // bytes
	MaxDepth = 64       // brackets within each other, in a text; lists and dicts within each other, in a checked value
)

// maxErrors is how many errors of one text are reported.
const maxErrors = 20

// Parse reads a contract. name is the file or other origin that messages begin with; it may be
// empty. The error is a diagnostic.List with every error that was found, each with its place in
// text; of errors of syntax, only the first is found.
func Parse(name, text string) (*Contract, error) {
	if c, ok := lately.Load(text); ok {
		own := *c.(*Contract) // a value of its own: what a script holds is counted by what there is
		return &own, nil
	}
	c, err := parse(text, func(d diagnostic.Diagnostic, start, end int) diagnostic.Diagnostic {
		return d.At(name, text, start, end)
	})
	if err == nil && len(text) <= maxLately {
		if latelyMany.Add(1) > manyLately {
			lately.Clear()
			latelyMany.Store(1)
		}
		kept := *c
		lately.Store(strings.Clone(text), &kept) // it may be cut out of a long one
	}
	return c, err
}

// lately has contracts that were read: the same few are read again and again, whenever a script
// goes on and wherever an answer is held against one.
var (
	lately     sync.Map // by their text
	latelyMany atomic.Int64
)

// Bounds of what is kept of lately. Once it is full, all of it is forgotten.
const (
	maxLately  = 4 << 10 // bytes of a text
	manyLately = 512
)

// ParseLiteral reads a contract out of a string literal of a Starlark file, whose whole text is
// source: errors are placed in that file, under the very characters that they speak of, whatever
// the literal's quotes and escapes.
func ParseLiteral(file, source string, literal *syntax.Literal) (*Contract, error) {
	text, ok := literal.Value.(string)
	if !ok {
		d := diagnostic.Diagnostic{Kind: "contract", Message: "a contract is text", Got: literal.Raw}
		at := diagnostic.Offset(source, int(literal.TokenPos.Line), int(literal.TokenPos.Col))
		return nil, diagnostic.List{d.At(file, source, at, at+len(literal.Raw))}
	}
	return parse(text, func(d diagnostic.Diagnostic, start, end int) diagnostic.Diagnostic {
		at := diagnostic.Offset(source, int(literal.TokenPos.Line), int(literal.TokenPos.Col))
		offsets := literalOffsets(source[at:])
		if len(offsets) != len(text)+1 { // not the literal of this text: point at its beginning
			return d.At(file, source, at, at)
		}
		return d.At(file, source, at+offsets[start], at+offsets[end])
	})
}

// While a contract is read, places are byte offsets of its own text: that is all that a type needs
// to know of where it stands. What line and column, and of which file, is found only when there is
// an error, by a placer. So the same reader serves a text that is a file and one that is part of a
// Starlark literal, with escapes between it and the line.

// A placer gives a diagnostic its place, which is known as a range of bytes of the contract's text.
type placer func(d diagnostic.Diagnostic, start, end int) diagnostic.Diagnostic

func parse(text string, place placer) (*Contract, error) {
	errs := &errorList{text: text}
	c := read(text, errs)
	if len(errs.found) > 0 {
		return nil, errs.list(place)
	}
	return c, nil
}

// read goes through the stages, each of which is reached only by what passed the one before.
func read(text string, errs *errorList) *Contract {
	if !acceptable(text, errs) {
		return nil
	}
	tokens := scan(text)
	if deep := tooDeep(tokens); deep != nil {
		errs.at(*deep, diagnostic.Diagnostic{Message: fmt.Sprintf("brackets are nested more than %d deep", MaxDepth)})
		return nil
	}
	tree, err := parseTokens(tokens)
	if err != nil {
		errs.syntax(tokens, err)
		return nil
	}
	return resolve(tree, errs)
}

// acceptable refuses what is no text, or too much of it.
func acceptable(text string, errs *errorList) bool {
	if len(text) > MaxText {
		errs.add(0, 0, diagnostic.Diagnostic{
			Message: "the contract is too long",
			Got:     fmt.Sprintf("%d bytes", len(text)),
			Want:    fmt.Sprintf("at most %d", MaxText),
		})
		return false
	}
	if valid := len(validPrefix(text)); valid < len(text) {
		errs.add(valid, valid+1, diagnostic.Diagnostic{Message: "the contract is not UTF-8 here"})
		return false
	}
	return true
}

// validPrefix is s up to its first byte that is not UTF-8.
func validPrefix(s string) string {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return s[:i]
			}
		}
	}
	return s
}

// tooDeep finds the bracket that opens one level too many.
func tooDeep(tokens []lexer.Token) *lexer.Token {
	depth := 0
	for i, t := range tokens {
		if t.Type != tokenSign {
			continue
		}
		switch t.Value {
		case "[", "{", "(":
			depth++
		case "]", "}", ")":
			depth--
		}
		if depth > MaxDepth {
			return &tokens[i]
		}
	}
	return nil
}

// errorList gathers what is wrong with a text.
type errorList struct {
	text  string
	found []placed
}

type placed struct {
	diagnostic.Diagnostic
	start, end int
}

func (e *errorList) add(start, end int, d diagnostic.Diagnostic) {
	d.Kind = "contract"
	e.found = append(e.found, placed{d, start, end})
}

// at adds an error that stands under one token.
func (e *errorList) at(t lexer.Token, d diagnostic.Diagnostic) {
	e.add(t.Pos.Offset, t.Pos.Offset+len(t.Value), d)
}

// under adds an error that stands under several tokens, of which there is at least one.
func (e *errorList) under(tokens []lexer.Token, d diagnostic.Diagnostic) {
	last := tokens[len(tokens)-1]
	e.add(tokens[0].Pos.Offset, last.Pos.Offset+len(last.Value), d)
}

// list places the errors, in the order of the text.
func (e *errorList) list(place placer) diagnostic.List {
	slices.SortStableFunc(e.found, func(a, b placed) int { return a.start - b.start })
	var list diagnostic.List
	for i, p := range e.found {
		if i == maxErrors {
			more := fmt.Sprintf("and %d more errors", len(e.found)-maxErrors)
			return append(list, diagnostic.Diagnostic{Severity: diagnostic.Note, Kind: "contract", Message: more})
		}
		list = append(list, place(p.Diagnostic, p.start, p.end))
	}
	return list
}

// position is where a byte stands, for messages that speak of a second place.
func (e *errorList) position(offset int) string {
	before := e.text[:offset]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%d:%d", line, col)
}
