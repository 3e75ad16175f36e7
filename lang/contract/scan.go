package contract

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The tokens of a contract. participle could make them from a table of regular expressions; this
// scanner takes a third of the time of that one, leaves out blanks and comments, and never fails: a
// rune that begins no token becomes an invalid token, so that it is the parser which speaks of it,
// with all that it knows of the place.

const (
	tokenIdent lexer.TokenType = iota + 1
	tokenString
	tokenNumber
	tokenPattern
	tokenSign
	tokenInvalid
)

// scanner is the lexer.Definition of the grammar.
type scanner struct{}

// Symbols names the tokens for the grammar's tags.
func (scanner) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF":     lexer.EOF,
		"Ident":   tokenIdent,
		"String":  tokenString,
		"Number":  tokenNumber,
		"Pattern": tokenPattern,
		"Sign":    tokenSign,
		"Invalid": tokenInvalid,
	}
}

// Lex scans all of r. The grammar is only ever given tokens; participle asks for this method when
// it is built.
func (scanner) Lex(_ string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return &stream{tokens: scan(string(text))}, nil
}

// stream hands out tokens that are already there.
type stream struct{ tokens []lexer.Token }

// Next implements lexer.Lexer. The last token, the end of the text, is handed out for ever.
func (s *stream) Next() (lexer.Token, error) {
	t := s.tokens[0]
	if len(s.tokens) > 1 {
		s.tokens = s.tokens[1:]
	}
	return t, nil
}

// scan cuts the text into tokens. Of their positions only the offset is set: lines are counted when
// there is an error.
func scan(text string) []lexer.Token {
	tokens := make([]lexer.Token, 0, len(text)/4+1)
	for at := skipBlank(text, 0); at < len(text); at = skipBlank(text, at) {
		kind, size := next(text[at:])
		tokens = append(tokens, lexer.Token{
			Type:  kind,
			Value: text[at : at+size],
			Pos:   lexer.Position{Offset: at},
		})
		at += size
	}
	return append(tokens, lexer.EOFToken(lexer.Position{Offset: len(text)}))
}

// skipBlank gives the offset of the first byte at or after at that is neither blank nor part of a
// comment.
func skipBlank(text string, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			end := strings.IndexByte(text[at:], '\n')
			if end < 0 {
				return len(text)
			}
			at += end
		default:
			return at
		}
	}
	return at
}

// next is the type and size of the token that s, which is not empty, begins with.
func next(s string) (lexer.TokenType, int) {
	switch c := s[0]; {
	case isLetter(c):
		return tokenIdent, prefix(s, func(c byte) bool { return isLetter(c) || isDigit(c) })
	case isDigit(c) || c == '-':
		return numberToken(s)
	case c == '"' || c == '/':
		return enclosedToken(s)
	case strings.HasPrefix(s, ".."):
		return tokenSign, 2
	case strings.IndexByte("[]{}():,|?=@*", c) >= 0:
		return tokenSign, 1
	}
	_, size := utf8.DecodeRuneInString(s)
	return tokenInvalid, size
}

// numberToken takes -?digits, then .digits and an exponent if they are whole: "1..5" is a number, a
// sign and a number.
func numberToken(s string) (lexer.TokenType, int) {
	n := 0
	if s[0] == '-' {
		n = 1
	}
	digits := prefix(s[n:], isDigit)
	if digits == 0 {
		return tokenInvalid, 1
	}
	n += digits
	if n < len(s) && s[n] == '.' {
		if digits := prefix(s[n+1:], isDigit); digits > 0 {
			n += 1 + digits
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		sign := 0
		if n+1 < len(s) && (s[n+1] == '-' || s[n+1] == '+') {
			sign = 1
		}
		if digits := prefix(s[n+1+sign:], isDigit); digits > 0 {
			n += 1 + sign + digits
		}
	}
	return tokenNumber, n
}

// A text or pattern that does not end on its line is an invalid token of one byte, the opening
// quote: what follows it is then scanned as if it stood outside, but the parser stops at the quote,
// which is where the error is.

// enclosedToken takes "…" or /…/ on one line, a backslash taking the next rune with it.
func enclosedToken(s string) (lexer.TokenType, int) {
	for i := 1; i < len(s) && s[i] != '\n'; i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] != '\n':
			i++
		case s[i] == s[0] && s[0] == '"':
			return tokenString, i + 1
		case s[i] == s[0]:
			return tokenPattern, i + 1
		}
	}
	return tokenInvalid, 1
}

func prefix(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
