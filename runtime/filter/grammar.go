package filter

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar, as participle reads it from struct tags; grammar.md has its EBNF, and a test
// compares the two. The lookahead is zero, so that every choice is made by one token and an error
// stands where the text went wrong, not before a group that was undone in silence.

type anyOf struct {
	First *allOf   `parser:"@@"`
	Rest  []*allOf `parser:"('or' @@)*"`
}

type allOf struct {
	First *term   `parser:"@@"`
	Rest  []*term `parser:"('and' @@)*"`
}

type term struct {
	Not       *term      `parser:"( 'not' @@"`
	Group     *anyOf     `parser:"| '(' @@ ')'"`
	Condition *condition `parser:"| @@ )"`
}

type condition struct {
	Field    lexer.Token  `parser:"@Word"`
	Operator *lexer.Token `parser:"( @Operator"`
	Value    *lexer.Token `parser:"  @(Word | Text)"`
	In       []*literal   `parser:"| 'in' '(' @@ (',' @@)* ')' )?"`
}

// literal is a node of its own because participle keeps only the last of several tokens that one
// capture takes.
type literal struct {
	Token lexer.Token `parser:"@(Word | Text)"`
}

// words cuts a text into tokens. It never fails: a rune that begins no token becomes an invalid
// one, of which the parser speaks.
var words = sync.OnceValue(func() *lexer.StatefulDefinition {
	return lexer.MustSimple([]lexer.SimpleRule{
		{Name: "blank", Pattern: `\s+`},
		{Name: "Text", Pattern: `"(?:[^"\\\n]|\\[^\n])*"`},
		{Name: "Operator", Pattern: `[!<>]=|!~|[=<>~]`},
		{Name: "Sign", Pattern: `[(),]`},
		{Name: "Word", Pattern: `[^\s"(),=<>~!][^\s"(),=<>~]*`},
		{Name: "Invalid", Pattern: `(?s).`},
	})
})

// parser is built when the first filter is parsed: a command that reads none does not pay for it.
var parser = sync.OnceValue(func() *participle.Parser[anyOf] {
	return participle.MustBuild[anyOf](participle.Lexer(words()), participle.CaseInsensitive("Word"), participle.UseLookahead(0))
})

// Grammar is the grammar in EBNF, as the parser has it: one production a line, the names of tokens
// in angle brackets.
func Grammar() string { return parser().String() }
