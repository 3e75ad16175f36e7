package contract

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"starling/lang/diagnostic"
	"starling/lang/foreign"
)

// What participle says of a text that does not fit the grammar is the token that it could not take
// and, in the notation of the grammar, what would have had to follow. Both are kept; this file puts
// them into words, and where a slip is a common one, says what to write.

// syntax adds the error that the parser gave.
func (e *errorList) syntax(tokens []lexer.Token, err error) {
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		e.add(0, 0, diagnostic.Diagnostic{Message: err.Error()})
		return
	}
	token := unexpected.Unexpected
	if token.EOF() && e.unclosed(tokens) {
		return
	}
	i := slices.IndexFunc(tokens, func(t lexer.Token) bool { return t.Pos.Offset == token.Pos.Offset })
	before := ""
	if i > 0 {
		before = tokens[i-1].Value
	}
	d := diagnostic.Diagnostic{
		Message: "this is not a contract",
		Got:     tokenText(token),
		Want:    wanted(unexpected.Message(), before),
	}
	if i > 0 && token.Value == "," && d.Want == `"]"` && fieldBegins(tokens[i+1:]) {
		d.Hint = "a ] is missing in front of it"
	} else if hint := calledType(tokens[:max(i, 0)]); hint != "" && d.Want == `".."` {
		d.Hint = hint
	} else if message, hint := slip(token, before, d.Want); message != "" || hint != "" {
		if message != "" {
			d.Message, d.Got, d.Want = message, "", ""
		}
		d.Hint = hint
	}
	e.at(token, d)
}

// fieldBegins tells whether tokens begin like a field.
func fieldBegins(tokens []lexer.Token) bool {
	return len(tokens) > 1 && (tokens[1].Value == ":" || len(tokens) > 2 && tokens[1].Value == "?" && tokens[2].Value == ":")
}

// tokenText is a token as a message shows it.
func tokenText(t lexer.Token) string {
	switch t.Type {
	case lexer.EOF:
		return "the end"
	case tokenString, tokenNumber, tokenPattern:
		return shorten(t.Value, 40)
	}
	return strconv.Quote(shorten(t.Value, 40))
}

// wanted is what the parser's message says it expected, in words. before is the token before the
// one it stopped at.
func wanted(message, before string) string {
	_, expected, _ := strings.Cut(message, "(expected ")
	first, _, _ := strings.Cut(strings.TrimSuffix(expected, ")"), " ")
	switch {
	case first == "":
		return "the end"
	case first == "Expression" || first == "Term":
		return "a type"
	case first == "Value":
		return "a value"
	case first == "<ident>":
		return "a name"
	case first == `"}"` && before == "{":
		return `a field or "}"`
	case first == `"}"`:
		return `"," or "}"`
	}
	return first
}

// calledType is the hint for what stands in brackets behind a type, as in map(string), "" where
// that is no type that another language writes so.
func calledType(before []lexer.Token) string {
	if len(before) < 2 {
		return ""
	}
	return foreign.Type(before[len(before)-2].Value)
}

// slip recognises common mistakes. A message replaces what the parser got and wanted, a hint comes
// with it.
func slip(token lexer.Token, before, want string) (message, hint string) {
	switch {
	case token.Value == `"`:
		return `the text that begins here has no closing "`, ""
	case token.Value == "/":
		return "the pattern that begins here has no closing /", ""
	case token.Value == "'" || token.Value == "`":
		return "", `text is written in double quotes: "…"`
	case token.Value == "-" && want == `":"`:
		return "", `a name with other characters than letters, digits and _ is written in double quotes`
	case token.Type == tokenNumber && strings.HasPrefix(want, "a field"):
		return "", "a name that begins with a digit is written in double quotes"
	case token.Value == ";":
		return "", `fields are separated by ","`
	case want == `".."`:
		return "", "a range is written (1..), (..80) or (1..80)"
	case token.Value == "," && want == `"]"`:
		return "", "a list has one type, which may be a union: [A | B]"
	case token.Value == "?" && before == "?":
		return "", "one ? is enough"
	case token.EOF() && before == "":
		return "the contract is empty", ""
	case token.EOF() && want == "a type" && !slices.Contains([]string{"=", ":", "|", "[", "("}, before):
		return "", "a contract ends with its type, after the definitions"
	case token.Value == "type" && want == "the end":
		return "", "definitions stand before the contract's own type"
	}
	return "", ""
}
