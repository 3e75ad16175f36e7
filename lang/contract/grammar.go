package contract

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar, as participle reads it from struct tags. Its EBNF is printed by grammar.md, and a
// test compares the two.
//
// Three things are shaped by how participle v2 works. A repetition or option that fails inside is
// undone in silence when it fails within the lookahead, and the error then points before it; so the
// lookahead is zero and every choice is made by one token. A trailing comma is therefore a
// separator with nothing after it (rest, below), and a comma with nothing between is refused by the
// resolver. Names of productions show up in its messages; syntax.go puts them into words.
//
// A field named Tokens is filled with the tokens of its production.

type document struct {
	Definitions []*definition `parser:"@@*"`
	Root        *expression   `parser:"@@"`
}

type definition struct {
	Keyword lexer.Token `parser:"@'type'"`
	Name    lexer.Token `parser:"@Ident"`
	Type    *expression `parser:"'=' @@"`
}

type expression struct {
	First *term   `parser:"@@"`
	Rest  []*term `parser:"('|' @@)*"`
}

type term struct {
	Tokens []lexer.Token

	Name    *lexer.Token `parser:"( @Ident"`
	Text    *lexer.Token `parser:"| @String"`
	Number  *lexer.Token `parser:"| @Number"`
	Pattern *lexer.Token `parser:"| @Pattern"`
	List    *expression  `parser:"| '[' @@ ']'"`
	Record  *record      `parser:"| @@"`
	Group   *expression  `parser:"| '(' @@ ')' )"`

	Interval *interval    `parser:"@@?"`
	Optional *lexer.Token `parser:"@'?'?"`
}

type interval struct {
	Tokens []lexer.Token

	Low  *lexer.Token `parser:"'(' @Number?"`
	High *lexer.Token `parser:"'..' @Number? ')'"`
}

type record struct {
	Open  lexer.Token  `parser:"@'{'"`
	First *field       `parser:"@@?"`
	Rest  []*nextField `parser:"@@* '}'"`
}

type nextField struct {
	Comma lexer.Token `parser:"@','"`
	Field *field      `parser:"@@?"`
}

type field struct {
	Key      lexer.Token  `parser:"@(Ident | String | '*')"`
	Optional *lexer.Token `parser:"@'?'?"`
	Type     *expression  `parser:"':' @@"`
	Marks    []*mark      `parser:"@@*"`
}

type mark struct {
	Sign     lexer.Token  `parser:"( @'='"`
	Default  *value       `parser:"@@"`
	At       *lexer.Token `parser:"| @'@'"`
	Audience *lexer.Token `parser:"@Ident )"`
}

type value struct {
	Tokens []lexer.Token

	Scalar *lexer.Token `parser:"@(Ident | String | Number)"`
	List   *array       `parser:"| @@"`
	Record *object      `parser:"| @@"`
}

type array struct {
	Open  lexer.Token  `parser:"@'['"`
	First *value       `parser:"@@?"`
	Rest  []*nextValue `parser:"@@* ']'"`
}

type nextValue struct {
	Comma lexer.Token `parser:"@','"`
	Value *value      `parser:"@@?"`
}

type object struct {
	Open  lexer.Token `parser:"@'{'"`
	First *pair       `parser:"@@?"`
	Rest  []*nextPair `parser:"@@* '}'"`
}

type nextPair struct {
	Comma lexer.Token `parser:"@','"`
	Pair  *pair       `parser:"@@?"`
}

type pair struct {
	Key   lexer.Token `parser:"@(Ident | String)"`
	Value *value      `parser:"':' @@"`
}

// parser builds the participle parser when the first contract is parsed: a command that reads none
// does not pay for it.
var parser = sync.OnceValue(func() *participle.Parser[document] {
	return participle.MustBuild[document](participle.Lexer(scanner{}), participle.UseLookahead(0))
})

// Grammar is the grammar in EBNF, as the parser has it: one production a line, the names of tokens
// in angle brackets.
func Grammar() string { return parser().String() }

// parseTokens gives the syntax tree of the tokens, or a participle.Error.
func parseTokens(tokens []lexer.Token) (*document, error) {
	peeking, err := lexer.Upgrade(&stream{tokens: tokens})
	if err != nil {
		return nil, err
	}
	return parser().ParseFromLexer(peeking)
}
