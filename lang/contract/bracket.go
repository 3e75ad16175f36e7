package contract

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"starling/lang/diagnostic"
)

// unclosed speaks of the bracket that is not closed, if that is why the parser came to the end of a
// text: the end is far from what is wrong. Then it speaks as well of what the types in the text are
// wrong in, which nobody wants to learn of next.
func (e *errorList) unclosed(tokens []lexer.Token) bool {
	open, blamed := brackets(e.text, tokens)
	if len(open) == 0 {
		return false
	}
	end := tokens[len(tokens)-1]
	whole := slices.Clone(tokens[:len(tokens)-1])
	for _, t := range slices.Backward(open) {
		whole = append(whole, lexer.Token{Type: tokenSign, Value: closes(t.Value), Pos: end.Pos})
	}
	tree, err := parseTokens(append(whole, end))
	if err != nil {
		return false
	}
	closing := closes(blamed.Value)
	e.at(blamed, diagnostic.Diagnostic{Message: "the " + blamed.Value + " that begins here has no closing " + closing, Hint: "write " + closing + " where it ends"})
	resolve(tree, e)
	return true
}

// brackets are those that are open at the end of a text, and the one that was likely forgotten: the
// innermost of them, or one that was closed at the beginning of a line, in another column than its
// own line begins in. Whoever lays out a text has not closed that one, but one further out.
func brackets(text string, tokens []lexer.Token) (open []lexer.Token, blamed lexer.Token) {
	var odd []lexer.Token
	for _, t := range tokens {
		switch {
		case t.Type != tokenSign:
		case closes(t.Value) != "":
			open = append(open, t)
		case opens(t.Value) != "" && len(open) > 0:
			last := open[len(open)-1]
			open = open[:len(open)-1]
			_, indent := lineBefore(text, last.Pos.Offset)
			if line, column := lineBefore(text, t.Pos.Offset); line == column && indent != column {
				odd = append(odd, last)
			}
		}
	}
	if len(open) == 0 {
		return nil, lexer.Token{}
	}
	blamed = open[len(open)-1]
	if len(odd) > 0 && odd[0].Value == blamed.Value {
		blamed = odd[0]
	}
	return open, blamed
}

// lineBefore is the text of a line up to an offset, and the blanks that it begins with.
func lineBefore(text string, at int) (line, indent string) {
	line = text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return line, line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// closes is the bracket that closes one, opens the one that one closes; "" for anything else.
func closes(sign string) string { return other(sign, "[]{}()") }
func opens(sign string) string  { return other(sign, "][}{)(") }

func other(sign, pairs string) string {
	for i := 0; i < len(pairs); i += 2 {
		if sign == pairs[i:i+1] {
			return pairs[i+1 : i+2]
		}
	}
	return ""
}
